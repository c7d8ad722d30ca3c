"""The programs that we measure: a card each, which says what it is, how to run it, and where it comes from.

A card is `card.toml` in a folder of its own below `workloads/`, beside the scripts that it needs. Its command
lines may hold `{card}` (its folder), `{inputs}` (the folder of what its prepare command made), `{scale}` and
`{python}`.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

import msgspec

from reap.errors import ExitCode, ReapError
from reap.records import Record

Kind = Literal["per-class", "region", "hybrid", "ordinary"]
"""What the program's own allocation is like, in the words of the OOPSLA 2002 paper."""


class Variant(Record):
    """One way to run the program: `custom` with its own allocator, `naive` without it, or `default`."""

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


class Prepare(Record):
    """Makes the inputs, the same every time, without any network."""

    argv: list[str]
    makes: list[str]
    """The files that it leaves in `{inputs}`."""


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
    prepare: Prepare | None = None
    scale: str = ""
    """What the scale counts; empty where there is no such knob."""
    default_scale: int = 1
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


def folders() -> list[Path]:
    """Where cards are: in the installed package, or in the checkout that the package lies in."""
    package = Path(__file__).resolve().parents[1]
    places = [package / "workloads", package.parents[1] / "workloads"]
    return [place for place in places if place.is_dir()]


def names() -> list[str]:
    """The names of all cards, sorted."""
    found = {file.parent.name for folder in folders() for file in folder.glob("*/card.toml")}
    return sorted(found)


def find(name: str) -> Path:
    """The folder of a card. Throws ReapError if there is none of that name."""
    for folder in folders():
        if (folder / name / "card.toml").is_file():
            return folder / name
    raise ReapError(
        f"there is no workload called '{name}'", f"known are: {', '.join(names()) or 'none'}", ExitCode.USAGE
    )


def load(name: str) -> Card:
    """Reads a card. Throws ReapError if there is none, or if it is not as this module says."""
    file = find(name) / "card.toml"
    try:
        card = msgspec.toml.decode(file.read_bytes(), type=Card)
    except (msgspec.MsgspecError, OSError) as error:
        raise ReapError(f"{file} is not a card: {error}", "correct it") from error
    if card.name != name:
        raise ReapError(f"{file} is named {card.name} inside", "give folder and card the same name")
    return card


def prepare(
    name: str, variant: str = "default", *, scale: int | None = None, cache: Path | None = None
) -> Ready:
    """Makes the card's inputs unless they are there already, and returns what to run.

    The inputs are kept in the user's cache, in a folder that depends on everything they are made from.
    Throws ReapError if a program is not installed or the prepare command fails.
    """
    card = load(name)
    folder = find(name)
    if variant not in card.variants:
        raise ReapError(
            f"the workload {name} has no variant '{variant}'",
            f"it has {', '.join(card.variants)}",
            ExitCode.USAGE,
        )
    amount = card.default_scale if scale is None else scale
    inputs = (cache or _cache()) / f"{name}-{amount}-{_fingerprint(folder)}"
    words = {"card": str(folder), "inputs": str(inputs), "scale": str(amount), "python": sys.executable}
    chosen = card.variants[variant]
    argv = [_fill(word, words) for word in chosen.argv]
    if shutil.which(argv[0]) is None:
        raise ReapError(
            f"the workload {name} needs {argv[0]}, which is not installed",
            f"sudo apt-get install --no-install-recommends {' '.join(card.packages)}",
            ExitCode.NOT_FOUND,
        )
    if card.prepare is not None and not inputs.is_dir():
        _make(card.prepare, inputs, words)
    environment = {key: _fill(value, words) for key, value in chosen.environment.items()}
    where = inputs if inputs.is_dir() else folder
    return Ready(card=card, variant=variant, argv=argv, environment=environment, directory=str(where))


def _make(prepare: Prepare, inputs: Path, words: dict[str, str]) -> None:
    """Makes the inputs beside their place and moves them there, so that none are ever half made."""
    inputs.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{inputs.name}-", dir=inputs.parent) as scratch:
        made = Path(scratch) / "inputs"
        made.mkdir()
        argv = [_fill(word, {**words, "inputs": str(made)}) for word in prepare.argv]
        done = subprocess.run(argv, cwd=made, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()[-500:]
            raise ReapError(f"inputs cannot be made: {' '.join(argv)} failed with {done.returncode}", said)
        if lacking := [file for file in prepare.makes if not (made / file).is_file()]:
            raise ReapError(f"{' '.join(argv)} did not make {', '.join(lacking)}", "correct the card")
        try:
            made.rename(inputs)
        except OSError:
            if not inputs.is_dir():  # else another reap was faster, and made the same
                raise


def _fill(word: str, words: dict[str, str]) -> str:
    for key, value in words.items():
        word = word.replace(f"{{{key}}}", value)
    return word


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "reap" / "workloads"


def _fingerprint(folder: Path) -> str:
    """Of all files of the card: inputs that a changed script made are not the old ones."""
    digest = hashlib.sha256()
    for file in sorted(
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ):
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
