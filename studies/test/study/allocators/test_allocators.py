"""The evaluation of six allocators: its rules, its benchmark program, memory over time, and a small study."""

import os
import subprocess

import msgspec
import pytest
from building import workload_cache
from programs import LIBRARIES, compile_c, reap
from samples import machine

from reap.allocators import catalog
from reap.base.errors import ReapError
from reap.experiment.runner import Listener
from reap.launch.records import Outcome
from reap_studies.study import measuring
from reap_studies.study import page as reporter
from reap_studies.study.allocators import memory, published, scales, setups, timing
from reap_studies.study.allocators import run as allocators
from reap_studies.study.allocators.analyse import between, others
from reap_studies.study.allocators.judge import conclusions as claims
from reap_studies.study.allocators.records import Consumption, Series, Summary, Timed
from reap_studies.study.folder import begin
from reap_studies.study.high_water import at_marks
from reap_studies.study.records import Evaluated, Plan, Study
from reap_studies.workloads import card, preparation

PAGE = 4096


def by_claim(found):
    return {each.claim: each for each in claims.judge(found)}


def one(found, words):
    (claim,) = [each for claim, each in by_claim(found).items() if words in claim]
    return claim


def test_the_paper_s_own_figures_hold():
    """Put through the rules, but for what it says of drawings and for its assumption."""
    standings = {claim: each.standing for claim, each in by_claim(published.evaluated()).items()}
    unknown = {claim for claim, standing in standings.items() if standing == "inconclusive"}
    assert {standing for claim, standing in standings.items() if claim not in unknown} == {"holds"}
    assert len(standings) >= 20
    assert len(unknown) == 4
    for words in ("five phases", "give no memory back", "same point", "boundary tags"):
        assert any(words in claim for claim in unknown), words


def test_of_nothing_nothing_is_said():
    nothing = Evaluated(threads=4, timed=[])
    assert {each.standing for each in claims.judge(nothing)} == {"inconclusive"}


def timed(name, **seconds):
    """A setup in which each allocator took these seconds, one a round."""
    series = [
        Series(allocator=each.replace("_", "-"), wall=list(walls), cpu=list(walls), resident=list(walls))
        for each, walls in seconds.items()
    ]
    return Timed(name=name, card=card.load("sed"), scale=1, threads=1, evaluations=1, series=series)


def evaluated(*each, threads=2):
    return Evaluated(threads=threads, timed=list(each))


def test_a_difference_counts_where_it_is_certain():
    steady = evaluated(timed("sed", glibc=[1.0] * 5, jemalloc=[1.01, 1.0, 1.02, 1.0, 1.01]))
    assert one(steady, "much the same").standing == "holds"
    slower = evaluated(timed("sed", glibc=[1.0] * 5, jemalloc=[1.5, 1.52, 1.49, 1.5, 1.51]))
    assert one(slower, "much the same").standing == "does not hold"
    noisy = evaluated(timed("sed", glibc=[1.0] * 5, jemalloc=[0.6, 1.5, 1.3, 0.7, 1.4]))
    assert one(noisy, "much the same").standing == "inconclusive"


def test_hardened_allocators_are_in_no_conclusion():
    found = evaluated(timed("sed", glibc=[1.0] * 5, scudo=[3.0] * 5, hardened_malloc=[4.0] * 5))
    assert others(found) == []
    assert one(found, "much the same").findings == []


def test_an_allocator_with_a_problem_says_nothing():
    found = timed("sed", glibc=[1.0] * 5, jemalloc=[3.0] * 5)
    broken = msgspec.structs.replace(found.series[1], problem="it crashed")
    assert (
        one(evaluated(msgspec.structs.replace(found, series=[found.series[0], broken])), "much").findings
        == []
    )


