"""Finds the program that a command names, and says what a preload can do with it before anything runs."""

import os
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path

from reap.allocators import elf
from reap.allocators.records import MALLOC
from reap.base.errors import ExitCode, ReapError
from reap.base.records import Record
from reap.launch import loader, privileges, shell_line
from reap.launch.linked import redirect
from reap.launch.linked.recognise import PRIVATE_NAMES

_OTHER_FREES = frozenset(
    {"dallocx", "sdallocx", "rallocx", "xallocx", "je_free", "je_dallocx", "mi_free", "mi_free_size"}
    | {"mi_heap_destroy", "mi_heap_delete", "tc_free", "tc_free_sized", "tc_delete", "rpfree", "sn_free"}
)
"""Functions by which a program gives blocks back to one allocator and no other."""

_SANITIZERS = {
    "__asan_init": "AddressSanitizer",
    "__hwasan_init": "HWAddressSanitizer",
    "__lsan_init": "LeakSanitizer",
    "__msan_init": "MemorySanitizer",
    "__tsan_init": "ThreadSanitizer",
    "libasan.so": "AddressSanitizer",
    "libclang_rt.asan": "AddressSanitizer",
    "libhwasan.so": "HWAddressSanitizer",
    "liblsan.so": "LeakSanitizer",
    "libtsan.so": "ThreadSanitizer",
    "libclang_rt.tsan": "ThreadSanitizer",
}
"""Functions and libraries of the sanitizers that bring a malloc of their own and must come first."""

_INTERESTING = frozenset({MALLOC, "free", *PRIVATE_NAMES, *_OTHER_FREES, *_SANITIZERS})
_LONGEST_CHAIN = 5
"""The kernel follows as many scripts that interpret scripts."""


class Program(Record):
    """Program that a command will really execute."""

    command: list[str]
    """As it was given."""
    path: str
    """The file to execute, absolute."""
    image: str
    """The ELF file that becomes the process: `path` itself, or the interpreter of the script."""
    loader: str
    """The dynamic loader that it asks for; empty for a static program."""
    brings_malloc: bool
    """Whether it exports a malloc of its own, so that no preload can serve it."""
    stands_aside: str = ""
    """The allocator that is linked into it and that trials can have another one take the place of; empty if
    none is, or if it cannot be: see `redirect`."""
    keeps_malloc: str = ""
    """Why blocks of another malloc than its own would be its end, as a clause; empty if they would not."""
    sanitizer: str = ""
    """The sanitizer that it was built with, whose cost would hide its own; empty if none."""
    obstacle: str = ""
    """Why no preload can enter it, as a sentence; empty if one can."""
    remedy: str = ""
    """What to do about the obstacle."""
    notes: list[str] = []

    @property
    def takes_allocators(self) -> bool:
        """Whether another allocator can serve it in a trial."""
        return not self.obstacle and (not self.brings_malloc or bool(self.stands_aside))


def resolve(
    command: list[str], *, directory: str = "", environment: Mapping[str, str] | None = None
) -> Program:
    """Finds the program as execvp would, follows the interpreters of scripts, and reads the ELF file.

    Throws ReapError with exit code 127 if it does not exist and 126 if it cannot be executed here. What
    keeps a preload out is no error yet: see `require_preloadable`.
    """
    if not command or not command[0]:
        raise ReapError("no command to run", "put it at the end, as in: -- ./program", ExitCode.USAGE)
    variables = os.environ if environment is None else environment
    base = Path(directory) if directory else _current_directory()
    try:
        path = _find(command[0], base, variables.get("PATH", os.defpath))
    except ReapError as error:
        if error.code == ExitCode.NOT_FOUND and (advice := shell_line.advice(command)):
            raise ReapError(error.what, advice, error.code) from error
        raise
    image, notes = _follow(path, base, variables)
    if loader.is_loader(image):
        image = base / loader.program_of(image, command[1:])
        _require_executable(image)
    facts = _read(image)
    obstacle, remedy = _obstacle(image, facts, command)
    aside = None if obstacle or str(image) != str(path) else redirect.find(str(image))
    return Program(
        command=command,
        path=str(path),
        image=str(image),
        loader=facts.interpreter,
        brings_malloc=MALLOC in facts.exports,
        stands_aside=aside.allocator if aside else "",
        keeps_malloc=_keeps_malloc(facts),
        sanitizer=_sanitizer(facts),
        obstacle=obstacle,
        remedy=remedy,
        notes=[*notes, *_notes(image, facts, aside)],
    )


