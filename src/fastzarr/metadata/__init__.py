"""Metadata documents of Zarr v2 and v3, parsed into one model and made for new arrays."""
