"""What is timed, one file per workload."""
