"""Programs that were compiled to tell the drag engine of each access, and how they are compiled."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

from reap.base.errors import ExitCode, ReapError
from reap.drag.exact.launch import RECORDINGS
from reap.launch import native_files, spawn
from reap.launch.records import Launch, Outcome

_FOLDER = "REAP_DRAG_FOLDER"
# Link-time optimisation would instrument when it links, where the switch cannot stand. Nobody is to be told
# of a race detector that is none: programs choose other code for it.
_INSTRUMENT = ["-g", "-fno-omit-frame-pointer", "-fno-lto", "-fsanitize=thread", "-U__SANITIZE_THREAD__"]
# Gcc would put moves in the place of these functions, where their sizes are known, and tell of none of them;
# with _FORTIFY_SOURCE it would not hear that it must not.
# Clang would leave out a read that a write follows: to a race detector the write says it all.
_KINDS = {
    "gcc": [
        *("--param", "tsan-instrument-func-entry-exit=0", "-U_FORTIFY_SOURCE"),
        *(f"-fno-builtin-{name}" for name in ("memcpy", "memmove", "memset", "memcmp")),
    ],
    "clang": [
        *("-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-compound-read-before-write"),
        *("-fno-integrated-as", "-DREAP_TSAN=0"),
    ],
}
_COMPILES_ONLY = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"}
_VALUE_FOLLOWS = {"-o", "-include", "-imacros", "-MF", "-MT", "-MQ", "-I", "-D", "-U", "-isystem", "-iquote"}
_VALUE_FOLLOWS |= {"-idirafter", "--param", "-Xpreprocessor", "-Xassembler", "-Xclang", "-mllvm"}
_VALUE_FOR_LINKER = {"-Xlinker", "-L", "-l", "-T", "-u", "-z", "-e"}
_SOURCES = {".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".i", ".ii"}


def run(launch: Launch, folder: Path) -> Outcome:
    """Runs a program that `reap-drag-cc` compiled; the recordings are in `folder`, which must exist.

    Throws ReapError if it left none, since it was not compiled so, and what `spawn.run` throws.
    """
    environment = {**launch.environment, _FOLDER: str(folder.absolute())}
    outcome = spawn.run(replace(launch, environment=environment))
    if not any(folder.glob(RECORDINGS)):
        raise ReapError(
            f"{launch.argv[0]} did not record its accesses",
            "build it with CC=reap-drag-cc and CXX=reap-drag-c++, or use --engine exact",
            ExitCode.NOT_EXECUTABLE,
        )
    return outcome


def compiler(language: str) -> list[str]:
    """Compiler's command, in words: REAP_CC or REAP_CXX (`ccache gcc`), gcc or g++ if they are not set.

    Throws ReapError where a quotation in them does not end.
    """
    variable, usual = ("REAP_CC", "gcc") if language == "c" else ("REAP_CXX", "g++")
    named = os.environ.get(variable, "")
    if shutil.which(named):  # with a space in its path
        return [named]
    try:
        return shlex.split(named) or [usual]
    except ValueError as error:
        raise ReapError(
            f"{variable} names no compiler: {error} in {named}", "quote it as for a shell"
        ) from error


def instrumented(compiler: Sequence[str]) -> list[str]:
    """The options under which a compiler calls the runtime at each access, for our assembler to inline."""
    names = [Path(word).name for word in compiler if not word.startswith("-")]
    kind = "clang" if any("clang" in name for name in names) else "gcc"
    return [*_INSTRUMENT, *_KINDS[kind], f"-B{native_files.assembler().parent}"]


def assembler(compiler: Sequence[str]) -> dict[str, str]:
    """The variables by which our assembler finds the compiler's own, and ccache knows of ours."""
    question = [*compiler, "-print-prog-name=as"]
    try:
        answer = subprocess.run(question, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        answer = ""  # who runs the compiler says so
    others = os.environ.get("CCACHE_EXTRAFILES", "").split(":")
    hashed = ":".join(name for name in (*others, str(native_files.assembler())) if name)
    return {"REAP_DRAG_AS": answer or "as", "CCACHE_EXTRAFILES": hashed}


def linked() -> list[str]:
    """The options that link the runtime; not the compiler's own switch, which means its race detector."""
    folder = native_files.preload("drag-callbacks").parent
    runtime = "-Wl,--push-state,--no-as-needed,-lreap-drag-callbacks,--pop-state"
    return [f"-L{folder}", runtime, f"-Wl,-rpath,{folder}"]


def commands(compiler: Sequence[str], words: Sequence[str], place: Path) -> list[list[str]]:
    """Commands to run in the compiler's stead, in order; objects in between are made in `place`.

    A command that compiles and links is taken apart: the options of the two exclude each other. Throws
    ReapError for a command with `-x`, where which words are sources cannot be seen.
    """
    words = [word for word in _expanded(words) if word != "-pipe"]  # our assembler reads a file
    if not words or _COMPILES_ONLY & set(words):
        return [[*compiler, *words, *instrumented(compiler)]] if words else [[*compiler]]
    if all(word.startswith("-") for word in words):
        return [[*compiler, *words]]  # a question, like --version
    taken_apart: list[list[str]] = []
    link: list[str] = []
    value_follows = False
    for word in words:
        if word == "-x" or (word.startswith("-x") and len(word) > 2):
            raise ReapError(
                "reap-drag-cc does not support -x when it compiles and links at once", "compile with -c first"
            )
        source = not value_follows and not word.startswith("-") and Path(word).suffix in _SOURCES
        value_follows = word in _VALUE_FOLLOWS | _VALUE_FOR_LINKER
        if source:
            made = str(place / f"{len(taken_apart)}.o")
            others = [*_compiling(words), *_dependencies(words, word)]
            taken_apart.append([*compiler, *others, "-c", word, "-o", made, *instrumented(compiler)])
            link.append(made)
        else:
            link.append(word)
    # Before all libraries: an allocator among them is what the runtime's own functions call.
    runtime = [] if "-r" in words else linked()
    return [*taken_apart, [*compiler, *runtime, *link]]


def _expanded(words: Sequence[str]) -> list[str]:
    """The words, those of `@file` in its place, as compilers have it: what is no file is a word."""
    result: list[str] = []
    for word in words:
        if not word.startswith("@") or not Path(word[1:]).is_file():
            result.append(word)
            continue
        try:
            result += _expanded(shlex.split(Path(word[1:]).read_text()))
        except (OSError, ValueError, RecursionError) as error:
            raise ReapError(
                f"the options in {word[1:]} cannot be read: {error}", "give them in the command"
            ) from error
    return result


def _compiling(words: Sequence[str]) -> list[str]:
    """The options of a command that bear on compiling: no sources, no output, nothing for the linker."""
    kept: list[str] = []
    takes: str | None = None
    for word in words:
        if takes is not None:
            if takes != "-o" and takes not in _VALUE_FOR_LINKER:
                kept += [takes, word]
            takes = None
        elif word in _VALUE_FOLLOWS | _VALUE_FOR_LINKER:
            takes = word
        elif word.startswith("-") and not word.startswith(("-l", "-L", "-Wl,", "-o")):
            kept.append(word)
    return kept


def _dependencies(words: Sequence[str], source: str) -> list[str]:
    """Options that keep the file of -MD where it is without us, and its target what the command makes."""
    if not {"-MD", "-MMD"} & set(words):
        return []
    output = next((name for option, name in pairwise(words) if option == "-o"), None)
    output = output or next((word[2:] for word in words if word.startswith("-o") and word != "-o"), None)
    own = Path(source)
    file = Path(output).with_suffix(".d") if output else Path(f"{own.stem}.d")
    named = [] if any(word.startswith("-MF") for word in words) else ["-MF", str(file)]
    if any(word.startswith(("-MT", "-MQ")) for word in words):
        return named
    return [*named, "-MQ", output or f"{own.stem}.o"]
