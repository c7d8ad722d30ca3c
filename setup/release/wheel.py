"""Source distribution and wheel: built, and repaired so that the wheel runs on other systems of Linux."""

import io
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import BinaryIO

from commands import run
from elftools.elf.elffile import ELFFile
from stubs import minor_version
from versions import ROOT, NotReadyError

import older

LICENCES = "reap_lab.libs/licenses"
"""Where the wheel has the licences of the libraries that it brings: a file PACKAGE_VERSION for each."""
GLIBC = re.compile(r"manylinux_2_(\d+)_x86_64")


def sources(out: Path) -> Path:
    """Build the source distribution into `out`."""
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", out)
    return one(out, "*.tar.gz")


def wheel(out: Path, source: Path) -> Path:
    """Build a wheel of a source distribution for this Python into `out`.

    Libraries are linked into it statically, with their licences beside them. Its tag names the oldest glibc
    that has all that it calls.
    """
    # Always there: unity builds name their sources in full, so that the compiler cache finds them again.
    sources = ROOT / "build" / "sdist"
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir(parents=True)
    run("tar", "--extract", "--file", source, "--directory", sources)
    with tempfile.TemporaryDirectory() as scratch:
        built, repaired, unpacked = (Path(scratch, name) for name in ("built", "repaired", "unpacked"))
        linked = f"--config-setting=cmake.define.REAP_OLDER={older.prepare()}"
        build = ("-m", "build", "--wheel", "--no-isolation", linked, "--outdir")
        run(sys.executable, *build, built, one(sources, "*"))
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", repaired, one(built, "*.whl"))
        run(sys.executable, "-m", "wheel", "unpack", "--dest", unpacked, one(repaired, "*.whl"))
        _add_licences(one(unpacked, "*"))
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", out, one(unpacked, "*"))
    return one(out, "*.whl")


def studies(out: Path) -> Path:
    """Build the wheel of reap-studies into `out`; it holds nothing that is compiled."""
    folder = ROOT / "studies"
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, folder)
    return one(out, "reap_studies-*.whl")


def _add_licences(folder: Path) -> None:
    """What Debian says of the copyright of each library that is linked into the module."""
    for package in older.LINKED:
        version = run("dpkg-query", "--show", "--showformat=${Version}\\n", package).splitlines()[0]
        target = folder / LICENCES / f"{package}_{version}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path("/usr/share/doc", package, "copyright").read_bytes())


def glibc(wheel: Path) -> int:
    """The minor version of the oldest glibc 2 that the wheel's name promises to run on."""
    versions = [int(minor) for minor in GLIBC.findall(wheel.name)]
    if not versions:
        raise NotReadyError(f"{wheel.name}: its tag is not one of manylinux")
    return min(versions)


def bundled(wheel: Path) -> list[tuple[str, str]]:
    """Debian's packages whose libraries are linked into a wheel, each with its version."""
    with zipfile.ZipFile(wheel) as archive:
        names = [Path(name) for name in archive.namelist()]
    licences = [path.name for path in names if str(path.parent) == LICENCES]
    return [(package, version) for package, _, version in (name.partition("_") for name in sorted(licences))]


def newest(wheel: Path) -> dict[str, int]:
    """By file of a wheel, the minor version of the oldest glibc 2 that has all that it needs."""
    return {name: max([0, *map(minor_version, needs)]) for name, needs in _needs(wheel).items()}


def too_new(wheel: Path) -> dict[str, list[str]]:
    """By file of a wheel, what it needs of a newer glibc than it may: symbols, each with its version."""
    found = {}
    for name, needs in _needs(wheel).items():
        # What is below reap/lib enters programs of any system.
        limit = older.PRELOADS if name.startswith("reap/lib/") else older.MODULE
        newer = [symbols for version, symbols in needs.items() if minor_version(version) > limit]
        if newer:
            found[name] = sorted(symbol for symbols in newer for symbol in symbols)
    return found


def _needs(wheel: Path) -> dict[str, dict[str, list[str]]]:
    """By ELF file of a wheel, the symbols that it needs, by version."""
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            if data[:4] == b"\x7fELF":
                found[name] = _versioned(io.BytesIO(data))
    return found


def _versioned(file: BinaryIO) -> dict[str, list[str]]:
    """The symbols that an ELF file needs by version, each as SYMBOL@VERSION; versions without one, too."""
    elf = ELFFile(file)
    needs, versions = (elf.get_section_by_name(f".gnu.version{end}") for end in ("_r", ""))
    if needs is None:
        return {}
    names = {aux.entry.vna_other: aux.name for _, each in needs.iter_versions() for aux in each}
    symbols = elf.get_section_by_name(".dynsym")
    found: dict[str, list[str]] = {name: [] for name in names.values()}
    for i in range(symbols.num_symbols()):
        if (index := versions.get_symbol(i).entry.ndx) in names:
            found[names[index]].append(f"{symbols.get_symbol(i).name}@{names[index]}")
    return found


def one(folder: Path, pattern: str) -> Path:
    """The one file in a folder that a pattern matches."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise NotReadyError(f"{folder} has {len(found)} files {pattern}, and one was expected: empty it")
    return found[0]
