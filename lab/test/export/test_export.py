"""`reap export`: every format holds what the program did, and its own readers accept it."""

import json
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import jsonschema
import pyarrow.parquet
import pytest
from lab.test.export.formats import check_chrome_trace, profile_of, stacks_of, stacks_of_profile
from programs import compile_c, program, reap
from recorded import recorded, target

from reap.base.errors import ExitCode, ReapError
from reap.export.view import collapsed, heaptrack, parquet, pprof, speedscope
from reap.recording.analyse.boxes import large, only
from reap.recording.analyse.calls import MEASURES, Calls, Place, by_function, calls, inclusive
from reap.recording.analyse.columns import CALL_NAMES, KINDS
from reap.recording.opened import OpenRecording
from reap.recording.read import read

SCHEMA = json.loads((Path(__file__).parent / "speedscope.schema.json").read_text())
"""Of the npm package speedscope 1.25.0, dist/release/file-format-schema.json."""

KEEPS, FREES, PEAKS = "keeps_ten_of_100", "frees_fifty_of_64", "peaks_with_a_megabyte"
TRUTH = {
    "allocations": {KEEPS: 10, FREES: 50, PEAKS: 2},
    "bytes": {KEEPS: 1000, FREES: 3200, PEAKS: (1 << 20) + 16},
    "peak": {KEEPS: 1000, PEAKS: (1 << 20) + 16},
    "temporary": {FREES: 50, PEAKS: 1},
    "live-at-exit": {KEEPS: 1000},
}
"""What targets/stacks.c does, by the caller of its `allocate`."""
NAMED = {
    "allocations": "alloc_objects",
    "bytes": "alloc_space",
    "peak": "peak_space",
    "temporary": "temporary_objects",
    "live-at-exit": "inuse_space",
}
"""The measures in a profile of pprof."""
HOSTILE = "a;b 7\n\x1b[31m</script><img src=x onerror=alert(1)>\udcff\u202e"


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    return recorded(tmp_path_factory.mktemp("stacks"), "full", target("stacks")).path


def next_of(done: subprocess.CompletedProcess[str]) -> str:
    """The next command that is said."""
    return done.stderr.splitlines()[-1].removeprefix("next: ")


def exported(recording: Path, *options: str) -> subprocess.CompletedProcess[str]:
    done = reap("export", str(recording), *options)
    assert done.returncode == 0, done.stderr
    return done


def truth(measure: str, found: dict[tuple[str, ...], int]) -> None:
    """Stacks are whole: main is in each, and who allocates is innermost."""
    assert all("main" in stack and stack[-1] == "allocate" for stack in found)
    assert {stack[-2]: value for stack, value in found.items()} == TRUTH[measure]


@pytest.mark.parametrize("measure", MEASURES)
def test_collapsed_stacks_are_exact(recording, measure):
    done = exported(recording, "--to", "collapsed", "--of", measure, "-o", "-")
    truth(measure, stacks_of(done.stdout))


def test_collapsed_stacks_are_of_bytes_by_default(recording):
    truth("bytes", stacks_of(exported(recording, "--to", "collapsed", "-o", "-").stdout))


def test_speedscope_accepts_its_file(recording, tmp_path):
    exported(recording, "--to", "speedscope", "-o", str(tmp_path / "x.json"))
    document = json.loads((tmp_path / "x.json").read_text())
    jsonschema.validate(document, SCHEMA)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    assert [profile["name"] for profile in document["profiles"]] == list(MEASURES)
    for profile in document["profiles"]:
        found: dict[tuple[str, ...], int] = {}
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
            stack = tuple(names[each] for each in sample)
            found[stack] = found.get(stack, 0) + weight
        truth(profile["name"], found)
        assert profile["endValue"] == sum(profile["weights"])
    frame = next(frame for frame in document["shared"]["frames"] if frame["name"] == KEEPS)
    assert frame["file"].endswith("stacks.c")
    assert frame["line"] > 0
    one = exported(recording, "--to", "speedscope", "--of", "peak", "-o", "-").stdout
    assert [profile["name"] for profile in json.loads(one)["profiles"]] == ["peak"]


