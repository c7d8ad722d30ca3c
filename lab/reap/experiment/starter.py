"""Starts the cells of an experiment: from coordinates to a launched program and what came of it."""

import contextlib
import os
import random
from collections.abc import Callable, Iterator, Sequence

import msgspec

from reap.allocators import settings
from reap.allocators.records import Allocator
from reap.base.records import Record
from reap.experiment import arms, naming, requests, schedule
from reap.experiment.folder import Folder
from reap.experiment.records import BARE, Cell, Laid, Pairing, Samples
from reap.experiment.spec import Variant
from reap.launch import native_files, slices, spawn, together
from reap.launch.litter import account
from reap.launch.litter import run as littering
from reap.launch.litter.records import Litter, Littered
from reap.launch.records import Launch, Misses, Outcome, Private
from reap.launch.tools import callgrind, counters
from reap.recording import sample
from reap.recording.analyse.size_profile import SizeProfile

_LAYOUT = "REAP_LAYOUT"
"""A variable that is there for its length alone."""
_LONGEST = 4096


class Started(Record):
    """Result of a cell's run."""

    outcome: Outcome
    laid: Laid | None = None
    samples: Samples | None = None
    misses: Misses | None = None


class Starter:
    """Knows the programs, the allocators and the litters of one experiment."""

    def __init__(self, folder: Folder, profile: SizeProfile | None = None) -> None:
        spec = folder.spec
        self._folder = folder
        self._spec = spec
        self._allocators = {allocator.name: allocator for allocator in spec.allocators}
        self._variants = {spec.variant: Variant(name=spec.variant, program=spec.program)}
        self._litters: dict[str, Litter] = {}
        self._variants |= {each.name: each for each in spec.against}
        if spec.tune is not None:
            self._variants |= {each.name: each for each in spec.tune.variants}
        if (plan := spec.fragment) is not None and profile is not None:
            self._variants = {each.name: each for each in plan.variants}
            levels = arms.levels(plan)
            self._litters = {name: plan.litter(profile, level) for name, level in levels.items()}

    def start(self, cell: Cell, *, probe: bool) -> Started:
        """Runs it once. With `probe` the outcome says who serves malloc. Throws what launching throws."""
        variant = self._variants[cell.variant]
        launch = naming.filled(
            self._launch(cell, variant, probe=probe), naming.name(cell, "w" if probe else "r")
        )
        if cell.level == BARE:
            return Started(outcome=_run_bare(cell, launch))
        litter, image = self._litters[cell.level], variant.program.image
        if cell.simulated and self._spec.fragment is not None:
            littered, misses = callgrind.run(launch, litter, self._spec.fragment.caches)
            return Started(outcome=littered.outcome, laid=_laid(littered), misses=misses)
        if cell.counted:
            event = counters.EVENTS[cell.counted]
            return _littered(littering.run(launch, litter, image=image, event=event))
        if not cell.sampled:
            return _littered(littering.run(launch, litter, image=image))
        providers = [launch.allocator] if launch.allocator else []
        run = sample.sample(launch, litter, image=image, providers=providers)
        samples = Samples(all=run.seen.all, inside=run.seen.inside, kernel=run.kernel, method=run.method)
        return Started(outcome=run.littered.outcome, laid=_laid(run.littered), samples=samples)

    def start_together(self, cells: Sequence[Cell], core: int | None, pairing: Pairing) -> list[Started]:
        """Runs cells at once, on one core or in turns. Throws what launching throws."""
        restart = schedule.to_restart(cells, self._folder.runs) if pairing.restarts else []
        with contextlib.ExitStack() as stack:
            made = [stack.enter_context(self._made(cell, pairing.private)) for cell in cells]
            turn = slices.LONG_TURN if self._litters else slices.TURN
            outcomes = together.run(
                [launch for launch, _ in made], core, restart, turn, list(map(_near, cells))
            )
            return [read(outcome) for (_, read), outcome in zip(made, outcomes, strict=True)]

    @contextlib.contextmanager
    def _made(
        self, cell: Cell, private: Private | None
    ) -> Iterator[tuple[Launch, Callable[[Outcome], Started]]]:
        """Yields the launch of a cell and a function that reads its outcome; both are valid within."""
        launch = naming.filled(self.alone(cell), naming.name(cell))
        if cell.level == BARE:
            yield msgspec.structs.replace(launch, private=private), lambda outcome: Started(outcome=outcome)
            return
        image = self._variants[cell.variant].program.image
        with littering.prepared(launch, self._litters[cell.level], image=image) as (littered, net):
            yield littered, lambda gross: _littered(net(gross))

    def alone(self, cell: Cell) -> Launch:
        """Launch of the cell's program, with `{arm}` still in its words."""
        return self._launch(cell, self._variants[cell.variant], probe=False)

    def _launch(self, cell: Cell, variant: Variant, *, probe: bool) -> Launch:
        enters = not variant.program.obstacle
        launch = Launch(
            argv=variant.program.command,
            program=variant.program.path,
            directory=variant.directory or self._spec.directory,
            preloads=self._allocators[cell.allocator].preloads,
            allocator=self._allocators[cell.allocator].library,
            environment={
                **cell.environment,
                **self._allocators[cell.allocator].environment,
                **variant.environment,
            },
            stdin=self._folder.stdin,
            timeout=self._spec.timeout,
            probe=probe and enters,
            requests=enters and requests.timed(self._folder.runs, cell, warmup=probe),
            resident=self._spec.resident,
            options=self._allocators[cell.allocator].options,
        )
        if cell.huge_pages == "off":
            launch = msgspec.structs.replace(launch, options=[*launch.options, "--no-huge-pages"])
        if cell.huge_pages == "on":
            launch = _switched(launch, self._allocators[cell.allocator])
        if self._spec.tune is not None:
            launch = _filled(launch)
        return _moved(launch, cell.layout) if cell.layout else launch


