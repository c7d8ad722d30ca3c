"""Runs that end early are restarted, so that the longest of a round shares the core to its end."""

import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from programs import compile_c, ends

from reap.allocators import catalog
from reap.base.errors import ReapError
from reap.compare import analyse
from reap.compare import run as comparing
from reap.compare.pairings import paired
from reap.experiment import footprint, schedule
from reap.experiment.folder import Folder, read_runs
from reap.experiment.records import Asked, Cell, Comparison, Pairing, Run
from reap.experiment.spec import Variant
from reap.experiment.specify import Conditions, Workload, specify
from reap.launch import program as programs
from reap.launch import together
from reap.launch.records import Launch, Outcome, Private

TURNS = r"""
    #include <stdlib.h>
    int main(int count, char **words) {
        volatile unsigned long sum = 0;
        for (unsigned long turn = atol(words[1]) * 1000000; turn > 0; turn--) sum += turn;
        return 0;
    }"""


def shell(script: str, **options: object) -> Launch:
    return Launch(argv=["sh", "-c", script], program="/bin/sh", **options)  # type: ignore[arg-type]


def arm(name: str, *, control: bool = False) -> Cell:
    return Cell(workload="w", variant=name, control=control)


def ran(name: str, cpu_ms: float, *, warmup: bool = False) -> Run:
    outcome = Outcome(exit_code=0, user_ns=round(cpu_ms * 1e6))
    return Run(cell=arm(name), outcome=outcome, order=0, started=0.0, warmup=warmup, together=not warmup)


# Which are restarted.

ROUND = [arm("other"), arm("base"), arm("base", control=True)]


@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [
        (100, 100, [False, False, False]),
        (100, 95, [False, False, False]),
        (100, 80, [True, False, False]),
        (100, 300, [False, True, True]),
        (100, 10, [False, False, False]),
    ],
)
def test_those_that_end_much_earlier_are(base: float, other: float, expected: list[bool]) -> None:
    assert schedule.to_restart(ROUND, [ran("base", base), ran("other", other)]) == expected


def test_runs_of_rounds_tell_more_than_warm_ups() -> None:
    warm_ups = [ran("base", 100, warmup=True), ran("other", 40, warmup=True)]
    assert schedule.to_restart(ROUND, warm_ups) == [True, False, False]
    rounds = [ran("base", 100), ran("other", 100), ran("other", 300), ran("other", 101)]
    assert schedule.to_restart(ROUND, warm_ups + rounds) == [False, False, False]


def test_what_is_not_known_is_not() -> None:
    assert schedule.to_restart(ROUND, []) == [False, False, False]
    assert schedule.to_restart(ROUND, [ran("base", 100)]) == [False, False, False]


# Running so.


@pytest.mark.timed
def test_it_is_restarted_until_the_longest_ends(tmp_path: Path) -> None:
    """Each start counts one line; only the first outcome is kept, and the last of them is killed."""
    short = f"echo x >>{tmp_path}/starts; sleep 0.2; echo done >>{tmp_path}/ends; exit 3"
    one, other = together.run([shell("sleep 1.5; exit 4"), shell(short)], 0, [False, True])
    assert (one.exit_code, one.restarted_ns) == (4, 0)
    assert (other.exit_code, other.signal) == (3, 0)
    starts = (tmp_path / "starts").read_text().count("x")
    assert starts > 2
    assert starts - 1 <= (tmp_path / "ends").read_text().count("done") <= starts
    assert 0.5 * one.wall_ns < other.wall_ns + other.restarted_ns < 1.1 * one.wall_ns


def test_it_is_not_where_that_is_not_asked_for(tmp_path: Path) -> None:
    launches = [shell("sleep 0.5"), shell(f"echo x >>{tmp_path}/starts")]
    for restart in ([], [False, False], [True, False]):
        outcomes = together.run(launches, 0, restart)
        assert [each.restarted_ns for each in outcomes] == [0, 0]
    assert (tmp_path / "starts").read_text() == "x\n" * 3


