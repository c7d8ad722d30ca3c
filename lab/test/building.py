"""Programs that the tests compile, kept between sessions in build/test-programs.

A program is kept under the hash of what it is made from: the command, the compiler's version, its sources,
and the headers of this repository that they include. A change to any of these compiles it again.
"""

import atexit
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

KEPT = Path(__file__).resolve().parents[2] / "build" / "test-programs"
OUT = "{out}"
"""In a command: where the compiler is to put what it makes."""

_INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


@functools.cache
def session_folder() -> Path:
    """A folder for this session's programs, which every user may read."""
    path = Path(tempfile.mkdtemp(prefix="reap-test-"))
    path.chmod(0o755)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def workload_cache() -> Path:
    """Where workloads are built for tests; what of that is still right, a card's own fingerprint says."""
    compilers = _version("gcc") + _version("g++")
    return KEPT / f"workloads-{hashlib.sha256(compilers.encode()).hexdigest()[:12]}"


def compiled(
    name: str,
    command: Sequence[str | Path],
    *,
    text: str = "",
    tree: Path | None = None,
    compiler_files: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
) -> str:
    """The path of what `command` makes at OUT, as `name` in a folder of its own below this session's.

    The sources are the words of `command` that are paths, `text`, which the compiler reads from standard
    input, and all files of `tree`, in which the command then runs. `compiler_files` are those of a compiler
    whose version does not tell of a change. Throws CalledProcessError where it fails; then nothing is kept.
    """
    sources = [word for word in command if isinstance(word, Path)]
    if tree:
        sources += sorted(path for path in tree.rglob("*") if path.is_file())
    more = dict(environment or {})
    folders = [Path(word[2:]) for word in map(str, command) if word.startswith("-I")]
    files = [*sources, *_headers(text, sources, folders), *compiler_files]
    key = _key([name, text, sorted(more.items())], [str(word) for word in command], files)
    kept = KEPT / key / name
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT, prefix="new-") as new:
            words = [str(word).replace(OUT, f"{new}/{name}") for word in command]
            variables = {**os.environ, **more}
            subprocess.run(words, input=text, text=True, check=True, cwd=tree, env=variables)
            try:
                Path(new).rename(KEPT / key)
            except OSError:
                if not kept.exists():  # or another worker was first
                    raise
    # A copy: tests may change what they are given, and run it as a user who cannot see this folder.
    target = session_folder() / key / name
    target.parent.mkdir(exist_ok=True)
    if kept.is_dir():
        shutil.copytree(kept, target, dirs_exist_ok=True)
    else:
        target.unlink(missing_ok=True)  # it may be running
        shutil.copy(kept, target)
    return str(target)


def _key(said: object, words: list[str], files: list[Path]) -> str:
    usual = [word.replace(str(session_folder()), "{session}") for word in words]
    key = hashlib.sha256(repr((said, usual, _version(words[0]))).encode())
    for path in files:
        key.update(f"\0{path}\0".encode())
        key.update(hashlib.sha256(path.read_bytes()).digest())
    return key.hexdigest()[:32]


def _headers(text: str, sources: list[Path], folders: list[Path]) -> Iterator[Path]:
    """The headers that the sources include from their own folders and from `folders`, directly or not."""
    seen = set(sources)
    waiting = [(text, folders), *((path.read_text(), [path.parent, *folders]) for path in sources)]
    while waiting:
        includes, where = waiting.pop()
        for name in _INCLUDE.findall(includes):
            found = next((folder / name for folder in where if (folder / name).is_file()), None)
            if found is not None and found not in seen:
                seen.add(found)
                yield found
                waiting.append((found.read_text(), [found.parent, *folders]))


@functools.cache
def _version(compiler: str) -> str:
    how = "version" if Path(compiler).name == "go" else "--version"
    return subprocess.run([compiler, how], capture_output=True, text=True, check=True).stdout
