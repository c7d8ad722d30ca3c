"""A memory resource (std::pmr) that its upstream has to help out again and again: its buffer is too small."""

import re
from collections.abc import Sequence

from reap.base import units
from reap.recording.analyse import shares
from reap.recording.analyse.frames import Frame, plain
from reap.recording.analyse.patterns.basis import MUCH, Basis, has_line, of
from reap.recording.analyse.sites import Stack
from reap.recording.analyse.usage import Used
from reap.recording.records import Pattern

_RESOURCE = re.compile(
    r"^(?:std::(?:__\w+::)?|boost::container::)pmr::"
    r"(monotonic_buffer_resource|(?:un)?synchronized_pool_resource|__pool_resource)::"
)
_FEWEST = 100
"""Blocks from upstream. One resource that lives long takes fewer, since it takes them in growing sizes."""
_TURNS = 4.0
"""How often the memory from upstream was taken again, at least."""
_MOST_OF_SITE = 0.9
_SEEN = 10
"""Sampled blocks in use at once, below which their sum says nothing: each stands for many that are gone."""


def overflowing_resource(basis: Basis) -> list[Pattern]:
    """The lines that use a resource which takes most of its memory from upstream, again and again."""
    return [pattern for used in basis.used for pattern in _of(basis, used)]


def _of(basis: Basis, used: Used) -> list[Pattern]:
    site, history, profile = used.site, used.history, basis.profile
    if history is None or not has_line(site) or site.objects < _FEWEST:
        return []
    upstream = [(stack, name) for stack in used.stacks if (name := _resource(basis, stack))]
    objects = sum(stack[2] for stack, _ in upstream)
    if objects < _MOST_OF_SITE * site.objects or site.bytes < _TURNS * history.most:
        return []
    of_objects, of_bytes = shares.of_objects(profile, site), shares.of_bytes(profile, site)
    if max(of_objects.low, of_bytes.low) < MUCH:
        return []
    name = upstream[0][1]
    most = units.size(history.most) if _most_is_known(basis, history.most) else ""
    in_use = f", {basis.about}{most} in use at once" if most else ""
    return [
        of(
            used,
            "overflowing-resource",
            {
                "share_of_objects": of_objects,
                "share_of_bytes": of_bytes,
                **basis.counted(most=history.most),
            },
            f"std::pmr::{name} takes {basis.about}{units.count(objects)} blocks from its upstream at this "
            f"line{in_use}: "
            f"{units.percent(of_objects.value)} of all objects, {units.percent(of_bytes.value)} of all bytes",
            _advice(name, most),
        )
    ]


def _most_is_known(basis: Basis, most: float) -> bool:
    """Whether the bytes in use at once are; a sample of triage stands for a size that no block has."""
    samples = basis.profile.samples
    return basis.exact or (samples > 0 and most >= _SEEN * basis.profile.totals.total_bytes / samples)


def _advice(name: str, most: str) -> str:
    if name == "monotonic_buffer_resource":
        larger = f"that is {most} larger" if most else "that holds all of it"
        return f"give the resource a first buffer {larger}, or keep the buffer between uses"
    return "keep the resource from one use to the next, or give it an upstream with a buffer of its own"


def _resource(basis: Basis, stack: Stack) -> str:
    """The outermost memory resource on the way from the site to malloc; empty where there is none."""
    return next(filter(None, map(_name, _inner(basis.frames(*stack[:2])))), "")


def _inner(chain: Sequence[Frame]) -> Sequence[Frame]:
    return list(reversed(chain))


def _name(frame: Frame) -> str:
    found = _RESOURCE.match(plain(frame[2])) if "pmr" in frame[2] else None
    return "" if found is None else found[1].replace("__pool_resource", "unsynchronized_pool_resource")
