"""The stacks of two recordings in one tree, matched by the names of functions and modules."""

import re
from dataclasses import dataclass

import numpy as np

from reap import native
from reap.base.records import Estimate
from reap.recording.analyse.calls import MEASURES, UNITS, Tree, unnamed
from reap.recording.analyse.columns import KINDS, Columns, each_batch
from reap.recording.analyse.estimates import at_most, from_samples
from reap.recording.analyse.frames import Frame
from reap.recording.analyse.sites import index_of

ENOUGH_SAMPLES = 100
"""Of a triage recording with fewer, an interval is all that is possible."""
NO_SYMBOL = "(no symbol)"
_VARIANT = re.compile(
    r"""
    \.(constprop|isra|part|cold|lto_priv|llvm|localalias)(\.\d+)*   # clones that the compiler makes
    | \s\[clone\ [^\]]*\]                                           # the same, demangled
    | ::h[0-9a-f]{16}$                                              # Rust's hash of the crate's build
    """,
    re.VERBOSE,
)
"""What differs between the names of one function in two builds."""


@dataclass(frozen=True)
class Stacks:
    """The stacks of one recording."""

    frames: list[Frame]
    processes: list[bool]
    """Of each frame, whether it stands for a process."""
    tree: Tree
    program: str
    """Path of the executable that allocated most."""
    variance: dict[str, list[float]]
    """Of each node, by unit; those of full recordings are 0."""
    scale: dict[str, float]
    """What one sample stands for at most, by unit; 0 in full recordings."""
    most: dict[str, float]
    """All that was allocated, by unit, which is counted."""
    few: bool = False
    """Whether it has too few samples for more than that."""

    def estimate(self, value: float, variance: float, unit: str) -> Estimate:
        """Of some stacks of this recording; exact in a full one."""
        if self.few:
            return Estimate(value=min(value, self.most[unit]), low=0.0, high=self.most[unit])
        return at_most(from_samples(value, variance, self.scale[unit]), self.most[unit])


@dataclass(frozen=True)
class Name:
    """Key by which a frame is matched."""

    function: str
    module: str
    """The base name of its file; of a process that of the executable."""
    process: bool

    @property
    def line(self) -> str:
        """As a line of a stack."""
        return self.function if self.process else f"{self.function} ({self.module})"


@dataclass(frozen=True)
class Joined:
    """Both in one tree. The two trees have the same nodes, whose places are names."""

    names: list[Name]
    frames: list[Frame]
    """A frame of each name."""
    before: Tree
    after: Tree
    variances: tuple[dict[str, list[float]], dict[str, list[float]]]
    sides: tuple[Stacks, Stacks]

    @property
    def estimated(self) -> bool:
        """Whether one of the two has samples alone."""
        return any(side.few or any(side.scale.values()) for side in self.sides)

    def stack(self, node: int) -> list[int]:
        """The names of a stack, outermost first, without the process."""
        return [name for name in self.before.path(node) if not self.names[name].process]

    def teller(self, stack: list[int]) -> int:
        """The name of the function to which a stack's allocations are attributed; -1 if there is none."""
        return stack[-1 - index_of([self.frames[name] for name in reversed(stack)])] if stack else -1


def stacks_of(recording: native.Recording) -> Stacks:
    """The stacks of a recording. Cost: a look-up of every name; in triage a pass over the samples."""
    tree = recording.calls(0.0)
    bare = unnamed(tree)
    variance = {unit: np.zeros(len(bare.parents)) for unit in ("count", "bytes")}
    scale = dict.fromkeys(variance, 0.0)
    sampled = recording.header().depth != native.FULL
    if sampled:
        _add_samples(recording, tree, variance, scale)
    images = recording.images()
    largest = max(images, key=lambda image: image.objects, default=None)
    return Stacks(
        frames=list(tree.places),
        processes=list(tree.processes),
        tree=bare,
        program=largest.executable if largest else "",
        variance={unit: held.tolist() for unit, held in variance.items()},
        scale=scale,
        most={
            "count": float(sum(image.objects for image in images)),
            "bytes": float(sum(image.bytes for image in images)),
        },
        few=sampled and recording.totals().samples < ENOUGH_SAMPLES,
    )


