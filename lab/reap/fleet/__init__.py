"""What thousands of recordings say together: totals by service, version, host and site.

It reads the rows that `reap export --to fleet` writes, never the recordings themselves.
"""
