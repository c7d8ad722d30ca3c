"""Programs with one setting that is wrong for them, which `tune` must find, and some that have none."""

import re
from dataclasses import dataclass
from pathlib import Path

from judge import Judged
from marked import INCLUDE
from recorded import target

from reap.allocators import catalog
from reap.experiment.folder import Folder
from reap.experiment.specify import Conditions
from reap.tune import run as tuning
from reap.tune import spec as tune_spec
from reap.tune.records import Tuned


@dataclass(frozen=True)
class Setting:
    """A program of targets/tunable.c, and the setting that must win."""

    name: str
    fault: str
    words: tuple[str, ...]
    objective: str
    wins: str
    """A pattern of its value; empty where none may win."""
    allocator: str = "glibc"
    runs: int = tune_spec.USUAL_RUNS


_THRESHOLDS = "mmap_threshold.*trim_threshold|trim_threshold.*mmap_threshold"

SETTINGS = (
    Setting(
        "decay", "pages that jemalloc keeps", ("grows", "60", "64"), "memory", "dirty_decay_ms:0", "jemalloc"
    ),
    Setting("thread caches", "300 blocks live at once", ("batches", "300", "15000"), "cpu", "tcache_count"),
    Setting(
        "trimming", "the heap is trimmed each time", ("top", "600", "60"), "cpu", "trim_threshold|top_pad"
    ),
    Setting("mapping", "each block is a mapping", ("mapped", "1", "100"), "cpu", _THRESHOLDS),
    Setting("coalescing", "fastbins are emptied at once", ("small", "1000000", "3"), "cpu", "mxfast=0"),
    Setting("arenas", "free memory in 12 arenas", ("arenas", "12", "8000"), "memory", "arena_max=1"),
    Setting("no batches", "none: five blocks live at once", ("batches", "5", "400000"), "cpu", "", runs=28),
    Setting("one arena", "none: one thread", ("arenas", "1", "30000"), "memory", "", runs=28),
    Setting("nothing", "none: it computes", ("nothing", "30000000"), "cpu", ""),
)


def search(setting: Setting, folder: Path) -> Tuned:
    """What `reap tune` finds."""
    (chosen,) = catalog.parse(setting.allocator)
    command = [target("tunable", f"-I{INCLUDE}"), *setting.words]
    spec = tune_spec.specify_search(
        command, chosen, [setting.objective], setting.runs, conditions=Conditions(timeout=60)
    )
    with Folder.create(folder / "e", spec) as made:
        return tuning.tune(made)


def of_tune(tuned: Tuned, setting: Setting) -> Judged:
    """A setting that wins and is not the one is wrong; where the one does not win, that is inconclusive."""
    (found,) = tuned.findings
    if not found.wins:
        return Judged("inconclusive" if setting.wins else "right", found.why_not or f"not {found.name}")
    value = " ".join(found.environment.values())
    right = setting.wins and re.search(setting.wins, value)
    return Judged("right" if right else "wrong", value)
