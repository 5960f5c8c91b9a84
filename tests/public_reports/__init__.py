"""What users of Zarr libraries reported elsewhere, each as a test with the right value; see README.md."""
