"""The command line: its entry point, and the commands of `allocators` and `workloads`. Decides nothing."""
