"""`reap workloads` with its commands."""
