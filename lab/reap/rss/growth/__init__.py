"""`reap rss --hours`: whether the memory of a process grows over hours, and which part of it."""
