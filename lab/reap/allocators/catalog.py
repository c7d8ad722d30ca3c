"""Catalogue of allocators: where this machine has them, and how to get the others."""

import platform
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from reap import __version__
from reap.allocators import apt, library, packages, store
from reap.allocators.recipe import Recipe, recipes
from reap.allocators.records import DEFAULT, OWN, Allocator, Missing
from reap.base import installation
from reap.base.errors import ExitCode, ReapError
from reap.base.records import Record
from reap.base.text import did_you_mean


class Entry(Record):
    """An allocator that a Debian package brings."""

    name: str
    files: list[str]
    """Names or patterns below the folders for libraries; the last match in version order is taken."""
    packages: list[str]
    """The Debian package to install for it, by its names in Debian 12 and later."""

    @property
    def package(self) -> str:
        """The one that this system has."""
        return apt.known(self.packages)


_ARCHITECTURE = platform.machine()

ENTRIES = (
    Entry(name="jemalloc", files=["libjemalloc.so.2"], packages=["libjemalloc2"]),
    Entry(
        name="tcmalloc",
        files=["libtcmalloc_minimal.so.4"],
        packages=["libtcmalloc-minimal4", "libtcmalloc-minimal4t64"],
    ),
    Entry(
        name="tcmalloc-full",
        files=["libtcmalloc.so.4"],
        packages=["libgoogle-perftools4", "libgoogle-perftools4t64"],
    ),
    Entry(
        name="mimalloc",
        files=["libmimalloc.so.2", "libmimalloc.so.3"],
        packages=["libmimalloc2.0", "libmimalloc3"],
    ),
    Entry(name="tbbmalloc", files=["libtbbmalloc_proxy.so.2"], packages=["libtbbmalloc2"]),
    Entry(
        name="scudo",
        files=[f"llvm-*/lib/clang/*/lib/linux/libclang_rt.scudo_standalone-{_ARCHITECTURE}.so"],
        packages=["libclang-rt-19-dev"],
    ),
)
"""What Debian has beside glibc. `tcmalloc` is gperftools without its profilers."""

FOLDERS = (
    f"/usr/local/lib/{_ARCHITECTURE}-linux-gnu",
    "/usr/local/lib",
    f"/usr/lib/{_ARCHITECTURE}-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
)
"""Where libraries are looked for, in this order."""

