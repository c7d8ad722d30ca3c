"""A recording made by a kit is the one that `reap record` makes, and needs nothing but the kit."""

import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab.test.recording.names import builds
from lab.test.recording.names.refused import dying_parsers
from programs import NOBODY, ends, program, reap
from recorded import target

from reap import native
from reap.recording import read
from reap.recording.analyse.profile import profile

PROGRAMS = {
    "C": lambda: [program("busy")],
    "C++": lambda: [target("operators"), "200"],
    "of children": lambda: ["/bin/sh", "-c", f"{program('busy')}; {program('busy')} big; exit 3"],
    "Python": lambda: [
        sys.executable,
        "-c",
        "x = [str(i) for i in range(9999)]; import sys; sys.exit(4)",
    ],
}


def facts(path: Path):
    """What a recording says that is the same in each run."""
    found = profile(read.read(path), [])
    sites = {(site.function, site.location): site.objects for site in found.sites}
    return [(each.command, each.totals.total_objects) for each in found.processes], sites


def created(path: Path) -> tuple[int, int, int]:
    """How a recording was made: depth, clock, limit of exact events."""
    data = path.read_bytes()
    return (*struct.unpack_from("<II", data, 16), *struct.unpack_from("<Q", data, 400))


def names(path: Path, module: str) -> set[str]:
    return builds.functions(read.read(path), module)


