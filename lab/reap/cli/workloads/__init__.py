"""`reap workloads` and its commands."""
