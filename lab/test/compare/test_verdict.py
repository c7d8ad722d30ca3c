"""What `reap compare` ends with: the answer on one screen, whatever was compared; tables are behind it."""

import json
import subprocess

import pytest
from any_records import ANY, comparisons
from hypothesis import given
from programs import library, program, reap, reap_command
from samples import comparison_of, msg_replace, ratio_of, side_of
from terminals import flat, printed

from reap.base import units
from reap.base.errors import ExitCode
from reap.compare import words
from reap.compare.terminal import render_verdict
from reap.evidence.judge.verdict import diagnose
from reap.experiment.records import Pairing, Witness

SCREEN = 24
BESIDE = 7
"""Lines for the results, the report, the runs, the tables, and a next command that takes up to three."""

LONG = "redis-server (MALLOC_ARENA_MAX=1, /srv/builds/before) 2"
EQUIVALENT = msg_replace(ratio_of("cpu", 1.0, 0.005), verdict="equivalent")


def lines_of(comparison) -> int:
    return len(printed(render_verdict, comparison).splitlines())


@pytest.mark.parametrize("notes", [0, 1, 9])
@pytest.mark.parametrize("sides", [0, 1, 3, 4, 15])
def test_it_fits_on_a_screen(sides: int, notes: int) -> None:
    """With everything that may be said of each, and names as long as they get."""
    many = [side_of(f"{LONG}{number}", 0.9 + number / 50, memory=0.5) for number in range(sides)]
    said = [f"{n} {'a note of the kind that takes two lines ' * 3}" for n in range(notes)]
    counts = {side.allocator: 1000 for side in many}
    held = comparison_of(
        many, notes=said, exit_code=3, witness=Witness(by="callgrind", baseline=1010, counts=counts)
    )
    assert lines_of(held) <= SCREEN - BESIDE
    shown = flat(printed(render_verdict, held))
    assert shown.startswith("Verdict: ")
    assert "15 paired rounds, one after another; glibc compared with itself" in shown
    if sides > 4:
        assert "more: --details" in shown
        assert f"{LONG}0 takes" in shown, "the fastest is the last to go"
    assert ("notes: --details" in shown) == (notes > 1)


@ANY
@given(comparisons())
def test_it_fits_on_a_screen_whatever_was_measured(comparison) -> None:
    assert lines_of(comparison) <= SCREEN - BESIDE


def test_the_headline_is_the_answer() -> None:
    fast, faster, slow = side_of("fast", 0.9), side_of("faster", 0.8), side_of("slow", 1.1)
    equal, wide = side_of("equal", ratios={"cpu": EQUIVALENT}), side_of("wide", 0.98, 0.1)
    saving = side_of("saving", memory=0.5, ratios={**fast.ratios, "cpu": EQUIVALENT, "wall": EQUIVALENT})
    saving.ratios["peak_resident"] = ratio_of("peak_resident", 0.5, 0.005, baseline=200.0 * (1 << 20))
    wrong = side_of("wrong", 0.5, same_output=False)
    expected = [
        ([], "nothing could be compared"),
        ([wrong], "nothing could be compared"),
        ([side_of("own", itself=True)], "nothing could be compared"),
        ([fast], "fast is faster than glibc"),
        ([slow], "slow is slower than glibc"),
        ([equal], "equal: equivalent to glibc within 3.0 %"),
        ([wide], "inconclusive"),
        ([slow, fast, faster, wrong], "faster and fast are faster than glibc"),
        ([side_of(f"f{n}", 0.5 + n / 20) for n in range(5)], "f0 and 4 others are faster than glibc"),
        ([slow, equal], "none of 2 is faster than glibc"),
        ([slow, wide], "inconclusive"),
        ([slow, saving], "saving takes less memory than glibc, and as much time"),
    ]
    assert [words.headline(comparison_of(sides)) for sides, _ in expected] == [said for _, said in expected]


ARMS = [
    (0.9, 0.01, "switch the allocator", "jemalloc is faster than glibc"),
    (0.965, 0.01, "little to gain", "little to gain: jemalloc takes 3.5 % less CPU time than glibc"),
    (0.975, 0.01, "little to gain", "little to gain: jemalloc takes 2.5 % less CPU time than glibc"),
    (0.985, 0.01, "leave it alone", "none of 2 is faster than glibc by 3.0 %"),
]


@pytest.mark.parametrize(("cpu", "half", "of_run", "of_compare"), ARMS)
def test_a_gain_at_the_line_is_little_in_every_verb(cpu, half, of_run, of_compare) -> None:
    """Of 3.5 % less (2.5 to 4.5) `compare` said *faster*, and `run` *little to gain*."""
    comparison = comparison_of([side_of("jemalloc", cpu, half), side_of("equal", 1.0, 0.005)])
    assert diagnose(command=comparison.command, comparison=comparison).headline == of_run
    assert words.headline(comparison) == of_compare
    assert ("less): little to gain." in words.verdict(comparison)[0]) == (of_run == "little to gain")
    assert f"jemalloc takes {units.change(cpu)} CPU time" in words.verdict(comparison)[0]


def test_a_gain_that_memory_outweighs_is_none_worth_having() -> None:
    """Of 6 % less time for three times the memory `compare` said *faster*, and `run` *leave it alone*."""
    for cpu in (0.965, 0.94):
        heavy = side_of("jemalloc", cpu, 0.01)
        heavy.ratios["peak_resident"] = ratio_of("peak_resident", 3.0, 0.01, baseline=200.0 * (1 << 20))
        for sides in ([heavy], [heavy, side_of("equal", 1.0, 0.005)]):
            comparison = comparison_of(sides)
            assert diagnose(command=comparison.command, comparison=comparison).headline == "leave it alone"
            assert "gains too little for the memory that it takes" in words.headline(comparison)


