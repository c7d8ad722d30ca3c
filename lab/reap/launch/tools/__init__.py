"""Tools that a program is run under: callgrind, strace, Valgrind, and the counters of the processor.

A file each, which finds the tool, runs a program under it, and says how to install it where it is missing.
"""
