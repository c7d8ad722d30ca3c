"""The numbers that a verdict turns on, each with its reason. Shares are fractions of 1."""

from reap.evidence.analyse.suspicions.records import OF_THE_ALLOCATOR, Cause

LARGE_SHARE = 0.15
"""Programs for which somebody wrote a custom allocator spent 16 % in memory operations (OOPSLA 2002)."""

WORTH_TELLING = 0.05
"""How much more of all time a malloc without costs must save than the advised remedy, to be told."""

UNSAMPLED = 0.15
"""The part of CPU time without a sample, from which on a share of samples is no share of the time."""

MOSTLY_LARGE = 0.5
"""From this part of blocks on, what a larger cache gains is due to their size and not to their number."""

SOME_LARGE = 0.1
"""From this part of blocks on, what a cache that never overflows gains may be due to their size."""

MOSTLY_TEMPORARY = 0.5
"""From this share on, objects that die at once are the pattern and not an exception."""

DENIABLE: tuple[Cause, ...] = (*OF_THE_ALLOCATOR, "garbage collection")
"""Causes of which *leave it alone* would deny a gain: where one takes LARGE_SHARE and no trial says what it
would give, the verdict is *inconclusive*."""
