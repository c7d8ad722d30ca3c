"""The numbers that verdicts turn on, each with its reason. Shares and effects are fractions of 1."""

WORTH_IT = 0.03
"""The least gain that is worth a change. Link order, environment size and the like move a program's time by
a few percent (Mytkowicz et al., ASPLOS 2009), so less may be gone with the next build."""

MAY_HIDE = 0.05
"""An interval that reaches no further than this below 1 has ruled out a gain that matters."""

FEWEST_ROUNDS = 5
"""Fewer pairs give a bootstrap too few different resamples: its interval is narrower than the truth."""

MOST_ROUNDS = 200
"""More rounds than this are no advice: the noise has to go down instead."""

SMALL_SHARE = 0.05
"""General-purpose programs spent about 3 % of their time in the allocator (OOPSLA 2002). Sampling by
instruction pointer reads low, so that the limit is the upper end of the interval and not the value."""

LARGE_SHARE = 0.15
"""Programs for which somebody wrote a custom allocator spent 16 % in memory operations (OOPSLA 2002)."""

TOO_SHORT = 0.02
"""Seconds of CPU. Loading one more library costs about a millisecond: below this it drowns what it does."""

HEAVY_MEMORY = 0.40
"""Growth of peak memory that needs a large gain in time to pay for it ..."""

HEAVY_BYTES = 16 << 20
"""... and that counts only from this many bytes on: an allocator's own start-up takes a few MiB."""

PAYS_FOR_MEMORY = 0.10
"""The gain in time that pays for heavy memory; the near end of the interval must reach it."""

MEMORY_WORTH_IT = 0.15
"""The least saving of peak memory that is worth a change by itself ..."""

MEMORY_WORTH_BYTES = 32 << 20
"""... and in bytes."""

MOSTLY_TEMPORARY = 0.5
"""From this share on, objects that die at once are the pattern and not an exception."""
