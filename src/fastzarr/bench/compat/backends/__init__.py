"""The implementations that Python reaches, one file each behind one Protocol."""
