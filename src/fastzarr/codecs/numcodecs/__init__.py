"""Codecs of the numcodecs package, under the names they have in `zarr.codecs.numcodecs`."""
