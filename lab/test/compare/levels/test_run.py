"""Programs on fragmented heaps: their arms, their controls, and what one run does."""

import msgspec
import pytest
from lab.test.compare.levels.experiments import (
    PROFILE,
    THREADS,
    fragmented,
    measured,
    runs_of,
    spec_of,
    target,
)
from programs import compile_c

from reap.allocators import catalog
from reap.base.errors import ReapError
from reap.base.records import exactly
from reap.compare.levels import run as levels_run
from reap.experiment import arms
from reap.experiment.folder import Folder
from reap.experiment.records import BARE
from reap.experiment.specify import Conditions, specify
from reap.experiment.starter import Starter
from reap.launch.litter import level
from reap.launch.litter import run as littering
from reap.launch.litter.level import LEVELS
from reap.launch.records import Launch


def test_levels_are_names_or_numbers():
    assert [each.name for each in level.parse("adv0, adv3,10x0.5,adv3")] == ["adv0", "adv3", "10x0.5"]
    assert level.parse("2.5x0")[0].multiplier == 2.5
    for wrong, message in (("adv2", "no level is called"), ("axb", "no level"), ("1x7", "occupancy of 7")):
        with pytest.raises(ReapError, match=message):
            level.parse(wrong)


def test_the_arms_are_every_level_and_its_controls():
    spec = spec_of(how=fragmented("adv1,adv10", naive_environment={"NAIVE": "1"}, layouts=2))
    every = arms.arms(spec)
    assert len({arm.arm() for arm in every}) == len(every)
    first = every[0]
    assert (first.variant, first.allocator, first.level, first.layout) == ("custom", "glibc", "adv0", 0)
    wanted = arms.wanted(spec, spec.fragment)
    assert len(wanted) == 2 * 2 * 3, "adv0 is among the levels, said or not"
    others = [(arm.variant, arm.allocator, arm.level, arm.layout) for arm in every if arm not in wanted]
    for variant in ("custom", "naive"):
        for allocator in ("glibc", "jemalloc"):
            assert (variant, allocator, BARE, 0) in others
            assert (variant, allocator, "10x0", 0) in others
        for layout in (1, 2):
            assert (variant, "glibc", BARE, layout) in others
            assert (variant, "glibc", "adv0", layout) in others
    assert len(others) == 2 * (2 * 2 + 4)


def test_a_variant_may_be_run_over_some_allocators_alone():
    how = fragmented(naive=[target()], replaced=[target()], replaced_over=["glibc"], layouts=0)
    spec = spec_of(how=how)
    over = {(arm.variant, arm.allocator) for arm in arms.arms(spec)}
    every = {(variant, name) for variant in ("custom", "reap", "naive") for name in ("glibc", "jemalloc")}
    assert over == every - {("reap", "jemalloc")}


def test_more_rounds_than_an_experiment_was_to_have_are_of_its_figures_and_of_no_control(tmp_path):
    with Folder.create(tmp_path / "e", spec_of("glibc", fragmented(layouts=0))) as folder:
        levels_run.keep_profile(folder, PROFILE)
        cost = levels_run.cost(folder)
        assert all(run.warmup for run in folder.runs)
        assert cost.a_round > sum(run.seconds for run in folder.runs)  # the baseline twice
        first = levels_run.run(folder)
        assert first.rounds == 2
        before = list(folder.runs)
        more = levels_run.run(folder, rounds=4)
    assert more.rounds == 4
    runs = runs_of(tmp_path)
    assert runs[: len(before)] == before
    assert {run.cell.level for run in before} > {"adv0", "adv3"}
    assert {run.cell.level for run in runs[len(before) :]} == {"adv0", "adv3"}
    assert {run.cell.repeat for run in runs[len(before) :]} == {2, 3}
    with Folder.resume(tmp_path / "e") as folder:
        assert levels_run.run(folder).rounds == 4  # none is lost where it goes on as it began