def _near(cell: Cell) -> slices.Near:
    """Cells that differ in the variant alone are compared most, then those of one allocator.

    The baseline to itself is not among them: its noise is that of comparisons with it.
    """
    return cell.allocator, "control" if cell.control else f"{cell.level} {cell.layout} {cell.huge_pages}"


def _run_bare(cell: Cell, launch: Launch) -> Outcome:
    """A run without a litter, in which instructions are counted where the cell says so."""
    if cell.simulated:
        return callgrind.instructions(launch)
    return spawn.run(counters.counting(launch, cell.counted) if cell.counted else launch)


def _switched(launch: Launch, allocator: Allocator) -> Launch:
    """Makes the launch's allocator ask for huge pages; no change where the kernel gives them."""
    words = settings.huge_pages(allocator, {**os.environ, **launch.environment})
    return msgspec.structs.replace(launch, environment={**launch.environment, **(words or {})})


def _filled(launch: Launch) -> Launch:
    """Pads the environment of a launch to the length that all others have: its length moves the stack.

    See T. Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!" (ASPLOS 2009).
    """
    pointer = 8
    used = sum(len(name) + len(value) + 2 + pointer for name, value in launch.environment.items())
    filler = "x" * max(0, _LONGEST - used)
    return msgspec.structs.replace(launch, environment={**launch.environment, _LAYOUT: filler})


def _moved(launch: Launch, layout: int) -> Launch:
    """Moves the stack of a launch and, in every other layout, loads one more library before the others."""
    length = random.Random(layout).randrange(1, _LONGEST)  # noqa: S311 - no secret
    # The probe does nothing without its variable; it moves what is mapped behind it.
    more = [str(native_files.preload("probe"))] if layout % 2 else []
    return msgspec.structs.replace(
        launch,
        environment={**launch.environment, _LAYOUT: "x" * length},
        preloads=[*launch.preloads, *more],
    )


def _littered(run: Littered) -> Started:
    return Started(outcome=run.outcome, laid=_laid(run))


def _laid(littered: Littered) -> Laid:
    return Laid(
        objects=sum(each.objects for each in littered.litterings),
        kept_bytes=sum(each.kept_bytes for each in littered.litterings),
        cpu_ns=littered.gross.cpu_ns - littered.outcome.cpu_ns,
        wall_ns=littered.gross.wall_ns - littered.outcome.wall_ns,
        resident=max(account.resident_added(littered.litterings).values(), default=0),
        threads=len(littered.litterings),
        provider=next((each.provider for each in littered.litterings), ""),
        failure=next((each.failure for each in littered.litterings if each.failure and not each.beside), ""),
        lost=littered.lost,
        deepbind=littered.deepbind,
        beside=sum(each.beside for each in littered.litterings),
        uncounted=littered.uncounted,
        overwritten=littered.overwritten,
    )
