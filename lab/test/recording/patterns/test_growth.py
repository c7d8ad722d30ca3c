"""Whether memory grew until the end, from curves and programs whose truth is known."""

import math
import random

import pytest
from msgspec.structs import replace
from recorded import recorded, target
from samples import MIB, around, profile_of

from reap.base.records import Estimate, exactly
from reap.recording.analyse.growth import growth
from reap.recording.analyse.trend import rise
from reap.recording.analyse.usage import before_the_end, coarse_rise
from reap.recording.records import Point, Profile, Site


def points(levels: list[float]) -> list[Point]:
    return [Point(seconds=float(at), bytes=level) for at, level in enumerate(levels)]


def profiled(levels: list[float], grew: float | None = 100 * MIB, sites: tuple[Site, ...] = ()) -> Profile:
    return replace(
        profile_of(),
        resident=points(levels),
        grew=None if grew is None else exactly(grew),
        sites=list(sites),
    )


def site(name: str, grew: float | None, live: float = 0) -> Site:
    return Site(
        function=name,
        location="a.c:1",
        module="a",
        stack=[],
        objects=1,
        bytes=1,
        temporary=0,
        live_at_peak=live,
        grew=None if grew is None else around(grew, grew / 10),
    )


STEADY = [at * 10.0 * MIB for at in range(1, 21)]


def test_steady_growth_is_seen_with_its_site() -> None:
    found = growth(profiled(STEADY, sites=(site("handle", 10.0 * MIB), site("make_session", 90.0 * MIB))))
    assert found is not None
    assert found.end == 200 * MIB
    assert 90 * MIB <= found.half <= 120 * MIB
    assert found.site is not None
    assert (found.site.function, found.part) == ("make_session", pytest.approx(0.9, abs=0.05))


def test_a_leak_beside_a_full_cache_is_seen_and_named() -> None:
    """The cache has most of what is in use, and does not grow."""
    levels = [min(at * 100, 1000) * MIB + 2.0 * at * MIB for at in range(100)]
    sites = (site("fill_cache", None, live=1000.0 * MIB), site("make_session", 99.0 * MIB, live=198.0 * MIB))
    found = growth(profiled(levels, sites=sites))
    assert found is not None
    assert found.site is not None
    assert found.site.function == "make_session"
    assert found.end - found.half < 110 * MIB


def test_equal_peaks_are_no_growth_wherever_the_last_one_ends() -> None:
    """A dozen of them; at half and at three quarters of the time memory may be low, and at the end high."""
    for count in (101, 113, 257):
        for phase in range(10):
            waves = [100 * MIB * (1 + (13 * at / count + phase / 10) % 1) for at in range(count)]
            assert rise(points(waves)) is None


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.9, 0.99])
def test_noise_whose_moments_resemble_each_other_is_no_growth(alike: float) -> None:
    """At most 3 of 100 series, with a fixed seed."""
    chance, rising = random.Random(20261128), 0
    for _ in range(200):
        levels = [1000.0]
        for _ in range(400):
            levels.append(1000 + alike * (levels[-1] - 1000) + chance.gauss(0, 1))
        rising += rise(points(levels[200:])) is not None
    assert rising <= 6


def test_peaks_whose_blocks_are_freed_are_no_growth_of_what_is_in_use() -> None:
    assert growth(profiled(STEADY, grew=None)) is None


def test_a_coarse_sample_does_not_refute_that_memory_grew() -> None:
    """Of a leak in a straight line that ran for 0.3 s: a few bursts of samples, as a triage saw them."""
    stair = [0.0] * 4 + [31.1 * MIB] * 8 + [46.6 * MIB] * 8 + [62.1 * MIB] * 8 + [77.7 * MIB] * 36
    in_use = coarse_rise(stair, variance=1300.0 * MIB * MIB)
    assert in_use is not None
    assert in_use.low < 0 < in_use.high
    leaking = replace(site("make_session", 1.0), grew=in_use)
    found = growth(replace(profiled(STEADY, sites=(leaking,)), grew=in_use))
    assert found is not None


def test_few_samples_that_have_more_than_was_resident_hide_no_site() -> None:
    """A hundred samples of 12 million blocks of two sites, one of which leaks, in a fifth of a second."""
    found = growth(profiled(STEADY, grew=900.0 * MIB, sites=(site("make_session", 90.0 * MIB),)))
    assert found is not None
    assert found.site is not None
    assert found.part == pytest.approx(0.9, abs=0.1)


