"""`reap drag`: how much memory a program holds after its last use.

`exact` has the engines that see every access, `sample` the one that samples objects.
"""
