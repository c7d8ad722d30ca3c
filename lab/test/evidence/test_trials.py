"""Trials: which arms are planned for what is suspected, and real runs from a suspicion to its finding."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import msgspec
import paired
import pytest
from causes import cause_program
from samples import comparison_of, side_of
from walls import WALLS, counted, wall_of

from reap.allocators import catalog
from reap.allocators.records import DEFAULT, Allocator, Missing
from reap.compare import run as comparing
from reap.compare.judge import leaves_less
from reap.evidence import trials
from reap.evidence.analyse.suspicions.records import NO_TIME, Remedy, Suspicion
from reap.evidence.analyse.suspicions.remedies import HUGE_PAGES
from reap.evidence.analyse.suspicions.suspect import suspect, to_try
from reap.evidence.analyse.suspicions.thresholds import WORTH_TRYING
from reap.evidence.explain import FOLDER, explain
from reap.evidence.judge.findings import judged, trials_of
from reap.evidence.records import Counted, Wall
from reap.experiment.folder import Folder
from reap.experiment.records import Comparison
from reap.experiment.runner import Listener
from reap.experiment.specify import Conditions, specify
from reap.launch import native_files
from reap.launch import program as programs
from reap.launch.program import Program

CACHE = "larger thread caches"
GLIBC = Allocator(name=DEFAULT)
MANY = ("glibc", "mimalloc", "price: recycle", "jemalloc", "tcmalloc")


@pytest.fixture(autouse=True)
def preloads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names the preloads that price allocation, built or not."""
    real = native_files.preload

    def named(name: str) -> Path:
        return Path(f"/lib/libreap-{name}.so") if name.startswith("price-") else real(name)

    monkeypatch.setattr(native_files, "preload", named)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"jemalloc": "/usr/lib/libjemalloc.so.2"}

    def find(name: str) -> Allocator | Missing:
        path = here.get(name)
        if path is None:
            return Missing(name=name, install=f"install {name}")
        return Allocator(name=name, library=path)

    monkeypatch.setattr(catalog, "find", find)


@pytest.fixture(scope="module")
def true() -> Program:
    return programs.resolve(["true"])


def of(cause: str) -> Suspicion:
    """The heaviest suspicion of the facts that point to this cause."""
    return suspect(WALLS[cause])[0]


def names(arms: Iterable[Allocator]) -> list[str]:
    return [each.name for each in arms]


def lasting(seconds: float, threads: int = 1, counted: Counted | None = None) -> Wall:
    """A program that takes so long and has so many threads."""
    return Wall(command=["x"], wall_seconds=seconds, cpu_seconds=seconds, threads=threads, counted=counted)


def planned(program: Program, *suspicions: Suspicion, **given: object) -> trials.Plan:
    """What is tried second, where nothing gained at first and memory for `bump` does not last."""
    fields = {"comparison": None, "base": GLIBC, "environment": {}, "wall": lasting(0.1), **given}
    return trials.second(suspicions, program=program, **fields)  # type: ignore[arg-type]


def test_the_first_comparison_has_the_price_and_the_likeliest_gains_first(true: Program) -> None:
    """A budget that ends early leaves out the last."""
    usual = [GLIBC, *(Allocator(name=each) for each in ("jemalloc", "tcmalloc", "mimalloc"))]
    first = trials.first(usual, true)
    assert tuple(names(first)) == MANY
    (priced,) = (each for each in first if each.name == "price: recycle")
    assert priced.library == "/lib/libreap-price-recycle.so"


@pytest.mark.parametrize("base", ["glibc", "jemalloc", "tcmalloc", "mine"])
def test_the_baseline_stays_the_first_arm(true: Program, base: str) -> None:
    usual = [Allocator(name=each) for each in dict.fromkeys([base, "mimalloc", "jemalloc", "tcmalloc"])]
    first = trials.first(usual, true)
    assert first[0].name == base
    assert len(first) == len(usual) + 1


@pytest.mark.parametrize("why", [{"obstacle": "static"}, {"brings_malloc": "jemalloc"}])
def test_nothing_is_priced_that_no_preload_enters(true: Program, why: dict[str, str]) -> None:
    closed = msgspec.structs.replace(true, **why)
    usual = [GLIBC, Allocator(name="jemalloc")]
    assert trials.first(usual, closed) == usual
    plan = planned(closed, of("tcache overflow"))
    assert names(plan.allocators) == [CACHE]
    assert plan.missing.keys() == {"price: cache"}


def test_no_cost_of_glibc_is_taken_away_where_another_malloc_is_linked(true: Program) -> None:
    """The program never paid it: a preload in the place of jemalloc differs from it in everything."""
    linked = msgspec.structs.replace(true, brings_malloc="jemalloc", stands_aside="jemalloc")
    plan = planned(linked, of("tcache overflow"))
    assert "price: cache" not in names(plan.allocators)
    assert plan.missing["price: cache"] == trials.NOT_PRELOADED


