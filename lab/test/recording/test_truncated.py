"""A recording that is truncated while it is written, and programs that handle SIGBUS themselves."""

import pytest
from programs import reap
from recorded import recorded, recorded_as, target

from reap import native
from reap.launch import spawn
from reap.launch.records import Launch

DEPTHS = ("triage", "full")


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("size", [0, 100, 4096, 70_000, 400_000])
def test_a_program_goes_on_while_its_recording_is_truncated(tmp_path, depth, size):
    recording = tmp_path / "x.reap"
    words = ["record", "-d", depth, "-o", str(recording), "--"]
    done = reap(*words, target("truncates"), "file", str(recording), str(size))
    assert done.stdout.startswith("child 5\n"), done.stdout + done.stderr
    assert done.returncode == 7, done.stdout + done.stderr
    if size < 4096:  # not even the header is left
        assert "was truncated or overwritten while it was made" in " ".join(done.stderr.split())
    else:
        shown = " ".join(reap("show", str(recording)).stdout.split())
        assert "Recording stopped before the program did: another program truncated the file" in shown


@pytest.mark.parametrize("depth", [native.TRIAGE, native.FULL])
def test_a_program_sampled_by_timer_goes_on_while_its_recording_is_truncated(tmp_path, depth):
    """The timer's handler, in which signals are blocked, writes to the file."""
    words = [target("truncates"), "file", str(tmp_path / "by-hand.reap"), "4096"]
    done = recorded_as(tmp_path, *words, depth=depth, sampler=native.SAMPLER_TIMER)
    assert done.outcome.status == 7
    assert done.recording.header().stop_reason == native.STOP_TRUNCATED


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("how", ["own", "dies", "sent", "ignores"])
def test_programs_have_sigbus_for_themselves(tmp_path, depth, how):
    argv = [target("truncates"), how]
    alone = spawn.run(Launch(argv=argv, program=argv[0]))
    done = recorded(tmp_path, depth, *argv)
    seen = done.outcome
    assert (alone.status, alone.stdout_digest) == (seen.status, seen.stdout_digest), (alone, seen)
    assert done.recording.header().stop_reason == 0
    assert done.objects > 0


def test_a_truncated_recording_is_shown_with_one_message(tmp_path):
    done = recorded(tmp_path, "full", target("killed"), "exit")
    whole = done.path.stat().st_size
    for size in (0, 40, 5000, 70_000, whole - 30_000):
        with done.path.open("r+b") as file:
            file.truncate(min(size, whole))
        shown = reap("show", str(done.path))
        assert shown.returncode == (0 if size >= 5000 else 125), shown.stderr
        assert "Traceback" not in shown.stderr
        done = recorded(tmp_path, "full", target("killed"), "exit")


def test_the_reason_names_no_error_where_there_was_none(tmp_path):
    done = recorded(tmp_path, "full", target("fragile"), "sandbox", "strict")
    assert done.recording.header().stop_reason == native.STOP_SANDBOX
    assert not any("(0;" in note for note in done.profile.notes)
