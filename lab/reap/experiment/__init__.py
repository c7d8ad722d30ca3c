"""What is run how often, and the statistics of it.

Workload, variant, allocator, level, environment and repeat make a cell; a run is a cell and what came of it.
"""
