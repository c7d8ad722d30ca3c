"""Numbers of starts and of loads in each, before any is measured: pure functions.

The ratio of two servers varies from load to load, the less the more CPU time a load takes, and from start to
start beside that, with their address-space layouts. Loads of one start share its layout, so an interval is
made from starts; but a start takes time, too. So there is a number of loads a start with which the interval
is narrowest in the time that there is.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from reap.base.distributions import student_quantile
from reap.server.records import MOST_LOADS

# Standard deviations of the logarithm of a ratio of two servers that are the same, on two shared cores with a
# load of 2 to 15, as `reap compare --details --loads 10 -n 6` prints them for the recipes of
# docs/how-to/server.md.
_OF_START = 0.005
"""From start to start: 0.2 to 0.7 % of redis, nginx and php-fpm."""
_OF_LOAD = 0.008
"""Of loads of one second of CPU time, of servers that are loaded at the same time: 0.6 to 1.1 %."""
_ONE_AFTER_ANOTHER = 0.1
"""The same of servers that run one after another, each on a machine that others use differently."""
_LEAST_STARTS = 3
"""With two, Student's t has no use."""
LEAST_LOADS = 4
"""Of fewer the first start says nothing of how loads differ; but of long ones fewer do."""
_LONG = 1.0
"""Seconds of CPU time."""
_LEVEL = 0.975
_ENOUGH = 0.8
"""Half of an interval, in parts of the smallest change that matters, with which most ratios are decided."""


class Costs(NamedTuple):
    """Costs of a round of servers, and how far they stray."""

    start: float
    """Seconds to start, warm up and stop all servers of a round."""
    load: float
    """Seconds of a load of each."""
    cpu: float
    """Seconds of CPU time of a load, of one server."""
    deviation: float
    """Standard deviation of the logarithm of the ratio of two loads of identical servers."""


class Plan(NamedTuple):
    """Starts of each server, loads of each start, and what that gives."""

    starts: int
    loads: int
    half_width: float
    """Half of the expected interval of a ratio, as a fraction of 1."""
    seconds: float
    """Time for all of it."""


def deviation(cpu: float, *, at_once: bool) -> float:
    """Usual value of `Costs.deviation` for loads of so much CPU time, before any is measured."""
    return (_OF_LOAD if at_once else _ONE_AFTER_ANOTHER) / math.sqrt(max(cpu, 1e-6))


def narrowest(
    costs: Costs, seconds: float, *, most_starts: int, widening: Callable[[int], float], loads: int
) -> Plan | None:
    """The plan with the narrowest interval in so much time; with `loads` of each start, unless they are 0.

    `widening` is that of an interval by its number of starts. None where there is no time for an interval.
    """
    plans = []
    least = 1 if costs.cpu >= _LONG else LEAST_LOADS
    for each in [loads] if loads else range(least, MOST_LOADS + 1):
        a_round = costs.start + each * costs.load
        starts = min(most_starts, int(seconds / a_round))
        if starts >= _LEAST_STARTS:
            half = widening(starts) * _half_width(starts, each, costs.deviation)
            plans.append(Plan(starts=starts, loads=each, half_width=half, seconds=starts * a_round))
    return min(plans, key=lambda plan: plan.half_width, default=None)


def decides(plan: Plan | None, worth: float) -> bool:
    """Whether the plan decides most ratios by a smallest change that matters."""
    return plan is not None and plan.half_width <= _ENOUGH * worth


def _half_width(starts: int, loads: int, of_load: float) -> float:
    variance = _OF_START**2 + of_load**2 / loads
    return student_quantile(starts - 1, _LEVEL) * math.sqrt(variance / starts)
