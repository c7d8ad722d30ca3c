"""Remedies for memory that a program keeps and for the time of allocation, each once, as data."""
