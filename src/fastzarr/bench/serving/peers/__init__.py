"""Servers that are compared, one file each."""