def test_a_profile_of_pprof_is_whole(recording, tmp_path):
    exported(recording, "--to", "pprof", "--of", "live-at-exit", "-o", str(tmp_path / "x.pb.gz"))
    profile = profile_of((tmp_path / "x.pb.gz").read_bytes())
    for measure in MEASURES:
        truth(measure, stacks_of_profile(profile, NAMED[measure]))
    text = profile["string_table"]
    assert text[profile["default_sample_type"][0]] == "inuse_space"
    assert [text[each["unit"][0]] for each in profile["sample_type"]] == [
        "count", "bytes", "bytes", "count", "bytes",
    ]  # fmt: skip
    assert {text[each["filename"][0]] for each in profile["mapping"]} >= {target("stacks")}


@pytest.mark.verdict
@pytest.mark.skipif(not shutil.which("go"), reason="needs Debian's golang-go")
def test_go_reads_a_profile(recording, tmp_path):
    exported(recording, "--to", "pprof", "-o", str(tmp_path / "x.pb.gz"))
    command = ["go", "tool", "pprof", "-raw", "x.pb.gz"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    types = [f"{NAMED[each]}/{'bytes' if NAMED[each].endswith('space') else 'count'}" for each in MEASURES]
    assert " ".join(types).replace("alloc_space/bytes", "alloc_space/bytes[dflt]") in done.stdout
    assert any(line.split()[:5] == ["10", "1000", "1000", "0", "1000:"] for line in done.stdout.splitlines())
    assert f"{KEEPS} " in done.stdout


def test_counters_over_time_are_a_chrome_trace(recording):
    document = json.loads(exported(recording, "--to", "chrome-trace", "-o", "-").stdout)
    check_chrome_trace(document)
    live = [each["args"]["bytes"] for each in document["traceEvents"] if each["name"] == "live bytes"]
    assert max(live) == 1000 + (1 << 20) + 16
    (mark,) = [each for each in document["traceEvents"] if each["ph"] == "i"]
    assert mark["args"]["bytes"] == max(live)


def test_tables_of_events_and_stacks(recording, tmp_path):
    folder = tmp_path / "tables"
    exported(recording, "--to", "parquet", "-o", str(folder))
    events = pyarrow.parquet.read_table(folder / "events.parquet").to_pylist()
    stacks = {row["stack"]: row for row in pyarrow.parquet.read_table(folder / "stacks.parquet").to_pylist()}
    made = [event for event in events if event["kind"] == "allocation"]
    freed = [event for event in events if event["kind"] == "free"]
    assert (len(made), len(freed)) == (62, 52)
    assert {event["call"] for event in made} == {"malloc"}
    assert all(event["stack"] is None and event["size"] == 0 for event in freed)
    assert [event["time_ns"] for event in events] == sorted(event["time_ns"] for event in events)
    assert {event["address"] for event in freed} <= {event["address"] for event in made}
    for number, row in stacks.items():
        assert row["frames"][0] == "allocate"
        assert row["process"] == Path(target("stacks")).name
        assert row["locations"][1].rpartition(":")[0].endswith("stacks.c")
        mine = [event["size"] for event in made if event["stack"] == number]
        assert (len(mine), sum(mine)) == (row["allocations"], row["bytes"])
    for column, measure in (
        ("peak_bytes", "peak"),
        ("temporary", "temporary"),
        ("exit_bytes", "live-at-exit"),
    ):
        assert sum(row[column] for row in stacks.values()) == sum(TRUTH[measure].values())


def test_events_come_in_batches_and_none_is_lost(recording, tmp_path, monkeypatch):
    held = read(recording)
    monkeypatch.setattr(parquet.each_batch, "__defaults__", (7,))
    with (tmp_path / "x").open("wb") as stream:
        assert parquet.write_events(stream, held, held.calls(0.0)) == 114
    rows = pyarrow.parquet.read_table(tmp_path / "x").to_pylist()
    columns = {name: value.tolist() for name, value in OpenRecording(recording).events().items()}
    assert [row["time_ns"] for row in rows] == columns["time_ns"]
    assert [row["address"] for row in rows] == columns["address"]
    assert [-1 if row["stack"] is None else row["stack"] for row in rows] == columns["stack"]
    assert [KINDS.index(row["kind"]) for row in rows] == columns["kind"]
    assert [CALL_NAMES.index(row["call"]) for row in rows] == columns["call"]


def test_without_pyarrow_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ReapError, match="pyarrow is not installed") as raised:
        parquet.require()
    assert "pip install 'pyarrow" in raised.value.hint


