"""What is said of each scenario, and whether it is so here. No number in this file is a result.

The claims are those that people on call pass on; each is judged by the runs of the remedies that it names. A
claim on memory has one run behind it, one on requests the paired rounds and their interval.
"""

from collections.abc import Callable, Iterable
from typing import Literal

from reap.api import Estimate, Record, Residence, statistics, units
from reap.api import interval_in_words as interval
from reap_studies.scenario.records import Played, Requests, Tried

Standing = Literal["holds", "holds partly", "does not hold", "inconclusive"]

MOST = 0.75
"""The share of the most resident memory that must be gone, or still there, for a claim that says so."""
SOME = 0.25
_AS_MUCH = 0.95
"""Of a rate: what is no less but for noise."""
_NOTHING = 1e-9
"""In place of 0, which has no logarithm: nobody was answered."""


class Judged(Record):
    """A claim and its result."""

    claim: str
    standing: Standing
    answer: str


def judge(played: Played) -> list[Judged]:
    """Every claim on the scenario, in the order in which it is told."""
    tried = {each.arm.name: each for each in played.tried if not each.skipped}
    return [rule(tried) for rule in _RULES[played.scenario.name]]


def ratio(one: Tried, baseline: Tried, of: Callable[[Requests], float]) -> Estimate:
    """The ratio of a figure to the same rounds of the baseline."""
    return _paired((of(run), of(base)) for run, base in zip(one.runs, baseline.runs, strict=False))


def _paired(figures: Iterable[tuple[float, float]]) -> Estimate:
    return statistics.interval([max(one, _NOTHING) / max(other, _NOTHING) for one, other in figures])


_Arms = dict[str, Tried]
_Rule = Callable[[_Arms], Judged]


def _missing(claim: str, arms: _Arms, names: list[str]) -> Judged | None:
    lacking = [name for name in names if name not in arms]
    if not lacking:
        return None
    return Judged(claim=claim, standing="inconclusive", answer=f"not run: {', '.join(lacking)}")


def _left(residence: Residence) -> float:
    """The share of what the program had at most that is still resident at the end."""
    return residence.last.resident / residence.largest.resident


def _sizes(residence: Residence) -> str:
    return f"{units.size(residence.last.resident)} of {units.size(residence.largest.resident)} at the end"


def _memory(claim: str, name: str, *, gone: bool) -> _Rule:
    """That what was freed is gone at the end, or still there."""

    def rule(arms: _Arms) -> Judged:
        if lacking := _missing(claim, arms, [name]):
            return lacking
        seen = arms[name].residence
        assert seen is not None  # noqa: S101 - a scenario of memory has it
        left = _left(seen) if gone else 1 - _left(seen)
        standing: Standing = "holds" if left <= SOME else "holds partly" if left <= MOST else "does not hold"
        return Judged(claim=claim, standing=standing, answer=f"{name}: {_sizes(seen)}")

    return rule


def _lazy(claim: str, name: str) -> _Rule:
    """That most of what is resident was returned with MADV_FREE already."""

    def rule(arms: _Arms) -> Judged:
        if lacking := _missing(claim, arms, [name]):
            return lacking
        seen = arms[name].residence
        assert seen is not None  # noqa: S101 - a scenario of memory has it
        last = max(seen.moments, key=lambda each: (each.parts.lazy_free, each.seconds))
        share = last.parts.lazy_free / last.resident
        standing: Standing = "holds" if share >= 0.5 else "holds partly" if share >= SOME else "does not hold"
        answer = (
            f"{name}: LazyFree was at most {units.size(last.parts.lazy_free)} of {units.size(last.resident)}"
        )
        return Judged(claim=claim, standing=standing, answer=answer)

    return rule


def _pin(arms: _Arms) -> Judged:
    claim = "One small block at the top of the heap holds all that was freed below it"
    seen = arms["glibc as it is"].residence
    assert seen is not None  # noqa: S101 - a scenario of memory has it
    last = seen.last
    share = last.parts.pinned / seen.largest.resident
    standing: Standing = "holds" if share >= MOST else "holds partly" if share >= SOME else "does not hold"
    size = f" ({last.pin.blocks}, of {units.size(last.pin.bytes)} together)" if last.pin else ""
    answer = (
        f"{units.size(last.parts.pinned)} of {units.size(last.resident)} are free below live blocks{size}"
    )
    return Judged(claim=claim, standing=standing, answer=answer)


