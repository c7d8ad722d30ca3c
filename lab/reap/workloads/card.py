"""The programs that we measure: a card each, which says what it is, how to run it, and where it comes from.

A card is `card.toml` in a folder of its own below `workloads/`, beside the scripts or sources that it needs.
Its command lines may hold `{card}` (its folder), `{inputs}` and `{built}` (the folders of what its prepare
and its build command made), `{source}` (Debian's source of the package that it names), `{library}` (the
library's headers), `{scale}` and `{python}`.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from reap.allocators import packages
from reap.base.errors import ExitCode, ReapError
from reap.base.records import Record
from reap.workloads import source

Kind = Literal["per-class", "region", "hybrid", "ordinary"]
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


class Peer(Variant, kw_only=True):
    """Another library's allocator in the place of the program's own."""

    title: str
    """Whose it is, and what it is called there."""
    frees: list[Free]
    """Which frees it has."""
    packages: list[str] = []
    """Debian packages that it needs, and no other variant does."""


class Origin(Record):
    """Where the program comes from."""

    package: str
    """The package, or an address."""
    licence: str
    version: str = ""
    """Empty for the one that the distribution has."""
    note: str = ""


class Prepare(Record):
    """Makes the inputs or the program, the same every time, without any network."""

    argv: list[str]
    makes: list[str]
    """The files that it leaves in `{inputs}` or `{built}`."""


class Card(Record):
    """What card.toml holds."""

    name: str
    title: str
    description: str
    kind: Kind
    allocator: str
    """What allocation of its own the program has."""
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
    prepare: Prepare | None = None
    build: Prepare | None = None
    """Makes the program where it is one of ours; once for all scales and variants."""
    source: str = ""
    """Debian's source package that it is built from, where the switch is one of the compiler's."""
    partial: str = ""
    """Where its allocator serves but a part of what it allocates: which part is left to malloc."""
    chunks: bool = False
    """Whether its own allocator takes chunks and carves objects out of them."""
    chunks_from: Literal["malloc", "system"] = "malloc"
    """Who gives the chunks: no litter in malloc's heap, and no other malloc, reaches those of the system."""
    frees: list[Free] = []
    """Which frees it has: of single objects, of all together."""
    motives: list[Motive] = []
    """What its own allocator is for. (Table 2, OOPSLA 2002)"""
    traits: list[Trait] = []
    """What else it has: nested lifetimes, several areas at once, order as of a stack, objects of one type or
    size."""
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


VARIABLE = "REAP_WORKLOADS"
"""Folders of the user's own cards, separated by colons; unset: `~/.config/reap/workloads`."""


def folders() -> list[Path]:
    """Where cards are: in the installed package or the checkout that it lies in, and the user's own."""
    package = Path(__file__).resolve().parents[1]
    places = [package / "workloads", package.parents[1] / "workloads"]
    return [place for place in places if place.is_dir()] + own_folders()


