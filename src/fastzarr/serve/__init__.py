"""Volumes over HTTP: cutouts, buckets and stored keys of Zarr and WKW."""
