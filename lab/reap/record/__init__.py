"""`reap record`: every allocation of a program, into a file."""
