"""The contenders, one file each behind one Protocol."""
