"""What a recording contains.

Making one, opening it through `reap.native`, and the figures that follow from it.
"""
