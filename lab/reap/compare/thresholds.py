"""The numbers that a comparison is judged by, each with its reason. Effects are fractions of 1."""

from reap.experiment.sequential import WORTH

WORTH_IT = WORTH
"""The least gain that is worth a change where the user gave no --worth."""

MAY_HIDE = 0.05
"""An interval that reaches no further than this below 1 has ruled out a gain that matters."""

FEWEST_ROUNDS = 5
"""With fewer pairs Student's t is at least 1.4 times as wide as with many (3.18 against 1.96 at four)."""

FEW_OF_A_LARGE_GAIN = 3
"""Fewer pairs are enough where all of the interval is a gain of LARGE_GAIN: no stray run makes that ..."""

LARGE_GAIN = 0.30
"""... of all time."""

TOO_SHORT = 0.02
"""Seconds of CPU. Loading one more library costs about a millisecond: below this the loading dominates."""

MUCH_LOAD = 0.10
"""Share of the cores' time that other programs take from which it is told what that does to intervals."""

MOST_ROUNDS = 200
"""More rounds than this are no advice: the noise has to go down instead."""

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

SETTLED_BYTES = 4 << 20
"""The least difference in settled memory that is told where the peak does not show it."""
