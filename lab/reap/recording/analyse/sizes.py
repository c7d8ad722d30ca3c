"""The distribution of sizes in the bins of Figure 2 (ISMM 2026): powers of two."""

from collections.abc import Iterable

from reap.recording.records import SizeBin


def bins(counted: Iterable[tuple[int, int, int, int]]) -> list[SizeBin]:
    """Folds (low, high, objects, bytes) into bins 0, 1, 2, 3-4, 5-8, ... without gaps.

    A counted range lies in one bin by its low end: above 4096 bytes ranges are quarters of an octave, whose
    first begins with the power of two that closes the bin before; that is told apart by the mean size.
    """
    found: dict[int, tuple[int, int]] = {}
    for low, high, objects, size in counted:
        typical = low if low == high else max(low, min(high, size // max(objects, 1)))
        place = max(typical - 1, 0).bit_length() + (1 if typical > 0 else 0)
        known = found.get(place, (0, 0))
        found[place] = (known[0] + objects, known[1] + size)
    if not found:
        return []
    return [
        SizeBin(
            low=_low(place),
            high=_high(place),
            objects=found.get(place, (0, 0))[0],
            bytes=found.get(place, (0, 0))[1],
        )
        for place in range(min(found), max(found) + 1)
    ]


def _low(place: int) -> int:
    return place if place < 2 else 2 ** (place - 2) + 1


def _high(place: int) -> int:
    return 0 if place == 0 else 2 ** (place - 1)