def test_what_was_restarted_is_killed_with_its_children() -> None:
    """The first one ends at once; what follows ignores SIGTERM, and has a child in a session of its own."""
    mark = f"sleep 300.{os.getpid()}"
    flag = Path(f"/tmp/reap-test-{os.getpid()}")
    stays = f"trap '' TERM; test -e {flag} || {{ : >{flag}; exit 0; }}; setsid {mark} & {mark}"
    begun = time.monotonic()
    try:
        _, other = together.run([shell("sleep 0.7"), shell(stays)], 0, [False, True])
    finally:
        flag.unlink()
    assert (other.exit_code, other.signal) == (0, 0)
    assert other.restarted_ns > 0
    assert time.monotonic() - begun < 10
    assert ends(mark)


def test_one_that_crashed_is_not_restarted(tmp_path: Path) -> None:
    crash = f"echo x >>{tmp_path}/starts; kill -SEGV $$"
    _, other = together.run([shell("sleep 0.5"), shell(crash)], 0, [False, True])
    assert other.signal == signal.SIGSEGV
    assert (tmp_path / "starts").read_text() == "x\n"


def test_each_start_has_a_view_of_its_own(tmp_path: Path) -> None:
    """None sees what one before it wrote, and nothing stays."""
    script = f"test -e file && echo x >>{tmp_path}/log; echo x >file; sleep 0.1"
    (tmp_path / "work").mkdir()
    view = Private(folders=[str(tmp_path / "work")])
    within = shell(script, private=view, directory=str(tmp_path / "work"))
    _, other = together.run([shell("sleep 1"), within], 0, [False, True])
    assert other.restarted_ns > 0.2e9
    assert list(tmp_path.rglob("*")) == [tmp_path / "work"]


def test_nothing_is_left_when_we_are_killed(tmp_path: Path) -> None:
    mark = f"sleep 300.{os.getpid()}1"
    script = f"""
from reap.launch import together
from reap.launch.records import Launch
def shell(script): return Launch(argv=["sh", "-c", script], program="/bin/sh")
later = shell("test -e {tmp_path}/a || exec touch {tmp_path}/a; {mark}")
together.run([shell("sleep 100"), later], 0, [False, True])
"""
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        try:
            until = time.monotonic() + 20
            while not _runs(mark) and time.monotonic() < until:
                time.sleep(0.05)
            assert _runs(mark)
        finally:
            process.kill()
    assert ends(mark)


def test_an_error_ends_what_was_restarted(tmp_path: Path) -> None:
    mark = f"sleep 300.{os.getpid()}2"
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(ReapError):
        together.run([Launch(argv=["broken"], program=str(broken)), shell(mark)], 0, [False, True])
    assert ends(mark)


def _runs(mark: str) -> bool:
    return bool(subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).stdout)


# What may be killed.


@pytest.mark.parametrize(
    ("script", "leaves"),
    [
        ("cat /etc/passwd >/dev/null", False),
        ("file=$(mktemp); rm $file", True),
        ("folder=$(mktemp -d); echo x >$folder/x; rm -r $folder", True),
        (f"exec {sys.executable} -c 'import ctypes; ctypes.CDLL(None).shmget(0, 4096, 0o600)'", True),
    ],
)
def test_what_would_stay_of_a_killed_run_is_seen(script: str, leaves: bool) -> None:
    assert bool(footprint.watch(shell(script)).leaves) == leaves


def compared(where: Path, command: list[str], asked: Asked = "auto", **options: object) -> Comparison:
    """Of a command in an empty folder, with another one that does three times as much."""
    (where / "work").mkdir(exist_ok=True)
    turns = compile_c("turns_restarts", TURNS, ["-O1"])
    own = [word.replace("TURNS", turns) for word in command]
    longer = [word.replace(" 120", " 360") for word in own]
    spec = specify(
        own,
        catalog.parse("glibc"),
        workload=Workload(directory=str(where / "work")),
        conditions=Conditions(pairing=asked, runs=2, **options),  # type: ignore[arg-type]
        against=[Variant(name="longer", program=programs.resolve(longer))],
    )
    with Folder.create(where / "experiment", spec, None) as folder:
        return comparing.compare(folder)