def _stands(found: Estimate, bound: float, *, less: bool) -> Standing:
    if units.says_nothing(found):
        return "inconclusive"
    holds = found.high <= bound if less else found.low >= bound
    fails = found.low > bound if less else found.high < bound
    return "holds" if holds else "does not hold" if fails else "inconclusive"


def _requests(claim: str, name: str, baseline: str, bound: float, *, less: bool) -> _Rule:
    """That at most, or at least, so many times as many callers are answered as under the baseline."""

    def rule(arms: _Arms) -> Judged:
        if lacking := _missing(claim, arms, [name, baseline]):
            return lacking
        found = ratio(arms[name], arms[baseline], lambda run: run.rate)
        words = f"{units.ratio_with_interval(found)} times the {_RATE} of '{baseline}'"
        standing = _stands(found, bound, less=less)
        return Judged(claim=claim, standing=standing, answer=f"{name}: {words} ({interval(found)})")

    return rule


def _surge(claim: str, figure: str, bound: float, *, less: bool) -> _Rule:
    """That a figure in the surge is at most, or at least, so many times what it was before it."""

    def rule(arms: _Arms) -> Judged:
        if lacking := _missing(claim, arms, [_GLIBC]):
            return lacking
        found = _paired(
            (run.rate, run.before) if figure == _RATE else (run.p99_ns, run.before_p99_ns)
            for run in arms[_GLIBC].runs
        )
        words = f"{units.ratio_with_interval(found)} times the {figure} before it"
        standing = _stands(found, bound, less=less)
        return Judged(claim=claim, standing=standing, answer=f"{_GLIBC}: {words} ({interval(found)})")

    return rule


_GLIBC = "glibc as it is"
_RATE, _P99 = "callers answered a second", "99th percentile"
_MORE = 1.05
"""What is clearly more."""

_RULES: dict[str, list[_Rule]] = {
    "midnight-climb": [
        _memory("Resident memory stays up after the report, though nothing leaks", _GLIBC, gone=False),
        _pin,
        _memory("M_TRIM_THRESHOLD of 64 KB gives it back", "trim threshold of 64 KB", gone=True),
        _memory("malloc_trim(0) gives it back", "malloc_trim(0) after the report", gone=True),
        _memory("also where one row in 100 stays", "the same, one row in 100 stays", gone=True),
        _memory("also where one row in 4 stays", "the same, one row in 4 stays", gone=True),
        _memory("jemalloc gives it back within seconds", "jemalloc, idle", gone=True),
        _memory("jemalloc gives it back while it is called", "jemalloc, with traffic", gone=True),
        _memory("jemalloc's background thread gives it back", "jemalloc, background thread", gone=True),
    ],
    "lying-rss": [
        _lazy("jemalloc's resident memory is mostly LazyFree, as it is installed", "jemalloc as it is"),
        _lazy("it is, where muzzy pages are kept for a minute", "jemalloc, freed lazily"),
        _memory("without muzzy pages the figure is true", "jemalloc, freed at once", gone=True),
        _memory("glibc gives the same burst back", _GLIBC, gone=True),
    ],
    "retry-storm": [
        _surge("throughput barely moves in a surge of half as many more", _RATE, 1.1, less=True),
        _surge("P99 climbs", _P99, 3, less=False),
        _requests("it is the retries that take it", "without retries", _GLIBC, _MORE, less=False),
        _requests("more workers make it worse", "twice the workers", _GLIBC, 1, less=True),
        _requests("fewer allocations mend it", "a tenth of the allocations", _GLIBC, _MORE, less=False),
        _requests("an allocator with caches of each thread mends it", "jemalloc", _GLIBC, _MORE, less=False),
        _requests("so does tcmalloc", "tcmalloc", _GLIBC, _MORE, less=False),
        _requests("so does mimalloc", "mimalloc", _GLIBC, _MORE, less=False),
        _requests(
            "larger thread caches in glibc do as much",
            "larger thread caches",
            "jemalloc",
            _AS_MUCH,
            less=False,
        ),
    ],
}
