"""What a card says, and what is made of it: plain data."""

from typing import Literal

from reap.api import Record

VERSION = 2
"""Of the schema of `reap workloads list --json`."""
Kind = Literal["per-class", "size-class", "region", "hybrid", "ordinary"]
"""What the program's own allocation is like, in the words of the OOPSLA 2002 paper."""
Free = Literal["individual", "bulk"]
Motive = Literal["performance", "space", "software engineering"]
Trait = Literal["nested", "areas", "stack", "same-type"]


class Variant(Record):
    """One way to run the program.

    `custom` with its own allocator, `naive` without it, `reap` with this library's in its place; `default` of
    a program that has no choice.
    """

    argv: list[str]
    environment: dict[str, str] = {}


class Origin(Record):
    """Where the program comes from."""

    package: str
    """The package, or an address."""
    licence: str
    version: str = ""
    """Empty for the one that the distribution has."""
    note: str = ""


class Brought(Record):
    """A program that users bring, as no registry has it: `--program NAME=FOLDER`. Nothing here builds it."""

    home: str
    """Its home page."""
    version: str
    """Which one the variants and the output are of."""
    files: list[str]
    """What FOLDER, which is `{program}`, must have."""
    profile: str
    """How it allocates, by a table of a paper, so that one can tell whether it is the program."""


class Prepare(Record):
    """Makes the inputs or the program, the same every time, without any network."""

    argv: list[str]
    makes: list[str]
    """The files that it leaves in `{inputs}`, `{built}` or `{peer}`."""


class Peer(Variant, kw_only=True):
    """Another library's allocator in the place of the program's own."""

    title: str
    """Its owner, and its name there."""
    frees: list[Free]
    """Which frees it has."""
    packages: list[str] = []
    """Debian packages that it needs, and no other variant does."""
    source: str = ""
    """What its library is built from, where no package has that; as a card's."""
    build: Prepare | None = None
    """Makes its library in `{peer}` from its own `{source}`."""


class Card(Record):
    """What card.toml holds."""

    name: str
    title: str
    description: str
    kind: Kind
    allocator: str
    """What kind of allocator of its own the program has."""
    switch: str
    """How that is switched off."""
    packages: list[str]
    """Debian packages that it needs."""
    expected_seconds: float
    """About how long one run takes, at the default scale."""
    origin: Origin
    variants: dict[str, Variant]
    peers: dict[str, Peer] = {}
    """Further variants, each of which may be missing where it is not installed."""
    emulated: Variant | None = None
    """Each object a malloc, freed with its region by a pointer that is kept outside the object: it shows drag
    where the naive variant accesses what it frees. No shell starts it."""
    prepare: Prepare | None = None
    build: Prepare | None = None
    """Makes the program where it is one of ours; once for all scales and variants."""
    source: str = ""
    """What it is built from, where the compiler makes the switch: Debian's source package."""
    brought: Brought | None = None
    """Where users bring it."""
    requirements: str = ""
    """A file beside the card: Python packages that its scripts use if they are there, with hashes."""
    partial: str = ""
    """Where its allocator serves only part of what it allocates: which part malloc serves."""
    control: bool = False
    """Whether its allocator ought to make no difference: it is evidence for nothing, and tests the method."""
    microbenchmark: bool = False
    """Whether it does nothing but allocate."""
    chunks: bool = False
    """Whether its own allocator takes chunks and carves objects out of them."""
    chunks_from: Literal["malloc", "system"] = "malloc"
    """Where chunks come from. Litter in malloc's heap, and another malloc, do not affect those of the
    system."""
    frees: list[Free] = []
    """Which frees it has: of single objects, of all together."""
    motives: list[Motive] = []
    """What its own allocator is for. (Table 2, OOPSLA 2002)"""
    traits: list[Trait] = []
    """What else it has: nested lifetimes, several areas at once, stack order, objects of one type or size."""
    scale: str = ""
    """What the scale counts; empty where there is no such knob."""
    default_scale: int = 1
    quick_scale: int = 1
    """A scale at which a run takes a moment: for tests, and to see that it works."""
    custom_share: float | None = None
    """Share of the allocated objects (0 to 1) that its own allocator serves, where that is known."""
    output: str = ""
    """XXH3-128 of its standard output at the default scale in hexadecimal, where that never varies."""


class Ready(Record):
    """A card's variant, ready to run."""

    card: Card
    variant: str
    argv: list[str]
    environment: dict[str, str]
    directory: str
    """Where to run it."""


class Places(Record):
    """Where a card's files are kept, whether they are there yet or not. Empty: it has none of the kind."""

    source: str
    built: str
    inputs: str