def test_a_speedup_is_between_setups_round_by_round():
    alone = timed("threads-1", glibc=[2.0, 4.0, 2.0], jemalloc=[2.0, 4.0, 2.0], dlmalloc=[2.0] * 3)
    all_four = timed("threads-4", glibc=[0.8, 1.6, 0.8], jemalloc=[0.525, 1.05, 0.525], dlmalloc=[2.2] * 3)
    found = evaluated(alone, all_four, threads=4)
    well = one(found, "scale very well")
    assert [round(each.ratio.value, 3) for each in well.findings] == [0.952]
    assert well.standing == "holds"
    assert one(found, "glibc scales").standing == "holds"
    assert one(found, "does not scale at all").standing == "holds"
    slow = timed("threads-4", glibc=[0.5, 1.0, 0.5], jemalloc=[1.9, 3.8, 1.9])
    turned = evaluated(alone, slow, threads=4)
    assert one(turned, "scale very well").standing == "does not hold"
    assert one(turned, "glibc scales").standing == "holds partly"
    two = evaluated(alone, timed("threads-2", glibc=[1.0, 2.0, 1.0], jemalloc=[1.9, 3.8, 1.9]))
    assert one(two, "scale very well").standing == "not measurable here"


def test_what_has_one_thread_is_held_by_its_cpu_time():
    """Which waiting for others' work does not lengthen; what has several may wait for itself."""
    found = timed("sed", glibc=[1.0] * 5, jemalloc=[1.0] * 5)
    waited = [
        msgspec.structs.replace(each, wall=[1.0 * (at + 1)] * 5) for at, each in enumerate(found.series)
    ]
    alone = msgspec.structs.replace(found, series=waited)
    together = msgspec.structs.replace(alone, threads=2)
    assert [round(between(each, "jemalloc", "glibc").value, 3) for each in (alone, together)] == [1.0, 2.0]


def test_what_allocation_takes_is_said_by_the_program_itself():
    found = timed("evaluations-1000", glibc=[1.0] * 3, jemalloc=[1.0] * 3)
    phases = [[(0.05, 9.9, 0.05)] * 5] * 3, [[(0.5, 9.0, 0.5)] * 5] * 3
    series = [
        msgspec.structs.replace(each, phases=own) for each, own in zip(found.series, phases, strict=True)
    ]
    claim = one(evaluated(msgspec.structs.replace(found, series=series)), "less than 1 %")
    assert [round(each.ratio.value, 4) for each in claim.findings] == [0.01, 0.1]
    assert [each.side for each in claim.findings][1] == "against"


def test_convergence_is_towards_one_from_either_side():
    first = timed("evaluations-1", glibc=[1.0] * 3, jemalloc=[0.5] * 3, dlmalloc=[3.0] * 3)
    near = timed("evaluations-1000", glibc=[1.0] * 3, jemalloc=[0.9] * 3, dlmalloc=[1.1] * 3)
    assert one(evaluated(first, near), "more alike").standing == "holds"
    assert one(evaluated(near, msgspec.structs.replace(first, name="x")), "more alike").findings == []
    far = timed("evaluations-1000", glibc=[1.0] * 3, jemalloc=[0.2] * 3, dlmalloc=[4.0] * 3)
    assert one(evaluated(first, far), "more alike").standing == "does not hold"


def test_boundary_tags_are_the_reason_only_if_both_are_slow_for_them():
    alone = timed("threads-1", glibc=[2.0] * 3, dlmalloc=[2.0] * 3)
    same = timed(setups.WITHOUT_FASTBINS, glibc=[2.0] * 3, dlmalloc=[2.0] * 3)
    assert one(evaluated(alone, same), "boundary tags").standing == "holds"
    faster = timed(setups.WITHOUT_FASTBINS, glibc=[1.1] * 3, dlmalloc=[2.0] * 3)
    assert one(evaluated(alone, faster), "boundary tags").standing == "holds partly"
    quick_lea = timed("threads-1", glibc=[2.0] * 3, dlmalloc=[1.4] * 3)
    assert one(evaluated(quick_lea, faster), "boundary tags").standing == "does not hold"