@pytest.mark.parametrize("depth", ["triage", "full"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_the_same_as_that_of_reap(tmp_path, by_kit, name, depth):
    words = ["--depth", depth, "--", *PROGRAMS[name]()]
    # Python's `reap` would set a locale where there is none, and Python programs allocate otherwise in that.
    environment = {"PYTHONHASHSEED": "0", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    done = by_kit("-o", "kit.reap", *words, env=environment)
    same = reap("record", "-o", "reap.reap", *words, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout) == (same.returncode, same.stdout), done.stderr + same.stderr
    assert facts(tmp_path / "kit.reap") == facts(tmp_path / "reap.reap")
    assert created(tmp_path / "kit.reap") == created(tmp_path / "reap.reap")
    header = read.read(tmp_path / "kit.reap").header()
    assert (header.sampler, header.sampler_period_us) in {
        (native.SAMPLER_PERF, native.PERF_PERIOD_US),
        (
            native.SAMPLER_TIMER,
            native.TIMER_PERIOD_US,
        ),  # also where the machine was too busy to give a sample
    }
    assert stat.S_IMODE((tmp_path / "kit.reap").stat().st_mode) == 0o600
    assert done.stderr.splitlines() == ["the recording: kit.reap", "next: reap show kit.reap"]


def test_triage_is_the_default_and_the_file_is_named_as_the_program(tmp_path, by_kit):
    assert by_kit(program("busy")).returncode == 0
    assert created(tmp_path / "busy.reap")[0] == native.TRIAGE


@pytest.mark.parametrize("when", ["while it runs", "afterwards"])
def test_names_outlive_the_program(tmp_path, by_kit, when):
    file = builds.build(tmp_path / "prog")
    words = [f"rm {file}"] if when == "while it runs" else []
    done = by_kit("--", file, *words, env={"PATH": "/bin:/usr/bin"})
    assert done.returncode == 0, done.stderr
    Path(file).unlink(missing_ok=True)
    assert names(tmp_path / "prog.reap", "prog") >= {"read_body", "write_log", "main"}


@pytest.mark.skipif(os.geteuid() != 0, reason="the parser of another user changes no user")
def test_its_parser_is_confined_and_may_die(tmp_path, kit):
    file = builds.build(tmp_path / "prog")
    done = subprocess.run([dying_parsers(), kit / "reap-record", "--", file], cwd=tmp_path, check=False)
    assert done.returncode == 0
    Path(file).unlink()
    assert names(tmp_path / "prog.reap", "prog") == {"prog+0x"}


def copied_with_libraries(root: Path, *files: str) -> None:
    """Copies programs with what the loader needs for them into another root."""
    listed = [word for file in files for word in subprocess.check_output(["ldd", file], text=True).split()]
    for file in {*files, *(word for word in listed if word.startswith("/"))}:
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the root directory")
def test_it_needs_neither_python_nor_reap(tmp_path, kit):
    root = tmp_path / "root"
    file = builds.build(tmp_path / "prog", "-DSECOND")
    copied_with_libraries(root, file)
    shutil.copytree(kit, root / "kit")
    for folder in ("proc", "tmp"):
        (root / folder).mkdir(exist_ok=True)
    inside = f'chroot "$0" /kit/reap-record -o /x.reap {file}'
    words = ["unshare", "--mount", "sh", "-c", f'mount -t proc proc "$0/proc" && exec {inside}', root]
    without = subprocess.run(["sh", "-c", inside, root], capture_output=True, text=True, check=False)
    assert without.returncode == 125
    assert without.stderr.startswith("reap-record: /proc is not mounted\n  mount -t proc proc /proc\n")
    done = subprocess.run(words, env={}, capture_output=True, text=True, check=False)
    if "mount" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    Path(file).unlink()
    found = profile(read.read(root / "x.reap"), [])
    assert found.totals.total_objects == 300
    assert names(root / "x.reap", "prog") >= {"read_body", "write_log", "parse_header", "main"}
    assert {Path(site.location).name.partition(":")[0] for site in found.sites} == {"<stdin>"}
    assert not list((root / "tmp").glob("reap-*"))


@pytest.mark.parametrize("name", ["my kit: 1", "kit$ORIGIN"])
def test_the_kit_may_be_moved_also_to_a_name_that_no_preload_can_have(tmp_path, kit, name):
    moved = shutil.copytree(kit, tmp_path / name)
    (tmp_path / "link").symlink_to(moved / "reap-record")
    done = subprocess.run(
        [tmp_path / "link", program("busy")], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert facts(tmp_path / "busy.reap")[0][0][1] > 1000


def test_a_kit_of_such_a_name_records_also_what_is_started_when_it_has_ended(tmp_path, kit):
    moved = shutil.copytree(kit, tmp_path / "my kit")
    script = f"exec 3<&0; (read line <&3; exec {program('busy')}) >/dev/null 2>&1 & exit 0"
    words = [moved / "reap-record", "-o", "x.reap", "/bin/sh", "-c", script]
    environment = {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdin=subprocess.PIPE) as process:
        assert process.wait(60) == 0
        process.stdin.write(b"go\n")
    until = time.monotonic() + 60
    while [program("busy")] not in [command for command, _ in facts(tmp_path / "x.reap")[0]]:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_script_for_env_with_options(tmp_path, by_kit):
    script = tmp_path / "script"
    script.write_text(f"#!/usr/bin/env -S -u FOO {program('busy')}\n")
    script.chmod(0o755)
    done = by_kit(script)
    assert done.returncode == 0, done.stderr
    assert facts(tmp_path / "script.reap")[0][-1][1] > 1000


def test_the_default_name_of_a_recording_has_no_control_characters(tmp_path, by_kit):
    file = shutil.copy(program("busy"), tmp_path / "b\x9b\x1by")
    assert by_kit(file).returncode == 0
    assert (tmp_path / "b__y.reap").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_who_does_not_own_it_can_use_it(tmp_path, kit):
    shared = Path(shutil.copytree(kit, "/tmp/reap-test-shared-kit", dirs_exist_ok=True))
    try:
        words = [
            "setpriv",
            f"--reuid={NOBODY}",
            f"--regid={NOBODY}",
            "--clear-groups",
            shared / "reap-record",
        ]
        tmp_path.chmod(0o777)
        done = subprocess.run(
            [*words, "-o", shared / "no.reap", "/bin/true"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 125
        assert "cannot be written: Permission denied\n  name another file with -o" in done.stderr
    finally:
        shutil.rmtree(shared)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("group", [True, False])
def test_a_signal_ends_the_program_and_the_recording_is_kept(tmp_path, kit, number, group):
    script = "trap 'exit 5' INT TERM; echo ready; while :; do sleep 0.01; done"
    words = [kit / "reap-record", "-o", "x.reap", "/bin/bash", "-c", script]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        (os.killpg if group else os.kill)(process.pid, number)
        assert process.wait(60) == 5, process.stderr.read()
    assert read.read(tmp_path / "x.reap").header().finished
    assert names(tmp_path / "x.reap", "bash")


def test_the_program_ends_with_a_kit_that_is_killed(tmp_path, kit):
    words = [kit / "reap-record", "-o", "x.reap", "/bin/sleep", "61.4142"]
    with subprocess.Popen(words, cwd=tmp_path, env={"TMPDIR": str(tmp_path)}) as process:
        while not (tmp_path / "x.reap").exists() or not read.read(tmp_path / "x.reap").images():
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert ends("sleep 61.4142")
    assert read.read(tmp_path / "x.reap").images()


def test_a_process_that_goes_on_is_named(tmp_path, by_kit):
    done = by_kit("-o", "x.reap", "/bin/sh", "-c", "sleep 5 >/dev/null 2>&1 & exit 0")
    assert re.search(
        r"^note: still running, and still recorded into it: (sh|sleep) \(pid \d+\)$",
        done.stderr,
        re.MULTILINE,
    )
    assert not read.read(tmp_path / "x.reap").header().finished


def test_what_ended_the_program_is_said(by_kit):
    done = by_kit("/bin/sh", "-c", "kill -SEGV $$", env={"PATH": "/bin"})
    assert done.returncode == 128 + signal.SIGSEGV
    assert done.stderr.startswith("reap-record: /bin/sh was ended by SIGSEGV\n")


def test_code_that_was_compiled_at_run_time_has_its_names(tmp_path, by_kit):
    assert by_kit("-o", "x.reap", target("compiled")).returncode == 0
    (pid,) = {image.pid for image in read.read(tmp_path / "x.reap").images()}
    Path(f"/tmp/perf-{pid}.map").unlink()
    assert {site for site, _ in facts(tmp_path / "x.reap")[1]} >= {"JS:*second", "first(int, long)"}


@pytest.mark.parametrize("how", ["rm x.reap", "rm x.reap; mkdir x.reap", "echo x > x.reap"])
def test_a_program_that_spoils_its_own_recording_keeps_its_status(by_kit, how):
    done = by_kit("-o", "x.reap", "/bin/sh", "-c", f"{how}; exit 7", env={"PATH": "/bin:/usr/bin"})
    assert (done.returncode, done.stdout) == (7, "")
    assert done.stderr.startswith("reap-record: the recording x.reap ")
