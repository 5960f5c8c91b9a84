"""Volumes: layers of magnifications, as webknossos datasets and OME-Zarr images describe them."""
