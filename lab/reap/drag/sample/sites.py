"""Sites that dragged bytes come from, by samples.

A site's share of all that is dragged is a ratio of two sums over the samples, whose variance is that of
`drag_sample`; the samples of other sites have a part in it, since they are in the sum below. What strata save
is left out, so that it is too large rather than too small.
"""

import math
from collections.abc import Callable
from itertools import groupby

from reap.base.records import Estimate
from reap.drag.sample.records import SampledSite
from reap.drag.sample.weights import Drawn, quantile
from reap.recording.analyse.frames import Frame, names
from reap.recording.analyse.sites import index_of, lines_of, telling, via

_MOST_STACKS = 2000
"""Whose names are looked up: those that stand for most bytes, and as many of those that drag most."""
_MOST_SITES = 200
_FEWEST = 10
"""Samples of a site below which they are few."""
_FEW = 6.0
"""Degrees of freedom below which they are few."""


def sites(drawn: list[Drawn], frames: Callable[[tuple[int, ...]], list[Frame]]) -> list[SampledSite]:
    """By what they drag, most first, and those of few samples behind; empty where nothing is dragged.

    `frames` names those of a stack.
    """
    parts = [_Part(each) for each in drawn]
    whole = _Sums(parts)
    if whole.dragged <= 0:
        return []
    found = [_site(chain, own, whole) for chain, own in _groups(parts, frames)]
    found.sort(key=lambda site: (site.few, -site.share.value, -site.bytes, site.function, site.location))
    return found[:_MOST_SITES]


class _Part:
    """Terms of one sample in the sums."""

    def __init__(self, each: Drawn) -> None:
        self.stack = each.stack
        self.bytes = each.weight * each.size
        self.dragged = each.live - each.needed
        self.noise = each.left_out * self.dragged**2 + each.looks


class _Sums:
    def __init__(self, parts: list[_Part]) -> None:
        self.bytes = sum(each.bytes for each in parts)
        self.dragged = sum(each.dragged for each in parts)
        self.noise = sum(each.noise for each in parts)
        self.squares = sum(each.noise**2 for each in parts)


def _groups(
    parts: list[_Part], frames: Callable[[tuple[int, ...]], list[Frame]]
) -> list[tuple[list[Frame], list[_Part]]]:
    """Samples whose innermost telling frame is the same; what is too little to be named is one group."""
    ordered = sorted(parts, key=lambda each: each.stack)
    stacks = [(stack, list(own)) for stack, own in groupby(ordered, key=lambda each: each.stack)]
    by_drag = sorted(stacks, key=lambda pair: -sum(each.dragged for each in pair[1]))
    named = {stack for stack, _ in by_drag[:_MOST_STACKS]}
    stacks.sort(key=lambda pair: -sum(each.bytes for each in pair[1]))
    named |= {stack for stack, _ in stacks[:_MOST_STACKS]}
    found: dict[tuple[str, str, str], tuple[list[Frame], list[_Part]]] = {}
    for stack, own in stacks:
        chain = frames(stack) if stack in named else [("", 0, "(other sites)", "", 0, False)]
        found.setdefault(names(telling(chain)), (chain, []))[1].extend(own)
    return list(found.values())


def _site(chain: list[Frame], parts: list[_Part], whole: _Sums) -> SampledSite:
    own = _Sums(parts)
    share = own.dragged / whole.dragged
    # The ratio's residual is 1 - share of each of its own samples, and -share of each other one.
    variance = (1 - share) ** 2 * own.noise + share**2 * (whole.noise - own.noise)
    fourth = (1 - share) ** 4 * own.squares + share**4 * (whole.squares - own.squares)
    freedom = 2 * variance**2 / fourth if fourth > 0 else math.inf
    reach = quantile(freedom) * math.sqrt(max(variance, 0.0)) / whole.dragged
    function, location, module = names(telling(chain))
    return SampledSite(
        function=function,
        location=location,
        module=module,
        via=via(chain, index_of(chain)),
        stack=lines_of(chain),
        samples=len(parts),
        bytes=own.bytes,
        share=Estimate(
            value=share,
            low=min(share, max(share - reach, 0.0)),
            high=max(share, min(share + reach, 1.0)),
        ),
        few=len(parts) < _FEWEST or freedom < _FEW,
    )
