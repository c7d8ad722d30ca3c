"""Starting a program, or attaching to one.

Its environment, its children, its limits, and what the kernel accounts for it.
"""
