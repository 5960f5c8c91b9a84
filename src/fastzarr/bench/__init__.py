"""The benchmark: every Zarr library reachable from Python, beside the limits of the machine."""
