"""A part of the run is recorded, from a moment to another: what is outside of it is not in the figures."""

import signal
import subprocess
import time

import pytest
from marked import INCLUDE
from programs import reap, reap_command
from recorded import target

from reap import native
from reap.launch.records import Launch
from reap.recording import read, record
from reap.recording.analyse.profile import profile
from reap.recording.part import Limits, Moment

COUNT = 5000
KEPT = COUNT // 10
UNSTAMPED = 7
"""Events in a row without a stamp, of a process with one thread."""
STEADY = Limits(start=Moment(phase="steady"), stop=Moment(phase="done"))


def parts(*words: str) -> Launch:
    program = target("limits/parts", f"-I{INCLUDE}")
    return Launch(argv=[program, *words], program=program)


def taken(folder, depth, limits, *words):
    """A recording of a part of the program, read."""
    path = folder / f"{depth}.reap"
    assert record.record(parts(*words), path, depth, limits=limits).status == 0
    return path, read.read(path)


def objects_of(found, size):
    return sum(objects for low, high, objects, _ in found.sizes() if low <= size <= high)


def objects(found):
    return sum(image.objects for image in found.images())


@pytest.mark.parametrize("depth", ["full", "triage"])
def test_what_is_outside_of_the_part_is_not_counted(tmp_path, depth):
    path, found = taken(tmp_path, depth, STEADY, "phases", str(COUNT))
    assert objects(found) == objects_of(found, 100) == COUNT
    header = found.header()
    assert header.gate == native.GATE_ENDED
    assert header.lead > 0
    assert record.unreached(path, STEADY) == ""
    said = profile(found, [])
    assert said.part is not None
    assert (said.part.start, said.part.stop) == ("phase:steady", "phase:done")
    assert said.part.began < said.part.ended
    assert any(note.startswith("A part of the run was recorded") for note in said.notes), said.notes
    assert not any("never saw" in note or "calls malloc past it" in note for note in said.notes)


def test_frees_of_older_blocks_are_no_events(tmp_path):
    _, found = taken(tmp_path, "full", STEADY, "phases", str(COUNT))
    whole = found.totals()
    assert whole.frees == COUNT - KEPT
    assert whole.unmatched_frees == 0
    assert whole.events == COUNT + COUNT - KEPT
    assert whole.immortal_objects == KEPT
    rows = []
    tree = found.calls(0.0)
    found.events(tree, 1 << 20, rows.append)
    assert sum(len(each.kinds) for each in rows) == whole.events
    end = found.header().seconds * 1e9 + 1
    assert all(0 <= at <= end for each in rows for at in each.nanoseconds)


def test_only_a_start_or_only_a_stop(tmp_path):
    late = Limits(start=Moment(phase="steady"))
    _, found = taken(tmp_path, "full", late, "phases", str(COUNT))
    assert (objects_of(found, 100), objects_of(found, 40), objects_of(found, 24)) == (COUNT, COUNT, 0)
    (tmp_path / "full.reap").unlink()
    early = Limits(stop=Moment(phase="steady"))
    _, found = taken(tmp_path, "full", early, "phases", str(COUNT))
    assert objects_of(found, 24) == 1000
    assert objects_of(found, 100) == objects_of(found, 40) == 0
    assert found.header().lead == 0


@pytest.mark.parametrize("depth", ["full", "triage"])
def test_the_part_is_that_of_the_whole_tree(tmp_path, depth):
    _, found = taken(tmp_path, depth, STEADY, "children", str(COUNT))
    assert objects_of(found, 100) == COUNT
    # The parent waits while a child ends the part: events without a stamp lie between two others. A program
    # of so few is recorded exactly in triage, too.
    assert objects_of(found, 200) == pytest.approx(COUNT, abs=UNSTAMPED)
    assert objects_of(found, 40) <= UNSTAMPED
    # The program and the two children that it has until the end; not what begins behind that.
    assert len(found.images()) == 3


@pytest.mark.parametrize("depth", ["full", "triage"])
def test_threads_begin_and_end_with_the_part(tmp_path, depth):
    _, found = taken(tmp_path, depth, STEADY, "threads", "30000")
    whole, header = found.totals(), found.header()
    assert objects(found) > 20000
    assert whole.unmatched_frees == 0
    assert max(at for at, _, _ in found.timeline()[1]) <= header.seconds
    assert depth == "triage" or whole.in_use.max_objects <= 3 * 64


def test_a_moment_that_never_comes_is_said(tmp_path):
    never = Limits(start=Moment(phase="never"))
    path, found = taken(tmp_path, "triage", never, "phases", "100")
    assert objects(found) == 0
    assert record.unreached(path, never) == (
        "recording never began, because the program never entered the phase never"
    )
    assert profile(found, []).notes[0].startswith("Recording never began")
    path.unlink()
    endless = Limits(stop=Moment(signal=int(signal.SIGUSR2)))
    path, _ = taken(tmp_path, "triage", endless, "phases", "100")
    assert record.unreached(path, endless) == (
        "recording went on to the program's end, because reap never got SIGUSR2"
    )


def gate(path, wanted):
    """Waits until the recording is there and its gate is as it should be."""
    for _ in range(1000):
        if path.exists() and native.gate_of(str(path)) == wanted:
            return
        time.sleep(0.01)
    raise AssertionError(wanted)


def test_signals_to_reap_start_and_stop_and_the_program_gets_none(tmp_path):
    path = tmp_path / "asks.reap"
    launch = parts("asks", str(COUNT))
    words = ["record", "-d", "full", "-o", path, "--start-at", "signal:USR1", "--stop-at", "signal:SIGUSR2"]
    with subprocess.Popen(
        [*reap_command(), *words, "--", *launch.argv],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        for number, state in ((signal.SIGUSR1, native.GATE_OPEN), (signal.SIGUSR2, native.GATE_ENDED)):
            assert process.stdout.readline() == "ready\n"
            process.send_signal(number)
            gate(path, state)
            process.stdin.write("go\n")
            process.stdin.flush()
        assert process.stdout.readline() == "0 signals\n"
        assert process.wait() == 0
        assert "note: recording" not in process.stderr.read()
    found = read.read(path)
    assert objects_of(found, 24) == 0
    assert objects_of(found, 100) == pytest.approx(COUNT, abs=UNSTAMPED)
    assert objects_of(found, 40) <= UNSTAMPED


def test_the_program_gets_signals_that_start_nothing(tmp_path):
    path = tmp_path / "asks.reap"
    launch = parts("asks", "100")
    with subprocess.Popen(
        [*reap_command(), "record", "-o", path, "--start-at", "signal:USR1", "--", *launch.argv],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGUSR2)
        time.sleep(0.3)
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "1 signals\n"
        assert process.wait() == 0


def test_bad_moments_are_refused(tmp_path):
    for wrong in ("steady", "phase:", "signal:KILL", "signal:", f"phase:{'x' * 64}"):
        refused = reap("record", "--start-at", wrong, "--", "true", cwd=tmp_path)
        assert refused.returncode == 2
        assert "is no moment: give phase:NAME" in " ".join(refused.stderr.split())
    refused = reap("record", "--pid", "1", "--stop-at", "phase:x", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--stop-at must not be used with --pid" in refused.stderr
