"""Facts about one program, and the trials and the judge that `run` and `wall` share.

Measuring, its pure analysis, suspicions and the paired trials that prove or refute them belong here; printing
does not.
"""
