"""The servers that docs/patterns.md offers for copying: every pattern answers as the plain one does."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from building import OUT, compiled

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "docs" / "patterns"
PATTERNS = ("per-request", "pool-shared", "pool-thread", "pool-lock-free", "arena", "less", "less-arena")
PYTHON = ("per-request", "pool-shared", "pool-thread", "less")


@cache
def requests() -> bytes:
    """Sixty manifests."""
    return subprocess.run(
        [sys.executable, SOURCES / "requests.py", "60"], check=True, capture_output=True
    ).stdout


@cache
def cpp() -> str:
    """The C++ server, compiled."""
    include = ROOT / "library" / "include"
    source = SOURCES / "server.cpp"
    options = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{include}"]
    return compiled("patterns-server", ["g++", *options, source, "-o", OUT])


def answers(*command: str, given: bytes = b"") -> list[str]:
    """The lines that a server answers."""
    done = subprocess.run(command, input=given or requests(), capture_output=True, check=True)
    return done.stdout.decode().splitlines()


@pytest.mark.slow
def test_the_answer_is_the_three_nearest_edges() -> None:
    first = answers(cpp(), "per-request", "1", "1")[0]
    words = first.split()
    assert words[0] == "42000"
    assert len(words) == 4
    latencies = [int(word.rpartition("=")[2]) for word in words[1:]]
    assert latencies == sorted(latencies)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_cpp_patterns_give_the_same_answers(pattern: str) -> None:
    assert answers(cpp(), pattern, "3", "2") == answers(cpp(), "per-request", "1", "1")


@pytest.mark.parametrize("pattern", PYTHON)
def test_python_patterns_give_the_same_answers(pattern: str) -> None:
    server = str(SOURCES / "server.py")
    assert answers(sys.executable, server, pattern, "2", "1") == answers(cpp(), "per-request", "1", "1")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b'{"edges":',
        b'{"edges":[{"pop":"x',
        b'{"x":' + b"[" * 500,
        b'{"segment_seq":true}',
        b'{"tags":"a"}\\',
    ],
)
def test_a_request_that_cannot_be_read_is_answered_and_the_next_one_too(pattern: str, broken: bytes) -> None:
    good = b'{"segment_seq":7,"edges":[{"pop":"near","lat_ms":1,"x":[{}, {"y":null}]}],"tags":[]}'
    given = broken + b"\n" + good + b"\n"
    first, second = answers(cpp(), pattern, "1", "1", given=given)
    if pattern.startswith("less") and b"tags" in broken:
        return  # which skips what it does not need, whatever it is
    assert first.startswith("error: ")
    assert second == "7 near=1"


@cache
def other(language: str) -> str:
    """The server in Go or in Rust, compiled."""
    if language == "go":
        return compiled("patterns-go", ["go", "build", "-o", OUT, "."], tree=SOURCES / "go")
    build = ["cargo", "build", "--locked", "--quiet", "--target-dir", OUT]
    return compiled("patterns-rust", build, tree=SOURCES / "rust") + "/debug/patterns"


LANGUAGES = ["c++", *(pytest.param(name, marks=pytest.mark.verdict) for name in ("go", "rust"))]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_a_request_leaves_out_is_not_that_of_the_one_before(pattern: str, language: str) -> None:
    """Objects of a pool have been somebody else's."""
    given = b'{"segment_seq":7,"edges":[{"pop":"near","lat_ms":9}]}\n{"edges":[{"pop":"far"}]}\n{}\n'
    server = cpp() if language == "c++" else other(language)
    assert answers(server, pattern, "1", "1", given=given) == ["7 near=9", "0 far=0", "0"]


def test_a_pattern_that_is_none_is_refused_with_the_names() -> None:
    done = subprocess.run([cpp(), "none", "1", "1"], input=b"", capture_output=True, check=False)
    assert done.returncode == 2
    assert b"less-arena" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("language", ["rust", "go"])
def test_the_other_languages_give_the_same_answers(language: str) -> None:
    """Built and run by the benchmark, which compares the answers of all patterns."""
    bench = ROOT / "lab" / "bench" / "patterns.py"
    done = subprocess.run([sys.executable, bench, "2", language], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