def test_memory_is_judged_by_its_summaries():
    rows = {
        "glibc": (100.0, 0.0, 0.5),
        "lockless": (80.0, 0.0, 0.5),
        "dlmalloc": (180.0, 1.0, 0.0),
        "hoard": (240.0, 1.0, 0.0),
    }
    summaries = [
        Summary(allocator=name, average=average, maximum=200.0, last=last, falls=falls, peak_at=0.5)
        for name, (average, last, falls) in rows.items()
    ]
    found = msgspec.structs.replace(evaluated(), summaries=summaries)
    for words in ("five phases", "give no memory back", "poor choice", "almost the same at most"):
        assert one(found, words).standing == "holds", words
    assert one(found, "same point").standing == "inconclusive"
    # Of each claim one of the allocators that it names is not there.
    few = msgspec.structs.replace(found, summaries=summaries[:1] + summaries[2:3])
    for words, missing in (("five phases", "lockless"), ("no memory back", "hoard"), ("poor", "hoard")):
        assert one(few, words).standing == "inconclusive", words
        assert one(few, words).answer.startswith(f"Not measured: {missing}, which it names. ")
        assert one(few, words).findings, "what was measured is shown"
    assert one(few, "almost the same at most").standing == "holds"
    # Another run, in which dlmalloc gives its memory back, so that runs do not agree.
    more = [msgspec.structs.replace(each, last=0.0, falls=0.9) for each in summaries]
    both = msgspec.structs.replace(found, summaries=[*summaries, *more])
    assert one(both, "give no memory back").standing == "inconclusive"
    assert one(both, "five phases").standing == "holds"


TRACE = """\
7 execve("/x", ["x"], 0x7ff) = 0
7 brk(NULL) = 0x10000
7 brk(0x12000) = 0x12000
7 pwrite64(3, ""..., 64, 0) = 64
7 mmap(NULL, 16384, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x700000
7 clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 8
8 pwrite64(3, ""..., 64, 64 <unfinished ...>
7 munmap(0x700000, 16384) = 0
8 <... pwrite64 resumed>) = 64
8 pwrite64(3, ""..., 64, 128) = 64
"""


def test_what_is_asked_for_is_known_at_each_mark():
    """Threads share it; a mark that others' lines came into counts where it ended."""
    assert at_marks(TRACE.splitlines(), PAGE) == {0: 2 * PAGE, 64: 2 * PAGE, 128: 2 * PAGE}
    assert at_marks(TRACE.replace("7 munmap(0x700000, 16384) = 0\n", "").splitlines(), PAGE)[64] == 6 * PAGE


def run_of(asked, phases):
    calls = [1000 * at for at in range(1, len(asked) + 1)]
    live = [max(0, value - 10) for value in asked]
    return Consumption(allocator="x", calls=calls, phases=phases, live=live, asked=asked, resident=asked)


def test_a_consumption_is_summed_up():
    waves = run_of([50, 100, 20, 50, 100, 10], [0, 0, 1, 1, 1, 2])
    found = memory.summary(waves)
    assert (found.average, found.maximum, found.last) == (55, 100, 0.1)
    assert found.peak_at == pytest.approx(2 / 6)
    assert found.falls == pytest.approx((0.8 + 0.0) / 2)
    assert found.fragmentation == [10, 10, 10]
    assert memory.summary(run_of([100] * 4, [0, 1, 2, 3])).falls == 0


@pytest.fixture(scope="module")
def cache():
    return workload_cache()


@pytest.fixture(scope="module")
def program(cache):
    return preparation.prepare(setups.PROGRAM, scale=1, cache=cache).argv


def said(program, *words):
    return subprocess.run([*program, *words], capture_output=True, text=True, check=True).stdout


def test_the_program_prints_the_same_however_it_is_done(program):
    expected = said(program)
    assert "checksum" in expected
    for words in (["--threads", "3"], ["--evaluations", "1"], ["--threads", "32", "--evaluations", "4"]):
        assert said(program, *words) == expected, words
    assert said(program, "--scale", "2") != expected


def test_the_program_writes_down_what_lives(program, tmp_path):
    log = tmp_path / "log"
    said(program, "--scale", "8", "--threads", "2", "--log", str(log))
    rows = [[int(word) for word in line.split()] for line in log.read_text().splitlines()]
    assert {len(line) for line in log.read_text().splitlines()} == {63}
    calls, phases, live, resident = zip(*sorted(rows), strict=True)
    # 5 phases of 32 lists of 250 and trees of 63 objects, each with a node, made and freed.
    assert calls[-1] == 5 * 32 * (250 + 63) * 2 * 2
    assert list(calls[:-1]) == list(range(1000, calls[-1] + 1, 1000))
    assert (phases[0], phases[-1], live[-1]) == (0, 5, 0)
    assert max(live) > 8000 * 40 / 2
    assert min(resident) > max(live) / 4