def test_exports_are_private_and_replace_nothing(recording, tmp_path):
    for form in ("collapsed", "speedscope", "pprof", "chrome-trace", "heaptrack"):
        path = tmp_path / form
        exported(recording, "--to", form, "-o", str(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        again = reap("export", str(recording), "--to", form, "-o", str(path))
        assert again.returncode == ExitCode.INTERNAL
        assert "exists already" in again.stderr
        exported(recording, "--to", form, "-o", str(path), "--force")
    folder = tmp_path / "tables"
    exported(recording, "--to", "parquet", "-o", str(folder))
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "exists already" in reap("export", str(recording), "--to", "parquet", "-o", str(folder)).stderr
    exported(recording, "--to", "parquet", "-o", str(folder), "--force")
    assert sorted(path.name for path in folder.iterdir()) == ["events.parquet", "stacks.parquet"]


def test_the_name_of_the_output_follows_from_the_recording(recording, tmp_path):
    copy = tmp_path / "a.reap"
    shutil.copy(recording, copy)
    assert f"the export: {tmp_path / 'a.pb.gz'}" in exported(copy, "--to", "pprof").stderr


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--to", "parquet", "--of", "bytes"], ExitCode.USAGE, "parquet has no such choice"),
        (["--to", "parquet", "-o", "-"], ExitCode.USAGE, "cannot be written to standard output"),
        (["--to", "heaptrack", "-o", "-"], ExitCode.USAGE, "cannot be written to standard output"),
        (["--to", "perf"], ExitCode.USAGE, "'perf' is not one of"),
        (["--to", "pprof", "-o", "/no/such/folder/x"], ExitCode.INTERNAL, "/no/such/folder does not exist"),
    ],
)
def test_what_cannot_be_written_is_refused(recording, options, code, words):
    done = reap("export", str(recording), *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


def test_estimates_are_said_to_be_estimates(tmp_path):
    path = recorded(tmp_path, "triage", program("busy")).path
    assert "estimated from samples" in exported(path, "--to", "collapsed", "-o", "-").stderr


def test_a_recording_without_allocations_is_exported(tmp_path):
    path = recorded(tmp_path, "full", "/bin/true").path
    for form in ("collapsed", "speedscope", "pprof", "chrome-trace", "parquet", "heaptrack"):
        exported(path, "--to", form, "-o", str(tmp_path / form))
    jsonschema.validate(json.loads((tmp_path / "speedscope").read_text()), SCHEMA)
    profile_of((tmp_path / "pprof").read_bytes())


def tree(*names: str) -> Calls:
    """One stack of these functions in two programs, 5 allocations of 3 bytes."""
    places = [Place(name, "", 0, "/bin/x", 1, False, False) for name in names]
    programs = [Place(name, "", 0, name, 0, False, True) for name in ("one", "two")]
    count = len(names)
    parents = [-1, *range(count), -1, *range(count + 1, 2 * count + 1)]
    at = [count, *range(count), count + 1, *range(count)]
    own = {measure: [0.0] * len(at) for measure in MEASURES}
    for node in (count, 2 * count + 1):
        own["allocations"][node], own["bytes"][node] = 5.0, 15.0
    return Calls(parents, at, own, [*places, *programs])


def test_hostile_names_break_no_format(tmp_path):
    held = tree("main", HOSTILE)
    stacks = stacks_of(collapsed.render(held, "bytes"))
    assert set(stacks.values()) == {15}
    assert [stack[:2] for stack in stacks] == [("one", "main"), ("two", "main")]
    assert all(len(stack) == 3 for stack in stacks)
    document = json.loads(speedscope.render(held, ["bytes"], HOSTILE))
    jsonschema.validate(document, SCHEMA)
    profile = profile_of(pprof.render(held, "bytes", 1, 1.0, HOSTILE))
    (name,) = {stack[-1] for stack in stacks_of_profile(profile, "alloc_space")}
    assert "\x1b" not in name + document["name"]
    labels = [profile["string_table"][each["str"][0]] for s in profile["sample"] for each in s["label"]]
    assert labels == ["one", "two"]
    lines, _ = heaptrack.definitions(held)
    assert all(re.fullmatch(r"s [^\n\r\x1b]+|[it]( [0-9a-f]+)+", line) for line in lines)
    with (tmp_path / "x").open("wb") as stream:
        parquet.write_stacks(stream, held)
    rows = pyarrow.parquet.read_table(tmp_path / "x").to_pylist()
    assert [row["process"] for row in rows] == ["one", "two"]
    assert rows[0]["frames"] == [name, "main"]


def test_an_empty_name_stands_for_unknown():
    assert set(stacks_of(collapsed.render(tree("main", " "), "bytes"))) == {
        ("one", "main", "unknown"),
        ("two", "main", "unknown"),
    }


def test_pruning_keeps_totals_and_only_what_counts():
    """A thousand blocks from one callee, and one from another, which is large."""
    names = ("main", "often", "once", "large")
    places = [Place(name, "", 0, "/bin/x", 1, False, False) for name in names]
    own = {measure: [0.0] * 4 for measure in MEASURES}
    own["allocations"] = [0.0, 1000.0, 1.0, 1.0]
    own["bytes"] = [0.0, 1000.0, 1.0, 500.0]
    whole = Calls([-1, 0, 0, 0], [0, 1, 2, 3], own, places)
    cut = only(whole, large(whole, 0.01))
    assert [names[place] for place in cut.at] == ["main", "often", "large"]
    assert cut.own["allocations"] == [1.0, 1000.0, 1.0]
    for measure in MEASURES:
        assert sum(cut.own[measure]) == sum(whole.own[measure])
    assert inclusive(cut, "bytes") == [1501.0, 1000.0, 500.0]


def test_frames_that_do_not_count_are_dropped_before_names_are_looked_up(recording):
    held = read(recording)
    whole, cut = calls(held), calls(held, 0.9)
    assert len(cut.parents) < len(whole.parents)
    assert len(cut.places) < len(whole.places)
    for measure in MEASURES:
        assert sum(cut.own[measure]) == sum(whole.own[measure])
    assert by_function(whole).own["bytes"] != []


def test_functions_that_were_inlined_are_lines_of_one_location():
    places = [
        Place("main", "a.c", 9, "/bin/x", 100, inlined=False, process=False),
        Place("outer", "a.c", 5, "/bin/x", 200, inlined=False, process=False),
        Place("inner", "a.h", 2, "/bin/x", 200, inlined=True, process=False),
        Place("x", "", 0, "/bin/x", 0, inlined=False, process=True),
    ]
    own = {measure: [0.0, 0.0, 0.0, 2.0] for measure in MEASURES}
    profile = profile_of(pprof.render(Calls([-1, 0, 1, 2], [3, 0, 1, 2], own, places), "bytes", 1, 1.0, ""))
    assert stacks_of_profile(profile, "alloc_space") == {("main", "outer", "inner"): 2}
    assert [len(each["line"]) for each in profile["location"]] == [2, 1]
    assert [each["address"] for each in profile["location"]] == [[200], [100]]


INLINED = """
    #include <stdlib.h>
    static inline __attribute__((always_inline)) void *inlined_here(int n) { return malloc(n); }
    __attribute__((noinline)) void *calls_it(int n) { void *volatile p = inlined_here(n); return p; }
    int main(void) { free(calls_it(100)); return 0; }
"""


def test_a_function_that_was_inlined_is_a_frame(tmp_path):
    done = recorded(tmp_path, "full", compile_c("inlined", INLINED, ["-g", "-O2", "-fno-builtin"]))
    text = exported(done.path, "--to", "collapsed", "-o", "-").stdout
    assert [stack[-3:] for stack in stacks_of(text)] == [("main", "calls_it", "inlined_here")]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("collapsed", "flamegraph.pl 'a b.collapsed' >'a b.svg'"),
        ("speedscope", "speedscope 'a b.speedscope.json'"),
        ("pprof", "go tool pprof -http=: 'a b.pb.gz'"),
        ("chrome-trace", "open 'a b.trace.json' in https://ui.perfetto.dev"),
        ("heaptrack", "heaptrack_print 'a b.heaptrack.gz'"),
    ],
)
def test_the_next_command_opens_it(tmp_path, form, said):
    made = recorded(tmp_path, "full", target("stacks")).path
    made.rename(tmp_path / "a b.reap")
    assert next_of(reap("export", "a b.reap", "--to", form, cwd=tmp_path)) == said


def test_standard_output_is_not_opened(tmp_path):
    made = recorded(tmp_path, "full", target("stacks")).path
    assert "next: " not in exported(made, "--to", "collapsed", "-o", "-").stderr


def test_the_next_command_reads_the_table(tmp_path):
    made = recorded(tmp_path, "full", target("stacks")).path
    line = next_of(reap("export", str(made), "--to", "parquet"))
    assert shlex.split(line)[2] == (
        f"import pandas; print(pandas.read_parquet('{made.with_suffix('.parquet')}/stacks.parquet'))"
    )
