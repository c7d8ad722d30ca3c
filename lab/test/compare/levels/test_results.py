"""Programs on fragmented heaps: ratios, controls and failures, from runs whose figures are given."""

import msgspec
import pytest
from lab.test.compare.levels.experiments import PROFILE, drawn, fragmented, slow, spec_of

from reap.compare.levels import run as levels_run
from reap.compare.levels import words
from reap.compare.levels.judge import judge
from reap.compare.levels.view import view
from reap.experiment import arms
from reap.experiment.records import BARE
from reap.experiment.schedule import sampled


def test_ratios_are_to_what_they_say():
    result = drawn(slow)
    arm = result.arm("naive", "glibc", "adv3")
    assert arm.normalised["cpu"].ratio.value == pytest.approx(2.4, rel=0.01)
    assert arm.slowdown["cpu"].ratio.value == pytest.approx(2, rel=0.01)
    assert arm.to_custom["cpu"].ratio.value == pytest.approx(2.4, rel=0.01)
    assert arm.slowdown["cpu"].verdict == "worse"
    assert result.arm("custom", "glibc", "adv3").slowdown["cpu"].ratio.value == pytest.approx(1, rel=0.01)


def test_on_a_clean_heap_each_is_held_to_the_best_of_custom():
    def cpu(cell):
        return {"custom": 100, "naive": 180}[cell.variant] * (0.8 if cell.allocator == "jemalloc" else 1)

    result = drawn(cpu, spec=spec_of())
    seen = {
        (arm.variant, arm.allocator): arm.to_best["cpu"].ratio.value for arm in result.arms if arm.to_best
    }
    assert seen == pytest.approx(
        {
            ("custom", "glibc"): 1.25,
            ("custom", "jemalloc"): 1,
            ("naive", "glibc"): 2.25,
            ("naive", "jemalloc"): 1.8,
        },
        rel=0.01,
    )
    assert not any(arm.to_best for arm in result.arms if arm.level != "adv0")
    assert not any(arm.to_best for arm in drawn(lambda _: 100, spec=spec_of(how=fragmented())).arms)


def test_memory_is_what_comes_beyond_the_litter():
    result = drawn(slow, resident=lambda cell: 300_000_000 if cell.level == "adv3" else 0)
    assert result.arm("custom", "glibc", "adv3").normalised["peak_resident"].value == 10_000_000
    assert result.arm("custom", "glibc", "adv3").slowdown["peak_resident"].ratio.value == 1


def test_an_arm_whose_clean_heap_says_nothing_says_nothing():
    spec = spec_of("glibc")
    clean = next(arm for arm in arms.arms(spec) if (arm.variant, arm.level) == ("naive", "adv0"))
    result = drawn(slow, spec=spec, dropped={clean.arm(): "it died"})
    assert result.arm("naive", "glibc", "adv0").problem == "it died"
    assert result.arm("naive", "glibc", "adv3").problem == "at adv0, to which it is compared: it died"
    assert "Without its own allocator" not in judge(result).paragraph


def test_too_few_rounds_say_nothing():
    result = drawn(slow, rounds=1)
    assert all("too few" in arm.problem for arm in result.arms)
    assert not levels_run.differs(result)


def failing(where, failure="malloc returned null"):
    """A change of runs: the heap of those was not littered."""

    def change(run):
        if run.laid is None or not where(run.cell):
            return run
        laid = msgspec.structs.replace(run.laid, failure=failure, threads=bool(failure))
        return msgspec.structs.replace(run, laid=laid)

    return change


def ending(where, status=139, text="d"):
    """A change of runs: those end, or say, something else."""

    def change(run):
        if not where(run.cell):
            return run
        outcome = msgspec.structs.replace(run.outcome, exit_code=status, stdout_digest=text)
        return msgspec.structs.replace(run, outcome=outcome)

    return change


def test_a_control_that_ran_on_a_clean_heap_is_no_finding():
    def cpu(cell):
        return 143 if cell.level == "3x0" else 100

    spec = spec_of("glibc", fragmented())
    assert any("all litter was freed" in said for said in judge(drawn(cpu, spec=spec)).first)
    result = drawn(cpu, spec=spec, change=failing(lambda cell: cell.level == "3x0"))
    (control,) = result.controls
    assert control.emptied is None
    assert control.preload is not None
    assert judge(result).first == []
    said = "the control glibc, 3x0: it ran on a clean heap: malloc returned null"
    assert words.problems(result) == [said]
    assert levels_run.differs(result)


