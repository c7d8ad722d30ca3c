"""Runs of a round at the same time on one core: what may be, what is refused, and what comes of it."""

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import msgspec
import pytest
from programs import ends, library, program

from reap.allocators import catalog
from reap.base.errors import ExitCode, ReapError
from reap.compare import run as comparing
from reap.experiment import arms, footprint, naming, pairing
from reap.experiment.folder import Folder, read_runs
from reap.experiment.records import Asked, Comparison, Pairing, Run
from reap.experiment.spec import Variant
from reap.experiment.specify import Conditions, specify
from reap.launch import program as programs
from reap.launch import spawn, together
from reap.launch.records import Launch, Loaded, LoadLatency, Outcome
from reap.server.records import Server


def launch(*argv: str, **options: object) -> Launch:
    return Launch(argv=list(argv), program=programs.resolve(list(argv)).path, **options)  # type: ignore[arg-type]


def shell(script: str, **options: object) -> Launch:
    held = launch("/bin/sh", "-c", script)
    return msgspec.structs.replace(held, **options)


def compared(where: Path, command: list[str], asked: Asked = "auto", **options: object) -> Comparison:
    spec = specify(
        command,
        catalog.parse(f"glibc,good={library('good')}"),
        conditions=Conditions(pairing=asked, **{"runs": 2, **options}),  # type: ignore[arg-type]
    )
    with Folder.create(where / "experiment", spec, None) as folder:
        return comparing.compare(folder)


# Running together.


def test_all_run_at_the_same_time_on_one_core(tmp_path: Path) -> None:
    core = max(os.sched_getaffinity(0))
    others = "until test -e a -a -e b -a -e c; do sleep 0.01; done"
    script = f"cd {tmp_path}; taskset -cp $$ >NAME.new; mv NAME.new NAME; timeout 60 sh -c '{others}'"
    outcomes = together.run([shell(script.replace("NAME", name)) for name in "abc"], core)
    assert [each.status for each in outcomes] == [0, 0, 0]
    for name in "abc":
        assert (tmp_path / name).read_text().strip().endswith(f": {core}")


def test_each_has_its_own_output_status_and_time() -> None:
    one, other = together.run([shell("echo one; exit 3"), shell("echo other >&2; exit 4")], 0)
    assert (one.exit_code, one.stdout_bytes, one.stderr_tail) == (3, 4, "")
    assert (other.exit_code, other.stdout_bytes, other.stderr_tail) == (4, 0, "other\n")


def test_one_that_cannot_be_executed_leaves_none_running(tmp_path: Path) -> None:
    mark = f"sleep 100.{os.getpid()}4711"
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(ReapError) as thrown:
        together.run([Launch(argv=["broken"], program=str(broken)), shell(mark)], 0)
    assert thrown.value.code in {ExitCode.NOT_FOUND, ExitCode.NOT_EXECUTABLE}
    assert ends(mark)


def test_a_window_that_changes_its_size_ends_nothing_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each launcher gets the terminal's signals before all are ready."""
    begin = spawn.started

    def signalled(*words: object, **options: object) -> object:
        launcher = begin(*words, **options)  # type: ignore[arg-type]
        return _Signalled(launcher)

    class _Signalled:
        def __init__(self, within: contextlib.AbstractContextManager[spawn.Launcher]) -> None:
            self._within = within

        def __enter__(self) -> spawn.Launcher:
            launcher = self._within.__enter__()
            time.sleep(0.2)  # until it has blocked them
            for number in (signal.SIGWINCH, signal.SIGCONT):
                launcher.process.send_signal(number)
            return launcher

        def __exit__(self, *thrown: object) -> bool | None:
            return self._within.__exit__(*thrown)  # type: ignore[arg-type]

    monkeypatch.setattr(spawn, "started", signalled)
    outcomes = together.run([shell("exit 3"), shell("exit 4")], 0)
    assert [each.status for each in outcomes] == [3, 4]


def test_a_timeout_is_that_of_the_program_alone_times_their_number() -> None:
    begun = time.monotonic()
    one, other = together.run([shell("sleep 30", timeout=0.8), shell("sleep 1", timeout=0.8)], 0)
    assert time.monotonic() - begun < 20
    assert one.timed_out
    assert not other.timed_out


# What copies would meet.