@pytest.mark.parametrize("grew", [0.0, -20.0, 5.0])
def test_few_samples_that_have_next_to_nothing_give_no_impossible_part(grew: float) -> None:
    wide = Estimate(value=grew * MIB, low=(grew - 80) * MIB, high=(grew + 80) * MIB)
    found = growth(replace(profiled(STEADY, sites=(site("make_session", 90.0 * MIB),)), grew=wide))
    assert found is not None
    assert 0 < found.part <= 1


def test_some_dozens_of_samples_are_a_stair_of_a_straight_line() -> None:
    """A sampled leak that the curve alone called unsteady."""
    stair = [0.0] * 20 + [9.0 * MIB] * 9 + [31.0 * MIB] * 17 + [34.0 * MIB] * 3 + [62.0 * MIB] * 15
    assert rise(points(stair)) is None
    in_use = coarse_rise(stair, variance=100.0 * MIB * MIB)
    assert in_use is not None
    assert in_use.low > 0


def test_freeing_all_at_the_end_takes_nothing_from_what_grew() -> None:
    """Of a program of a fifth of a second whose destructors take some slices of its time."""
    rising = [float(at) * MIB for at in range(58)]
    assert before_the_end([*rising, 40.0 * MIB, 30.0 * MIB, 20.0 * MIB, 10.0 * MIB, 0.0, 0.0]) == rising
    assert before_the_end([*rising, 0.0]) == rising
    assert len(before_the_end([float(-at) for at in range(64)])) == 56


def test_growth_is_as_large_as_its_trend_and_certain_by_its_interval() -> None:
    """Few points of a short run give a wide interval, whose end is no measure of size."""
    levels = [0, 8, 13, 16, 20, 25, 29, 32, 36, 39, 44, 47, 52, 56, 60, 64, 69, 70, 74, 78, 82]
    risen = rise(points([1e6 * level for level in levels]))
    assert risen is not None
    assert 0 < risen.low < 32 * MIB < risen.value
    assert growth(profiled([1e6 * level for level in levels], grew=risen.value)) is not None


def test_a_fine_sample_is_decided_by_its_curve() -> None:
    assert coarse_rise([level / MIB for level in STEADY], variance=1.0) is None
    assert coarse_rise(STEADY, variance=0.0) is None


def test_memory_that_is_built_first_and_used_then_is_no_growth() -> None:
    assert growth(profiled([*STEADY, *[200.0 * MIB] * 60])) is None
    assert growth(profiled([*STEADY, *[200.0 * MIB] * 15])) is None


def test_a_cache_that_fills_up_is_no_growth() -> None:
    filling = [500 * MIB * (1 - math.exp(-at / 20)) for at in range(100)]
    assert growth(profiled(filling)) is None


def test_memory_that_is_freed_at_the_end_is_no_growth() -> None:
    assert growth(profiled([*STEADY, 20.0 * MIB])) is None


def test_growth_that_malloc_did_not_serve_is_not_its_own() -> None:
    assert growth(profiled(STEADY, grew=MIB)) is None


def test_little_growth_and_few_points_say_nothing() -> None:
    assert growth(profiled([level / 10 for level in STEADY])) is None
    assert growth(profiled(STEADY[:5])) is None
    assert growth(profiled([])) is None


def test_the_rise_of_a_line_is_its_own() -> None:
    found = rise(points([3.0 * at for at in range(101)]))
    assert found is not None
    assert (found.low, found.value, found.high) == pytest.approx((150, 150, 150))


@pytest.mark.timed
def test_sites_that_grow_are_told_from_those_that_turn_over(tmp_path) -> None:
    """By the recording alone: what stays in use, and by how much it rose in the second half."""
    program = target("patterns/growing_pool")
    seen = recorded(tmp_path, "full", program, "pool").profile
    grew = {each.function: each.grew for each in seen.sites if each.grew is not None}
    assert list(grew) == ["Arena::grow()"]
    assert seen.grew is not None
    assert seen.grew.value == pytest.approx(grew["Arena::grow()"].value, rel=0.1)
    assert recorded(tmp_path, "full", program, "table").profile.grew is None