def test_no_ratio_is_to_an_arm_that_says_nothing():
    spec = spec_of()
    result = drawn(slow, spec=spec, change=failing(lambda cell: cell.allocator == "glibc"))
    jemalloc = [arm for arm in result.arms if arm.allocator == "jemalloc"]
    assert not any(arm.to_allocator or arm.normalised or arm.sound for arm in jemalloc)
    assert all("the baseline, to which it is compared: it ran on" in arm.problem for arm in jemalloc)
    result = drawn(
        slow, spec=spec, change=failing(lambda cell: cell.variant == "custom" and cell.level == "adv3")
    )
    arm = result.arm("naive", "glibc", "adv3")
    assert (arm.to_custom, arm.problem) == ({}, "")
    assert "less CPU time with its own allocator" not in judge(result).paragraph


def test_a_control_that_crashes_is_said_and_counts():
    spec = spec_of("glibc", fragmented())
    moved = next(arm for arm in arms.arms(spec) if (arm.level, arm.layout) == ("adv0", 1))
    dropped = {moved.arm(): "the program was ended by SIGSEGV (in the warm-up)"}
    result = drawn(slow, spec=spec, dropped=dropped, change=ending(lambda cell: cell.arm() == moved.arm()))
    (failed,) = result.failed_controls
    assert (failed.level, failed.layout, failed.same_exit) == ("adv0", 1, False)
    assert [each.ratios for each in result.layout_bias if each.level == "adv0"] == [[]]
    said = "the control glibc, adv0 in layout 1: the program was ended by SIGSEGV (in the warm-up)"
    assert words.problems(result) == [said]
    assert levels_run.differs(result)
    assert drawn(slow, spec=spec, rounds=1).failed_controls == [], "too few rounds are no fault of theirs"


def test_a_control_that_says_something_else_counts_but_where_it_may_print_its_layout():
    spec = spec_of("glibc", fragmented())
    other = ending(lambda cell: cell.level == BARE, status=0, text="other")
    result = drawn(slow, spec=spec, change=other)
    (failed,) = result.failed_controls
    assert (failed.level, failed.layout, failed.same_output) == (BARE, 0, False)
    assert "output differs from the baseline's" in failed.problem
    assert result.controls[0].preload is None
    assert levels_run.differs(result)
    moved = drawn(slow, spec=spec, change=ending(lambda cell: cell.layout > 0, status=0, text="other"))
    assert moved.failed_controls == []
    assert not levels_run.differs(moved)


# Dies where its stack is moved.


@pytest.mark.parametrize("failure", ["malloc returned null", ""])
def test_an_arm_that_could_not_be_littered_counts(failure):
    result = drawn(slow, change=failing(lambda cell: cell.level == "adv3", failure))
    assert levels_run.differs(result)
    arm = result.arm("naive", "glibc", "adv3")
    assert not arm.littered
    assert ("clean heap: malloc" if failure else "nothing was littered") in arm.problem
    assert result.arm("naive", "glibc", "adv0").littered
    assert not levels_run.differs(drawn(slow))


@pytest.mark.parametrize("wrong", [{"status": 139}, {"status": 0, "text": "other"}])
def test_a_sampled_run_that_fails_spoils_no_round(wrong):
    def this(cell):
        return cell.sampled and (cell.variant, cell.level) == ("naive", "adv3")

    result = drawn(slow, more=[sampled], change=ending(this, **wrong))
    arm = result.arm("naive", "glibc", "adv3")
    assert (arm.problem, arm.same_exit, arm.same_output, arm.split) == ("", True, True, None)
    assert arm.sound
    assert all(each.split for each in result.arms if each is not arm)
    (note,) = [note for note in result.notes if "time inside the allocator is unknown" in note]
    assert "naive, glibc, adv3" in note
    assert not levels_run.differs(result)
    clean = drawn(slow, more=[sampled], change=failing(lambda cell: cell.sampled and cell.level == "adv3"))
    assert [arm.level for arm in clean.arms if arm.sound and not arm.split] == ["adv3"] * 2
    assert not levels_run.differs(clean)
    whole = drawn(slow, more=[sampled], change=failing(lambda cell: cell.level == "adv3"))
    assert not any("time inside" in note for note in whole.notes), "that it says nothing is said already"


def test_the_page_says_which_litter_it_was():
    how = fragmented(seed=7, order="reversed", touch=False)
    result = drawn(slow, spec=spec_of("glibc", how))
    assert (result.seed, result.order, result.touch) == (7, "reversed", False)
    said = view(result, judge(result)).litter
    assert "freed by address, the highest first; never written to; seed 7" in said
    assert "in random order; written to; seed 1" in view(drawn(slow), judge(drawn(slow))).litter
    assert "own sizes (its allocations, 48.2 B" in said
    full = msgspec.structs.replace(PROFILE, counted="in use at the peak")
    whole = msgspec.structs.replace(result, profile=full)
    assert "own sizes (its blocks in use at the peak, 48.2 B" in view(whole, judge(whole)).litter