AGAIN = {
    "computes": ["sh", "-c", "TURNS 120"],
    "writes files in a view": ["sh", "-c", "TURNS 120; echo x >file"],
    "has a temporary file in a view": [
        "sh",
        "-c",
        "TURNS 120; TMPDIR=. mktemp >/dev/null; echo x >file; rm tmp.*",
    ],
}


@pytest.mark.parametrize("what", AGAIN)
def test_runs_that_leave_nothing_are_restarted(what: str, tmp_path: Path) -> None:
    comparison = compared(tmp_path, AGAIN[what])
    assert comparison.pairing.method == "simultaneous"
    assert comparison.pairing.restarts
    assert "restarted" in paired(comparison.pairing)
    runs, _ = read_runs(tmp_path / "experiment" / "runs.jsonl")
    shorter = [run for run in runs if run.together and run.cell.variant != "longer"]
    assert len(shorter) == 4
    assert all(run.outcome.restarted_ns > 0 for run in shorter)
    assert comparison.sides[0].same_output
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) in ([], ["file"])


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["sh", "-c", "TURNS 120; file=$(mktemp); rm $file"], {}),
        (["sh", "-c", "TURNS 120; : $0", "{arm}"], {}),
        (["sh", "-c", "TURNS 120; : $0", "{arm}"], {"cleanup": "true {arm}"}),
        (["sh", "-c", "TURNS 120"], {"asked": "simultaneous"}),
    ],
)
def test_runs_that_may_leave_something_are_not(command: list[str], options: dict, tmp_path: Path) -> None:
    comparison = compared(tmp_path, command, **options)
    assert (comparison.pairing.method, comparison.pairing.restarts) == ("simultaneous", False)
    assert "restarted" not in paired(comparison.pairing)


def test_nobody_else_hears_of_it() -> None:
    assert "restarted" not in paired(Pairing(method="simultaneous"))


# What comes of it.


def test_the_tail_is_what_has_nothing_beside_it() -> None:
    def at(wall: int, restarted: int = 0) -> Run:
        outcome = Outcome(exit_code=0, wall_ns=wall, restarted_ns=restarted)
        return Run(cell=arm("x"), outcome=outcome, order=0, started=0.0, together=True)

    assert analyse.unpaired({0: at(100)}, {0: at(300)}) == pytest.approx(2 / 3)
    assert analyse.unpaired({0: at(100, 180)}, {0: at(300)}) == pytest.approx(20 / 300)
    assert analyse.unpaired({0: at(300)}, {0: at(100, 250)}) == 0


@pytest.mark.timed
def test_less_than_a_tenth_is_unpaired_and_the_ratio_is_true() -> None:
    turns = compile_c("turns_restarts", TURNS, ["-O1"])
    launches = [Launch(argv=[turns, words], program=turns) for words in ("250", "250", "750")]
    base, other = {}, {}
    for number in range(4):
        core = max(os.sched_getaffinity(0))
        ended = together.run(launches, core, [True, True, False])
        for runs, outcome in ((base, ended[0]), (other, ended[2])):
            runs[number] = Run(cell=arm("x"), outcome=outcome, order=0, started=0.0, together=True)
    bare = {
        number: msgspec.structs.replace(run, outcome=msgspec.structs.replace(run.outcome, restarted_ns=0))
        for number, run in base.items()
    }
    assert (analyse.unpaired(base, other) or 0) < 0.1 < (analyse.unpaired(bare, other) or 0)
    ratios = [other[number].outcome.cpu_ns / base[number].outcome.cpu_ns for number in base]
    # Four rounds read 3.19 beside two stages of other tests, and 2.57 at load 25.
    assert statistics.median(ratios) == pytest.approx(3, rel=0.2)
