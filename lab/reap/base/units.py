"""Figures as people read them. Pure functions; what is no number (nan, infinity) is shown as a dash.

Every formatter of the terminal and of what is written is here. What a page's scripts draw has its own in
draw/page/format.js, which gives the same text: lab/test/base/test_units.py compares the two.
"""

import math

from reap.base.records import Estimate

UNKNOWN = "-"
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_COUNT_UNITS = ("", " k", " M", " G", " T")
_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def _three_digits(value: float) -> str:
    """The value with three significant digits and never an exponent."""
    if value >= 100 or value == 0:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def size(value: float) -> str:
    """Bytes in binary units: `1.50 MiB`. Whole bytes below 1 KiB are exact."""
    if not math.isfinite(value):
        return UNKNOWN
    sign, value = ("-" if value < 0 else ""), abs(value)
    for unit in _BYTE_UNITS:
        if value < 999.5 or unit == _BYTE_UNITS[-1]:
            number = f"{value:.0f}" if unit == "B" and value == round(value) else _three_digits(value)
            return f"{sign}{number} {unit}"
        value /= 1024
    raise AssertionError  # the last unit always returns


def sizes_with_interval(estimate: Estimate, what: str = "") -> str:
    """Bytes and their 95 % CI in one unit: `3.10 MiB [2.80, 3.40]`; `what` stands behind the unit."""
    most = max(abs(estimate.value), abs(estimate.low), abs(estimate.high))
    if not math.isfinite(most):
        return UNKNOWN
    power = 0
    while most >= 999.5 and power + 1 < len(_BYTE_UNITS):
        most, power = most / 1024, power + 1
    digits = 0 if power == 0 or most >= 100 else 1 if most >= 10 else 2
    value, low, high = (
        f"{each / 1024**power:.{digits}f}" for each in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} {_BYTE_UNITS[power]}{what} [{low}, {high}]"


def count(value: float) -> str:
    """A count in decimal units: `1.25 M`. Below 10 000 it is written out."""
    if not math.isfinite(value):
        return UNKNOWN
    if abs(value) < 10_000:
        return f"{value:,.0f}".replace(",", " ")
    sign, value = ("-" if value < 0 else ""), abs(value)
    for unit in _COUNT_UNITS:
        if value < 999.5 or unit == _COUNT_UNITS[-1]:
            return f"{sign}{_three_digits(value)}{unit}"
        value /= 1000
    raise AssertionError  # the last unit always returns


def whole(value: float) -> str:
    """A count written out, digits in threes: `1 234 567`."""
    return f"{value:,.0f}".replace(",", " ") if math.isfinite(value) else UNKNOWN


def number(value: float, noun: str) -> str:
    """Count with its noun, whose plural ends in s: `1 round`, `5 rounds`, `1.25 M objects`."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def mean(value: float) -> str:
    """A mean of counts: below a hundred with what is behind the point, `2.50`, else as a count."""
    return f"{value:.2f}" if abs(value) < 100 and value != round(value) else count(value)


def many(value: int, noun: str, ending: str = "s") -> str:
    """Count with its noun, written out: `1 thread`, `1 234 processes` (`ending` es)."""
    return f"{whole(value)} {noun}{'' if value == 1 else ending}"


def samples(value: int) -> str:
    """Count of samples: `1 sample`, `1 234 samples`."""
    return many(value, "sample")


def duration(seconds: float) -> str:
    """A time: `1.20 s`, `35.0 ms`, `12 min 5 s`."""
    if not math.isfinite(seconds):
        return UNKNOWN
    if seconds == 0:
        return "0 s"
    sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
    if seconds >= 600:
        return f"{sign}{seconds // 60:.0f} min {seconds % 60:.0f} s"
    for scale, unit in _TIME_UNITS:
        if seconds >= scale * 0.9995 or unit == "ns":
            return f"{sign}{_three_digits(seconds / scale)} {unit}"
    raise AssertionError  # the last unit always returns


def about(seconds: float) -> str:
    """About how long that is, in words: `a second`, `45 s`, `3 min`, `7.5 h`."""
    if seconds < 1:
        return "a second"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def more_or_less(seconds: float) -> str:
    """A difference of times: `1.20 s more`, `35.0 ms less`."""
    return f"{duration(abs(seconds))} {'more' if seconds >= 0 else 'less'}"


def percent(share: float) -> str:
    """A share of 0 to 1 as percent: one digit behind the point below 20 %."""
    if not math.isfinite(share):
        return UNKNOWN
    value = share * 100
    if 0 < abs(value) < 0.05:
        return "< 0.1 %"
    return f"{value:.1f} %" if abs(value) < 19.95 and value != 0 else f"{value:.0f} %"


def percent_span(low: float, high: float) -> str:
    """Two shares with one unit and one precision: `3.1 to 4.2 %`, `8.7 to 10.9 %`, `20 to 30 %`."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return UNKNOWN
    digits = 1 if min(abs(low), abs(high)) < 0.1995 or abs(high - low) < 0.03 else 0
    return f"{low * 100:.{digits}f} to {high * 100:.{digits}f} %"


def ratio(value: float) -> str:
    """A ratio with what its size deserves: `0.931`, `1.004`, `2.50`, `12.5`, `250`."""
    if not math.isfinite(value):
        return UNKNOWN
    if 0 <= value < 1.9995:
        return f"{value:.3f}"
    return f"{value:.2f}" if value < 10 else _three_digits(value)


TOO_FEW = "too few rounds"
"""In the place of an interval that says nothing."""
_WIDEST = 10
"""An interval of a ratio that reaches over more than this factor is of rounds that are too few."""


def says_nothing(estimate: Estimate) -> bool:
    """Whether the interval of a ratio is too wide to be of any use: two or three rounds give such."""
    return not estimate.exact and not 0 < estimate.high <= _WIDEST * estimate.low


def span(estimate: Estimate, between: str = ", ") -> str:
    """The 95 % CI of a ratio: `0.92, 0.945`."""
    if says_nothing(estimate):
        return TOO_FEW
    return f"{ratio(estimate.low)}{between}{ratio(estimate.high)}"


def ratio_with_interval(estimate: Estimate) -> str:
    """`0.931 [0.92, 0.945]`: a ratio and its 95 % CI; an exact one has none."""
    if estimate.exact:
        return ratio(estimate.value)
    return f"{ratio(estimate.value)} [{span(estimate)}]"


def change(value: float) -> str:
    """A ratio as a change in words: 0.9 is `10 % less`, 1.4 is `40 % more`, 3 is `3.00 times`."""
    if not math.isfinite(value):
        return UNKNOWN
    if value >= 2:
        return f"{_three_digits(value)} times"
    points = percent(abs(value - 1))
    if points in {"0 %", "< 0.1 %"}:
        return "the same"
    return f"{points} less" if value < 1 else f"{points} more"


def in_unit(value: float, unit: str) -> str:
    """A value in one of the units of a comparison: `s`, `bytes` or `count`."""
    return {"s": duration, "bytes": size}.get(unit, count)(value)
