"""The numbers that the verdict of `reap run` turns on, each with its reason. Shares are fractions of 1."""

SMALL_SHARE = 0.05
"""General-purpose programs spent about 3 % of their time in the allocator (OOPSLA 2002). Sampling by
instruction pointer reads low, so that the limit is the upper end of the interval and not the value."""

LARGE_SHARE = 0.15
"""Programs for which somebody wrote a custom allocator spent 16 % in memory operations (OOPSLA 2002)."""

MOSTLY_TEMPORARY = 0.5
"""From this share on, objects that die at once are the pattern and not an exception."""
