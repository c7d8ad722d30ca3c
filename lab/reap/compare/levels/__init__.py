"""`reap compare --levels`: a program on fragmented heaps.

Every variant under every allocator at every level of fragmentation, with the controls.
"""
