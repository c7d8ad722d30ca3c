"""`reap wall`: where the time of a program goes, and whether its allocator is the cause."""