def test_one_variant_and_one_allocator_are_enough_but_not_one_level():
    spec = spec_of("glibc", fragmented())
    assert len(arms.wanted(spec, spec.fragment)) == 2
    with pytest.raises(ReapError, match="no level litters the heap"):
        spec_of("glibc", fragmented("adv0"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    where = tmp_path_factory.mktemp("levels")
    return measured(where), runs_of(where), where


def test_every_variant_runs_under_every_allocator_at_every_level(whole):
    result, runs, _ = whole
    assert [(arm.variant, arm.allocator, arm.level) for arm in result.arms] == [
        (variant, allocator, name)
        for variant in ("custom", "naive")
        for allocator in ("glibc", "jemalloc")
        for name in ("adv0", "adv3")
    ]
    for arm in result.arms:
        assert (arm.problem, arm.rounds, arm.verified, arm.same_output) == ("", 2, True, True), arm
        objects = LEVELS[arm.level].objects(20000)
        assert arm.laid.objects == objects
        assert arm.allocator in arm.laid.provider or arm.allocator == "glibc"
        assert arm.normalised.keys() >= {"cpu", "wall", "peak_resident", "minor_faults"}
        assert bool(arm.to_custom) == (arm.variant == "naive")
        assert bool(arm.to_allocator) == (arm.allocator == "jemalloc")
    bare = [run for run in runs if run.cell.level == BARE]
    assert bare
    assert not any(run.laid for run in bare)
    assert result.notes == []
    assert not levels_run.differs(result)


def test_the_controls_are_always_run(whole):
    result, runs, _ = whole
    assert [(each.variant, each.allocator) for each in result.controls] == [
        (variant, allocator) for variant in ("custom", "naive") for allocator in ("glibc", "jemalloc")
    ]
    assert all(each.preload and each.emptied for each in result.controls)
    assert all(len(each.ratios) == 1 for each in result.layout_bias)
    assert {(each.variant, each.level) for each in result.layout_bias} == {
        (variant, name) for variant in ("custom", "naive") for name in (BARE, "adv0")
    }
    emptied = [run for run in runs if run.cell.level == "3x0"]
    assert emptied
    assert {(run.laid.objects, run.laid.kept_bytes) for run in emptied} == {(60000, 0)}


def test_heaps_are_littered_as_one_chooses(tmp_path):
    chosen = {"seed": 7, "order": "reversed", "touch": False, "children": True}
    spec = spec_of("glibc", fragmented(**chosen, layouts=0))
    litter = spec.fragment.litter(PROFILE, LEVELS["adv3"])
    assert {name: getattr(litter, name) for name in chosen} == chosen
    with Folder.create(tmp_path / "e", spec) as folder:
        arm = next(arm for arm in arms.arms(spec) if arm.level == "adv3")
        seen = Starter(folder, PROFILE).start(arm, probe=False).laid
    touched = littering.run(
        Launch(argv=[target()], program=target()), spec.fragment.litter(PROFILE, LEVELS["adv3"])
    )
    assert seen.kept_bytes == touched.litterings[0].kept_bytes, "by the same seed"


# Says how long the variable is that moves its stack, and whether a further library lies before its others.
MOVED = r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    int main(void) {
        char *room = getenv("REAP_LAYOUT"), line[512];
        int more = 0;
        FILE *map = fopen("/proc/self/maps", "r");
        while (fgets(line, sizeof line, map)) more |= strstr(line, "libreap-probe") != 0;
        fprintf(stderr, "%zu %d", room ? strlen(room) : 0, more);
        return 0;
    }"""


def test_layouts_move_stack_and_libraries(tmp_path):
    moved = compile_c("moved", MOVED, ["-O1"])
    spec = specify([moved], catalog.parse("glibc"), fragmented=fragmented(layouts=4))
    with Folder.create(tmp_path / "e", spec) as folder:
        starter = Starter(folder, PROFILE)
        seen = {}
        for arm in arms.arms(spec):
            if arm.level in (BARE, "adv0"):
                room, more = starter.start(arm, probe=False).outcome.stderr_tail.split()
                seen[arm.level, arm.layout] = int(room), int(more)
    assert seen[BARE, 0] == seen["adv0", 0] == (0, 0)
    for layout in range(1, 5):
        assert seen[BARE, layout] == seen["adv0", layout], "the same for both, to be compared"
        assert seen[BARE, layout][1] == layout % 2
    assert len({room for room, _ in seen.values()}) == 5


def test_where_the_time_goes_is_sampled_for_each_arm(whole):
    result, runs, _ = whole
    assert sum(run.cell.sampled for run in runs) == len(result.arms)
    with_time = [arm for arm in result.arms if arm.split]
    assert with_time
    for arm in with_time:
        assert arm.split.inside.value + arm.split.outside.value == pytest.approx(arm.cpu)


def test_a_finished_experiment_runs_nothing_again(whole):
    result, runs, where = whole
    with Folder.resume(where / "e") as folder:
        assert levels_run.run(folder) == result
    assert runs_of(where) == runs


def test_a_killed_experiment_goes_on_with_its_profile(whole, tmp_path):
    result, runs, where = whole
    (tmp_path / "e").mkdir()
    for name in ("experiment.json", "profile.json"):
        (tmp_path / "e" / name).write_bytes((where / "e" / name).read_bytes())
    lines = (where / "e" / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "e" / "runs.jsonl").write_bytes(b"".join(lines[:-7]) + lines[-7][:40])
    with Folder.resume(tmp_path / "e") as folder:
        again = levels_run.run(folder)
    after = runs_of(tmp_path)
    assert after[: len(runs) - 7] == runs[:-7]
    assert [run.cell for run in after] == [run.cell for run in runs]
    assert [arm.problem for arm in again.arms] == [arm.problem for arm in result.arms]


def test_the_sizes_are_those_of_the_naive_variant(tmp_path):
    result = measured(tmp_path, profile=None, allocators="glibc")
    assert result.profile.peak.value > 19000, "its own allocator takes one block; malloc sees nodes"
    assert dict(result.profile.sizes)[48] == 20000
    assert (tmp_path / "e" / "profile.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.timed
def test_every_thread_of_a_program_is_littered(tmp_path):
    threads = compile_c("levels-threads", THREADS, ["-O1", "-fno-builtin", "-pthread"])
    profile = msgspec.structs.replace(PROFILE, threads=4)
    chosen = catalog.parse("glibc,jemalloc")
    spec = specify([threads], chosen, conditions=Conditions(runs=2), fragmented=fragmented(layouts=0))
    for attempt in "abc":  # a thread that gets no processor for a third of a second is not waited for
        with Folder.create(tmp_path / attempt, spec) as folder:
            levels_run.keep_profile(folder, profile)
            result = levels_run.run(folder)
        if not result.notes:
            break
    assert [arm.problem for arm in result.arms] == [""] * 4
    for arm in result.arms:
        threads = 4 if arm.level == "adv3" else 1
        assert (arm.laid.threads, arm.laid.objects) == (threads, LEVELS[arm.level].objects(20000))
    assert result.notes == []


def test_threads_that_do_not_come_are_pointed_out(tmp_path):
    profile = msgspec.structs.replace(PROFILE, threads=4)
    result = measured(tmp_path, profile=profile, allocators="glibc", how=fragmented(layouts=0))
    assert any(note.startswith("25 % of the litter of adv3 was laid: 4 threads") for note in result.notes)


def test_a_variant_that_crashes_is_reported_and_the_other_goes_on(tmp_path):
    how = fragmented(naive_environment={"NAIVE": "crash"})
    result = measured(tmp_path, allocators="glibc", how=how)
    for arm in result.arms:
        assert ("SIGABRT" in arm.problem) == (arm.variant == "naive"), arm.problem
        assert bool(arm.normalised) == (arm.variant == "custom")
    assert levels_run.differs(result)
    crashed = [run for run in runs_of(tmp_path) if run.cell.variant == "naive"]
    assert all(run.warmup for run in crashed), "it is not run again"


def test_a_variant_that_says_something_else_is_not_compared(tmp_path):
    result = measured(
        tmp_path, allocators="glibc", how=fragmented(naive=[target()], naive_environment={"NAIVE": "other"})
    )
    for arm in result.arms:
        assert ("output" in arm.problem) == (arm.variant == "naive")
    assert levels_run.differs(result)


def test_a_level_that_does_not_fit_is_refused_before_anything_runs(tmp_path):
    huge = msgspec.structs.replace(PROFILE, peak=exactly(10**10))
    with pytest.raises(ReapError, match="adv3 needs about"):
        measured(tmp_path, profile=huge)
    assert runs_of(tmp_path) == []


def test_littered_arms_do_not_share_the_caches_unasked(tmp_path):
    result = measured(tmp_path, allocators="glibc", how=fragmented(layouts=0), pairing="auto")
    assert result.pairing.method == "sequential"
    assert "share the caches" in result.pairing.reason


def test_littered_arms_run_at_the_same_time_where_asked_for_and_each_by_its_own_litter(tmp_path):
    how = fragmented(layouts=0, naive_environment={"NAIVE": "1"})
    result = measured(tmp_path, allocators="glibc", how=how, pairing="simultaneous")
    assert (result.pairing.method, result.pairing.reason) == ("simultaneous", "")
    assert not [arm.problem for arm in result.arms if arm.problem]
    assert not [arm for arm in result.arms if "wall" in arm.slowdown]
    rounds = [run for run in runs_of(tmp_path) if not run.warmup and not run.cell.sampled]
    assert all(run.together for run in rounds)
    laid = {run.cell.level: run.laid.objects if run.laid else None for run in rounds}
    assert laid[BARE] is None
    assert laid["adv0"] == 0
    assert laid["adv3"] == laid["3x0"] == 60_000
    assert len(rounds) == 2 * 9
    naive = result.arm("naive", "glibc", "adv3")
    assert naive.littered
    assert 0.2 < naive.slowdown["cpu"].ratio.value < 20
