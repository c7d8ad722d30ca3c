"""Whether the drag engines agree: total drag of every workload that is installed, by each of them.

    .venv/bin/python lab/bench/drag/engines.py [WORKLOAD...]

Each workload runs at its quick scale, once under each engine, as the variant that takes all its memory from
malloc; of several processes that which allocates most counts. Programs of ours are rebuilt for the
recompiled engine. The exact engine's figure is the truth. Sampling must have it within its interval or a
tenth, with some 2,000 samples drawn; an inconclusive pair is an answer, too. What was rebuilt
must count the same objects, and its drag may only be higher, by what libraries access unseen: more than
a hundredth stands in EXPLAINED, with the reason.
"""

import os
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from reap.base.errors import ReapError
from reap.drag.exact import launch as drag
from reap.drag.exact import recompiled as drag_recompiled
from reap.drag.exact import valgrind
from reap.drag.exact.analyse import process
from reap.drag.exact.read import read_all
from reap.drag.exact.records import DragLevel
from reap.drag.sample import run as drag_sample
from reap.drag.sample.analyse import process as sampled_process
from reap.drag.sample.read import read as read_samples
from reap.drag.sample.records import SampledProcess
from reap.launch.records import Launch
from reap_studies.workloads import card, preparation, run

SAMPLES = 2000
EXPLAINED = {"chart-parser": "words are read by strcmp"}
"""Workloads whose drag differs between engines by what they see, and why."""


def main() -> int:
    """Prints a row for each workload; the exit code says whether every difference is explained."""
    engine = valgrind.ready(print)
    print(f"{'workload':<18} {'variant':<8} {'objects':>10} {'exact':>8} {'recompiled':>11} {'samples':>26}")
    held = [row(name, engine) for name in sys.argv[1:] or card.names()]
    return 0 if all(held) else 1


def row(name: str, engine: Path) -> bool:
    """Runs one workload under each engine, and prints what they say."""
    described = card.load(name)
    variant = "naive" if "naive" in described.variants else next(iter(described.variants))
    try:
        launch = run.launch_of(preparation.prepare(name, variant, scale=described.quick_scale))
        truth = exactly(launch, engine)
    except ReapError as error:
        print(f"{name:<18} {variant:<8} left out: {error.what}", flush=True)
        return True
    theirs = recompiled(name, variant)
    drawn = sampled(launch, max(truth.total.bytes // SAMPLES, 1))
    words, good = sampled_words(drawn, truth)
    complaint = "" if theirs is None else differs(theirs, truth)
    print(
        f"{name:<18} {variant:<8} {truth.total.objects:>10} {truth.drag:>8.3f} "
        f"{'' if theirs is None else format(theirs.drag, '.3f'):>11} {words:>26}  "
        + (f"{complaint}: {EXPLAINED.get(name, 'NOT EXPLAINED')}" if complaint else ""),
        flush=True,
    )
    return good and (not complaint or name in EXPLAINED)


def exactly(launch: Launch, engine: Path) -> DragLevel:
    """By the exact engine; blocks of malloc, since no other engine is told of pools."""
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        outcome = drag.run(launch, engine, Path(name), depth=12)
        if outcome.status != 0:
            raise ReapError(f"it ended with {outcome.status} under the exact engine")
        return _largest(Path(name), drag.complaints(Path(name)))


def recompiled(name: str, variant: str) -> DragLevel | None:
    """By the recompiled one; None for programs that are not built from sources of ours."""
    described = card.load(name)
    if described.build is None or described.source or described.origin.package != "reap":
        return None
    kept = preparation.cache_folder().parent / "drag-built"
    compilers = {"g++": "reap-drag-c++", "c++": "reap-drag-c++", "gcc": "reap-drag-cc", "cc": "reap-drag-cc"}
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as folder:
        for compiler, wrapper in compilers.items():
            script = Path(folder) / compiler
            script.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).parent / wrapper}" "$@"\n')
            script.chmod(0o755)
        real = {"REAP_CC": "/usr/bin/gcc", "REAP_CXX": "/usr/bin/g++"}
        with patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}", **real}):
            ready = preparation.prepare(name, variant, scale=described.quick_scale, cache=kept)
        results = Path(folder) / "results"
        results.mkdir()
        outcome = drag_recompiled.run(run.launch_of(ready), results)
        if outcome.status != 0:
            raise ReapError(f"{name} ended with {outcome.status} when rebuilt", outcome.stderr_tail)
        return _largest(results, [])


def _largest(folder: Path, complaints: list[str]) -> DragLevel:
    """The blocks of the process that allocated most."""
    recordings = read_all(folder, drag.RECORDINGS, complaints)
    levels = [process(each).levels[-1] for each in recordings if each.header().objects]
    if not levels:
        raise ReapError("it allocates nothing by malloc")
    return max(levels, key=lambda level: level.total.bytes)


def sampled(launch: Launch, period: int) -> SampledProcess | None:
    """By samples: the process that allocated most."""
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        drag_sample.run(launch, Path(name), period=period)
        found = [sampled_process(read_samples(path)) for path in Path(name).glob(drag_sample.FILES)]
    return max(found, key=lambda each: each.allocated, default=None)


def sampled_words(drawn: SampledProcess | None, truth: DragLevel) -> tuple[str, bool]:
    """The estimate with its interval, and whether it may be so."""
    if drawn is None or drawn.drag is None:
        return "inconclusive", True
    said = drawn.drag
    words = f"{said.value:.3f} [{said.low:.3f}, {said.high:.3f}]"
    if drawn.few:
        return f"{words}, few", True
    good = said.low <= truth.drag <= said.high or abs(said.value / truth.drag - 1) <= 0.1
    return (words if good else f"{words} OFF"), good


def differs(theirs: DragLevel, truth: DragLevel) -> str:
    """What is not as it should be between the recompiled and the exact engine; empty if all is."""
    if abs(theirs.total.objects - truth.total.objects) > max(10, truth.total.objects / 1000):
        return f"{theirs.total.objects} objects"
    if not 0.99 <= theirs.drag / truth.drag <= 1.01:
        return f"{theirs.drag / truth.drag - 1:+.1%}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
