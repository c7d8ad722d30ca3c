"""`reap live`: a recording, watched while it is made.

What is read of it since the last look, and the view of that.
"""