@pytest.mark.timed
def test_running_time_is_of_the_threads_and_not_of_the_process(program):
    """Over every allocator a process takes as long to start, which in a quick run is most of it."""
    done = subprocess.run([*program, "--threads", "2", "--times"], capture_output=True, text=True, check=True)
    outcome = Outcome(exit_code=0, wall_ns=9_000_000_000, user_ns=8_000_000_000, stderr_tail=done.stderr)
    times = timing._times(outcome)
    assert len(times.phases) == 5
    assert max(map(sum, times.phases)) / 2 < times.wall < 9
    assert 0 < times.cpu < 8
    warned = timing._times(msgspec.structs.replace(outcome, stderr_tail="a warning\n" + done.stderr))
    assert warned == times
    for other in ("", "sed: 1\n", "1 2 3\n"):
        of_kernel = timing._times(msgspec.structs.replace(outcome, stderr_tail=other))
        assert of_kernel == (9, 8, []), other


def test_the_program_s_command_line_is_checked(program):
    for words in (["--threads", "33"], ["--threads", "0"], ["--evaluations"], ["--fast"], ["--log"]):
        done = subprocess.run([*program, *words], capture_output=True, text=True, check=False)
        assert (done.returncode, "usage:" in done.stderr) == (2, True), words
    done = subprocess.run(
        [*program, "--log", "/nonexistent/log"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "No such file" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("cores", "counts"), [(1, [1, 2]), (2, [1, 2, 4]), (3, [1, 2, 3, 4]), (64, [1, 2, 4, 8, 16, 32])]
)
def test_threads_go_beyond_the_cores(cores, counts):
    assert setups.thread_counts(cores) == counts


@pytest.mark.slow
def test_a_small_study_from_end_to_end(tmp_path, monkeypatch, cache):
    monkeypatch.setattr(preparation, "cache_folder", lambda: cache)
    monkeypatch.setattr(
        measuring, "lacking", lambda described: "" if described.name == setups.PROGRAM else "no"
    )
    monkeypatch.setitem(timing.ROUNDS, "quick", 2)
    monkeypatch.setitem(memory.SCALES, "quick", 4)
    monkeypatch.setitem(memory.RUNS, "quick", 2)
    monkeypatch.setattr(scales, "QUICK_SECONDS", 0.1)
    monkeypatch.setattr(scales, "_TRIED", 1000)
    # One that cannot serve it, of which nothing but that is said.
    frail = compile_c(
        "libfrail.so", LIBRARIES["crashes"].replace("777777", "33"), ["-shared", "-fPIC", "-fno-builtin"]
    )
    chosen = catalog.parse(f"glibc,reap,frail={frail}")
    plan = allocators.plan("quick", [setups.PROGRAM, "sed"], [each.name for each in chosen])
    place = tmp_path / "study"
    begin(place, plan)
    study = allocators.run(place, plan, chosen, Listener())
    found = study.evaluated
    assert found is not None
    names = [each.name for each in found.timed]
    assert names[:4] == ["evaluations-1", "evaluations-10", "evaluations-100", "evaluations-1000"]
    assert names[-1] == "sed"
    for each in found.timed:
        lacks = each.name == "sed" or each.name == setups.WITHOUT_FASTBINS
        assert bool(each.excluded) == lacks, each.name
        if not lacks:
            assert [one.allocator for one in each.sound] == ["glibc", "reap"]
            assert [len(one.wall) for one in each.sound] == [2, 2]
            assert "SIGSEGV" in each.series[2].problem
            assert each.again is not None
    assert found.consumed is not None
    *sound, broken = found.consumed.runs
    assert [(run.problem, run.live[-1]) for run in sound] == [("", 0), ("", 0)]
    assert "ended with 139 under strace over frail" in broken.problem
    assert [each.allocator for each in found.summaries] == ["glibc", "reap"] * 2
    for run in sound:
        assert all(asked >= live for asked, live in zip(run.asked, run.live, strict=True)), run.allocator
    # It goes on from what it has: nothing is run again but what failed.
    monkeypatch.setattr(memory, "_run", lambda _scale, _threads, allocator: {"frail": broken}[allocator.name])
    again = allocators.run(place, plan, chosen, Listener())
    assert again.evaluated == found
    written = {path.name for path in reporter.write(again, place)}
    assert {"study.html", "study.json", "figures.csv", "figure-1.svg", "figure-2.svg"} <= written
    page = (place / "study.html").read_text()
    assert "memory over time, frail: lists-and-trees ended with 139" in page
    for words in (
        "Table 1.",
        "Table 2.",
        "Table 3.",
        "Table 4.",
        "Table 2 by phase",
        "Figure 3.",
        "Not measured: sed",
        "151.2 MiB",
    ):
        assert words in page, words
    assert msgspec.json.decode((place / "study.json").read_bytes(), type=Study) == again
    assert "asked of the system" in (place / "figures.csv").read_text()


class Line:
    """A setup's experiment that runs nothing: how wide its intervals are after so many rounds."""

    def __init__(self, width=lambda _rounds: 0.0, a_round=1.0):
        self.rounds, self._width, self._a_round = 0, width, a_round

    def widest(self):
        return self._width(self.rounds)

    def spent(self):
        return self._a_round * (self.rounds + 1)


def rounds_of(line, mode):
    line.rounds = timing.ROUNDS[mode]
    while (more := timing.further([line], line.rounds, mode, Listener())) > line.rounds:
        line.rounds = more
    return line.rounds


def test_a_full_study_goes_on_until_its_intervals_are_narrow():
    assert rounds_of(Line(lambda rounds: 0.8 / rounds), "full") == 18
    assert rounds_of(Line(lambda _rounds: 0.01), "full") == 6
    assert rounds_of(Line(lambda _rounds: 0.5), "full") == timing.MOST_ROUNDS


def test_a_quick_study_uses_its_time_and_no_more():
    assert rounds_of(Line(a_round=scales.QUICK_SECONDS), "quick") == 5
    assert rounds_of(Line(a_round=scales.QUICK_SECONDS / 11), "quick") == 10
    assert rounds_of(Line(a_round=1e-3), "quick") == timing.MOST_ROUNDS


def study_of(found):
    return Study(
        plan=Plan(study="allocators", mode="quick", workloads=[], allocators=["glibc"]),
        reap_version="1",
        created="2026-01-01T00:00:00+00:00",
        machine=machine(),
        measured=[],
        conclusions=claims.judge(found),
        evaluated=found,
    )


def test_the_page_of_the_paper_s_own_figures_has_all_of_its_tables():
    page = reporter.page(study_of(published.evaluated()))
    for words in ("lockless", "163", "Figure 1. Locality", "Figure 2. Scalability", "151.2 MiB"):
        assert words in page, words


def test_what_is_named_beside_is_looked_at_first(tmp_path):
    for words, expected in (
        (["--allocator", "hoard=/nonexistent/libhoard.so"], "does not exist"),
        (["--allocator", "nosuch"], "no allocator is called 'nosuch'"),
    ):
        done = reap("study", "allocators", "--quick", "-o", str(tmp_path / "study"), *words)
        assert (done.returncode, expected in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []
    done = reap("study", "allocators", "--resume", str(tmp_path), "--allocator", "jemalloc")
    assert "it takes neither --workloads, --allocator nor --output" in done.stderr


def test_a_study_is_not_of_what_the_shell_sets(tmp_path):
    done = reap("study", "allocators", "--resume", str(tmp_path), env={**os.environ, "MALLOC_ARENA_MAX": "1"})
    assert "without MALLOC_ARENA_MAX=1, which sets allocators" in done.stderr


def test_what_was_named_beside_is_in_the_command_that_makes_it_again():
    plan = allocators.plan("full", [], ["glibc", "hoard"])
    plan = msgspec.structs.replace(plan, added=["hoard=/x/libhoard.so"])
    assert plan.command[-3:] == ["--full", "--allocator", "hoard=/x/libhoard.so"]
    with pytest.raises(ReapError, match="mystery is no workload of this study"):
        allocators.plan("quick", ["mystery"], ["glibc"])
