"""Reports of a saved result: table, CSV, plots, page. They read the bundle and nothing else."""
