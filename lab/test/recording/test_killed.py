"""A recording survives whatever happens to the program, to reap and to the launcher."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest
from programs import reap, reap_command
from recorded import recorded, target

from reap import native
from reap.base.errors import ExitCode
from reap.recording import read, record

DEPTHS = ("triage", "full")


def whole(recording):
    """Whether the blocks that every run allocates are all there."""
    return {low: objects for low, _, objects, _ in recording.sizes()}[3001] == 5000


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("how", "status"), [("kill", 137), ("segv", 139), ("abort", 134), ("exit", 3)])
def test_a_death_of_the_program_loses_nothing(tmp_path, depth, how, status):
    done = recorded(tmp_path, depth, target("killed"), how)
    assert done.outcome.status == status
    assert whole(done.recording)
    assert done.recording.header().finished
    assert not done.recording.damage()


@pytest.mark.timed
def test_a_timeout_loses_nothing(tmp_path):
    for seconds in (0.3, 3, 30):  # until it had time to free some blocks
        done = recorded(tmp_path, "full", target("killed"), "on", timeout=seconds)
        if done.totals.frees > 1000:
            break
    assert done.outcome.timed_out
    assert whole(done.recording)
    assert done.totals.frees > 1000


def start_recording(folder, how):
    """`reap record` of a program that has allocated its blocks and waits; the launcher's pid and its own."""
    command = [*reap_command(), "record", "-d", "full", "-o", "k.reap", "--", target("killed"), how]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.read(1) == b"!"
    launcher = child_of(process.pid)
    return process, launcher, child_of(launcher)


def child_of(pid):
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("victim", ["reap", "launcher", "both"])
def test_reap_or_its_launcher_may_be_killed_outright(tmp_path, victim):
    process, launcher, program = start_recording(tmp_path, "wait")
    try:
        if victim != "launcher":
            process.kill()
        if victim != "reap":
            with contextlib.suppress(ProcessLookupError):  # it ends by itself when reap is gone
                os.kill(launcher, signal.SIGKILL)
        process.wait()
        if victim == "launcher":
            assert process.returncode == ExitCode.INTERNAL
    finally:
        process.stdout.close()
        if not gone(program):
            os.kill(program, signal.SIGKILL)
    while not gone(program):
        os.sched_yield()
    seen = read.read(tmp_path / "k.reap")
    assert whole(seen)
    assert not seen.damage().corrupt
    assert (tmp_path / "k.reap").stat().st_size <= 1 << 30  # most of it a hole
    record.finish(tmp_path / "k.reap")
    assert read.read(tmp_path / "k.reap").header().finished


