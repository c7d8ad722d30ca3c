"""The programs that we measure: a card each, which says what it is, how to run it, and where it comes from.

A card is `card.toml` in a folder of its own below `workloads/`, beside the scripts or sources that it needs.
Its command lines may hold `{card}` (its folder), `{inputs}` and `{built}` (the folders of what its prepare
and its build command made), `{source}` (the source that it names), `{library}` (the
library's headers), `{peer}` (the folder of what a peer's own build made), `{scale}` and `{python}`.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reap.api import ExitCode, ReapError, did_you_mean
from reap_studies.workloads.records import Card

VARIABLE = "REAP_WORKLOADS"
"""Folders of the user's own cards, separated by colons; unset: `~/.config/reap/workloads`."""


def folders() -> list[Path]:
    """Where cards are: in the installed package or the checkout that it lies in, and the user's own."""
    package = Path(__file__).resolve().parents[1]
    places = [package / "workloads", package.parent / "workloads"]
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
        f"there is no workload called '{name}'",
        f"{did_you_mean(name, names())}known are: {', '.join(names()) or 'none'}",
        ExitCode.USAGE,
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
