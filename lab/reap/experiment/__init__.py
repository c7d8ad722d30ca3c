"""Plan of an experiment's runs, and the statistics of their results.

Workload, variant, allocator, level, environment and repeat make a cell; a run is a cell and what came of it.
"""