def _current_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise ReapError("the current directory does not exist any more", "cd to one that does") from error


def require_litterable(program: Program) -> None:
    """Throws ReapError where the heap is the program's own, into which no litter can be put from outside."""
    if program.brings_malloc:
        name = program.command[0]
        raise _cannot(
            f"{name} brings its own malloc, which a preload cannot replace: its heap cannot be littered",
            "a build of it that takes malloc from the C library can; "
            f"what its memory is used for: {shlex.join(['reap', 'rss', '--', *program.command])}",
        )


def require_preloadable(program: Program) -> None:
    """Throws ReapError (126) if nothing can be preloaded into the program."""
    if program.obstacle:
        raise ReapError(program.obstacle, program.remedy, ExitCode.NOT_EXECUTABLE)


def require_traceable(program: Program) -> None:
    """Throws ReapError (126) if being held at its start would take a privilege from the program."""
    image = Path(program.image)
    if os.geteuid() != 0 and (
        privileges.changes_identity(image.stat()) or privileges.has_capabilities(image)
    ):
        raise _cannot(
            f"{image} is set-user-ID or has file capabilities, which it does not get while it is traced",
            f"sudo reap record --via uprobe -- {shlex.join(program.command)}",
        )


def _find(name: str, base: Path, search: str) -> Path:
    if "/" in name:
        path = base / name
        _require_executable(path)
        return path
    refused: Path | None = None
    for folder in search.split(os.pathsep):
        path = base / (folder or ".") / name
        if _is_file(path):
            if os.access(path, os.X_OK):
                return path.absolute()
            refused = refused or path
    if refused is not None:
        _require_executable(refused)
    raise ReapError(
        f"{name}: no such command in PATH",
        f"check the spelling, or give its path (./{name} for one in this folder)",
        ExitCode.NOT_FOUND,
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except PermissionError:  # a folder of PATH that we may not enter
        return False


def _require_executable(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise ReapError(f"{path} does not exist", "check the path", ExitCode.NOT_FOUND) from None
    except NotADirectoryError:
        raise ReapError(
            f"{path} does not exist: a part of the path is a file", "check the path", ExitCode.NOT_FOUND
        ) from None
    except OSError as error:
        raise _cannot(
            f"{path} cannot be reached: {error.strerror}", "ask for access to its folders"
        ) from error
    if stat.S_ISDIR(mode):
        raise _cannot(f"{path} is a folder, not a program", "name a program in it")
    if not stat.S_ISREG(mode):
        raise _cannot(f"{path} is not a regular file", "name a program")
    if not os.access(path, os.X_OK):
        raise _cannot(f"{path} is not executable", f"chmod +x {path}, or name its interpreter first")


def _follow(path: Path, base: Path, variables: Mapping[str, str]) -> tuple[Path, list[str]]:
    """The ELF file behind a script, and what is worth a note on the way."""
    image = path
    for _ in range(_LONGEST_CHAIN):
        words = _interpreter(image)
        if not words:
            return image, []
        interpreter = base / words[0]
        try:
            _require_executable(interpreter)
        except ReapError as error:
            raise ReapError(
                f"{image} asks for the interpreter {words[0]}, which cannot be used: {error.what}",
                "install the interpreter, or correct the first line of the script",
                error.code,
            ) from error
        image = interpreter
        if interpreter.name == "env" and (name := _program_of_env(words[1:])):
            image = _find(name, base, variables.get("PATH", os.defpath))
    raise _cannot(f"{path} is a script of a script of a script: too many to follow", "name the interpreter")


def _interpreter(path: Path) -> list[str]:
    """The words of a first line that begins with #!; none for what is no script."""
    try:
        with path.open("rb") as file:
            start = file.read(256)
    except PermissionError:
        raise _cannot(
            f"{path} cannot be read, so that what it needs is not known", f"chmod a+r {path}"
        ) from None
    except OSError as error:
        raise _cannot(f"{path} cannot be read: {error.strerror}", "") from error
    if not start:
        raise _cannot(f"{path} is empty", "give a program, or a script that begins with #!")
    if not start.startswith(b"#!"):
        if not start.startswith(elf.MAGIC):
            raise _cannot(
                f"{path} is neither an ELF program nor a script that begins with #!",
                f"if it is a shell script, run: sh {path}",
            )
        return []
    words = start[2:].splitlines()[0].decode(errors="replace").split()
    if not words:
        raise _cannot(f"{path} begins with #! but names no interpreter", "write it on the first line")
    return words


def _program_of_env(words: list[str]) -> str:
    """Program that env(1) will execute: its first word that is neither an option nor an assignment."""
    return next((word for word in words if not word.startswith("-") and "=" not in word), "")


def _read(image: Path) -> elf.Elf:
    try:
        facts = elf.read(image, _INTERESTING)
    except elf.NotElfError as error:
        raise _cannot(f"{image} {error}", "install or build it again") from error
    if facts.kind not in ("EXEC", "DYN"):
        raise _cannot(f"{image} is an ELF file but no program", "link it into a program first")
    if not facts.native:
        raise _cannot(
            f"{image} is a program for another machine ({facts.machine}, {facts.bits}-bit)",
            "build it for this machine, or measure it on its own",
        )
    if facts.interpreter and not Path(facts.interpreter).exists():
        raise _cannot(
            f"{image} asks for the loader {facts.interpreter}, which is not installed",
            "install the C library that the program was built for",
        )
    return facts


def _obstacle(image: Path, facts: elf.Elf, command: list[str]) -> tuple[str, str]:
    """Obstacle that keeps a preload out of the program, and what to do about it."""
    if not facts.interpreter:
        seen = f"see where its time goes: {shlex.join(['reap', 'wall', '--', *command])}"
        build = "link it dynamically, or choose the allocator when building it"
        return (
            f"{image} is statically linked: nothing can be preloaded into it",
            f"it is a Go program, which has an allocator of its own; {seen}"
            if facts.go
            else f"{build}; or {seen}",
        )
    if (found := loader.obstacle(image, facts.interpreter)) is not None:
        return found
    if sanitizer := _sanitizer(facts):
        return (
            f"{image} is built with {sanitizer}, which brings its own malloc and must come first",
            "build it without -fsanitize, as its users have it",
        )
    copy = f"measure a copy without the privilege: cp {image} /tmp/"
    if privileges.changes_identity(image.stat()):
        return f"{image} is set-user-ID or set-group-ID: the loader ignores preloads", copy
    if os.getuid() != 0 and privileges.has_capabilities(image):
        return f"{image} has file capabilities: the loader ignores preloads", copy
    return "", ""


def _keeps_malloc(facts: elf.Elf) -> str:
    if MALLOC in facts.exports:
        return "it brings its own malloc, and may give blocks back to that by another name than free"
    other = sorted(facts.imports & _OTHER_FREES)
    return f"it gives blocks back by {other[0]}, which knows its own allocator's alone" if other else ""


def _sanitizer(facts: elf.Elf) -> str:
    """The sanitizer that it was built with, linked in or as a library; empty if none."""
    for sign, name in _SANITIZERS.items():
        if sign in facts.defines or any(library.startswith(sign) for library in facts.needed):
            return name
    return ""


_RUNTIMES = {
    "node": "JavaScript's objects are in V8's own heap",
    "nodejs": "JavaScript's objects are in V8's own heap",
    "java": "Java's objects are in the JVM's own heap",
}
"""Programs whose memory is mostly none of malloc's, by their names."""


def _notes(image: Path, facts: elf.Elf, aside: redirect.Redirect | None) -> list[str]:
    """Notes on what makes a measurement by preload doubtful, though not impossible."""
    runtime = _RUNTIMES.get(image.name)
    said = f"{runtime}, which malloc does not serve: figures of malloc leave them out"
    mapped = [said] if runtime else []
    return [*mapped, *_mallocs(image, facts, aside)]


def _mallocs(image: Path, facts: elf.Elf, aside: redirect.Redirect | None) -> list[str]:
    if aside is not None:
        said = f"{image.name} has {aside.allocator} linked in: what it allocates there passes no preload"
        return [f"{said}, and another allocator takes its place by a jump from each of its functions"]
    hidden = sorted({PRIVATE_NAMES[name] for name in facts.defines if name in PRIVATE_NAMES})
    if hidden:
        names = " and ".join(hidden)
        return [f"{image.name} has {names} linked in; what it allocates there passes no preload"]
    if MALLOC in facts.exports:
        return [f"{image.name} brings its own malloc, which a preload cannot replace"]
    if MALLOC in facts.defines and facts.interpreter:
        return [f"{image.name} has a malloc of its own for itself; what it allocates there passes no preload"]
    return []


def _cannot(what: str, hint: str) -> ReapError:
    return ReapError(what, hint, ExitCode.NOT_EXECUTABLE)
