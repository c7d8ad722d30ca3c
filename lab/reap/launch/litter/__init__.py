"""Running a program on a heap that was littered before: the levels, the litter file, the run.

What the program itself cost is told from what the littering cost here, and what the figures mean elsewhere.
"""