def test_the_file_grows_before_it_is_used_up(tmp_path):
    process, _, program = start_recording(tmp_path, "wait")
    path = tmp_path / "k.reap"
    try:
        length = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(92)  # next_block: three quarters are used
            file.write(int(length / 65536 * 0.75).to_bytes(4, "little"))
        while path.stat().st_size == length:
            assert process.poll() is None
            os.sched_yield()
        assert length * 1.7 < path.stat().st_size < length * 1.8
        assert path.stat().st_blocks * 512 < 1 << 20
    finally:
        os.kill(program, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def test_a_recording_can_be_read_while_it_is_made(tmp_path):
    process, _, program = start_recording(tmp_path, "on")
    try:
        said = reap("show", "k.reap", cwd=tmp_path)
        assert said.returncode == 0, said.stderr
        assert "The recording was not closed" in " ".join(said.stdout.split())
    finally:
        os.kill(program, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert process.returncode == 137
    assert whole(read.read(tmp_path / "k.reap"))


@pytest.mark.parametrize("how", ["rm k.reap", "rm k.reap; echo > k.reap", "rm k.reap; mkdir k.reap"])
def test_a_program_that_removes_its_own_recording_keeps_its_status(tmp_path, how):
    script = f"{how}; echo out; ls > listing; exit 7"
    done = reap("record", "-o", "k.reap", "--", "/bin/sh", "-c", script, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert "the recording k.reap" in done.stderr
    assert "Traceback" not in done.stderr
    if how == "rm k.reap":
        words = ["rss", "--record", "r.reap", "-o", "r.csv", "--", "/bin/sh", "-c"]
        done = reap(*words, "rm r.reap; sleep 0.3; exit 7", cwd=tmp_path)
        assert done.returncode == 7, done.stderr


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bytes of a sound recording with several blocks."""
    return recorded(tmp_path_factory.mktemp("sound"), "full", target("killed"), "exit").path.read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"RPTRACE1", "it is not a recording made by reap"),
        (b"#!/bin/sh\necho hello\n" * 1000, "it is not a recording made by reap"),
        (b"\0" * 200000, "it is not a recording made by reap"),
    ],
)
def test_what_is_no_recording_gets_one_message(tmp_path, content, message):
    (tmp_path / "x.reap").write_bytes(content)
    refused(reap("show", "x.reap", cwd=tmp_path), message)


def refused(said, message):
    assert said.returncode == ExitCode.INTERNAL
    assert message in said.stderr
    assert said.stderr.startswith("reap: ")
    assert "Traceback" not in said.stderr
    assert said.stdout == ""


def test_a_recording_of_another_version_or_with_a_damaged_header_is_refused(tmp_path, sound):
    for place, message in ((8, "version"), (12, "header is damaged"), (16, "header is damaged")):
        damaged = bytearray(sound)
        damaged[place] ^= 0x40
        (tmp_path / "x.reap").write_bytes(damaged)
        refused(reap("show", "x.reap", cwd=tmp_path), message)


def test_files_that_cannot_be_read(tmp_path):
    refused(reap("show", "missing.reap", cwd=tmp_path), "No such file")
    refused(reap("show", ".", cwd=tmp_path), "not a regular file")
    os.mkfifo(tmp_path / "fifo")
    refused(reap("show", "fifo", cwd=tmp_path, timeout=10), "not a regular file")


@pytest.mark.parametrize("cut", [1, 100, 65535, 65536, 65536 + 10, 3 * 65536 + 4000])
def test_a_recording_that_was_cut_is_read_as_far_as_it_goes(tmp_path, sound, cut):
    (tmp_path / "x.reap").write_bytes(sound[:-cut])
    said = reap("show", "x.reap", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    if cut > 60000:
        assert "damaged" in said.stdout
    (tmp_path / "y.reap").write_bytes(sound[: len(sound) // 65536 // 2 * 65536])
    seen = read.read(tmp_path / "y.reap")
    assert seen.damage().truncated > 0


def test_flipped_bits_are_found_and_never_fatal(tmp_path, sound):
    path = tmp_path / "x.reap"
    block = 65536
    found = 0
    for index in range(1, len(sound) // block):
        for at in (0, 4, 6, 40, 44, 48, 64, 70, 900):
            damaged = bytearray(sound)
            damaged[index * block + at] ^= 0x55
            path.write_bytes(damaged)
            found += bool(read.read(path).damage())
    assert found > 20


def test_a_payload_with_a_wrong_checksum_is_left_out_and_said_so(tmp_path, sound):
    damaged = bytearray(sound)
    at = next(at for at in range(65536, len(sound), 65536) if sound[at + 4] == 1 and sound[at + 6] & 1)
    damaged[at + 64] ^= 1
    (tmp_path / "x.reap").write_bytes(damaged)
    assert "wrong checksum" in " ".join(reap("show", "x.reap", cwd=tmp_path).stdout.split())


def test_finishing_what_is_no_recording_leaves_it_alone(tmp_path):
    path = tmp_path / "x.reap"
    path.write_bytes(b"precious" * 20000)
    with pytest.raises(native.BadTraceError):
        native.finish_trace(str(path))
    assert path.read_bytes() == b"precious" * 20000
