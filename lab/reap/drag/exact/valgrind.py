"""The exact drag engine, a Valgrind tool: compiled once for the Valgrind that is installed.

It is linked with Valgrind's own libraries, which differ from version to version and are under the GPL; so the
package carries its source, and what is built from it stays in the user's cache.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

from reap.base import files
from reap.base.errors import ExitCode, ReapError
from reap.launch.tools import valgrind
from reap.launch.tools.valgrind import PLATFORM

_HEADERS = ("/usr/include/valgrind", "/usr/local/include/valgrind")
_LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu/valgrind",
    "/usr/lib/valgrind",
    "/usr/local/lib/valgrind",
    "/usr/lib64/valgrind",
)
_LINKED = ("coregrind", "vex", "gcc-sup")
_PRELOAD = "replacemalloc_toolpreload"
_FROM_VALGRIND = (f"vgpreload_core-{PLATFORM}.so", "default.supp")
"""What its core looks for beside the tool."""
_COMPILE = [
    *("-std=gnu11", "-O2", "-fno-strict-aliasing", "-fno-stack-protector", "-fno-pie", "-fno-builtin"),
    *("-mno-red-zone", "-DVGA_amd64=1", "-DVGO_linux=1", "-DVGP_amd64_linux=1"),
    "-DVGPV_amd64_linux_vanilla=1",
    # A Valgrind whose interface is another must not go unnoticed.
    *(
        "-Werror=incompatible-pointer-types",
        "-Werror=implicit-function-declaration",
        "-Werror=int-conversion",
    ),
]
_LINK = [
    *("-static", "-no-pie", "-nodefaultlibs", "-nostartfiles", "-u", "_start"),
    # Where Valgrind's tools lie; nothing of the program may come to be there.
    *("-Wl,--build-id=none", "-Wl,-Ttext-segment=0x58000000"),
]
_LINK_PRELOAD = ["-nodefaultlibs", "-shared", "-Wl,-z,interpose,-z,initfirst", "-Wl,--whole-archive"]
_INSTALL = "sudo apt-get install --no-install-recommends valgrind gcc libc6-dev"


def ready(tell: Callable[[str], None]) -> Path:
    """The folder with the engine, for VALGRIND_LIB; builds it (a few seconds) if it is not there yet.

    `tell` learns that it is being built. Throws ReapError where Valgrind or the compiler is missing, or the
    engine cannot be built.
    """
    tools, headers, libraries, compiler = _parts()
    sources = Path(str(resources.files("reap"))) / "drag" / "valgrind"
    key = _key(sources, [*libraries, tools / f"callgrind-{PLATFORM}"], compiler)
    place = _cache() / key
    if os.access(place / f"drag-{PLATFORM}", os.X_OK):
        return place
    tell("building the drag engine for the Valgrind that is installed (once)")
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=place.parent) as work:
            made = Path(work) / "made"
            made.mkdir(mode=0o700)
            _build(sources, headers, libraries, compiler, made)
            for name in _FROM_VALGRIND:
                (made / name).symlink_to(tools / name)
            _move(made, place)
    except OSError as error:
        raise ReapError(
            f"the drag engine cannot be kept in {place.parent}: {error.strerror}",
            "make room there, or set XDG_CACHE_HOME to a folder where you may write",
        ) from error
    return place


def for_all_users(engine: Path, folder: Path) -> Path:
    """The engine where every user may run it: in `folder` if root keeps it where others may not look.

    Only root's programs become other users. Throws ReapError where there is no room for it.
    """
    ways = [engine, *engine.parents]
    if os.geteuid() != 0 or all(way.stat().st_mode & stat.S_IXOTH for way in ways):
        return engine
    copy = folder / "engine"
    try:
        shutil.copytree(engine, copy, symlinks=True, copy_function=_link_or_copy)
    except OSError as error:
        raise ReapError(
            f"the drag engine cannot be copied to {folder}: {error.strerror or error}",
            "make room there, or set TMPDIR to a folder with room",
        ) from error
    copy.chmod(0o755)
    for file in copy.iterdir():
        if not file.is_symlink():
            file.chmod(0o755)
    return copy


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system
        shutil.copy2(source, target)


def require() -> None:
    """Throws ReapError where something is missing that the engine is made with."""
    _parts()


def _parts() -> tuple[Path, Path, list[Path], str]:
    """Valgrind's tools, headers and libraries, and the compiler."""
    tools = valgrind.tools()
    if tools is None:
        raise ReapError(
            "Valgrind, which sees every access (on x86-64 alone), is not installed",
            _INSTALL,
            ExitCode.FAILED,
        )
    headers = _first(_HEADERS, "pub_tool_basics.h")
    folder = _first(_LIBRARIES, f"libcoregrind-{PLATFORM}.a")
    if headers is None or folder is None:
        raise ReapError(
            "Valgrind is installed without the headers and libraries that tools are made with",
            f"{_INSTALL} (other systems have them in valgrind-devel)",
            ExitCode.FAILED,
        )
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise ReapError("the drag engine has to be compiled, and there is no gcc", _INSTALL, ExitCode.FAILED)
    libraries = [folder / f"lib{name}-{PLATFORM}.a" for name in (*_LINKED, _PRELOAD)]
    return tools, headers, libraries, compiler


def _first(folders: tuple[str, ...], name: str) -> Path | None:
    return next((Path(folder) for folder in folders if (Path(folder) / name).is_file()), None)


def _cache() -> Path:
    return files.cache_folder() / "drag"


def _key(sources: Path, made_from: list[Path], compiler: str) -> str:
    """Another for other sources, another Valgrind, another compiler."""
    digest = hashlib.sha256(f"{compiler} {_COMPILE} {_LINK}".encode())
    for path in sorted(sources.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for path in made_from:
        facts = path.stat()
        digest.update(f"{path} {facts.st_size} {facts.st_mtime_ns}".encode())
    return digest.hexdigest()[:24]


def _build(sources: Path, headers: Path, libraries: list[Path], compiler: str, folder: Path) -> None:
    *linked, preload = map(str, libraries)
    files = [str(path) for path in sorted(sources.glob("*.c"))]
    tool, stand_ins = folder / f"drag-{PLATFORM}", folder / f"vgpreload_drag-{PLATFORM}.so"
    _run(
        [
            compiler,
            *_COMPILE,
            f"-I{headers}",
            f"-I{sources}",
            *files,
            *_LINK,
            *linked,
            "-lgcc",
            "-o",
            str(tool),
        ]
    )
    _run([compiler, *_LINK_PRELOAD, preload, "-Wl,--no-whole-archive", "-o", str(stand_ins)])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return
    said = list(_errors(done.stderr))
    raise ReapError(
        f"the drag engine cannot be built with {command[0]}: {said[0] if said else 'it says nothing'}",
        f"{_INSTALL}; the engine is made for Valgrind 3.19 to 3.22",
    )


def _errors(text: str) -> Iterator[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield from (line for line in lines if "error" in line)
    yield from lines


def _move(made: Path, place: Path) -> None:
    """Gives it its name, unless another process was faster: both are the same."""
    try:
        made.rename(place)
    except OSError:
        if not (place / f"drag-{PLATFORM}").is_file():
            raise