def own_folders() -> list[Path]:
    """Where the user's own cards are."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return [Path(word).expanduser() for word in named.split(os.pathsep) if word]
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return [base / "reap" / "workloads"]


def names() -> list[str]:
    """The names of all cards, sorted."""
    return sorted(_names(folders()))


def own_names() -> list[str]:
    """The names of the user's own cards, sorted; not those that Reap's hide."""
    own = own_folders()
    return sorted(_names(own) - _names([folder for folder in folders() if folder not in own]))


def _names(places: Sequence[Path]) -> set[str]:
    return {file.parent.name for folder in places for file in folder.glob("*/card.toml")}


def sound(wanted: Sequence[str]) -> tuple[list[Card], dict[str, ReapError]]:
    """The cards of these names that can be read, and by name what is wrong with the others."""
    cards, bad = [], {}
    for name in wanted:
        try:
            cards.append(load(name))
        except ReapError as error:
            bad[name] = error
    return cards, bad


def find(name: str) -> Path:
    """The folder of a card. Throws ReapError if there is none of that name."""
    for folder in folders():
        if (folder / name / "card.toml").is_file():
            return folder / name
    raise ReapError(
        f"there is no workload called '{name}'", f"known are: {', '.join(names()) or 'none'}", ExitCode.USAGE
    )


_FIELDS = "docs/workload-cards.md lists the fields; required are " + ", ".join(
    field.name for field in msgspec.structs.fields(Card) if field.required
)


def load(name: str) -> Card:
    """Reads a card. Throws ReapError if there is none, or if it is not as this module says."""
    file = find(name) / "card.toml"
    try:
        card = msgspec.toml.decode(file.read_bytes(), type=Card)
    except (msgspec.MsgspecError, OSError) as error:
        raise ReapError(f"{file} is not a card: {error}", _FIELDS) from error
    if not card.variants:
        raise ReapError(f"{file} is not a card: it has no variants", _FIELDS)
    if card.name != name:
        raise ReapError(f"{file} is named {card.name} inside", "give folder and card the same name")
    return card


def absent(card: Card) -> dict[str, list[str]]:
    """The card's peers that cannot run here, and the packages that each lacks."""
    found = {name: packages.lacking(peer.packages) for name, peer in card.peers.items()}
    return {name: lacking for name, lacking in found.items() if lacking}


class Places(Record):
    """Where a card's files are kept, whether they are there yet or not. Empty: it has none of the kind."""

    source: str
    built: str
    inputs: str


MARKED = ("-DREAP_MARK_POOLS=1", "-DREAP_MARK_VALGRIND=1")
"""What a program of ours is compiled with so that its pools tell the drag engines of their objects."""
_VALGRIND_HEADERS = ("/usr/include", "/usr/local/include")


def can_be_marked(card: Card) -> bool:
    """Whether its pools can tell of their objects: those of the programs that c++ makes at once.

    What is built by a script, or comes from Debian, has pools that are seen as chunks alone.
    """
    return card.build is not None and card.build.argv[0] == "c++"


def places(name: str, *, scale: int | None = None, cache: Path | None = None, marked: bool = False) -> Places:
    """The folders of a card at a scale; their names depend on everything that they are made from."""
    card, folder, home = load(name), find(name), cache or cache_folder()
    amount = card.default_scale if scale is None else scale
    own = _fingerprint([card.prepare], folder)
    how = "marked" if marked and can_be_marked(card) else "built"
    said = [card.build, card.source, *(MARKED if how == "marked" else ())]
    program = _fingerprint(said, folder, folder.parent / "common", *_library_files())
    built = f"{name}-{how}-{program}" if card.build else ""
    return Places(
        source=str(source.place(card.source, home)) if card.source else "",
        built=str(home / built) if built else "",
        inputs=str(home / f"{name}-{amount}-{own}") if card.prepare else "",
    )


def prepare(
    name: str,
    variant: str = "default",
    *,
    scale: int | None = None,
    cache: Path | None = None,
    marked: bool = False,
) -> Ready:
    """Makes the card's program and inputs unless they are there already, and returns what to run.

    They are kept in the user's cache, in folders that depend on everything they are made from. With `marked`
    the program's pools tell the drag engines of their objects, if they can; a program for which
    `can_be_marked` is false is the usual one. Throws ReapError if a program or the source is not there, or
    the build or prepare command fails.
    """
    card = load(name)
    folder = find(name)
    ways: dict[str, Variant] = {**card.variants, **card.peers}
    if variant not in ways:
        raise ReapError(
            f"the workload {name} has no variant '{variant}'",
            f"it has {', '.join(ways)}",
            ExitCode.USAGE,
        )
    amount = card.default_scale if scale is None else scale
    at = places(name, scale=amount, cache=cache, marked=marked)
    words = {"card": str(folder), "scale": str(amount), "python": sys.executable}
    words |= {"source": at.source, "built": at.built, "inputs": at.inputs}
    if card.build is not None:
        words["library"] = str(_library())
        if at.source and not Path(at.source).is_dir() and not Path(at.built).is_dir():
            raise ReapError(
                f"the workload {name} is built from Debian's source of {card.source}, which was not fetched",
                f"reap workloads prepare --yes {name}",
                ExitCode.NOT_FOUND,
            )
        _make(card, _marked(card, card.build) if marked else card.build, "built", words)
    chosen = ways[variant]
    argv = [_fill(word, words) for word in chosen.argv]
    _require(card, argv[0])
    if card.prepare is not None:
        _make(card, card.prepare, "inputs", words)
    environment = {key: _fill(value, words) for key, value in chosen.environment.items()}
    return Ready(
        card=card,
        variant=variant,
        argv=argv,
        environment=environment,
        directory=at.inputs or str(folder),
    )