OWN_LIBRARIES = Path(str(files("reap"))) / "lib"
"""The folder of Reap's own, as CMake installs them into the wheel."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def names() -> list[str]:
    """Every name that needs no path."""
    return [DEFAULT, *OWN, *(entry.name for entry in ENTRIES), *recipes()]


def find(name: str) -> Allocator | Missing:
    """The allocator of that name on this machine, or how to install it.

    Throws ReapError for a name that is not in the catalogue, and for a file that turns out to be no
    allocator.
    """
    if name == DEFAULT:
        return Allocator(name=DEFAULT)
    if name in OWN:
        return _own(name)
    for entry in ENTRIES:
        if entry.name == name:
            path = _locate(entry)
            if path is None:
                package = entry.package
                return Missing(name=name, package=package, install=_line([package], []))
            return library.examine(name, str(path))
    if name in recipes():
        return _built(recipes()[name])
    raise ReapError(
        f"no allocator is called '{name}'",
        f"{did_you_mean(name, names())}known are {', '.join(names())}; name any other as NAME=/path/lib.so",
        ExitCode.USAGE,
    )


def look(name: str) -> Allocator | Missing:
    """Finds one that may be damaged: it is missing then, with what is wrong with it, and spoils no others."""
    try:
        return find(name)
    except ReapError as error:
        return Missing(name=name, install=f"{error.what}; {error.hint}" if error.hint else error.what)


def survey() -> list[Allocator | Missing]:
    """All of the catalogue, with packages and versions where dpkg knows them."""
    found = [look(name) for name in names()]
    return [with_package(each) if isinstance(each, Allocator) else each for each in found]


def parse(text: str) -> list[Allocator]:
    """The allocators of `glibc,jemalloc,NAME=/path/lib.so`, in that order, each of them usable.

    Throws ReapError for an unknown name, a name given twice, one that is not installed, or a file that is
    no allocator.
    """
    chosen: list[Allocator] = []
    missing: list[Missing] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, given, path = word.partition("=")
        if not _NAME.fullmatch(name):
            raise ReapError(
                f"'{word}' names no allocator",
                "write names separated by commas, as in jemalloc,mine=/path/libmine.so",
                ExitCode.USAGE,
            )
        if given and name == DEFAULT:
            raise ReapError(
                f"'{DEFAULT}' always means the C library's own malloc", "choose another name", ExitCode.USAGE
            )
        allocator = library.examine(name, path) if given else find(name)
        if isinstance(allocator, Missing):
            missing.append(allocator)
        else:
            chosen.append(allocator)
    _refuse_repetition([each.name for each in chosen])
    if missing:
        raise ReapError(
            f"not installed here: {', '.join(each.name for each in missing)}",
            f"{install_command(missing)}, or leave them out of --allocators",
            ExitCode.USAGE,
        )
    return chosen


def install_command(missing: Iterable[Missing]) -> str:
    """The line that installs all of them."""
    wanted = list(missing)
    others = dict.fromkeys(each.install for each in wanted if each.name in OWN)
    debian = [each.package for each in wanted if each.package]
    built = [each.name for each in wanted if each.install == _line([], [each.name])]
    damaged = [each.install for each in wanted if not each.package and each.name not in (*OWN, *built)]
    return "; ".join([*filter(None, [_line(debian, built)]), *others, *damaged])


def recipe_of(name: str) -> Recipe:
    """The recipe by which an allocator of that name is built. Throws ReapError if it is not built here."""
    if name in recipes():
        return recipes()[name]
    hint = f"{did_you_mean(name, recipes())}these can be built: {', '.join(recipes())}"
    if package := package_of(name):
        hint = f"it is Debian's: {_line([package], [])}\n  {hint}"
    raise ReapError(f"there is no recipe to build an allocator called '{name}'", hint, ExitCode.USAGE)


def word(allocator: Allocator) -> str:
    """Word that `parse` makes it of: its name, or NAME=FILE."""
    return allocator.name if allocator.name in names() else f"{allocator.name}={allocator.library}"


def package_of(name: str) -> str:
    """The Debian package that brings an allocator of that name; empty if none does."""
    return next((entry.package for entry in ENTRIES if entry.name == name), "")


def folder_of(recipe: Recipe) -> Path:
    """Folder of an allocator that was built here. Throws ReapError if it was not yet."""
    if store.installed(recipe) is None:
        raise ReapError(
            f"{recipe.name} {recipe.version} is not installed here", _line([], [recipe.name]), ExitCode.USAGE
        )
    return store.folder(recipe)


def with_package(allocator: Allocator) -> Allocator:
    """Allocator with its Debian package and version, where dpkg knows them (it takes dpkg some 60 ms)."""
    if allocator.crate or allocator.name in OWN:
        return allocator
    package, package_version = packages.owner(allocator.library or _libc())
    return Allocator(
        name=allocator.name,
        library=allocator.library,
        package=package,
        version=package_version,
        notes=allocator.notes,
    )


def _line(debian: list[str], built: list[str]) -> str:
    commands = [apt.command(debian)] if debian else []
    commands += [f"reap allocators install {' '.join(built)}"] if built else []
    return " && ".join(commands)


def _own(name: str) -> Allocator | Missing:
    """One that comes with Reap."""
    path = OWN_LIBRARIES / OWN[name]
    if not path.is_file():
        return Missing(name=name, install=installation.again())
    found = library.examine(name, str(path))
    return Allocator(name=name, library=found.library, version=__version__, notes=found.notes)


def _built(recipe: Recipe) -> Allocator | Missing:
    stamp = store.installed(recipe)
    if stamp is None:
        return Missing(name=recipe.name, install=_line([], [recipe.name]))
    try:
        found = library.examine(recipe.name, str(store.library(recipe)))
    except ReapError as error:
        raise ReapError(error.what, f"reap allocators install --force {recipe.name}", error.code) from error
    return Allocator(
        name=found.name,
        library=found.library,
        crate=stamp.crate,
        version=recipe.version,
        notes=found.notes,
    )


def _libc() -> str:
    return f"/lib/{_ARCHITECTURE}-linux-gnu/libc.so.6"


def _locate(entry: Entry) -> Path | None:
    for folder in FOLDERS:
        for pattern in entry.files:
            if found := sorted(Path(folder).glob(pattern), key=_version_order):
                return found[-1]
    return None


def _version_order(path: Path) -> list[tuple[int, str]]:
    """So that llvm-19 comes after llvm-9."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", str(path))]


def _refuse_repetition(chosen: list[str]) -> None:
    for name in chosen:
        if chosen.count(name) > 1:
            raise ReapError(f"allocator {name} is named twice", "name each once", ExitCode.USAGE)
