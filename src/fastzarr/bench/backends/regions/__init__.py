"""The contenders of the workloads over layouts, one file each behind one Protocol."""
