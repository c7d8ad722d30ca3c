"""`reap export --to heaptrack`: heaptrack reads it, and finds what the program did."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import reap
from recorded import recorded, target

from reap.base.errors import ExitCode

needed = pytest.mark.skipif(shutil.which("heaptrack_print") is None, reason="needs Debian's heaptrack")


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    return recorded(tmp_path_factory.mktemp("stacks"), "full", target("stacks")).path


def exported(recording: Path, output: Path) -> Path:
    done = reap("export", str(recording), "--to", "heaptrack", "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == f"next: heaptrack_print {output}"
    return output


def printed(file: Path, *options: str) -> str:
    words = ["heaptrack_print", *options, str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "failed to parse" not in done.stderr
    assert "out of bounds" not in done.stderr
    return done.stdout


@needed
@pytest.mark.parametrize("name", ["x.heaptrack.gz", "x.heaptrack"])
def test_heaptrack_finds_what_the_program_did(recording, tmp_path, name):
    text = printed(exported(recording, tmp_path / name))
    assert "calls to allocation functions: 62 " in text
    assert "temporary memory allocations: 50 " in text, "the one of two blocks that are freed is none to it"
    assert "peak heap memory consumption: 1.05M" in text
    assert "total memory leaked: 1000B" in text
    largest = text[text.index("PEAK MEMORY CONSUMERS") :]
    assert re.search(
        r"1\.05M consumed over 1 calls from:\s*peaks_with_a_megabyte\s*at .*stacks\.c:\d+", largest
    )


@needed
def test_its_flame_graph_has_every_stack(recording, tmp_path):
    stacks = tmp_path / "stacks"
    printed(exported(recording, tmp_path / "x.gz"), "--print-flamegraph", str(stacks))
    counts: dict[str, int] = {}
    for line in stacks.read_text().splitlines():
        *outer, caller, innermost, count = line.replace(" (stacks.c)", "").split(";")
        assert (outer[-1], innermost) == ("main", "allocate")
        counts[caller] = counts.get(caller, 0) + int(count)
    assert counts == {"keeps_ten_of_100": 10, "frees_fifty_of_64": 50, "peaks_with_a_megabyte": 2}


def lines_of(file: Path) -> list[str]:
    return gzip.decompress(file.read_bytes()).decode().splitlines()


def test_each_line_refers_to_what_is_defined_before_it(recording, tmp_path):
    seen = dict.fromkeys("sitac", 0)
    live = 0
    for line in lines_of(exported(recording, tmp_path / "x.gz")):
        kind, numbers = line[0], [int(word, 16) for word in line[2:].split()] if line[0] in "itac+-R" else []
        if kind == "i":
            assert all(number <= seen["s"] for number in (numbers[1], numbers[2], numbers[3]))
        elif kind == "t":
            assert 0 < numbers[0] <= seen["i"]
            assert numbers[1] <= seen["t"]
        elif kind == "a":
            assert 0 < numbers[1] <= seen["t"]
        elif kind == "c":
            assert numbers[0] >= seen["c"], "time goes on"
        elif kind in "+-":
            assert numbers[0] < seen["a"]
            live += 1 if kind == "+" else -1
        if kind in "sita":
            seen[kind] += 1
        elif kind == "c":
            seen["c"] = numbers[0]
    assert live == 10


def test_what_it_cannot_hold_is_refused(tmp_path):
    path = recorded(tmp_path, "triage", target("stacks")).path
    done = reap("export", str(path), "--to", "heaptrack")
    assert done.returncode == ExitCode.USAGE
    assert "was recorded in triage: heaptrack's format has every allocation" in " ".join(done.stderr.split())
    assert not path.with_suffix(".heaptrack.gz").exists()
