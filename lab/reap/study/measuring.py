"""One workload of a study: an experiment in a folder of its own, which goes on where it was stopped."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from reap import __version__
from reap.allocators import packages
from reap.allocators.records import Allocator
from reap.errors import ReapError
from reap.experiment import card, matrix, provision
from reap.experiment.folder import Folder
from reap.experiment.matrix_records import Fragmented
from reap.experiment.runner import InterruptedRunError, Listener
from reap.experiment.spec import Fragmented as Asked
from reap.experiment.spec import Spec, specify
from reap.study.records import Measured, Mode

QUICK_SECONDS = 600.0
"""What all experiments of a quick study take together; the rest of its 15 minutes is for what is built."""
QUICK_RUN = 0.2
"""About how many seconds a run of a quick study takes: five rounds of eighteen arms fit into the share."""
ROUNDS = 10
"""Of a full study."""


def scale_of(described: card.Card, mode: Mode, part: int = 1) -> int:
    """How much work a run of the study does, as the card counts it; quickly, `part` times less again."""
    if mode == "full":
        return described.default_scale
    share = QUICK_RUN / described.expected_seconds / part
    return max(described.quick_scale, min(round(described.default_scale * share), described.default_scale))


def without_own(described: card.Card) -> str:
    """The variant in which malloc serves all that it can."""
    return "naive" if "naive" in described.variants else next(iter(described.variants))


def lacking(name: str) -> str:
    """Why the workload cannot run here; empty if it can."""
    described, lack = card.load(name), provision.plan([name]).lacks[0]
    needed = [package for package in lack.packages if package in described.packages]
    missing = [*needed, *([f"the source of {lack.source}"] if lack.source else [])]
    if not missing:
        return ""
    return f"{', '.join(missing)} is not installed here (reap workloads prepare --yes {name})"


def package_of(described: card.Card) -> str:
    """The package whose version is the workload's: not that of a compiler which it needs, too."""
    if described.source == described.origin.package:
        return described.source
    own = (name for name in described.packages if described.origin.package in name)
    return next(own, described.packages[0])


def measure(
    place: Path, described: card.Card, scale: int, make: Callable[[], Spec], listener: Listener
) -> Measured:
    """Runs what is left of the workload's experiment in `place`, which `make` describes if it is not begun.

    Throws InterruptedRunError; whatever else goes wrong is the reason why there is no result.
    """
    ours = described.origin.package == "reap"
    version = __version__ if ours else packages.version(package_of(described))
    known = Measured(card=described, version=version, scale=scale)
    if why := lacking(described.name):
        return msgspec.structs.replace(known, excluded=why)
    try:
        return msgspec.structs.replace(known, result=_experiment(place, make, listener))
    except InterruptedRunError:
        raise
    except ReapError as error:
        return msgspec.structs.replace(known, excluded=error.what)


def _experiment(place: Path, make: Callable[[], Spec], listener: Listener) -> Fragmented:
    if (place / "experiment.json").is_file():
        opened = Folder.resume(place)
    else:
        # A kill may have come while the folder was made; nothing was measured in it.
        shutil.rmtree(place, ignore_errors=True)
        opened = Folder.create(place, make())
    with opened as folder:
        return matrix.run(folder, listener)


def spec_of(
    described: card.Card,
    scale: int,
    allocators: list[Allocator],
    heaps: Asked,
    *,
    seconds: float | None,
    alone: str = "",
) -> Spec:
    """The card's variants, or one of them `alone`, on these heaps; without `seconds`, ROUNDS rounds."""
    names = [alone] if alone else list(described.variants)
    ready = {name: card.prepare(described.name, name, scale=scale) for name in names}
    first = ready[names[0]]
    naive, ours = (None, None) if alone else (ready.get("naive"), ready.get("reap"))
    return specify(
        first.argv,
        allocators,
        baseline=allocators[0].name,
        workload=described.name,
        directory=first.directory,
        # What the variants add to it is what switches; none of them takes anything away.
        environment=first.environment,
        runs=0 if seconds else ROUNDS,
        budget=seconds,
        fragmented=dataclasses.replace(
            heaps,
            naive=naive.argv if naive else (),
            naive_environment=naive.environment if naive else {},
            replaced=ours.argv if ours else (),
            replaced_environment=ours.environment if ours else {},
        ),
    )
