"""Remedies tried: which can be, what the pairs say of them, and one from the facts to the gain."""

import os
import subprocess
from pathlib import Path

import msgspec
import paired
import pytest
from causes import cause_program
from reap.evidence.analyse.suspicions.verdict import judge
from samples import MIB, comparison_of, ratio_of, side_of
from walls import WALLS

from reap.allocators import catalog
from reap.allocators.records import Allocator, Missing
from reap.compare import judge as candidates
from reap.evidence import trial as wall_trial
from reap.evidence.analyse.suspicions.records import Remedy, WallVerdict
from reap.experiment.records import Side
from reap.launch import program as programs

CACHE = "larger thread caches"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"jemalloc": "/usr/lib/libjemalloc.so.2"}

    def find(name: str) -> Allocator | Missing:
        path = here.get(name)
        if path is None:
            return Missing(name=name, install=f"install {name}")
        return Allocator(name=name, library=path)

    monkeypatch.setattr(catalog, "find", find)


@pytest.mark.usefixtures("installed")
def test_what_can_be_tried_here() -> None:
    planned = wall_trial.plan(judge(WALLS["tcache overflow"]), {})
    assert [each.name for each in planned.allocators] == [CACHE, "jemalloc"]
    assert planned.allocators[0].environment == {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=1000"}
    assert [each.split()[0] for each in planned.missing] == ["tcmalloc", "mimalloc"]


@pytest.mark.usefixtures("installed")
def test_a_long_program_is_tried_with_what_fits_the_budget() -> None:
    verdict = judge(WALLS["mmap thrash"])

    def tried(seconds: float) -> int:
        return len(wall_trial.plan(verdict, {}, seconds=seconds, budget=60).remedies)

    assert tried(0.5) == 3  # of five, the two that are not installed left out
    assert tried(60 / wall_trial.runs_of(2)) == 2
    assert tried(60) == 1
    said = wall_trial.plan(verdict, {}, seconds=60, budget=60).missing
    assert sum("--budget allows more" in each for each in said) == 2


@pytest.mark.usefixtures("installed")
def test_what_the_program_is_told_already_stays() -> None:
    held = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=2"}
    planned = wall_trial.plan(judge(WALLS["tcache overflow"]), held)
    assert planned.allocators[0].environment == {
        "GLIBC_TUNABLES": "glibc.malloc.arena_max=2:glibc.malloc.tcache_count=1000"
    }


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("cause", ["disk", "network", "parsing", "a lock of its own", "nothing"])
def test_advice_is_not_tried(cause: str) -> None:
    assert wall_trial.plan(judge(WALLS[cause]), {}).allocators == []


@pytest.mark.usefixtures("installed")
def test_the_best_remedy_is_said() -> None:
    verdict = judge(WALLS["tcache overflow"])
    planned = wall_trial.plan(verdict, {})
    comparison = comparison_of([side_of(CACHE, 0.5), side_of("jemalloc", 0.6, memory=1.5)])
    trial = wall_trial.drawn(planned, comparison)
    assert trial.best == CACHE
    assert "50 % less CPU time" in trial.sentences[0]
    assert "Expected: " in trial.sentences[0]
    assert "peak memory is 50 % more" in trial.sentences[1]
    said = wall_trial.with_trial(verdict, planned, comparison)
    assert said.trial is not None
    assert said.trial.best == trial.best
    assert said.paragraph.endswith(said.trial.conclusion)
    assert said.paragraph.startswith(verdict.paragraph)
    assert "95 % CI" in said.paragraph


@pytest.mark.usefixtures("installed")
def test_no_gain_and_no_answer() -> None:
    verdict = judge(WALLS["tcache overflow"])
    planned = wall_trial.plan(verdict, {})

    def paragraph(half: float, **changes: object) -> str:
        comparison = comparison_of([side_of(CACHE, 0.99, half, **changes)])
        said = wall_trial.with_trial(verdict, planned, comparison)
        assert said.trial is not None
        assert said.trial.best == ""
        return said.paragraph

    assert "None of the remedies" in paragraph(0.01)
    assert "too noisy" in paragraph(0.3)
    crashed = paragraph(0.01, problem="it crashed")
    assert "they say nothing" in crashed
    assert "speaks against that cause" not in crashed


@pytest.mark.usefixtures("installed")
def test_remedies_of_memory_are_judged_by_memory() -> None:
    """What a remedy costs in time is told beside it, and the least memory late in the run wins."""
    verdict = judge(WALLS["pin at the top"])
    planned = wall_trial.plan(verdict, {})
    names = [each.name for each in planned.remedies]
    assert names == ["jemalloc, purging in the background", "trim the heap's top sooner"]

    def side(name: str, late: float, cpu: float = 1.0, half: float = 0.01) -> Side:
        held = side_of(name, cpu)
        looked = {
            metric: ratio_of(metric, late, half, baseline=180 * MIB)
            for metric in ("late_resident", "mean_resident")
        }
        return msgspec.structs.replace(held, ratios={**held.ratios, **looked})

    def said(*sides: Side) -> WallVerdict:
        return wall_trial.with_trial(verdict, planned, comparison_of(sides))

    won = said(side(names[0], 0.4, cpu=1.2), side(names[1], 1.0))
    assert won.trial is not None
    assert won.trial.best == names[0]
    assert "60 % less memory late in the run" in won.trial.conclusion
    assert "20 % more CPU time" in won.trial.sentences[0]
    none = said(side(names[0], 1.0), side(names[1], 0.95, cpu=0.5))
    assert none.trial is not None
    assert none.trial.best == ""
    assert "leaves less memory" in none.trial.conclusion
    unsure = said(side(names[0], 1.0), side(names[1], 0.8, half=0.3))
    assert "too noisy" in unsure.paragraph
    strays = {metric: ratio_of(metric, 1.0, 0.9, baseline=180 * MIB) for metric in candidates.RESIDENT}
    comparison = comparison_of([side(names[0], 1.0), side(names[1], 0.7)])
    noisy = wall_trial.with_trial(verdict, planned, msgspec.structs.replace(comparison, noise=strays))
    assert "too noisy" in noisy.paragraph  # it is less, and no less than the program by itself at times


@pytest.mark.timed
@pytest.mark.verdict
def test_memory_below_a_pin_is_given_back_by_another_allocator(tmp_path: Path) -> None:
    if not isinstance(catalog.find("jemalloc"), Allocator):
        pytest.skip("needs libjemalloc2")
    verdict = judge(WALLS["pin at the top"])
    (remedy,) = (each for each in verdict.remedies if each.allocator == "jemalloc")
    # At once, and not in the background: when its thread gets to run depends on what else the machine does.
    at_once = {"MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}
    tried = [msgspec.structs.replace(remedy, environment=at_once)]
    verdict = msgspec.structs.replace(verdict, remedies=tried)
    planned = wall_trial.plan(verdict, {})
    command = [cause_program(), "pin", "0.25"]
    with wall_trial.begin(tmp_path / "runs", command, planned, runs=5, budget=600) as folder:
        said, comparison = wall_trial.tried(verdict, folder, planned)
    assert said.trial is not None
    assert said.trial.best == remedy.name
    assert comparison.sides[0].ratios["late_resident"].ratio.high < 0.6


@pytest.mark.timed
def test_what_the_remedy_sets_gives_memory_below_a_pin_back_in_time() -> None:
    """However long its thread waits for a processor, up to two minutes; glibc keeps it for good."""
    if not isinstance(found := catalog.find("jemalloc"), Allocator):
        pytest.skip("needs libjemalloc2")
    (remedy,) = (each for each in judge(WALLS["pin at the top"]).remedies if each.allocator == "jemalloc")
    preloaded = {**os.environ, "LD_PRELOAD": found.library, **remedy.environment}
    assert subprocess.run([cause_program(), "returned", "2"], env=preloaded, check=False).returncode == 0
    assert subprocess.run([cause_program(), "returned", "0.005"], check=False).returncode == 1


@pytest.mark.timed
def test_a_remedy_in_real_runs(tmp_path: Path) -> None:
    """A heap that shrinks and grows again: a variable saves two thirds of its time, so that few rounds do."""
    verdict = judge(WALLS["brk thrash"])
    (remedy,) = (each for each in verdict.remedies if each.name == "keep freed memory")
    verdict = msgspec.structs.replace(verdict, remedies=[remedy])
    planned = wall_trial.plan(verdict, {})
    with wall_trial.begin(tmp_path / "runs", [cause_program(), "brk", "0.05"], planned, runs=9) as folder:
        said, comparison = wall_trial.tried(verdict, folder, planned)
    assert said.trial is not None
    assert said.trial.best == remedy.name
    assert comparison.sides[0].ratios["cpu"].ratio.high < 0.85


@pytest.mark.timed
def test_larger_thread_caches_serve_batches_that_overflow_the_usual_ones() -> None:
    program = [cause_program(), "tcache", "0.02"]
    (remedy,) = (each for each in judge(WALLS["tcache overflow"]).remedies if each.name == CACHE)
    found = paired.ratios(program, program, pairs=4, environments=[None, remedy.environment])
    assert found.mean < 0.75  # 0.55


def test_variables_are_tried_on_programs_that_no_preload_enters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Go's own programs are static: GOGC is tried on them all the same."""
    resolve = programs.resolve

    def closed(command: list[str], **how: object) -> programs.Program:
        return msgspec.structs.replace(resolve(command, **how), obstacle="static")

    monkeypatch.setattr(programs, "resolve", closed)
    remedy = Remedy(name="less often", environment={"GOGC": "400"}, expect="less")
    verdict = msgspec.structs.replace(judge(WALLS["nothing"]), remedies=[remedy])
    planned = wall_trial.plan(verdict, {})
    with wall_trial.begin(tmp_path / "runs", ["true"], planned, budget=0.2) as folder:
        said, _ = wall_trial.tried(verdict, folder, planned)
        assert said.trial is not None
        assert said.trial.best == ""
        assert {run.cell.allocator for run in folder.runs} == {"glibc", "less often"}
