"""`reap rss`: what resident memory consists of, over time."""
