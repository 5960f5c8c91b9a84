"""The benchmark of servers of volumes, driven by wrk."""