def test_a_long_program_is_tried_with_what_fits_the_budget(true: Program) -> None:
    arms = trials.first([GLIBC, Allocator(name="jemalloc"), Allocator(name="mimalloc")], true)[1:]

    def kept(seconds: float, budget: float | None = 60) -> list[str]:
        return names(trials.affordable(arms, seconds, budget))

    assert len(kept(0.1)) == len(arms)
    assert kept(60 / trials.runs_of(2)) == ["mimalloc", "price: recycle"]
    assert kept(1e6) == []
    for unknown in (0.0, -1.0, float("inf"), float("nan")):
        assert len(kept(unknown)) == len(arms)
    assert len(kept(1e6, None)) == len(arms)
    assert trials.affordable([], 1.0, 60) == []


@pytest.mark.parametrize(
    ("arms", "seconds", "budget", "long"),
    [
        (5, 40.0, None, False),
        (5, 60.0, None, True),
        (2, 60.0, None, False),
        (5, 10.0, 120.0, False),  # two rounds of the fewest arms
        (5, 12.0, 120.0, True),
        (5, 3600.0, 100_000.0, False),
        (5, 0.0, 1.0, False),
    ],
)
def test_trials_that_nobody_allowed_their_time_are_not_begun(
    arms: int, seconds: float, budget: float | None, long: bool
) -> None:
    takes = trials.too_long(arms, seconds, budget)
    assert bool(takes) == long
    if takes:
        assert not trials.too_long(arms, seconds, takes)
        kept, reserved = trials.within([Allocator(name=f"{n}") for n in range(arms)], seconds, takes)
        assert (len(kept), reserved) == (arms, trials.RESERVED), "what it names is enough for all of them"


def test_a_scarce_budget_is_for_the_fastest_and_the_price(true: Program) -> None:
    """Of a program of four seconds, one allocator alone was tried in two minutes, then causes of nothing."""
    arms = trials.first([GLIBC, Allocator(name="jemalloc"), Allocator(name="mimalloc")], true)[1:]
    enough = trials.runs_of(len(arms)) / (1 - trials.RESERVED)
    assert trials.within(arms, 1.0, enough) == (arms, trials.RESERVED)
    assert trials.within(arms, 1.0, 0.9 * enough) == (arms, 0.0)
    for seconds in (4.0, 1e6):
        kept, reserved = trials.within(arms, seconds, 100)
        assert (names(kept), reserved) == (["mimalloc", "price: recycle"], 0.0)
    assert trials.within([], 1.0, 60) == ([], trials.RESERVED)


