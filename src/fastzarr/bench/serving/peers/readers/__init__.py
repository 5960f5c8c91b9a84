"""Readers that take the place of fastzarr's own below its server, one file each."""
