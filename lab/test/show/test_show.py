"""`reap record` and `reap show`, as a user meets them."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from programs import NOBODY, as_nobody, library, program, reap, reap_command
from recorded import target

from reap.base.errors import ExitCode
from reap.recording.read import read


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show")
    done = reap("record", "-d", "full", "-o", "busy.reap", "--", program("busy"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().isdigit()  # the program's own, and nothing of ours
    assert "the recording: busy.reap" in done.stderr
    assert "next: reap show busy.reap" in done.stderr
    return folder / "busy.reap"


def test_a_recording_is_private(recording):
    assert stat.S_IMODE(recording.stat().st_mode) == 0o600


def test_show_prints_the_table_and_the_sites(recording):
    said = reap("show", str(recording))
    assert (said.returncode, said.stderr) == (
        0,
        f"next: reap compare -- {program('busy')}\n",
    )
    for part in ("main", "malloc", "calloc", "realloc"):
        assert part in said.stdout


def test_show_writes_json_and_html_that_agree_with_the_recording(recording, tmp_path):
    said = reap("show", str(recording), "--json", "a.json", "--html", "a.html", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    (answer,) = json.loads((tmp_path / "a.json").read_text())["answers"]
    objects = sum(image.objects for image in read(recording).images())
    assert answer["profile"]["totals"]["total_objects"] == objects
    assert (tmp_path / "a.html").read_text().startswith("<!")
    for name in ("a.json", "a.html"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert "the results: a.json" in said.stderr
    again = reap("show", str(recording), "--json", "a.json", cwd=tmp_path)
    assert again.returncode == ExitCode.INTERNAL
    assert "exists already" in again.stderr
    assert reap("show", str(recording), "--json", "a.json", "--force", cwd=tmp_path).returncode == 0


def test_a_reader_that_has_seen_enough_does_not_cost_the_files(recording, tmp_path):
    receiving, sending = os.pipe()
    os.close(receiving)
    done = reap(
        "show", str(recording), "--json", "a.json", "--html", "a.html", cwd=tmp_path, capture_output=False,
        stdout=sending, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(sending)
    assert done.returncode == -signal.SIGPIPE
    assert json.loads((tmp_path / "a.json").read_text())["answers"]
    assert (tmp_path / "a.html").stat().st_size > 10000


def test_an_existing_file_is_not_overwritten(tmp_path):
    (tmp_path / "x.reap").write_text("precious")
    done = reap("record", "-o", "x.reap", "--", "true", cwd=tmp_path)
    assert done.returncode == ExitCode.INTERNAL
    assert "exists already" in done.stderr
    assert "--force" in done.stderr
    assert (tmp_path / "x.reap").read_text() == "precious"
    assert reap("record", "-o", "x.reap", "--force", "--", "true", cwd=tmp_path).returncode == 0
    assert read(tmp_path / "x.reap").header().finished


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--", program("peak_static"), "1"], ExitCode.NOT_EXECUTABLE, "statically linked"),
        (["--", "no-such-program"], ExitCode.NOT_FOUND, "no such command"),
        (["-o", "no/such/folder/x", "--", "true"], ExitCode.INTERNAL, "cannot be written"),
        (["-o", "/proc/x", "--", "true"], ExitCode.INTERNAL, "cannot be written"),
        (["-d", "nonsense", "--", "true"], ExitCode.USAGE, "triage"),
    ],
)
def test_what_cannot_be_recorded_gets_one_message(tmp_path, words, code, message):
    done = reap("record", *words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def reap_as_nobody(*words, cwd):
    """What `reap` says to an unprivileged user, and its exit code in the last line."""

    if as_nobody(lambda: str(os.access(sys.executable, os.X_OK))) != "True":
        pytest.skip("an unprivileged user may not enter this checkout's folder")

    def action():
        done = subprocess.run(
            [*reap_command(), *words], cwd=cwd, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return f"{done.stdout}{done.stderr}\n{done.returncode}"

    return as_nobody(action)


def test_an_output_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o755)
    said = reap_as_nobody("record", "-o", str(tmp_path / "x.reap"), "--", "true", cwd="/")
    assert said.endswith(f"\n{int(ExitCode.INTERNAL)}")
    assert "cannot be written: Permission denied" in said
    assert "Traceback" not in said


def test_a_program_that_would_change_its_user_is_refused(open_folder):
    copy = open_folder / "suid"
    copy.write_bytes(Path(program("busy")).read_bytes())
    copy.chmod(0o4755)
    said = reap_as_nobody("record", "-o", "/dev/null/x", "--", str(copy), cwd="/")
    assert said.endswith(f"\n{int(ExitCode.NOT_EXECUTABLE)}"), said
    assert "set-user-ID" in said or "set-user" in said


def test_an_unprivileged_user_can_record(open_folder):
    folder = open_folder / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    said = reap_as_nobody("record", "-o", str(folder / "x.reap"), "--", program("busy"), cwd=folder)
    assert said.endswith("\n0"), said
    seen = read(folder / "x.reap")
    assert sum(image.objects for image in seen.images()) > 40000


def test_a_program_with_a_malloc_of_its_own_runs_and_is_noted(tmp_path):
    done = reap("record", "-o", "own.reap", "--", program("own_malloc"), cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == "own\n"
    said = reap("show", "own.reap", cwd=tmp_path)
    assert said.returncode == 0
    assert "own_malloc" in said.stdout
    assert "malloc of its own" in " ".join(said.stdout.split())


def test_a_program_that_takes_the_address_of_malloc_has_none_of_its_own(tmp_path):
    """It is not position-independent: the loader finds a stub in the executable, as in Node.js."""
    done = reap("record", "-o", "x.reap", "--", program("takes_address"), cwd=tmp_path)
    said = reap("show", "x.reap", cwd=tmp_path)
    assert done.returncode == said.returncode == 0
    assert "malloc of its own" not in " ".join(said.stdout.split())


def test_what_the_user_preloads_stays(tmp_path):
    environment = {**os.environ, "LD_PRELOAD": library("talks")}
    done = reap("record", "-o", "x.reap", "--", program("busy"), "big", cwd=tmp_path, env=environment)
    assert done.stdout.startswith("hello\n")
    assert sum(image.objects for image in read(tmp_path / "x.reap").images()) > 40000


@pytest.mark.parametrize("depth", ["triage", "full"])
def test_a_full_disk_stops_the_recording_and_not_the_program(tmp_path, depth):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", disk], check=True)
    try:
        words = [target("processes"), "quick", "200"] if depth == "triage" else [program("busy")]
        done = reap("record", "-d", depth, "-o", str(disk / "x.reap"), "--", *words)
        assert done.returncode == 0, done.stderr
        said = reap("show", str(disk / "x.reap"))
        assert said.returncode == 0, said.stderr
        assert "the file could not grow (ENOSPC" in " ".join(said.stdout.split())
        assert not read(disk / "x.reap").damage().corrupt
    finally:
        subprocess.run(["umount", disk], check=True)


def test_the_exit_code_is_the_programs(tmp_path):
    assert reap("record", "-o", "a", "--", "sh", "-c", "exit 7", cwd=tmp_path).returncode == 7
    done = reap("record", "-o", "b", "--", "sh", "-c", "kill -SEGV $$", cwd=tmp_path)
    assert done.returncode == 128 + signal.SIGSEGV
    assert "was ended by SIGSEGV" in done.stderr
    done = reap("record", "-o", "c", "--timeout", "0.2", "--", "sleep", "100", cwd=tmp_path)
    assert done.returncode == ExitCode.TIMED_OUT
    assert "was ended after 0.2 s" in done.stderr


def test_standard_input_is_the_programs(tmp_path):
    with subprocess.Popen(
        [*reap_command(), "record", "-o", "x", "--", "wc", "-c"],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.communicate(b"x" * 100000)[0].strip() == b"100000"
