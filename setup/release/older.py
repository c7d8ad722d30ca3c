"""What a wheel is linked with, so that systems with an older glibc run it: a folder for CMake's REAP_OLDER.

`2.17` and `2.28` have C libraries to link against (stubs.py), `lib` has elfutils: the archives of Debian's
libdw-dev are not for a shared object, so its sources are compiled here. The headers are those of libdw-dev.
"""

import os
import platform
import shutil
from pathlib import Path

import stubs
from commands import run
from versions import ROOT, NotReadyError

PRELOADS, MODULE = 17, 28
"""Minor versions of the oldest glibc 2 for what enters programs, and for the rest of the wheel."""
FOLDER = ROOT / "build" / "older"
MIRROR = "http://deb.debian.org/debian"
LINKED = ("libdw-dev", "libelf-dev", "libiberty-dev", "liblzma-dev", "libzstd-dev", "zlib1g-dev")
"""Packages whose libraries are linked into the module."""
PARTS = ("lib", "libelf", "libcpu", "backends", "libebl", "libdwelf", "libdwfl", "libdw")


def prepare() -> Path:
    """Make the folder, or complete it. Only the sources of elfutils need the network, once."""
    stubs.write(FOLDER / f"2.{PRELOADS}", PRELOADS)
    stubs.write(FOLDER / f"2.{MODULE}", MODULE, stubs.OLDER)
    if not (FOLDER / "lib" / "libdw.a").exists():
        elfutils(_fetch(FOLDER / "sources"))
    return FOLDER


def _fetch(folder: Path) -> Path:
    """Fetch this Debian's sources of elfutils by apt, which checks their signature."""
    system = platform.freedesktop_os_release()
    if system.get("ID") != "debian":
        raise NotReadyError("elfutils' sources are Debian's: setup/platforms builds in a root of it")
    suite = system.get("VERSION_CODENAME", "stable")
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "sources.list").write_text(f"deb-src [signed-by={keys}] {MIRROR} {suite} main\n")
    settings = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }
    options = [f"--option={name}={value}" for name, value in settings.items()]
    run("apt-get", *options, "update", "--quiet", cwd=folder)
    run("apt-get", *options, "source", "--quiet", "elfutils", cwd=folder)
    return next(path for path in folder.glob("elfutils-*") if path.is_dir())


def elfutils(sources: Path) -> None:
    """Compile libelf.a and libdw.a. As in Debian's, libdebuginfod is used where the system has it."""
    features = ("--disable-debuginfod", "--enable-libdebuginfod=dummy", "--disable-nls", "--without-bzlib")
    run("./configure", *features, "--without-zstd", "CFLAGS=-O2 -fPIC", cwd=sources)
    for part in PARTS:
        run("make", f"--jobs={os.cpu_count()}", f"--directory={part}", cwd=sources)
    (FOLDER / "lib").mkdir(exist_ok=True)
    for library in ("libelf/libelf.a", "libdw/libdw.a"):
        shutil.copy(sources / library, FOLDER / "lib")
