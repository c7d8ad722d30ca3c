"""`reap sweep`: programs under allocators on many machines, a round at a time.

What a plan says, where its rounds run, and the statistics over machines belong here; what a round is belongs
to `experiment`. `reap compare` and `reap study` run rounds elsewhere by this, too.
"""
