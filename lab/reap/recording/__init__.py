"""Contents of a recording.

Making one, opening it through `reap.native`, and the figures that follow from it.
"""
