"""The recipes: how each allocator that no Debian package brings is built, as data beside this file."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from reap.base.records import Record

FOLDER = Path(str(files("reap.allocators"))) / "recipes"
"""A TOML file an allocator, what they need, and locks of the crates (`Cargo.toml`, `Cargo.lock`)."""

MANIFEST = "Cargo.toml"
LOCK = "Cargo.lock"


class Recipe(Record):
    """Steps to build one allocator."""

    name: str
    about: str
    """What it is, in a line."""
    version: str
    """The allocator's own, not the crate's."""
    licence: str
    """The allocator's own, as SPDX names it."""
    crate: str
    """The crate that carries its source."""
    needs: list[str]
    """The commands that `build` calls, beside those of coreutils, grep, sed and findutils."""
    build: str
    """A script for `sh -eu`, run in a copy of the crate. In its environment are NAME, VERSION, JOBS (how many
    at a time), RECIPES (the folder of the recipes) and OUT (an empty folder). It leaves in OUT: `libNAME.so`,
    which replaces malloc; where the allocator has names of its own, `libNAME.a`, which replaces nothing, and
    `include`; and the licence, where the crate has it."""
    files: list[str] = []
    """What it needs of RECIPES."""
    lock: str = "."
    """The folder below RECIPES with the lock that has the crate. A cargo reads all crates of a lock or none:
    one that older cargos cannot read is in a lock of its own."""


class Crate(Record):
    """A crate as the lock has it."""

    name: str
    version: str
    checksum: str = ""
    """Of its archive; one that lies in a folder has none."""
    lock: str = "."
    """The folder of the lock, below the recipes."""


@cache
def recipes() -> dict[str, Recipe]:
    """Every recipe by its name, in the order of the names."""
    found = {path.stem: path for path in FOLDER.glob("*.toml") if path.name != MANIFEST}
    return {name: _read(found[name]) for name in sorted(found)}


def crate(recipe: Recipe) -> Crate:
    """The crate that a recipe builds from."""
    locked = _table(FOLDER / recipe.lock / LOCK)["package"]
    found = next(each for each in locked if each["name"] == recipe.crate)
    return msgspec.convert({**found, "lock": recipe.lock}, Crate)


def fingerprint(recipe: Recipe) -> str:
    """Digest of what the result depends on but the compiler: the recipe, its files, the crate."""
    import hashlib  # which loads OpenSSL

    parts = [(FOLDER / name).read_bytes() for name in (f"{recipe.name}.toml", *recipe.files)]
    return hashlib.sha256(b"\0".join([*parts, crate(recipe).checksum.encode()])).hexdigest()


def _read(path: Path) -> Recipe:
    return msgspec.convert({"name": path.stem, **_table(path)}, Recipe)


def _table(path: Path) -> dict[str, Any]:
    import tomllib  # not for what needs no recipe

    return tomllib.loads(path.read_text())
