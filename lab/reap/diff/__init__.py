"""`reap diff`: what grew and shrank between two recordings, which are of two builds of a program or two runs.

What joins two recordings, and what a change means, belongs here; reading one belongs to `recording`.
"""
