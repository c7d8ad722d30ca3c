"""Allocators: where they come from, whether they replace malloc, their settings and remedies."""