REFUSED = {
    "writes a file": ("echo x >FOLDER/file", "writes FOLDER/file"),
    "appends to a file": ("echo x >>FOLDER/old", "writes FOLDER/old"),
    "removes a file": ("rm FOLDER/old", "removes FOLDER/old"),
    "renames a file": ("mv FOLDER/old FOLDER/new", "renames FOLDER/new"),
    "makes a folder of a fixed name": ("mkdir FOLDER/made; rmdir FOLDER/made", "creates FOLDER/made"),
    "makes a lock of a fixed name": ("set -C; : >FOLDER/lock; rm FOLDER/lock", "creates FOLDER/lock"),
    "changes a mode": ("chmod 700 FOLDER/old", "changes FOLDER/old"),
    "locks a file": ("flock FOLDER/old true", "locks FOLDER/old"),
    "signals another process": (f"kill -CONT {os.getpid()}", f"signals process {os.getpid()}"),
    "works in another folder": ("cd FOLDER; echo x >file", "writes FOLDER/file"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_copies_would_meet_is_seen(what: str, tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    script, expected = (words.replace("FOLDER", str(tmp_path)) for words in REFUSED[what])
    assert expected in footprint.watch(shell(script)).shares


ALLOWED = {
    "reads": "cat /etc/passwd | wc -l >/dev/null 2>&1",
    "temporary files": "file=$(mktemp); folder=$(mktemp -d); echo x >$file; echo x >$folder/x; "
    "mv $file $folder; rm -r $folder",
    "children and pipes": "seq 1000 | sort | head -1; sleep 10 & kill $!",
}


@pytest.mark.parametrize("what", ALLOWED)
def test_what_is_a_program_s_own_is_allowed(what: str) -> None:
    seen = footprint.watch(shell(ALLOWED[what]))
    assert (seen.shares, seen.threads) == ([], False)


@pytest.mark.parametrize(
    ("script", "shares"),
    [
        ("s = socket.socket(); s.bind(('127.0.0.1', PORT)); s.listen()", "listens on port PORT"),
        ("s = socket.socket(socket.AF_UNIX); s.bind('PATH')", "listens on PATH"),
        ("s = socket.socket(socket.AF_UNIX); s.bind(chr(0) + 'reap-PORT')", "listens on reap-PORT"),
    ],
)
def test_a_listener_is_seen(script: str, shares: str, tmp_path: Path) -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script, shares = (
        text.replace("PORT", port).replace("PATH", str(tmp_path / "s")) for text in (script, shares)
    )
    assert shares in footprint.watch(launch(sys.executable, "-c", f"import socket; {script}")).shares


def test_a_program_that_leaves_one_running_does_not_hang() -> None:
    with pytest.raises(ReapError, match=r"did not end within 0\.5 s"):
        footprint.watch(shell("sleep 100 & exit 0", timeout=0.5))


def test_threads_are_seen() -> None:
    script = "import threading; t = threading.Thread(target=print); t.start(); t.join()"
    assert footprint.watch(launch(sys.executable, "-c", script)).threads


def test_calls_that_strace_cut_are_put_together() -> None:
    lines = [
        '12 openat(AT_FDCWD</a>, "x", O_WRONLY|O_CREAT, 0666 <unfinished ...>',
        '13 openat(AT_FDCWD</b>, "y", O_RDONLY) = 3</b/y>',
        "12 <... openat resumed>) = 3</a/x>",
        '13 unlink("/b/z") = -1 ENOENT (No such file or directory)',
        "13 +++ exited with 0 +++",
    ]
    assert footprint.seen(lines).shares == ["writes /a/x"]


# Experiments.


def test_a_program_that_only_computes_is_compared_at_the_same_time(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [program("busy")])
    assert (comparison.pairing.method, comparison.pairing.reason) == ("simultaneous", "")
    (side,) = comparison.sides
    assert {"cpu", "peak_resident", "minor_faults"} <= side.ratios.keys()
    assert "wall" not in side.ratios
    runs, _ = read_runs(tmp_path / "experiment" / "runs.jsonl")
    assert [run.together for run in runs] == [False] * 2 + [True] * 6


def test_files_named_by_arm_let_copies_run_at_the_same_time(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", f"{program('busy')}; echo $0 >{tmp_path}/file-$0", "{arm}"]
    comparison = compared(tmp_path, command, cleanup=f"cat {tmp_path}/file-{{arm}} >>{tmp_path}/names")
    assert (comparison.pairing.method, comparison.pairing.reason) == ("simultaneous", "")
    names = (tmp_path / "names").read_text().split()
    assert len(set(names)) == len(names) >= 2 + 1 + 6
    assert {len(name) for name in names} == {len(naming.ALONE)}
    assert {path.name for path in tmp_path.glob("file-*")} == {f"file-{name}" for name in names}


def test_a_file_without_the_name_of_the_arm_still_meets(tmp_path: Path) -> None:
    script = f"echo x >{tmp_path}/$0; echo x >{tmp_path}/both"
    assert footprint.watch(shell(script, argv=["sh", "-c", script, "{arm}"])).shares == [
        f"writes {tmp_path}/both"
    ]


def test_other_commands_and_variables_have_the_name_of_the_arm(tmp_path: Path) -> None:
    words = ["/bin/sh", "-c", f"echo $NAME >{tmp_path}/$NAME"]
    other = Variant(name="other", program=programs.resolve([*words, "{arm}"]), environment={"NAME": "{arm}"})
    spec = specify(
        ["/bin/sh", "-c", f"echo x >{tmp_path}/{{arm}}"],
        catalog.parse("glibc"),
        conditions=Conditions(pairing="auto", runs=2),
        against=[other],
    )
    with Folder.create(tmp_path / "experiment", spec, None) as folder:
        assert comparing.compare(folder).pairing == Pairing(method="simultaneous")
    made = [path for path in tmp_path.iterdir() if path.is_file()]
    assert len(made) == 2 + 1 + 6
    assert not any("{" in path.name for path in made)


def test_a_program_that_signals_others_is_compared_one_after_another(tmp_path: Path) -> None:
    """No view of its files keeps it from signalling."""
    script = f"{program('busy')}; echo x >{tmp_path}/file; kill -CONT {os.getpid()}"
    comparison = compared(tmp_path, ["/bin/sh", "-c", script])
    assert comparison.pairing.method == "sequential"
    assert comparison.pairing.reason == (
        f"copies of the program would meet: it writes {tmp_path}/file, signals process {os.getpid()}"
    )
    assert "wall" in comparison.sides[0].ratios


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"prepare": "true"}, "--prepare"),
        ({"cleanup": "true"}, "--cleanup"),
    ],
)
def test_what_was_asked_for_may_need_one_after_another(tmp_path: Path, options: dict, reason: str) -> None:
    spec = specify(
        [program("busy")],
        catalog.parse(f"glibc,good={library('good')}"),
        conditions=Conditions(pairing="auto", **options),
    )
    with Folder.create(tmp_path / "experiment", spec, None) as folder:
        settled = pairing.settle(folder, 3, lambda: [shell("true")], lambda _: None)
    assert settled.method == "sequential"
    assert reason in settled.reason


