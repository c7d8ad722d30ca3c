"""A check never passes a program that it did not measure, however that program is started."""

import json
import os
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from building import OUT, compiled
from programs import reap

from reap.base.errors import ExitCode
from reap.check import judge
from reap.check.run import run
from reap.launch.records import Launch

SOURCE = Path(__file__).with_name("starts.c")
STARTS = compiled("starts", ["gcc", "-O1", "-w", SOURCE, "-o", OUT])
STATIC = compiled("starts-static", ["gcc", "-O1", "-w", "-static", SOURCE, "-o", OUT])
LEAK = f"{STARTS} leak"
LIMIT = judge.limit("live-at-exit", "100MB")
"""The program leaks three times as much, and nothing that starts it comes near."""

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user or change its root")


def python(code: str) -> list[str]:
    return [sys.executable, "-c", f"import os, subprocess, sys; argv = sys.argv[1:]; {code}", STARTS, "leak"]


MEASURED = {
    "itself": [STARTS, "leak"],
    "sh": ["sh", "-c", f"{LEAK}; true"],
    "sh, exec": ["sh", "-c", f"exec {LEAK}"],
    "sh, LD_PRELOAD unset": ["sh", "-c", f"unset LD_PRELOAD; {LEAK}"],
    "sh, LD_PRELOAD of its own": ["sh", "-c", f"export LD_PRELOAD=/usr/lib/none.so; exec {LEAK} 2>&-"],
    "bash": ["bash", "-c", f"({LEAK}) & wait"],
    "bash, exec -c": ["bash", "-c", f"exec -c {LEAK}"],
    "dash": ["dash", "-c", f"{LEAK} | cat"],
    "env -i": ["env", "-i", STARTS, "leak"],
    "env -u": ["env", "-u", "LD_PRELOAD", "-u", "REAP_TRACE", STARTS, "leak"],
    "env in env": ["env", "-i", "env", "A=1", "env", "-i", "sh", "-c", LEAK],
    "nohup": ["nohup", STARTS, "leak"],
    "nice": ["nice", STARTS, "leak"],
    "timeout": ["timeout", "60", STARTS, "leak"],
    "setsid": ["setsid", "--wait", STARTS, "leak"],
    "stdbuf": ["stdbuf", "-oL", STARTS, "leak"],
    "xargs": ["sh", "-c", f"echo leak | xargs {STARTS}"],
    "find": ["find", "/", "-maxdepth", "0", "-exec", STARTS, "leak", ";"],
    "make": ["make", "-s", "-f", "-", "all"],
    "script": ["script", "-qec", LEAK, "/dev/null"],
    "the loader": ["/lib64/ld-linux-x86-64.so.2", STARTS, "leak"],
    "the loader, env -i": ["env", "-i", "/lib64/ld-linux-x86-64.so.2", STARTS, "leak"],
    "perl, system": ["perl", "-e", "%ENV = (); system(@ARGV)", STARTS, "leak"],
    "perl, exec": ["perl", "-e", "%ENV = (); exec(@ARGV)", STARTS, "leak"],
    "python, subprocess": python("subprocess.run(argv, env={})"),
    "python, exec": python("os.execve(argv[0], argv, {})"),
    "python, posix_spawn": python("os.waitpid(os.posix_spawn(argv[0], argv, {}), 0)"),
    "execve": [STARTS, "execve", STARTS, "leak"],
    "execve without environment": [STARTS, "null", STARTS, "leak"],
    "posix_spawn": [STARTS, "spawn", STARTS, "leak"],
    "vfork": [STARTS, "vfork", STARTS, "leak"],
    "fexecve of a memfd": [STARTS, "memory", STARTS, "leak"],
    "syscall(SYS_execve)": [STARTS, "raw", STARTS, "leak"],
    "syscall(SYS_fork)": [STARTS, "clone", STARTS, "leak"],
}
"""The preloads are put back into the environment of each, which exceeds the limit."""
AS_ROOT = {
    "setpriv": ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", STARTS, "leak"],
    "su": ["su", "-c", LEAK],
    "runuser": ["runuser", "-u", "nobody", "--", STARTS, "leak"],
    "chroot": ["chroot", "/", "env", "-i", STARTS, "leak"],
    "unshare": ["unshare", "--mount", "--pid", "--fork", STARTS, "leak"],
}
UNMEASURED = {
    "a static program": ["sh", "-c", f"{STATIC} leak; true"],
    "a static launcher": ["sh", "-c", f"{STATIC} execve {LEAK}; true"],
    "a static launcher, vfork": ["sh", "-c", f"{STATIC} vfork {LEAK}; true"],
    "system": [STARTS, "system", STARTS, "leak"],
    "popen": [STARTS, "popen", STARTS, "leak"],
    "wordexp": [STARTS, "wordexp", STARTS, "leak"],
    "a daemon": [STARTS, "daemon", STARTS, "leak"],
}
"""Each is seen not to be measured, however short it lives."""


