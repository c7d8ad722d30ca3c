"""A process that runs already: what /proc says of its memory, and watching it from outside.

Nothing here enters the process or stops it.
"""