@pytest.mark.parametrize(
    ("cores", "latency", "method"),
    [
        (0.9, None, "simultaneous"),
        (1.6, None, "sliced"),
        (1.6, LoadLatency(due_per_second=5, per_second=5, mean_ns=1e6), "sequential"),
    ],
)
def test_servers_that_use_several_cores_take_turns(
    cores: float, latency: LoadLatency | None, method: str, tmp_path: Path
) -> None:
    command = programs.resolve(["cat", "{port}"])
    loaded = Server(ready="tcp", load=command, stop=15, ready_within=1, has_port=True)
    spec = specify(
        command.command,
        catalog.parse(f"glibc,good={library('good')}"),
        server=loaded,
        conditions=Conditions(pairing="auto"),
    )
    cell = arms.arms(spec)[0]
    load = Loaded(cpu_ns=round(1e9 * cores), wall_ns=10**9, requests=1, latency=latency)
    outcome = Outcome(exit_code=0, user_ns=load.cpu_ns, wall_ns=load.wall_ns, loads=[load])
    with Folder.create(tmp_path / "experiment", spec, None) as folder:
        folder.append(Run(cell=cell, outcome=outcome, order=0, started=0.0, warmup=True))
        assert pairing.settle(folder, 3, list, print).method == method


def test_what_was_found_out_stays_when_the_experiment_is_resumed(tmp_path: Path) -> None:
    compared(tmp_path, [program("busy")])
    path = tmp_path / "experiment" / pairing.FILE
    path.write_text(json.dumps({"method": "sequential", "reason": "it was so"}))
    with Folder.resume(path.parent) as folder:
        assert comparing.compare(folder).pairing.reason == "it was so"


def test_a_round_that_a_kill_has_cut_is_run_again_as_a_whole(tmp_path: Path) -> None:
    compared(tmp_path, [program("busy")])
    log = tmp_path / "experiment" / "runs.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:-2]))
    with Folder.resume(log.parent) as folder:
        comparison = comparing.compare(folder)
    runs, _ = read_runs(log)
    assert len(runs) == len(lines) - 2 + 3
    assert comparison.rounds == 2


def test_wall_time_is_compared_where_it_is_asked_for(tmp_path: Path) -> None:
    comparison = compared(tmp_path, [program("busy")], "sequential")
    assert "wall" in comparison.sides[0].ratios
    assert comparison.pairing.reason == ""