def verdict(folder: Path, argv: list[str], stdin: str = "") -> str:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    launch = Launch(argv=argv, program=str(shutil.which(argv[0])), capture=False, stdin=stdin)
    runs, outcome = run(launch, folder / "x.reap", "full", [], [], runs=1, enough=bool, say=print)
    assert outcome.status == 0, outcome.stderr_tail
    return judge.judged(LIMIT, runs).verdict


@pytest.mark.parametrize("way", MEASURED)
def test_a_program_is_measured_whatever_starts_it(tmp_path, way):
    (tmp_path / "makefile").write_text(f"all:\n\t{LEAK}\n")
    assert verdict(tmp_path, MEASURED[way], stdin=str(tmp_path / "makefile")) == "exceeded"


@root
@pytest.mark.parametrize("way", AS_ROOT)
def test_so_is_one_that_is_started_as_another_user_or_in_another_root(tmp_path, way):
    tmp_path.chmod(0o755)
    readable = tmp_path / "starts"
    shutil.copy(STARTS, readable)
    argv = [word.replace(STARTS, str(readable)) for word in AS_ROOT[way]]
    for folder in readable.parents[:4]:
        folder.chmod(folder.stat().st_mode | 0o005)
    assert verdict(tmp_path, argv) == "exceeded"


@pytest.mark.parametrize("way", UNMEASURED)
def test_one_that_cannot_be_measured_does_not_pass(tmp_path, way):
    assert verdict(tmp_path, UNMEASURED[way]) in ("not measured", "exceeded")


@pytest.mark.parametrize("shell", ["busybox", "dumb-init", "tini"])
def test_entry_points_of_containers(tmp_path, shell):
    words = {
        "busybox": ["busybox", "sh", "-c", f"{LEAK}; true"],
        "tini": ["tini", "-s", "--", STARTS, "leak"],
    }
    argv = words.get(shell, [shell, STARTS, "leak"])
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{shell} is not installed")
    assert verdict(tmp_path, ["sh", "-c", '"$@"; true', "sh", *argv]) in ("not measured", "exceeded")


@pytest.fixture
def unmeasured(tmp_path, monkeypatch):
    """Runs `reap check` on a program that starts a static one."""
    monkeypatch.setenv("GITHUB_ACTIONS", "false")

    def check(*options: str, script: str = f"{STATIC} leak; true"):
        return reap("check", *options, "--", "sh", "-c", script, cwd=tmp_path)

    return check


def test_what_is_not_measured_has_an_exit_code_of_its_own_and_names_what_is_missing(unmeasured):
    done = unmeasured("--max-live-at-exit", "100MB", "--max-peak", "100MB")
    assert done.returncode == ExitCode.NOT_MEASURED
    said = done.stderr.splitlines()
    # Before them there may be a note that the static program's own malloc was seen too late to be watched.
    limits = [line for line in said if not line.startswith("note: calls of its own malloc in starts-static")]
    assert [line.split(":")[0].strip() for line in limits[:2]] == ["not measured"] * 2
    assert any("note: Nothing was recorded of starts-static: " in line for line in said)
    assert any("coverage: 1 of 2 processes recorded" in line for line in said)
    assert said[-2].startswith("reap: not measured: sh: 2 of 2 limits, as not all was recorded: ")
    assert said[-1].startswith("to judge the rest by itself, add --accept-unrecorded starts-static")