def _add_samples(
    recording: native.Recording,
    tree: native.CallTree,
    variance: dict[str, np.ndarray],
    scale: dict[str, float],
) -> None:
    """The variance of sums over samples that are taken independently, each with probability 1/weight."""

    def take(batch: Columns) -> None:
        made = (batch["kind"] == KINDS.index("allocation")) & (batch["stack"] >= 0)
        nodes, weights = batch["stack"][made], batch["weight"][made]
        chance = np.maximum(weights * (weights - 1), 0.0)
        for unit, each in (("count", np.ones(len(nodes))), ("bytes", batch["size"][made].astype(float))):
            squares = each * each * chance
            variance[unit] += np.bincount(nodes, squares, minlength=len(variance[unit]))
            scale[unit] = max(scale[unit], float(np.sqrt(squares.max(initial=0.0))))

    each_batch(recording, tree, take)


def name_of(frame: Frame, *, process: bool, program: str, called: str) -> Name:
    """Key to match a frame by. The executable `program` goes by the name `called`, whatever its own."""
    path, _, function = frame[:3]
    module = called if path and path == program else base_name(path)
    if process:
        return Name(module, module, process=True)
    return Name(_VARIANT.sub("", function) or NO_SYMBOL, module, process=False)


def base_name(path: str) -> str:
    """The name of a file that may have been replaced since."""
    return path.removesuffix(" (deleted)").rpartition("/")[2] or "unknown"


def join(before: Stacks, after: Stacks) -> Joined:
    """Both in one tree. Processes are left out where each recording has only one."""
    called = base_name(after.program)
    bare = all(sum(parent < 0 for parent in side.tree.parents) <= 1 for side in (before, after))
    names: dict[Name, int] = {}
    frames: list[Frame] = []
    nodes: dict[tuple[int, int], int] = {}
    moved: list[list[int]] = []
    seen: list[set[int]] = []
    for side in (before, after):
        known = []
        for frame, process in zip(side.frames, side.processes, strict=True):
            name = name_of(frame, process=process, program=side.program, called=called)
            if name not in names:
                names[name] = len(names)
                frames.append(frame)
            known.append(names[name])
        seen.append(set(known))
        to: list[int] = []
        for node, parent in enumerate(side.tree.parents):
            place = side.tree.at[node]
            if side.processes[place] and bare:
                to.append(-1)
                continue
            key = (to[parent] if parent >= 0 else -1, known[place])
            to.append(nodes.setdefault(key, len(nodes)))
        moved.append(to)
    parents, at = [parent for parent, _ in nodes], [name for _, name in nodes]
    told = list(names)
    for gone in seen[0] - seen[1]:  # it was never in the executable that `called` is
        told[gone] = name_of(frames[gone], process=told[gone].process, program="", called="")
    return Joined(
        names=told,
        frames=frames,
        before=_moved(before, moved[0], parents, at),
        after=_moved(after, moved[1], parents, at),
        variances=(
            _variances(before, moved[0], len(parents)),
            _variances(after, moved[1], len(parents)),
        ),
        sides=(before, after),
    )


def _moved(side: Stacks, to: list[int], parents: list[int], at: list[int]) -> Tree:
    own = {measure: _summed(side.tree.own[measure], to, len(parents)) for measure in MEASURES}
    return Tree(parents, at, own)


def _variances(side: Stacks, to: list[int], count: int) -> dict[str, list[float]]:
    return {unit: _summed(side.variance[unit], to, count) for unit in set(UNITS.values())}


def _summed(values: list[float], to: list[int], count: int) -> list[float]:
    """By the node to which each goes; what goes nowhere has no stack."""
    sums = [0.0] * count
    for node, value in zip(to, values, strict=True):
        if node >= 0:
            sums[node] += value
    return sums
