"""Totals of thousands of recordings together, by service, version, host and site.

Reads the rows that `reap export --to fleet` writes, never the recordings themselves.
"""
