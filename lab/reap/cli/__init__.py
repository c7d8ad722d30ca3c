"""The command line: entry point, the verbs, shared options, progress. Decides nothing."""
