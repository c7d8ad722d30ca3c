"""Sweeps of `reap compare`: programs under allocators on many machines, a round at a time.

What a plan says, where its rounds run, and the statistics over machines belong here; what a round is belongs
to `experiment`. `reap study` runs rounds elsewhere by this, too.
"""
