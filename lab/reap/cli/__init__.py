"""The command line: its entry point, and the command `allocators`. Decides nothing."""
