"""The command line, as a user meets it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import paired
import pytest
from programs import library, program, reap, reap_command

from reap.allocators import catalog
from reap.base.errors import ExitCode
from reap.cli import main as cli
from reap.compare import experiments

pytestmark = pytest.mark.bare

HEAVY = {"numpy", "scipy", "rich", "msgspec", "jinja2"}


@pytest.mark.timed
def test_help_is_quick_and_loads_nothing_heavy():
    show = "cli.main(['--help'], standalone_mode=False)"
    code = f"import sys\nfrom reap.cli.main import cli\n{show}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert not loaded & HEAVY
    # The bar is 0.3 s (lab/bench/start.py); beside what it cannot do without, 0.08 s of CPU time to 0.07 s.
    least = [sys.executable, "-c", "import click"]
    assert paired.ratios(least, [*reap_command(), "--help"], pairs=3).mean < 2


def test_recording_loads_neither_statistics_nor_tables(tmp_path):
    code = "import sys\nfrom reap.cli.main import cli\ncli.main(sys.argv[1:], standalone_mode=False)\n"
    words = [sys.executable, "-c", f"{code}print(*sys.modules)", "record", "-o", "r.reap", "--", "true"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert not loaded & {"numpy", "rich", "jinja2"}
    assert not loaded & {"concurrent", "hashlib", "html", "logging", "secrets", "tomllib", "traceback"}


def test_help_names_every_verb_and_every_exit_code():
    said = reap("--help").stdout
    for verb in cli.COMMANDS:
        assert f"\n  {verb} " in said
    for code in ("124", "125", "126", "127", "128 + N"):
        assert f", {code} " in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80
    assert len(said.splitlines()) < 60, "one screen"


@pytest.mark.parametrize("verb", ["compare", "doctor", "allocators"])
def test_every_verb_has_help(verb):
    done = reap(verb, "--help")
    assert done.returncode == 0
    assert "Options:" in done.stdout


def test_version():
    assert reap("--version").stdout.startswith("reap, version 0.1")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nonsense"], ExitCode.USAGE, "No such command"),
        (["comparr"], ExitCode.USAGE, "No such command 'comparr'; did you mean compare?"),
        (["sort", "-n", "a b"], ExitCode.USAGE, "to measure a program: reap run -- sort -n 'a b'"),
        (["workloads", "scenario", "midnight-climp"], ExitCode.USAGE, "did you mean midnight-climb? known "),
        (["compare", "--nonsense"], ExitCode.USAGE, "No such option"),
        (["compare"], ExitCode.USAGE, "no command to run"),
        (["compare", "--runs", "1", "--", "true"], ExitCode.USAGE, "1 is not in the range"),
        (["compare", "--allocators", "nosuch", "--", "true"], ExitCode.USAGE, "no allocator is called"),
        (["compare", "--", "no-such-program"], ExitCode.NOT_FOUND, "no such command in PATH"),
        (["compare", "--", "/etc/passwd"], ExitCode.NOT_EXECUTABLE, "is not executable"),
        (["compare", "--", program("peak_static")], ExitCode.NOT_EXECUTABLE, "statically linked"),
        (["compare", "--json", "/etc/passwd", "--", "true"], ExitCode.INTERNAL, "/etc/passwd exists already"),
        (["compare", "--resume", "/etc"], ExitCode.USAGE, "not an experiment's folder"),
        (["compare", "--resume", "/etc", "--timeout", "5"], ExitCode.USAGE, "it takes no --timeout"),
    ],
)
def test_mistakes_get_one_message_and_the_right_code(tmp_path, words, code, message):
    done = reap(*words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_of_ours_is_not_taken_for_the_programs_exit_code():
    code = "import reap.cli.main as m\nm.cli.main = lambda **k: 1 / 0\nm.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.INTERNAL
    assert "bug in reap" in done.stderr


def compare(where, *words, options=(), **more):
    return reap(
        "compare", "-a", f"good={library('good')}", "-n", "2", *options, "--", *words, cwd=where, **more
    )


def test_compare_prints_a_table_and_names_what_it_wrote(tmp_path):
    done = compare(tmp_path, program("busy"), options=["--json", "c.json", "--html", "c.html"])
    assert done.returncode == 0, done.stderr
    assert "good" in done.stdout
    (folder,) = tmp_path.glob("reap-runs/busy-*")
    assert str(folder) in done.stderr
    assert "c.json" in done.stderr
    assert f"next: reap record -o busy.reap -- {program('busy')}" in done.stderr
    report = json.loads((tmp_path / "c.json").read_text())
    assert report["answers"][0]["comparison"]["sides"][0]["verified"] is True
    assert report["made_by"][:2] == ["reap", "compare"]
    assert (tmp_path / "c.html").stat().st_size < 2 << 20
    assert "\x1b" not in done.stdout + done.stderr, "no colours and no bars where there is no terminal"


def test_compare_exits_as_the_program_does(tmp_path):
    assert compare(tmp_path, "/bin/sh", "-c", "exit 42", options=["-o", "a"]).returncode == 42
    done = reap(
        "compare", "-a", f"x={library('refuses')}", "-n", "2", "--", program("busy"), "big", cwd=tmp_path
    )
    assert done.returncode == ExitCode.FAILED
    assert "exit status 7 instead of 0" in done.stdout


def test_compare_refuses_an_existing_folder(tmp_path):
    assert compare(tmp_path, program("busy"), options=["-o", "here"]).returncode == 0
    done = compare(tmp_path, program("busy"), options=["-o", "here"])
    assert done.returncode == ExitCode.INTERNAL
    assert "here exists already" in done.stderr
    assert compare(tmp_path, program("busy"), options=["-o", "here", "--force"]).returncode == 0


def test_resume_refuses_another_command(tmp_path):
    compare(tmp_path, program("busy"), options=["-o", "here"])
    done = reap("compare", "--resume", "here", "--", "true", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert "another command" in done.stderr
    assert reap("compare", "--resume", "here", "--", program("busy"), cwd=tmp_path).returncode == 0


def test_standard_input_reaches_every_run(tmp_path):
    done = compare(tmp_path, "/bin/cat", options=["-o", "e"], stdin=None, input="given\n" * 10)
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in (tmp_path / "e" / "runs.jsonl").read_text().splitlines()]
    assert {run["outcome"]["stdout_bytes"] for run in runs} == {60}


def test_an_open_pipe_is_explained(tmp_path):
    command = [*reap_command(), "compare", "-a", f"good={library('good')}", "-n", "2", "--", "/bin/cat"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert "reading standard input to its end" in process.stderr.readline()
        process.stdin.close()
        assert process.wait(20) == 0


def test_allocators_lists_what_is_here(tmp_path):
    done = reap("allocators", "--json", "list.json", cwd=tmp_path)
    assert done.returncode == 0
    assert "glibc" in done.stdout
    assert "next: reap compare --allocators" in done.stderr
    found = json.loads((tmp_path / "list.json").read_text())
    assert "glibc" in {each["name"] for each in found["allocators"]}
    assert {each["name"] for each in [*found["allocators"], *found["missing"]]} >= {"jemalloc", "scudo"}


def test_doctor_tries_everything(tmp_path):
    done = reap("doctor", "--json", "doctor.json", cwd=tmp_path)
    checks = {check["name"]: check for check in json.loads((tmp_path / "doctor.json").read_text())["checks"]}
    assert checks.keys() >= {
        "preloading",
        "sampling",
        "allocators",
        "noise",
        "load",
        "clock",
        "free space",
        "symbols",
        "sandbox",
        "system calls",
        "drag",
    }
    assert checks["preloading"]["state"] == "good"
    assert done.returncode == (1 if any(check["state"] == "bad" for check in checks.values()) else 0)
    for check in checks.values():
        assert check["state"] == "good" or check["mend"], check


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    with subprocess.Popen(
        [*reap_command(), "allocators"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert "Traceback" not in said
    assert process.returncode == -signal.SIGPIPE


def test_everything_is_somewhere_else_than_the_current_folder(tmp_path):
    assert Path(reap("allocators", cwd=tmp_path).args[0]).exists()
    assert list(tmp_path.iterdir()) == []


def failing(error):
    """What `reap show` says where the import of its native part raises an error."""
    fails = f"raise {error}"
    code = f"""
