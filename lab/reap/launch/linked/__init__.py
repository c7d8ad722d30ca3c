"""Allocators that are linked into a program: which there are, and how another takes their place in trials.

What is told by reading a program's files belongs here; what its samples say is in `reap.evidence.linked`.
"""
