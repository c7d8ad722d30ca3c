"""Numbers of starts and loads: what makes an interval narrow, and which budget decides."""

import pytest

from reap.experiment import sequential
from reap.server.plan import LEAST_LOADS, Costs, Plan, decides, deviation, narrowest
from reap.server.records import MOST_LOADS

WORTH = 0.03


def planned(
    seconds: float,
    start: float = 1.0,
    load: float = 0.5,
    cpu: float = 0.2,
    *,
    at_once: bool = True,
    loads: int = 0,
) -> Plan:
    found = narrowest(
        Costs(start=start, load=load, cpu=cpu, deviation=deviation(cpu, at_once=at_once)),
        seconds,
        most_starts=sequential.MAX_ROUNDS,
        widening=sequential.widening,
        loads=loads,
    )
    assert found is not None
    return found


def test_the_plan_is_within_its_time() -> None:
    found = planned(60)
    assert found.seconds == pytest.approx(found.starts * (1.0 + 0.5 * found.loads))
    assert 50 < found.seconds <= 60


def test_starts_that_take_long_are_loaded_more_often() -> None:
    assert planned(120, start=10).loads > 2 * planned(120, start=0.2).loads


def test_short_loads_are_repeated() -> None:
    assert planned(120, cpu=0.02).loads > 2 * planned(120, cpu=2).loads


def test_an_interval_is_narrower_the_more_time_there_is() -> None:
    widths = [planned(seconds).half_width for seconds in (20, 60, 200, 600)]
    assert widths == sorted(widths, reverse=True)


def test_there_are_starts_enough_for_an_interval_and_no_more_than_allowed() -> None:
    assert planned(15, start=2).starts >= 3
    assert planned(60, start=0.1, cpu=0.9).loads >= LEAST_LOADS
    assert planned(60, start=0.1, load=2, cpu=2).loads == 1
    assert planned(10_000, start=0.1, load=0.1).starts <= sequential.MAX_ROUNDS
    assert planned(10_000, start=1000).loads == MOST_LOADS


def test_loads_that_the_user_asks_for() -> None:
    assert planned(60, loads=2).loads == 2


def test_no_time_for_an_interval() -> None:
    costs = Costs(start=5, load=1, cpu=0.5, deviation=0.01)
    none = narrowest(costs, 20, most_starts=48, widening=sequential.widening, loads=0)
    assert none is None
    assert not decides(none, WORTH)


def test_servers_one_after_another_take_many_times_as_long() -> None:
    assert decides(planned(60), WORTH)
    assert not decides(planned(60, at_once=False), WORTH)
    assert decides(planned(60, at_once=False), 0.3)
