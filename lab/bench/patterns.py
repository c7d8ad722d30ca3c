"""What pools, regions and materialising less give the handlers of docs/patterns: CPU time, and allocations.

.venv/bin/python lab/bench/patterns.py [ROUNDS] [LANGUAGE ...]

Builds what there is a compiler for. Every arm of a language runs once a round, the order turning; ratios are
to the same round's `per-request`. The answers of all arms must be the same. What is read before and written
after is in every arm, and is taken off by none. Go's objects are not counted: no call of malloc shows them.
"""

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.base.records import Estimate
from reap.experiment import statistics
from reap.launch import spawn
from reap.launch.records import Launch, Outcome
from reap.recording import read, record

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs" / "patterns"
REQUESTS = 500
ROUNDS = 11
BASE = "per-request"
PATTERNS = (BASE, "pool-shared", "pool-thread", "pool-lock-free", "arena", "less", "less-arena")
STEPS = (BASE, "less", "less-arena")
"""Stacked: each keeps what the one before did. Then another allocator is put under each."""


class Language(NamedTuple):
    """One of the servers."""

    name: str
    command: list[str]
    repeats: int
    """How often it answers all requests, so that a run takes some tenths of a second."""
    patterns: tuple[str, ...] = PATTERNS
    preloadable: bool = True
    """Whether its objects come from malloc."""


class Arm(NamedTuple):
    """One way to run it."""

    pattern: str
    allocator: str = ""

    @property
    def title(self) -> str:
        """For a row."""
        return self.pattern + (f", {Path(self.allocator).name}" if self.allocator else "")


def cpp(place: Path) -> Language | None:
    """The C++ server, with the library's headers."""
    if not shutil.which("g++"):
        return None
    program = place / "server-cpp"
    include = ROOT / "library" / "include"
    source = SOURCES / "server.cpp"
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-pthread", f"-I{include}", source, "-o", program], check=True
    )
    return Language("C++", [str(program)], 300)


def rust(place: Path) -> Language | None:
    """The Rust server; cargo fetches what Cargo.lock pins."""
    if not shutil.which("cargo"):
        return None
    manifest = SOURCES / "rust" / "Cargo.toml"
    options = ["--release", "--locked", "--quiet", "--target-dir", place / "rust"]
    built = subprocess.run(["cargo", "build", *options, "--manifest-path", manifest], check=False)
    return None if built.returncode else Language("Rust", [str(place / "rust" / "release" / "patterns")], 300)


def go(place: Path) -> Language | None:
    """The Go server."""
    if not shutil.which("go"):
        return None
    program = place / "server-go"
    subprocess.run(["go", "build", "-o", program, "."], cwd=SOURCES / "go", check=True)
    return Language("Go", [str(program)], 300, preloadable=False)


def python(place: Path) -> Language | None:  # noqa: ARG001 - nothing is built
    """The Python server, by the Python that runs this."""
    known = (BASE, "pool-shared", "pool-thread", "less")
    return Language("Python", [sys.executable, str(SOURCES / "server.py")], 40, known)


LANGUAGES: dict[str, Callable[[Path], Language | None]] = {
    "c++": cpp,
    "rust": rust,
    "go": go,
    "python": python,
}


def main() -> int:
    """Prints a table for each language and number of threads; 1 if an answer differed."""
    words = sys.argv[1:]
    rounds = int(words.pop(0)) if words and words[0].isdigit() else ROUNDS
    same = True
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        place = Path(name)
        requests = place / "requests"
        generator = [sys.executable, str(SOURCES / "requests.py"), str(REQUESTS)]
        requests.write_bytes(subprocess.run(generator, check=True, capture_output=True).stdout)
        for key in words or LANGUAGES:
            language = LANGUAGES[key](place)
            if language is None:
                print(f"{key}: left out, it cannot be built here")
                continue
            for threads in (1, 2):
                same &= table(language, threads, requests, rounds)
    return 0 if same else 1


def table(language: Language, threads: int, requests: Path, rounds: int) -> bool:
    """Measures and prints one table; whether all answers were the same."""
    arms = [Arm(pattern) for pattern in language.patterns]
    other = catalog.find("jemalloc")
    if language.preloadable and isinstance(other, Allocator):
        arms += [Arm(pattern, other.library) for pattern in STEPS if pattern in language.patterns]
    answered = REQUESTS * language.repeats * threads
    turning = random.Random(20260101)
    figures: dict[Arm, list[float]] = {arm: [] for arm in arms}
    answers = set()
    for number in range(rounds + 1):
        for arm in turning.sample(arms, len(arms)):
            done = run(language, arm, threads, requests)
            answers.add(done.stdout_digest)
            if number > 0:  # the first round warms up
                figures[arm].append(done.cpu_ns / answered)

    print(f"\n{language.name}, {threads} thread{'s'[: threads > 1]}: CPU time a request, {rounds} rounds")
    print(f"{'pattern':<32} {'ns':>8}  ratio [95 % CI]            calls")
    for arm in arms:
        pairs = [value / base for value, base in zip(figures[arm], figures[arms[0]], strict=True)]
        ratio = statistics.interval(pairs) if arm != arms[0] else Estimate(value=1, low=1, high=1)
        middle = sorted(figures[arm])[rounds // 2]
        said = f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
        counted = (
            f"{allocations(language, arm, requests):>10.1f}" if language.preloadable and threads == 1 else ""
        )
        print(f"{arm.title:<32} {middle:>8.0f}  {said:<24} {counted}", flush=True)
    if len(answers) > 1:
        print(f"{language.name}: the patterns do not give the same answers")
    return len(answers) == 1


def run(language: Language, arm: Arm, threads: int, requests: Path, repeats: int = 0) -> Outcome:
    """One run."""
    return spawn.run(launch(language, arm, threads, requests, repeats or language.repeats))


def launch(language: Language, arm: Arm, threads: int, requests: Path, repeats: int) -> Launch:
    """How it is started."""
    argv = [*language.command, arm.pattern, str(threads), str(repeats)]
    return Launch(argv=argv, program=argv[0], allocator=arm.allocator, stdin=str(requests))


def allocations(language: Language, arm: Arm, requests: Path) -> float:
    """Calls of malloc and its like a request: what further rounds add, so that starting is not counted."""
    few, more = (counted(launch(language, arm, 1, requests, repeats)) for repeats in (2, 12))
    return (more - few) / (10 * REQUESTS)


def counted(wanted: Launch) -> int:
    """How often a run allocates."""
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as place:
        trace = Path(place) / "trace.reap"
        record.record(wanted, trace, "triage")
        return sum(image.objects for image in read.read(trace).images())


if __name__ == "__main__":
    sys.exit(main())
