"""Holds intervals that a verb printed against gains measured by hand."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from by_hand import Arm, Gain
from reports import Report, command

from reap.allocators import catalog
from reap.allocators.records import Allocator

SETTINGS = {
    "tcache_count": "glibc.malloc.tcache_count=1000",
    "thresholds": "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=1073741824",
    "unmapped": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=18446744073709551615",
    "hugetlb": "glibc.malloc.hugetlb=1",
}
"""Settings of glibc by the names that measured.toml has for them."""
ALLOCATORS = ("jemalloc", "mimalloc", "tcmalloc")


def usual(report: Report, scale: float) -> dict[str, Arm]:
    """Return the twin of a case, and the case under each installed allocator and with each of SETTINGS."""
    arms = {"twin": Arm(*command(report, scale, cured=True))}
    for name in ALLOCATORS:
        found = catalog.find(name)
        if isinstance(found, Allocator):
            arms[name] = arm(report, scale, found.library, {})
    return arms | {name: arm(report, scale, "", {"GLIBC_TUNABLES": word}) for name, word in SETTINGS.items()}


def arm(report: Report, scale: float, library: str, environment: Mapping[str, str]) -> Arm:
    """Return a case with a library preloaded and settings added."""
    words, own = command(report, scale)
    return Arm(words, {**own, **environment, **({"LD_PRELOAD": library} if library else {})})


def printed(tree: Any) -> dict[str, tuple[float, float]]:
    """Return by arm the interval of the CPU time it saves, from the JSON of a verb; the last if repeated.

    Arms whose output or exit code differed, and those compared with themselves, are no gains and left out.
    """
    return dict(_sides(tree))


def _sides(tree: Any) -> Iterator[tuple[str, tuple[float, float]]]:
    if isinstance(tree, dict):
        cpu = tree["ratios"].get("cpu") if "allocator" in tree and tree.get("ratios") else None
        if cpu and tree.get("same_output") is not False and tree.get("same_exit") and not tree.get("itself"):
            ratio = cpu["ratio"]
            if ratio["low"] is not None and ratio["high"] is not None:
                yield tree["allocator"], (1 - ratio["high"], 1 - ratio["low"])
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _sides(value)


def arms_of(folder: Path) -> dict[str, tuple[str, dict[str, str]]]:
    """Return by name the library and environment of each arm of the experiments below a folder."""
    return {
        each["name"]: (each["library"], each["environment"])
        for file in sorted(folder.rglob("experiment.json"))
        for each in json.loads(file.read_text())["spec"]["allocators"]
    }


def covers(interval: tuple[float, float], truth: Gain) -> bool:
    """Return whether a printed interval meets the one measured by hand."""
    return interval[0] <= truth.high and truth.low <= interval[1]


def environment_of(report: Report, scale: float) -> tuple[list[str], dict[str, str]]:
    """Return the words of a case and the whole environment to start a verb with."""
    words, own = command(report, scale)
    return words, {**os.environ, **own}
