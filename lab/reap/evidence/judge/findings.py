"""Causes held against their trials: proven, refuted, inconclusive or not tried. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from reap.base import units
from reap.compare import judge, phrases
from reap.compare.judge import Standing
from reap.evidence.analyse.suspicions.records import OF_MEMORY, OF_THE_ALLOCATOR, Cause, Remedy, Suspicion
from reap.evidence.analyse.suspicions.remedies import LARGER_CACHE
from reap.evidence.analyse.suspicions.thresholds import CAUSE_WORTH
from reap.evidence.judge import thresholds as at
from reap.evidence.judge.explained import (
    MORE,
    PLACED,
    Trials,
    by_another,
    by_kernel,
    by_placement,
    gain,
    kernels_part,
    ratio_of,
)
from reap.evidence.judge.records import Finding, Status
from reap.evidence.judge.untrusted import why_not
from reap.experiment import statistics
from reap.experiment.records import Comparison, Ratio, Side
from reap.launch import price

WORDS: dict[Cause, str] = {
    "tcache overflow": "the per-thread cache of freed blocks overflows, so malloc takes its slow path",
    "large blocks": "most blocks are too large for the thread cache, so malloc takes its slow path",
    "arena lock": "threads wait for the allocator's lock",
    "brk thrash": "the heap keeps shrinking and growing again (brk)",
    "mmap thrash": "blocks are mapped from the kernel and unmapped one by one (mmap)",
    "page faults": "the program keeps faulting in fresh pages",
    "small pages": "its memory lies in many small pages",
    "clearing and copying": "blocks are cleared for calloc, or copied for realloc",
    "many allocations": "malloc and free themselves take the time",
    "placement": "where malloc places blocks costs cache misses, not what malloc itself costs",
    "pin at the top": "free memory stays resident below a block that is in use",
    "growing memory": "memory grows until the end",
    "lazy free": "memory returned with MADV_FREE still counts as resident",
    "garbage collection": "garbage collection takes time",
    "a lock of its own": "threads wait for each other",
    "kernel input and output": "its own system calls take the time",
    "disk": "it waits for the disk",
    "network": "it waits for the network",
}

_CACHE = f"{price.PREFIX}cache"

_SHOWN: dict[str, Cause] = {"placed": "placement", "cache": "tcache overflow"}
"""What a preload shows that gains although nothing made one suspect it; an arena for each thread is tried
where its cause is suspected alone."""

_PRELOADED = {
    "recycle": "a malloc that costs next to nothing",
    "bump": "a malloc that costs next to nothing",
    "placed": "blocks packed by size, at glibc's cost",
    "cache": "a thread cache that never overflows",
    "arenas": "an arena for each thread",
}
"""What a program runs with under the preloads that take one cost away."""

_SHOWN_WORTH = 0.10
"""The least gain from which on a preload names a cause that the evidence does not point to: each also differs
a little from glibc in what it costs."""

_BY_CACHE: frozenset[Cause] = frozenset(
    {"tcache overflow", "large blocks", "page faults", "brk thrash", "mmap thrash"}
)
"""What a thread cache that never overflows takes away, besides what it is for."""

_ORDER: tuple[Status, ...] = ("proven", "inconclusive", "not tried", "minor", "refuted")


@dataclass(frozen=True)
class _Known:
    """Facts about a program beside its trials."""

    above_cache: float
    kernel: float
    """The part of its time that the kernel takes for fresh memory."""
    aside: bool
    """Whether a linked allocator stands aside for each preload."""


def trials_of(comparisons: Sequence[Comparison | None]) -> Trials:
    """The arms of these comparisons."""
    return {side.allocator: (side, held) for held in comparisons if held for side in held.sides}


def judged(
    suspicions: Sequence[Suspicion],
    ran: Trials,
    missing: Mapping[str, str],
    *,
    above_cache: float = 0.0,
    remedies: str = "",
    aside: bool = False,
) -> list[Finding]:
    """Every suspicion with what its trials say, and what they show beside it: proven causes first.

    `missing` says why an arm was not tried, a clause, by its name. `above_cache` is the part of blocks (0 to
    1) that are larger than a thread cache of glibc keeps. `remedies` is the command that tries remedies for
    memory; it may be empty. With `aside` an allocator that is linked in stands aside in trials: a preload's
    gain is then the difference of two allocators, and proves no more than the cost that samples saw.
    """
    suspicions = [_by_size(each, ran, above_cache) for each in suspicions]
    heavy = {each.cause for each in suspicions if each.weight >= CAUSE_WORTH}
    known = _Known(above_cache, kernels_part(suspicions, ran), aside)
    every = [_finding(each, ran, missing, remedies, known) for each in suspicions]
    # What was tried for a small share, or for none, is worth a word only where it gained.
    faults = next(
        (each.trial for each in every if each.cause == "page faults" and each.status == "proven"), ""
    )
    found = [each for each in every if each.cause in heavy or _is_news(each, heavy, faults)]
    if not aside:
        found += _shown({each.cause for each in every}, ran, known)
    return sorted(found, key=lambda each: (_ORDER.index(each.status), _least(each), -each.weight))


def _least(finding: Finding) -> float:
    return finding.gain.ratio.value if finding.status == "proven" and finding.gain else 1.0


def _is_news(finding: Finding, heavy: set[Cause], faults: str) -> bool:
    """Whether a cause of little weight is proven, and not by the arm that proves page faults, too."""
    explained = finding.cause == "small pages" and ("page faults" in heavy or faults == finding.trial)
    return finding.status == "proven" and not explained


def _by_size(suspicion: Suspicion, ran: Trials, above_cache: float) -> Suspicion:
    """Names a suspicion by the blocks that the cache does not keep: too many of them, or too large ones.

    A cache that never overflows keeps both. Where there are some of each, larger caches of glibc's, which
    keep more blocks and no larger ones, tell: by gaining, or by gaining nothing. Where they were not tried or
    are not decided, the cause is what both have in common.
    """
    if suspicion.cause != "tcache overflow" or above_cache < at.SOME_LARGE:
        return suspicion
    if not any(arm in ran for arm in suspicion.arms):
        return suspicion
    setting = ran.get(LARGER_CACHE)
    told = judge.standing(*setting) if setting is not None else Standing.INCONCLUSIVE
    if told is Standing.GAIN:
        return suspicion
    large = told is Standing.NONE or above_cache >= at.MOSTLY_LARGE
    return msgspec.structs.replace(suspicion, cause="large blocks" if large else "many allocations")


def _beside_placement(suspicion: Suspicion, ran: Trials) -> Finding | None:
    """Cost of malloc and free where the placement of blocks matters, too; None where either gains nothing.

    Both preloads place blocks alike, and one of them pays for glibc's calls: what lies between them is the
    cost of these. The two ran in rounds of their own, so that both intervals widen the one of their ratio.
    glibc's blocks are colder beside the others: more than malloc takes by samples proves nothing.
    """
    placed, free = ran.get(PLACED), ran.get(f"{price.PREFIX}{price.FIRST}")
    if suspicion.cause != "many allocations" or placed is None or free is None:
        return None
    packed, least = gain(*placed), gain(*free)
    if packed is None or least is None or packed.metric != least.metric:
        return None
    ratio = statistics.quotient(least.ratio, packed.ratio)
    between = msgspec.structs.replace(
        least, baseline=packed.value, value=packed.value * ratio.value, ratio=ratio, pairs=[]
    )
    more = packed.ratio.value - least.ratio.value
    if ratio.high >= 1 or not MORE <= more <= suspicion.weight + MORE:
        return None
    than = f"than with {preloaded(PLACED)}, which places them alike"
    sentence = (
        f"Proven: {WORDS[suspicion.cause]}. {_capital(_with(free[0]))} it takes {_amount(between)} {than}."
    )
    return _said(suspicion, "proven", free[0], between, sentence)


def _finding(
    suspicion: Suspicion, ran: Trials, missing: Mapping[str, str], remedies: str, known: _Known
) -> Finding:
    memory = suspicion.cause in OF_MEMORY
    tried = [ran[name] for name in suspicion.arms if name in ran]
    standings = [(_standing(side, held, memory=memory), side, held) for side, held in tried]
    trusted = [each for each in standings if each[0] is not Standing.UNTRUSTED]
    won = [
        (ratio, side)
        for standing, side, held in trusted
        if standing is Standing.GAIN and (ratio := gain(side, held, memory=memory)) is not None
    ]
    weight, command = suspicion.weight, remedies if memory and suspicion.arms else ""
    if beside := _beside_placement(suspicion, ran):
        return beside
    if won:
        aside = known.aside and suspicion.cause in OF_THE_ALLOCATOR
        mixed = suspicion.cause == "tcache overflow" and known.above_cache >= at.SOME_LARGE
        proving = [
            (ratio, side)
            for ratio, side in won
            if not by_another(suspicion, ratio, side.allocator, ran, known.kernel)
            and not (mixed and side.allocator == _CACHE)
            and not (aside and _is_more(side, ratio, weight))
        ]
        ratio, side = min(proving or won, key=lambda each: each[0].ratio.value)
        if proving or not (aside and _is_more(side, ratio, weight)):
            return _said(suspicion, "proven" if proving else "inconclusive", side, ratio)
        more = f"more than the {units.percent(weight)} that it took by samples"
        differ = "the rest is the difference of two allocators"
        sentence = (
            f"Not decided: {WORDS[suspicion.cause]}. {_capital(_with(side))} it takes {_amount(ratio)}, "
        )
        return _said(suspicion, "inconclusive", side, ratio, f"{sentence}{more}: {differ}.")
    if not trusted:
        return Finding(
            cause=suspicion.cause,
            status="not tried",
            weight=weight,
            sentence=f"Suspected, not tried: {WORDS[suspicion.cause]} ({units.percent(weight)} of its "
            f"{'memory' if memory else 'time'}). {_why(suspicion, ran, missing)}"
            + (f" `{command}` measures what each remedy gives." if command else ""),
            statements=suspicion.statements,
            by_hand=_by_hand(suspicion),
        )
    side, held = min(
        ((side, held) for _, side, held in trusted),
        key=lambda each: ratio_of(each[0], memory=memory).ratio.value,
    )
    status: Status = "inconclusive"
    if all(each[0] is Standing.NONE for each in trusted):
        status = "minor" if not memory and judge.lessens(side, held) else "refuted"
    return _said(suspicion, status, side, ratio_of(side, memory=memory))


def _is_more(side: Side, ratio: Ratio, weight: float) -> bool:
    """Whether a preload gains more than a cause took by samples, by what proves nothing any more."""
    return price.is_price(side.allocator) and 1 - ratio.ratio.value > weight + MORE


def _said(
    suspicion: Suspicion, status: Status, side: Side, ratio: Ratio, sentence: str | None = None
) -> Finding:
    cause = WORDS[suspicion.cause]
    sentence = (
        sentence
        or {
            "proven": f"Proven: {cause}. {_capital(_with(side))} it takes {_amount(ratio)}.",
            "minor": f"Proven, but minor: {cause}. {_capital(_with(side))} it takes {_amount(ratio)}.",
            "refuted": f"Refuted: {cause}. {_capital(_with(side))} it takes {_amount(ratio)}.",
            "inconclusive": f"Not decided: {cause}. So far, {_with(side)} it takes {_amount(ratio)}.",
            "not tried": "",
        }[status]
    )
    return Finding(
        cause=suspicion.cause,
        status=status,
        weight=suspicion.weight,
        trial=side.allocator,
        gain=ratio,
        sentence=sentence,
        statements=suspicion.statements,
        by_hand=_by_hand(suspicion),
    )


def preloaded(arm: str) -> str:
    """Name of what an arm adds to the program: what a preload does, or the allocator or setting in quotes."""
    name = arm.removeprefix(price.PREFIX) if price.is_price(arm) else ""
    return _PRELOADED.get(name, f'"{arm}"')


def _with(side: Side) -> str:
    """Phrase for what the program ran with when the cause was removed."""
    return f"with {preloaded(side.allocator)}"


def _amount(ratio: Ratio) -> str:
    name = phrases.METRICS.get(ratio.metric, ratio.metric)
    return f"{phrases.amount(ratio.ratio.value, name)} (95 % CI {phrases.interval(ratio.ratio)})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _by_hand(suspicion: Suspicion) -> list[Remedy]:
    return [each for each in suspicion.remedies if not each.can_be_tried]


def _why(suspicion: Suspicion, ran: Trials, missing: Mapping[str, str]) -> str:
    """Reason why no trial says anything of a suspicion, a sentence."""
    if suspicion.cause == "growing memory":
        return " ".join(each.statement for each in suspicion.statements)
    if not suspicion.arms:
        return "No change from outside takes it away."
    untrusted = [ran[name][0] for name in suspicion.arms if name in ran]
    if untrusted:
        return f"{untrusted[0].allocator}: {why_not(untrusted[0])}."
    reasons = [f"{name} ({missing[name]})" for name in suspicion.arms if name in missing]
    return f"Not run: {'; '.join(dict.fromkeys(reasons))}." if reasons else "No trial was run."


def _standing(side: Side, comparison: Comparison, *, memory: bool) -> Standing:
    return (judge.standing_in_memory if memory else judge.standing)(side, comparison)


def _shown(suspected: set[Cause], ran: Trials, known: _Known) -> list[Finding]:
    """Causes that a preload proves though the evidence does not point to them."""
    found = []
    for name, cause in _SHOWN.items():
        tried = ran.get(f"{price.PREFIX}{name}")
        # A cache that never overflows keeps memory, too, which the kernel's part explains; and where malloc's
        # fast path takes the time, its own is only a cheaper one.
        told = _BY_CACHE | {"many allocations"} if name == "cache" else {cause}
        if tried is None or told & suspected:
            continue
        side, comparison = tried
        ratio = gain(side, comparison)
        if judge.standing(side, comparison) is not Standing.GAIN or ratio is None:
            continue
        if ratio.ratio.value > 1 - _SHOWN_WORTH or by_placement(cause, ratio, ran):
            continue
        named = cause
        if name == "cache" and known.above_cache >= at.SOME_LARGE:
            if known.above_cache < at.MOSTLY_LARGE:  # too many blocks or too large ones: nothing tells
                continue
            named = "large blocks"
        shown = Suspicion(cause=named, weight=1 - ratio.ratio.value, statements=[])
        if not by_kernel(shown, ratio, side.allocator, known.kernel):
            found.append(_said(shown, "proven", side, ratio))
    return found
