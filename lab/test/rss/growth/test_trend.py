"""The trend of memory: its interval holds the truth, and the verdict names what grows."""

import math

import msgspec
import numpy as np
import pytest
from lab.bench.rss.growth_coverage import held

from reap.base.records import Estimate
from reap.rss.growth import analyse, judge
from reap.rss.growth.records import GROUPS, Growth, Snapshot, Trend

MB = 1 << 20
HOUR = 3600


def snapshots(levels, *, pid=7, interval=1.0, group="live", **fixed):
    """Snapshots whose one group has these levels, and whose others are `fixed`."""
    for number, level in enumerate(levels):
        groups = {name: fixed.get(name, 0) for name in GROUPS} | {group: round(level)}
        yield Snapshot(seconds=number * interval, pid=pid, resident=sum(groups.values()), groups=groups)


def trend_of(levels, **options):
    return analyse.trends(analyse.starts(snapshots(levels, **options)))


@pytest.mark.parametrize("alike", [0, 0.9, 0.98, 0.995])
def test_the_interval_holds_the_true_trend(alike):
    """In 95 of 100 watches; less 3 where snapshots resemble those of minutes before."""
    watches = 400
    assert held(alike, watches, 1200) > 0.95 - 3 * math.sqrt(0.05 * 0.95 / watches) - 0.01


def test_a_cache_that_fills_and_empties_does_not_grow():
    sawtooth = [100 * MB + 20 * MB * (second % 90) / 90 for second in range(3600)]
    found = trend_of(sawtooth)["resident"].per_hour
    assert found.low < 0 < found.high


def test_what_grows_is_told_from_what_is_held():
    """Free memory takes the place of live bytes: only one of the two grows."""
    live = trend_of(np.linspace(50 * MB, 90 * MB, 2000), free=30 * MB)
    assert live["live"].per_hour.low > 60 * MB
    assert live["free"].per_hour == Estimate(value=0, low=0, high=0)
    assert live["resident"].per_hour.value == pytest.approx(live["live"].per_hour.value)


def test_the_warm_up_is_excluded():
    rising = np.minimum(np.arange(3000) * MB / 5, 100 * MB)  # for 500 s of 3000
    assert trend_of(rising)["resident"].per_hour == Estimate(value=0, low=0, high=0)


def test_each_start_has_a_level_of_its_own():
    """One that begins lower than the one before it says nothing of growth."""
    rng = np.random.default_rng(5)
    parts = []
    for pid, level in ((1, 300), (2, 100), (3, 200)):
        rising = level * MB + np.arange(800) * 4 * MB / HOUR + 2000 * rng.normal(size=800)
        parts += snapshots(rising, pid=pid)
    starts = analyse.starts(parts)
    assert [len(each) for each in starts] == [800, 800, 800]
    assert analyse.long(starts) == 3 * 799
    found = analyse.trends(starts)["resident"].per_hour
    assert found.low < 4 * MB < found.high
    assert found.high - found.low < MB / 10


def test_a_number_that_is_another_process_now_is_another_start():
    one, two = list(snapshots([MB] * 10)), list(snapshots([MB] * 10))
    assert len(analyse.starts([*one, *two])) == 2


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_too_few_snapshots_give_no_trend(count):
    assert trend_of([MB] * count) == {}


def of(resident, available=0, asked=True, **parts):
    """Growth over an hour with these growths an hour: (value, half of the interval)."""

    def trend(growth, last=100 * MB):
        value, half = growth
        return Trend(
            per_hour=Estimate(value=value, low=value - half, high=value + half), first=last, last=last
        )

    return Growth(
        command=["server"],
        starts=1,
        seconds=3600,
        warm_up=720,
        snapshots=3600,
        asked=asked,
        resident=None if resident is None else trend(resident),
        parts={name: trend(each) for name, each in parts.items()},
        available=available,
    )


@pytest.mark.parametrize(
    ("growth", "standing", "cause", "said"),
    [
        (of((3 * MB, MB), live=(3 * MB, MB)), "grows", "live", "the program keeps what it allocates"),
        (
            of((3 * MB, MB), live=(0, MB), free=(3 * MB, MB)),
            "grows",
            "free",
            "its free memory grows by 3.00 MiB an hour [2.00, 4.00]; live bytes change by 0.00 MiB",
        ),
        (of((3 * MB, MB), heap=(3 * MB, MB), asked=False), "grows", "heap", "it was not asked"),
        (of((3 * MB, MB), other=(3 * MB, MB)), "grows", "other", "no memory of malloc"),
        (of((3 * MB, MB), live=(MB, MB / 2), free=(MB, MB / 2)), "grows", "", "No part of it alone"),
        (
            of((0, MB / 10), live=(0, MB / 10)),
            "does not grow",
            "",
            "does not grow: 0 KiB an hour [-102, 102]",
        ),
        (of((0, MB / 10), live=(3 * MB, MB)), "does not grow", "", "resident memory will follow"),
        (of((MB, 2 * MB)), "inconclusive", "", "At most about 111 min more would decide"),
        (of(None), "inconclusive", "", "are too few"),
    ],
)
def test_the_verdict_names_what_grows(growth, standing, cause, said):
    verdict = judge.judge(growth)
    assert (verdict.standing, verdict.cause) == (standing, cause)
    assert said in " ".join(verdict.sentences)
    assert (verdict.more_hours > 0) == (standing == "inconclusive")


def test_a_growth_that_would_take_weeks_to_matter_is_none():
    """A hundred kilobytes an hour of 100 MB: 2.4 % a day."""
    assert judge.judge(of((0.1 * MB, 0.01 * MB))).standing == "does not grow"


def test_of_a_second_without_change_nothing_is_said():
    """A growth that matters would not have been a page."""
    seen = msgspec.structs.replace(of((0, 0)), seconds=1.0)
    verdict = judge.judge(seen)
    assert verdict.standing == "inconclusive"
    assert "At most about 2 min more" in " ".join(verdict.sentences)


def test_it_says_how_long_memory_lasts():
    verdict = judge.judge(of((10 * MB, MB), live=(10 * MB, MB), available=1000 * MB))
    assert "At this rate the 0.98 GiB that are available here last about 4 days." in verdict.sentences
