"""`reap workloads` with its commands, and `reap demo`."""
