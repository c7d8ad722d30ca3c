"""`reap allocators` and its commands."""
