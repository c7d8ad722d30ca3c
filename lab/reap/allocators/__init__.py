"""Which allocators there are, where they come from, whether they replace malloc, and their settings."""