def test_a_build_is_faster_whatever_memory_it_takes() -> None:
    for cpu, said in ((0.94, "new is faster"), (0.975, "little to gain: new takes 2.5 % less")):
        heavy = side_of("new", cpu, 0.01)
        heavy.ratios["peak_resident"] = ratio_of("peak_resident", 3.0, 0.01, baseline=200.0 * (1 << 20))
        assert words.headline(comparison_of([heavy], against={"new": ["./new"]})).startswith(said)


def test_a_gain_of_a_program_that_is_too_short_is_none() -> None:
    cpu = msg_replace(ratio_of("cpu", 0.965, 0.01), baseline=0.005, value=0.004825)
    assert "too short" in words.headline(comparison_of([side_of("jemalloc", ratios={"cpu": cpu})]))


def test_an_allocator_without_a_result_is_passed_over() -> None:
    """It ended in a traceback."""
    failed = side_of("tcmalloc", ratios={}, problem="the program was ended by SIGSEGV")
    sides = [side_of("jemalloc", 1.0, 0.005), side_of("mimalloc", 1.0, 0.005), failed]
    assert words.headline(comparison_of(sides)) == "none of 2 is faster than glibc"


def test_what_would_decide_it_is_said_and_is_the_next_step() -> None:
    wide = comparison_of([side_of("wide", 0.98, 0.05)], round_seconds=0.5)
    needed = words.rounds_to_add(wide)
    assert needed > wide.rounds
    assert words.more(wide).startswith(f"About {needed} rounds (")
    assert words.rounds_to_add(comparison_of([side_of("fast", 0.9)])) == 0
    assert words.more(comparison_of([side_of("fast", 0.9)])) == ""
    assert "over 200" in words.more(comparison_of([side_of("wide", 1.0, 0.9)]))


def test_the_cpu_time_of_a_request_is_what_is_judged_of_a_server() -> None:
    """Loads may differ in their number of requests: that is no difference of the server."""
    per_request = ratio_of("cpu_per_request", 0.8)
    server = side_of("x", ratios={"cpu": ratio_of("cpu", 1.2), "cpu_per_request": per_request})
    held = comparison_of([server], load=["load"], loads=3)
    assert words.headline(held) == "x is faster than glibc"
    assert words.verdict(held)[0].startswith("x takes 20 % less CPU time per request, ")


def test_turns_are_named_with_what_makes_them() -> None:
    frozen = Pairing(method="sliced", turns="freezer", reason="the program makes threads")
    said = words.made(comparison_of([], pairing=frozen))
    assert "by the freezer of cgroups, since the program makes threads: wall time is" in said
    stopped = Pairing(method="sliced", turns="signals")
    assert "by SIGSTOP and SIGCONT (no cgroup can be made here): " in words.made(
        comparison_of([], pairing=stopped)
    )


def run(cwd, *more: str) -> list[str]:
    """The lines of a terminal, both streams in the order in which they were written."""
    done = subprocess.run(
        [*reap_command(), "compare", *more],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == ExitCode.OK, done.stdout
    return done.stdout.splitlines()


def test_the_verdict_is_the_last_screen_and_the_tables_are_behind_a_command(tmp_path) -> None:
    allocators = ",".join(["glibc", *(f"{name}={library('good')}" for name in ("a", "b", "c"))])
    said = run(
        tmp_path,
        *("-n", "2", "--pairing", "sequential", "-o", "there", "--html", "x.html", "--json", "x.json"),
        *("--allocators", allocators, "--", program("busy")),
    )
    last = said[said.index("the results: x.json") :]
    assert len(last) <= SCREEN
    assert last[1:4] == [
        "the report: x.html",
        f"the runs: {tmp_path}/there",
        f"all tables: reap compare --resume {tmp_path}/there --details",
    ]
    assert last[4].startswith("Verdict: ")
    assert last[-1].startswith("next: reap ")
    assert not any("(noise)" in line for line in said)
    again = run(tmp_path, "--resume", "there", "--details")
    assert any("(noise)" in line for line in again)
    assert [line for line in again if line.startswith("Verdict: ")] == [last[4]]
    assert again.index(last[4]) > max(n for n, line in enumerate(again) if "(noise)" in line)


def test_instructions_are_a_witness(tmp_path) -> None:
    done = reap(
        *("compare", "-n", "2", "--witness", "instructions", "--json", "-"),
        *("--allocators", f"glibc,good={library('good')}", "--", program("busy")),
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.OK, done.stderr
    assert "Instructions: good " in flat(done.stderr)
    assert "one run each)" in flat(done.stderr)
    (answer,) = json.loads(done.stdout)["answers"]
    witness = answer["comparison"]["witness"]
    assert witness["baseline"] > 10_000
    assert 0.2 < witness["counts"]["good"] / witness["baseline"] < 5
    assert answer["comparison"]["rounds"] == 2


def test_instructions_in_words() -> None:
    witness = Witness(by="callgrind", baseline=1000, counts={"a": 969, "b": 1000, "c": 1012})
    assert words.witness(comparison_of([], witness=witness)) == (
        "Instructions: a 3.1 % fewer, b the same, c 1.2 % more (callgrind, one run each)."
    )
    assert words.witness(comparison_of([])) == ""


@pytest.mark.parametrize(
    "more",
    [
        ("--naive", "X=1", "--", "true"),
        ("--server", "cat {port}", "--ready", "tcp", "--load", "cat {port}"),
    ],
)
def test_where_instructions_are_no_witness(more, tmp_path) -> None:
    done = reap("compare", "--witness", "instructions", *more, cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert "--witness does not go with --" in done.stderr
