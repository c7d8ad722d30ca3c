"""Levels at which a heap is made adversarial: those of Table 3 (ISMM 2026), and any other."""

from reap.base.errors import ExitCode, ReapError
from reap.base.records import Record

MOST = 1e6
"""No multiplier is higher: a million times its objects is more than any machine has room for, or the program
has so few that it says nothing."""


class Level(Record):
    """Number of objects that are allocated before the program runs, and the part of them that stays."""

    name: str
    multiplier: float
    """Objects to allocate, in peaks of the program's own live objects."""
    occupancy: float
    """The share of them, 0 to 1, that is never freed."""

    def objects(self, peak: int) -> int:
        """Number of objects that are allocated for a program that has at most `peak` in use."""
        return round(self.multiplier * peak)

    def kept(self, peak: int) -> int:
        """Number of these objects that stay."""
        return round(self.objects(peak) * self.occupancy)


LEVELS = {
    level.name: level
    for level in (
        Level(name="adv0", multiplier=0, occupancy=0),
        Level(name="adv1", multiplier=1, occupancy=0.33),
        Level(name="adv3", multiplier=3, occupancy=0.66),
        Level(name="adv10", multiplier=10, occupancy=0.8),
    )
}
"""Those that have a name."""


def named(name: str) -> Level:
    """The level of that name. Throws ReapError."""
    try:
        return LEVELS[name]
    except KeyError:
        raise ReapError(
            f"no level is called '{name}'",
            f"known are {', '.join(LEVELS)}; any other as MULTIPLIERxOCCUPANCY, as 3x0.66",
            ExitCode.USAGE,
        ) from None


def parse(text: str) -> list[Level]:
    """The levels in a list like `adv0,adv3,10x0.8`: names, or multiplier x occupancy. Throws ReapError."""
    levels = [one(word.strip()) for word in text.split(",")]
    return list({level.name: level for level in levels}.values())


def one(word: str) -> Level:
    """The level of a name, or of a multiplier and an occupancy: `10x0.8`. Throws ReapError."""
    multiplier, cross, occupancy = word.partition("x")
    try:
        return custom(float(multiplier), float(occupancy)) if cross else named(word)
    except ValueError:
        return named(word)


def custom(multiplier: float, occupancy: float) -> Level:
    """A level of one's own. Throws ReapError for what cannot be."""
    if not 0 <= multiplier <= MOST:
        raise ReapError(
            f"a heap cannot be littered with {multiplier:g} times the program's objects",
            f"give a multiplier from 0 to {MOST:g}, as in 3x0.66",
            ExitCode.USAGE,
        )
    if not 0 <= occupancy <= 1:
        raise ReapError(
            f"an occupancy of {occupancy:g} is impossible: it is the share of the litter that stays",
            "give one from 0 to 1, as in 3x0.66",
            ExitCode.USAGE,
        )
    return Level(name=f"{multiplier:g}x{occupancy:g}", multiplier=multiplier, occupancy=occupancy)