def _marked(card: Card, build: Prepare) -> Prepare:
    if not can_be_marked(card):
        return build
    if not any((Path(folder) / "valgrind/valgrind.h").is_file() for folder in _VALGRIND_HEADERS):
        raise ReapError(
            f"{card.name} cannot be built with its pools marked: valgrind/valgrind.h is not there",
            "apt-get install valgrind",
            ExitCode.NOT_FOUND,
        )
    return replace(build, argv=[*build.argv, *MARKED])


def _require(card: Card, program: str) -> None:
    if shutil.which(program) is None:
        raise ReapError(
            f"the workload {card.name} needs {program}, which is not installed",
            f"reap workloads prepare --yes {card.name}",
            ExitCode.NOT_FOUND,
        )


def _make(card: Card, command: Prepare, what: str, words: dict[str, str]) -> None:
    """Runs the command unless the folder that it fills, `words[what]`, is there.

    It works beside that place, and what it made is moved there, so that nothing is ever half made.
    """
    place = Path(words[what])
    if place.is_dir():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        argv = [_fill(word, {**words, what: str(made)}) for word in command.argv]
        _require(card, argv[0])
        done = subprocess.run(argv, cwd=made, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()[-500:]
            named = "the program" if what == "built" else "inputs"
            if lacking := packages.lacking(card.packages):
                said += f"\n  not installed: {', '.join(lacking)} (reap workloads prepare --yes {card.name})"
            raise ReapError(f"{named} cannot be made: {' '.join(argv)} failed with {done.returncode}", said)
        if lacking := [file for file in command.makes if not (made / file).is_file()]:
            raise ReapError(f"{' '.join(argv)} did not make {', '.join(lacking)}", "correct the card")
        try:
            made.rename(place)
        except OSError:
            if not place.is_dir():  # else another reap was faster, and made the same
                raise


def _fill(word: str, words: dict[str, str]) -> str:
    for key, value in words.items():
        word = word.replace(f"{{{key}}}", value)
    return word


def cache_folder() -> Path:
    """Where all that is made for workloads is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "reap" / "workloads"


def _library() -> Path:
    """The folder of the library's headers: in the installed package, or in the checkout that it lies in."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "include", package.parents[1] / "library" / "include"):
        if (place / "reap").is_dir():
            return place
    raise ReapError("the library's headers are not beside reap", "install reap again: setup/install")


def _library_files() -> tuple[Path, Path]:
    """What programs are built from: the headers, and the sources of what is preloaded, beside them."""
    return _library(), _library().parent / "src" / "interpose"


def _fingerprint(said: Sequence[Prepare | str | None], *folders: Path) -> str:
    """Of what the card says of it and of all files in there: what was made from others is not used again.

    The rest of the card makes no difference: another word in a description builds nothing anew.
    """
    digest = hashlib.sha256(msgspec.json.encode(said))
    for folder in folders:
        for file in sorted(
            path
            for path in folder.rglob("*")
            if path.is_file() and path.name != "card.toml" and "__pycache__" not in path.parts
        ):
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
