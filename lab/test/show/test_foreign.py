"""`reap show` of a heap profile of pprof: its stacks, and one message where it is damaged or another's."""

import contextlib
import gzip
import json
import shutil
import subprocess

import pytest
from programs import reap
from recorded import recorded, target

from reap.base.errors import ExitCode
from reap.recording.analyse.calls import by_function
from reap.show.analyse import pprof


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    """One that `reap export` wrote."""
    folder = tmp_path_factory.mktemp("pprof")
    path = recorded(folder, "full", target("stacks")).path
    assert reap("export", str(path), "--to", "pprof", "-o", "x.pb.gz", cwd=folder).returncode == 0
    return folder / "x.pb.gz"


def test_its_stacks_are_shown_as_those_of_a_recording(profile, tmp_path):
    done = reap("show", str(profile), "--json", str(tmp_path / "x.json"), "--html", str(tmp_path / "x.html"))
    assert done.returncode == 0, done.stderr
    assert "Functions that allocate" in done.stdout
    (row,) = [line.split() for line in done.stdout.splitlines() if line.split()[-1:] == ["allocate"]]
    assert row[:2] == ["0.98", "KiB"], "in use when it was written"
    flame = json.loads((tmp_path / "x.json").read_text())["answers"][0]["flame"]
    own = dict(zip((flame["functions"][at] for at in flame["at"]), flame["own"]["bytes"], strict=True))
    assert set(own) >= {"main", "keeps_ten_of_100", "frees_fifty_of_64", "peaks_with_a_megabyte"}
    assert sum(flame["own"]["allocations"]) == 62
    assert flame["estimated"]
    assert "d3-flame-graph" in (tmp_path / "x.html").read_text()


def test_it_is_read_without_compression_and_with_values_one_by_one():
    function, line, location = b"\x08\x01\x10\x02", b"\x08\x01\x10\x05", b"\x08\x01\x18\x10"
    whole = b"".join(
        [
            b"\x0a\x04\x08\x03\x10\x04",
            b"\x12\x04\x08\x01\x10\x07",  # sample: location 1, value 7, neither packed
            b"\x22", bytes([len(location) + 2 + len(line)]), location, b"\x22", bytes([len(line)]), line,
            b"\x2a", bytes([len(function)]), function,
            b"\x32\x00", b"\x32\x01x", b"\x32\x04main", b"\x32\x0binuse_space", b"\x32\x05bytes",
        ]
    )  # fmt: skip
    tree = by_function(pprof.read(whole))
    assert [place.function for place in tree.places] == ["main"]
    assert tree.own["live-at-exit"] == [7]
    assert tree.own["bytes"] == [0]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[: len(data) // 2], "its end is missing"),
        (lambda data: data[:200] + b"\xff" * 50 + data[250:], "it is damaged"),
        (lambda _: gzip.compress(b"no profile at all, but text"), "it is damaged, or no profile of pprof"),
        (lambda _: gzip.compress(b""), "it is no profile of pprof"),
        (lambda data: gzip.compress(gzip.decompress(data)[:-40]), "it is damaged"),
    ],
)
def test_a_damaged_one_gets_one_message(profile, tmp_path, damage, said):
    (tmp_path / "bad.pb.gz").write_bytes(damage(profile.read_bytes()))
    done = reap("show", str(tmp_path / "bad.pb.gz"))
    assert (done.returncode, done.stdout) == (ExitCode.INTERNAL, "")
    message = " ".join(done.stderr.split())
    assert "cannot be read as a heap profile of pprof" in message
    assert said in message
    assert "Traceback" not in message


def test_whatever_is_cut_or_changed_it_is_read_or_refused(profile):
    """No other exception leaves the reader: each byte is cut, and turned."""
    data = gzip.decompress(profile.read_bytes())
    for at in range(0, len(data), 7):
        for changed in (data[:at], data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]):
            with contextlib.suppress(pprof.BadProfileError):
                pprof.read(changed)


@pytest.mark.verdict
@pytest.mark.skipif(not shutil.which("go"), reason="needs Debian's golang-go")
def test_a_profile_of_gos_own_is_read(tmp_path):
    (tmp_path / "main.go").write_text(
        'package main\nimport ("os"; "runtime"; "runtime/pprof")\nvar kept [][]byte\n'
        "func keeps() { for i := 0; i < 100; i++ { kept = append(kept, make([]byte, 1<<20)) } }\n"
        'func main() { runtime.MemProfileRate = 1; keeps(); runtime.GC(); f, _ := os.Create("heap.pb.gz")\n'
        "pprof.WriteHeapProfile(f); f.Close() }\n"
    )
    subprocess.run(["go", "run", "main.go"], cwd=tmp_path, check=True, capture_output=True)
    done = reap("show", str(tmp_path / "heap.pb.gz"))
    assert done.returncode == 0, done.stderr
    assert any(line.split()[-1:] == ["main.keeps"] and "100 MiB" in line for line in done.stdout.splitlines())
