"""`reap export`: a recording as a file that other tools read. Reading it belongs to `recording`.

`view` has a file for each format; all of them work from the tree of calls, and keep totals as they are.
"""
