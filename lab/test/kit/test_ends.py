"""However a run ends, the program's status is kept, and nothing lies about."""

import os
import signal
import subprocess
import time

import pytest
from programs import program

from reap.recording import read


def test_a_limit_of_file_sizes_costs_the_recording_alone(tmp_path, kit):
    (tmp_path / "tmp").mkdir()
    limited = ["prlimit", "--fsize=196608", kit / "reap-record", "-o", "x.reap"]
    done = subprocess.run(
        [*limited, "/bin/sh", "-c", "exit 7"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    assert "File too large" in done.stderr
    assert not list((tmp_path / "tmp").iterdir())


def test_a_reader_that_has_gone_costs_no_status(tmp_path, kit):
    reading, writing = os.pipe()
    os.close(reading)
    words = [kit / "reap-record", "-o", "x.reap", "/bin/sh", "-c", "exit 7"]
    done = subprocess.run(words, cwd=tmp_path, stderr=writing, check=False)
    os.close(writing)
    assert done.returncode == 7


def test_a_signal_before_the_program_runs_is_not_lost(tmp_path, kit):
    (tmp_path / "tmp").mkdir()
    environment = {"TMPDIR": str(tmp_path / "tmp")}
    for delay in range(0, 60, 2):
        words = [kit / "reap-record", "-f", "-o", "x.reap", "/bin/sleep", "20"]
        with subprocess.Popen(
            words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            time.sleep(delay / 1000)
            process.terminate()
            status = process.wait(10)
            assert status in (-signal.SIGTERM, 128 + signal.SIGTERM), (delay, process.stderr.read())
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("trap", ["", "trap '' TERM;"])
def test_the_first_process_of_a_container_ends_what_is_left(tmp_path, kit, trap):
    script = f"({trap} {program('busy')}; while :; do sleep 0.01; done) & exit 3"
    words = ["unshare", "--pid", "--fork", "--mount-proc", kit / "reap-record", "-o", "x.reap"]
    done = subprocess.run(
        [*words, "/bin/sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if "unshare:" in done.stderr:
        pytest.skip(f"no namespace can be made here: {done.stderr}")
    assert done.returncode == 3, done.stderr
    assert "still running" not in done.stderr
    assert read.read(tmp_path / "x.reap").header().finished
