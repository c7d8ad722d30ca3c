"""Reap, the lab: is memory allocation what holds a program back, and what would each remedy give?

The folders of this package are a pipeline. Each may import itself and those to its left:

    allocators < launch < trace < analysis < experiment < diagnosis < study < report < cli

`reap.errors` and `reap.records` stand below all of them.
"""

__version__ = "0.1.0"