import sys
class Finder:
    def find_spec(self, name, *_):
        if name == "reap.native": {fails}
sys.meta_path.insert(0, Finder())
sys.argv = ["reap", "show", "/dev/null"]
from reap.cli.main import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.INTERNAL
    return done.stderr


def test_without_libdw_there_is_one_message():
    error = "ImportError('libdw.so.1: cannot open shared object file: No such file', name='reap.native')"
    assert failing(error) == (
        "reap: libdw.so.1 is not installed; it is required to read recordings\n"
        "  sudo apt-get install libdw1\n"
    )


def test_a_library_that_finds_no_memory_is_not_said_to_be_missing():
    error = "ImportError('_ufuncs.so: failed to map segment from shared object', name='scipy')"
    assert failing(error) == (
        "reap: _ufuncs.so cannot be loaded: failed to map segment from shared object\n"
        "  it may be damaged, or memory limited (ulimit -a)\n"
    )


def test_where_descriptors_end_there_is_one_message():
    assert failing("OSError(24, 'Too many open files', '/tmp/x')") == (
        "reap: Too many open files: /tmp/x\n  ulimit -n 1024 allows this shell more open files\n"
    )


def test_where_files_may_not_grow_the_reason_is_given(tmp_path):
    words = [*reap_command(), "record", "-o", "x.reap", "--", program("busy")]
    shell = ["sh", "-c", 'ulimit -f 16 && exec "$@"', "sh", *words]
    done = subprocess.run(shell, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == ExitCode.INTERNAL
    assert "x.reap cannot be written: File too large" in done.stderr
    assert not (tmp_path / "x.reap").exists()


def test_where_memory_ends_there_is_one_message():
    assert failing("MemoryError()").startswith("reap: there is no memory for reap itself\n  end programs")


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("__import__('limited')", " while it loaded its libraries\n  if nobody"),
        ("os.kill(os.getpid(), 2)", "\n"),
    ],
)
def test_what_stops_a_library_while_it_is_loaded_is_said(tmp_path, action, said):
    """OpenBLAS sends SIGINT where it cannot start its threads, as with `ulimit -d 100000`."""
    (tmp_path / "limited.py").write_text("import os\nos.kill(os.getpid(), 2)\n")
    code = f"import os, reap.cli.main as m\ndef act(_): {action}\nm.cli.invoke = act\nm.main()"
    words = [sys.executable, "-c", code, "doctor"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == ExitCode.SIGNALLED + signal.SIGINT
    assert done.stderr.lstrip().startswith(f"reap: stopped{said}")


def test_only_glibc_is_compared_with_our_own(monkeypatch):
    monkeypatch.setattr(catalog, "FOLDERS", ("/nonexistent",))
    chosen, said = experiments.choose(None)
    assert [each.name for each in chosen] == ["glibc", "reap"]
    assert "not installed: jemalloc, mimalloc, tcmalloc" in said


def test_another_build_of_a_linked_allocator_is_compared_only_where_it_is_named():
    """Debian's mimalloc gained over the one of a program: by its options, which is no advice to switch."""
    usual = [each.name for each in experiments.choose(None, alone=True)[0]]
    chosen = [each.name for each in experiments.choose(None, alone=True, linked="mimalloc")[0]]
    assert chosen == [name for name in usual if name != "mimalloc"]
    named, _ = experiments.choose("glibc,mimalloc", linked="mimalloc")
    assert [each.name for each in named] == ["glibc", "mimalloc"]