def test_what_exceeds_a_limit_does_so_whatever_is_missing(unmeasured):
    done = unmeasured("--max-live-at-exit", "100MB", script=f"{STATIC} leak; {LEAK}")
    assert done.returncode == ExitCode.FAILED
    assert "reap: failed: sh: 1 of 1 limit exceeded" in done.stderr


def test_a_program_may_be_accepted_as_not_recorded(tmp_path, unmeasured):
    limit = ("--max-live-at-exit", "100MB")
    assert unmeasured(*limit, "--accept-unrecorded", "starts-st*").returncode == ExitCode.OK
    assert unmeasured(*limit, "--accept-unrecorded", "starts").returncode == ExitCode.NOT_MEASURED
    (tmp_path / "b.toml").write_text(
        'accept-unrecorded = ["starts-static"]\n[limits]\nlive-at-exit = "1 MB"\n'
    )
    done = unmeasured("b.toml")
    assert done.returncode == ExitCode.OK
    assert "note: Nothing was recorded of starts-static" in done.stderr


def test_ci_is_told_that_a_limit_was_not_measured(tmp_path, unmeasured):
    files = ("--junit", "c.xml", "--json", "c.json", "--html", "c.html")
    done = unmeasured("--max-live-at-exit", "100MB", "--github", *files)
    (suite,) = ET.parse(tmp_path / "c.xml").getroot()  # noqa: S314 - our own
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("0", "1")
    (error,) = suite.iter("error")
    assert error.attrib["type"] == "not measured"
    assert "Nothing was recorded of starts-static" in error.text
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("::error ")]
    assert "not measured" in line
    assert "--accept-unrecorded starts-static" in line
    held = json.loads((tmp_path / "c.json").read_text())["answers"][0]["check"]
    assert held["to_accept"] == ["starts-static"]
    assert held["coverage"]["processes"] == held["coverage"]["recorded"] + 1
    assert [each["program"] for each in held["coverage"]["unrecorded"]] == ["starts-static"]
    page = (tmp_path / "c.html").read_text()
    assert "not-measured" in page
    assert "1 of 2 processes recorded" in page


def test_a_baseline_is_not_written_from_what_was_not_measured(tmp_path, unmeasured):
    done = unmeasured("--baseline", "b.json", "--update")
    assert done.returncode == ExitCode.NOT_MEASURED
    assert "not measured: sh: not all of it was recorded" in done.stderr
    assert not (tmp_path / "b.json").exists()


def test_a_recording_that_cannot_be_read_is_not_measured(tmp_path, monkeypatch):
    """Of one that the program truncated nothing is left, and no limit counts as kept."""
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    words = ("--max-peak", "1GB", "-o", "x.reap", "--junit", "c.xml", "--html", "c.html")
    done = reap("check", *words, "--", "sh", "-c", ": > x.reap", cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_MEASURED, done.stderr
    assert "note: The recording x.reap was truncated or overwritten while it was made" in done.stderr
    assert "reap: not measured: sh: not all of it was recorded" in done.stderr
    assert "reap show" not in done.stderr
    (suite,) = ET.parse(tmp_path / "c.xml").getroot()  # noqa: S314 - our own
    (error,) = suite.iter("error")
    assert (suite.attrib["errors"], error.attrib["type"]) == ("1", "not measured")
    assert "not-measured" in (tmp_path / "c.html").read_text()
    assert reap("check", *words, "-f", "--", "sh", "-c", ": > x.reap; exit 7", cwd=tmp_path).returncode == 7


@pytest.mark.parametrize("way", ["env -i", "env LD_PRELOAD=", "env -u REAP_TRACE"])
def test_children_keep_their_environment_if_asked(unmeasured, monkeypatch, way):
    """However short they live, it is known that they were not measured."""
    monkeypatch.setenv("REAP_KEEP_ENVIRONMENT", "1")
    done = unmeasured("--max-live-at-exit", "100MB", script=f"{way} /bin/true")
    assert done.returncode == ExitCode.NOT_MEASURED, done.stderr
    assert "Nothing was recorded of true" in done.stderr