def test_each_suspicion_has_its_arms_second(true: Program) -> None:
    plan = planned(true, of("tcache overflow"))
    assert names(plan.allocators) == [CACHE, "price: cache"]
    assert plan.allocators[0].environment == {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=1000"}
    assert (plan.resident, plan.missing) == (False, {})
    assert names(planned(true, of("page faults")).allocators) == [
        "keep freed memory, map no block",
        "keep freed memory",
        "huge pages",
    ]


@pytest.mark.usefixtures("installed")
def test_what_is_not_installed_is_said_with_how_to_install_it(true: Program) -> None:
    plan = planned(true, of("pin at the top"))
    assert names(plan.allocators) == ["jemalloc, purging in the background", "trimming the top sooner"]
    assert plan.resident
    assert plan.missing == {"mimalloc, purging at once": "not installed: install mimalloc"}


@pytest.mark.parametrize("cause", ["disk", "network", "a lock of its own", "kernel input and output"])
def test_advice_is_not_tried(true: Program, cause: str) -> None:
    assert planned(true, of(cause)) == trials.Plan()


def test_nothing_is_tried_where_nothing_is_suspected_and_nothing_gained(true: Program) -> None:
    slower = comparison_of([side_of("jemalloc", 1.1), side_of("price: recycle", 1.0)])
    assert planned(true) == trials.Plan()
    assert planned(true, comparison=slower) == trials.Plan()


@pytest.mark.parametrize(("cpu", "half"), [(0.8, 0.01), (0.97, 0.1)])
def test_a_gain_is_told_apart_by_all_preloads(true: Program, cpu: float, half: float) -> None:
    """A proven one, and one that is not decided."""
    gained = comparison_of([side_of("price: recycle", cpu, half)])
    assert names(planned(true, comparison=gained, wall=lasting(0.1, 4)).allocators) == [
        "price: placed",
        "price: cache",
    ]
    untrusted = comparison_of([side_of("price: recycle", cpu, half, same_output=False)])
    assert planned(true, comparison=untrusted, wall=lasting(0.1, 4)).allocators == []


def test_little_is_tried_where_something_gains(true: Program) -> None:
    """Else *allocate less* would be advised where a setting does as well."""
    (little,) = (
        each for each in to_try(wall_of(0.001, kernel=0.02, samples=300)) if each.cause == "page faults"
    )
    assert little.weight < WORTH_TRYING
    gained = comparison_of([side_of("price: recycle", 0.94, 0.01)])
    equal = comparison_of([side_of("price: recycle", 1.0, 0.001)])
    assert HUGE_PAGES in names(planned(true, little, comparison=gained).allocators)
    assert planned(true, little, comparison=equal).allocators == []


def test_what_may_help_comes_before_what_explains(true: Program) -> None:
    """Of a program of a second two arms fit; both told causes apart, and what helps was not tried."""
    gained = comparison_of([side_of("price: recycle", 0.94, 0.01)])
    plan = planned(true, of("page faults"), comparison=gained, wall=lasting(1.1))
    assert names(plan.allocators) == ["keep freed memory, map no block", "price: placed"]


def test_one_thread_waits_for_no_lock(true: Program) -> None:
    held = of("arena lock")
    assert "price: arenas" in names(planned(true, held, wall=lasting(0.1, 4)).allocators)
    alone = planned(true, held, wall=lasting(0.1))
    assert "price: arenas" not in names(alone.allocators)
    assert "price: arenas" in alone.missing


def test_memory_is_not_reused_only_where_it_lasts(true: Program) -> None:
    """A gibibyte in all, and allocations often enough to matter."""

    def bumped(allocations: int, size: int = 64, seconds: float = 1.0) -> bool:
        wall = lasting(seconds, counted=counted(allocations, size))
        return "price: bump" in names(planned(true, wall=wall).allocators)

    assert bumped(1_000_000)
    assert not bumped(1_000_000, 4096)
    assert not bumped(500)
    assert not bumped(1_000_000, seconds=2000)


def test_another_baseline_is_not_priced(true: Program) -> None:
    """A preload that takes one cost of glibc away says nothing of another allocator."""
    other = Allocator(name="jemalloc", library="/usr/lib/libjemalloc.so.2")
    plan = planned(true, of("tcache overflow"), base=other)
    assert names(plan.allocators) == [CACHE]
    assert plan.allocators[0].library == other.library
    assert "price: cache" in plan.missing


def test_what_the_budget_leaves_out_is_named(true: Program) -> None:
    every = [of(cause) for cause in ("tcache overflow", "page faults", "brk thrash")]
    plan = planned(true, *every, wall=lasting(60 / trials.runs_of(2)), budget=60)
    assert names(plan.allocators) == [CACHE, "price: cache"]
    assert plan.missing.keys() == {"keep freed memory, map no block", "keep freed memory", "huge pages"}
    assert set(plan.missing.values()) == {NO_TIME}


def test_no_more_arms_than_rounds_can_tell_apart(true: Program) -> None:
    many = Suspicion(
        cause="page faults",
        weight=0.5,
        statements=[],
        remedies=[Remedy(name=f"setting {n}", environment={"X": str(n)}) for n in range(9)],
    )
    plan = planned(true, many)
    assert names(plan.allocators) == [f"setting {n}" for n in range(trials.MOST)]
    assert len(plan.missing) == 9 - trials.MOST
    assert NO_TIME not in plan.missing.values(), "a larger budget would not try them"


def test_a_remedy_of_two_suspicions_is_one_arm(true: Program) -> None:
    plan = planned(true, of("brk thrash"), of("mmap thrash"))
    assert sorted(names(plan.allocators)) == ["keep freed memory", "keep freed memory, map no block"]


def test_what_the_program_is_told_already_stays(true: Program) -> None:
    tunables = "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=2"
    held = {"GLIBC_TUNABLES": tunables, "NODE_OPTIONS": "--no-warnings"}
    (cache, _) = planned(true, of("tcache overflow"), environment=held).allocators
    assert cache.environment == {"GLIBC_TUNABLES": "glibc.malloc.arena_max=2:glibc.malloc.tcache_count=1000"}
    v8 = msgspec.structs.replace(
        of("garbage collection"),
        remedies=[Remedy(name="young", environment={"NODE_OPTIONS": "--max-semi-space-size=64"})],
    )
    (young,) = planned(true, v8, environment=held).allocators
    assert young.environment == {"NODE_OPTIONS": "--no-warnings --max-semi-space-size=64"}


# Real runs: from a suspicion to what a trial says of it.


def suspected(cause: str, *remedies: Remedy) -> Suspicion:
    """A suspicion with no preload to try, and these remedies or those it has."""
    held = of(cause)
    return msgspec.structs.replace(held, probes=[], remedies=list(remedies) or held.remedies)


def tried(suspicion: Suspicion, command: list[str], folder: Path, *, runs: int) -> Comparison:
    """The second comparison, in so many rounds."""
    plan = trials.second([suspicion], None, programs.resolve(command), base=GLIBC, wall=lasting(0.1))
    spec = specify(command, [GLIBC, *plan.allocators], conditions=Conditions(pairing="auto"))
    spec = msgspec.structs.replace(trials.spec_of(plan, spec, 600, spec.program), runs=runs)
    with Folder.create(folder, spec) as opened:
        return comparing.compare(opened)


@pytest.mark.timed
@pytest.mark.verdict
def test_memory_below_a_pin_is_given_back_by_another_allocator(tmp_path: Path) -> None:
    if not isinstance(catalog.find("jemalloc"), Allocator):
        pytest.skip("needs libjemalloc2")
    (remedy,) = (each for each in of("pin at the top").remedies if each.allocator == "jemalloc")
    # At once, and not in the background: when its thread gets to run depends on what else the machine does.
    at_once = {"MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}
    pin = suspected("pin at the top", msgspec.structs.replace(remedy, environment=at_once))
    compared = tried(pin, [cause_program(), "pin", "0.25"], tmp_path / "runs", runs=5)
    (found,) = judged([pin], trials_of([compared]), {})
    assert (found.status, found.trial) == ("proven", remedy.name)
    less = leaves_less(compared.sides[0], compared)
    assert less is not None
    assert found.gain == less
    assert less.ratio.high < 0.6


@pytest.mark.timed
def test_what_the_remedy_sets_gives_memory_below_a_pin_back_in_time() -> None:
    """However long its thread waits for a processor, up to two minutes; glibc keeps it for good."""
    if not isinstance(found := catalog.find("jemalloc"), Allocator):
        pytest.skip("needs libjemalloc2")
    (remedy,) = (each for each in of("pin at the top").remedies if each.allocator == "jemalloc")
    preloaded = {**os.environ, "LD_PRELOAD": found.library, **remedy.environment}
    assert subprocess.run([cause_program(), "returned", "2"], env=preloaded, check=False).returncode == 0
    assert subprocess.run([cause_program(), "returned", "0.005"], check=False).returncode == 1


@pytest.mark.timed
def test_a_remedy_in_real_runs(tmp_path: Path) -> None:
    """A heap that shrinks and grows again: a variable saves two thirds of its time, so that few rounds do."""
    thrash = suspected("brk thrash")
    compared = tried(thrash, [cause_program(), "brk", "0.05"], tmp_path / "runs", runs=9)
    (found,) = judged([thrash], trials_of([compared]), {})
    assert (found.status, found.trial) == ("proven", "keep freed memory")
    assert found.gain is not None
    assert found.gain.ratio.high < 0.85
    assert [each.name for each in found.by_hand] == ["reuse the buffer"]


@pytest.mark.timed
def test_larger_thread_caches_serve_batches_that_overflow_the_usual_ones() -> None:
    program = [cause_program(), "tcache", "0.02"]
    (remedy,) = (each for each in of("tcache overflow").remedies if each.name == CACHE)
    found = paired.ratios(program, program, pairs=4, environments=[None, remedy.environment])
    assert found.mean < 0.75  # 0.55


class Heard(Listener):
    """Keeps what is said."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.said: list[str] = []

    def say(self, text: str) -> None:
        """Keep it."""
        self.said.append(text)


def test_causes_are_told_apart_in_a_folder_of_their_own_and_once(tmp_path: Path) -> None:
    """Variables are tried on programs that no preload enters: Go's own programs are static."""
    closed = msgspec.structs.replace(programs.resolve(["true"]), obstacle="static")
    collected = suspected("garbage collection", Remedy(name="less often", environment={"GOGC": "400"}))
    spec = specify(["true"], [GLIBC, Allocator(name="x", environment={"X": "1"})])
    spec = msgspec.structs.replace(spec, program=closed, budget=0.2, reserved=trials.RESERVED)
    heard, first = Heard(), comparison_of([])
    wall = lasting(0.001)
    with Folder.create(tmp_path / "runs", spec) as folder:
        told = explain(folder, heard, [collected], first, wall)
        assert told.comparison is not None
        assert [side.allocator for side in told.comparison.sides] == ["less often"]
        assert heard.said[0] == "telling causes apart: less often"
        ran = sorted((folder.path / FOLDER).iterdir())
        again = explain(folder, heard, [collected], first, wall)
        assert again.comparison == told.comparison
        assert sorted((folder.path / FOLDER).iterdir()) == ran
        nothing = explain(folder, heard, [], first, wall)
        failed = explain(folder, heard, [collected], comparison_of([], exit_code=127), wall)
    assert nothing.comparison is None
    assert failed.comparison is None
