"""A program on fragmented heaps: every variant under every allocator at every level, and the controls."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from reap.allocators import verify
from reap.base.errors import ExitCode, ReapError
from reap.base.files import write_safely
from reap.base.records import Estimate
from reap.compare.levels import analyse
from reap.compare.levels.notes import elsewhere
from reap.compare.levels.notes import notes as notes_of
from reap.compare.levels.records import Arm, Control, FailedControl, Fragmented, LayoutBias, Split
from reap.compare.levels.table import Table
from reap.experiment import arms
from reap.experiment.budget import Cost
from reap.experiment.folder import Folder
from reap.experiment.records import BARE, Cell, Run
from reap.experiment.runner import InterruptedRunError, Listener, Runner
from reap.experiment.spec import Fragment, Spec
from reap.experiment.starter import Starter
from reap.fragment import run as fragment
from reap.launch.litter import run as littering
from reap.launch.records import Launch
from reap.recording.analyse import estimates
from reap.recording.analyse import size_profile as profiles
from reap.recording.analyse.size_profile import SizeProfile

PROFILE = "profile.json"
"""The size profile's name in an experiment's folder; written whole, so that it marks a whole one."""


def keep_profile(folder: Folder, profile: SizeProfile) -> None:
    """Keeps the size profile of an experiment that was begun without one. Throws ReapError."""
    try:
        write_safely(folder.path / PROFILE, profiles.encode(profile), force=True)
    except ReapError as error:
        again = f"make room, and go on with: reap compare --resume {folder.path}"
        raise ReapError(error.what, again) from error


def run(folder: Folder, listener: Listener | None = None, rounds: int = 0) -> Fragmented:
    """Takes the size profile if there is none yet, runs what is left, and draws the result. Throws ReapError.

    With `rounds`, an experiment that was to have fewer gets so many. On Ctrl-C it throws
    `runner.InterruptedRunError`; the folder can be resumed.
    """

    def so_far() -> Fragmented:
        return draw(
            folder.spec,
            profile,
            folder.runs,
            runner.dropped,
            runner.notes,
            stopped_early=runner.stopped_early,
            widening=runner.widening,
        )

    runner, profile = prepared(folder, listener or Listener(), rounds, lambda: analyse.decided(so_far()))
    runner.run()
    return msgspec.structs.replace(so_far(), decided=runner.decided, pairing=runner.pairing)


def cost(folder: Folder, listener: Listener | None = None) -> Cost:
    """Takes the size profile and runs the warm-ups, if they are not there yet. Throws as `run` does."""
    runner, _ = prepared(folder, listener or Listener())
    return runner.cost()


def prepared(
    folder: Folder, listener: Listener, rounds: int = 0, is_decided: Callable[[], bool] = lambda: False
) -> tuple[Runner, SizeProfile]:
    """The runner of the experiment, and the size profile that litters its heaps. Throws ReapError."""
    plan = _fragment(folder.spec)
    profile = _profile(folder, plan, listener)
    for level in arms.levels(plan).values():
        littering.require_memory(plan.litter(profile, level))
    return Runner(folder, listener, Starter(folder, profile), rounds, is_decided), profile


def _profile(folder: Folder, plan: Fragment, listener: Listener) -> SizeProfile:
    """Of the variant without its own allocator, whose objects malloc sees: it litters for both."""
    path = folder.path / PROFILE
    if path.exists():
        return fragment.load_profile(path, cut_off=plan.cut_off)
    variant, spec = plan.variants[-1], folder.spec
    listener.say(f"recording one run of {variant.program.command[0]} to learn its sizes")
    launch = Launch(
        argv=variant.program.command,
        program=variant.program.path,
        directory=spec.directory,
        environment={**spec.environment, **variant.environment},
        stdin=folder.stdin,
        timeout=spec.timeout,
    )
    try:
        profile = fragment.take_profile(launch, cut_off=plan.cut_off)
    except KeyboardInterrupt:
        raise InterruptedRunError(
            f"stopped during the recording, which --resume makes again ({folder.path})",
            f"go on with: reap compare --resume {folder.path}",
            ExitCode.SIGNALLED + 2,
        ) from None
    keep_profile(folder, profile)
    return profile


def draw(
    spec: Spec,
    profile: SizeProfile,
    runs: Sequence[Run],
    dropped: Mapping[str, str],
    notes: Sequence[str] = (),
    *,
    stopped_early: bool = False,
    widening: float = 1.0,
) -> Fragmented:
    """Results of these runs, with intervals `widening` times as wide as for a fixed number of rounds."""
    plan, table = _fragment(spec), Table(spec, runs, dropped, widening)
    best = _best(table, plan)
    drawn = [_arm(table, plan, cell, best) for cell in arms.wanted(spec, plan)]
    naive = plan.variants[-1] if len(plan.variants) > 1 else None
    said = [*spec.program.notes, *(note for each in spec.allocators for note in each.notes), *notes]
    said += plan.notes
    said += notes_of(table, drawn, profile, plan)
    return Fragmented(
        workload=spec.workload,
        command=spec.program.command,
        naive_command=naive.program.command if naive else [],
        naive_environment=naive.environment if naive else {},
        variants=[each.name for each in plan.variants],
        allocators=[each.name for each in spec.allocators],
        levels=plan.levels,
        huge_pages=plan.huge_pages,
        children=plan.children,
        seed=plan.seed,
        order=plan.order,
        touch=plan.touch,
        elsewhere=elsewhere(profile, plan),
        profile=profile,
        rounds=len(table.of(table.baseline)),
        arms=drawn,
        controls=[
            _control(table, plan, variant.name, allocator.name)
            for variant in plan.variants
            for allocator in spec.allocators
            if plan.controls and arms.runs_over(plan, variant.name, allocator.name)
        ],
        layout_bias=[
            _layout_bias(table, plan, variant.name, level)
            for variant in plan.variants
            for level in (BARE, plan.levels[0].name)
            if plan.layouts and plan.controls
        ],
        failed_controls=_failed_controls(table, plan),
        noise=table.noise(),
        exit_code=table.status,
        stdout_varies=len(table.outputs) > 1,
        stopped_early=stopped_early,
        widening=widening,
        worth=spec.worth,
        notes=list(dict.fromkeys(said)),
    )


def differs(result: Fragmented) -> bool:
    """Whether the program did something else in some arm or control, or could not be littered there."""
    every: list[Arm | FailedControl] = [*result.arms, *result.failed_controls]
    return any(not each.same_exit or each.same_output is False or not each.littered for each in every)


def _fragment(spec: Spec) -> Fragment:
    if spec.fragment is None:
        raise ReapError("this is no experiment on fragmented heaps", "begin one with: reap compare --levels")
    return spec.fragment


def _best(table: Table, plan: Fragment) -> Cell | None:
    """The custom variant on a clean heap under the allocator that suits it best; None without a naive one."""
    if len(plan.variants) == 1:
        return None
    clean = [
        table.cell(plan.variants[0].name, allocator.name, plan.levels[0].name)
        for allocator in table.spec.allocators
    ]
    return min((cell for cell in clean if not table.problem(cell)), key=table.median_cpu, default=None)


def _arm(table: Table, plan: Fragment, cell: Cell, best: Cell | None) -> Arm:
    spec = table.spec
    problem = table.problem(cell)
    allocator = next(each for each in spec.allocators if each.name == cell.allocator)
    warmup = table.warmups.get(cell.arm())
    huge = cell.huge_pages
    clean = table.cell(cell.variant, cell.allocator, plan.levels[0].name, huge=huge)
    if not problem and (why := table.problem(clean)):
        problem = f"at {clean.level}, to which it is compared: {why}"
    if not problem and (why := table.problem(table.baseline)):
        problem = f"the baseline, to which it is compared: {why}"
    custom = table.cell(plan.variants[0].name, cell.allocator, cell.level, huge=huge)
    under_baseline = table.cell(cell.variant, spec.baseline.name, cell.level, huge=huge)
    small = table.cell(cell.variant, cell.allocator, cell.level)
    median = table.median_cpu(cell)
    beside = best if best and (cell.level, huge) == (best.level, best.huge_pages) else None
    sampled, _ = table.sampled(cell)
    return Arm(
        variant=cell.variant,
        allocator=cell.allocator,
        level=cell.level,
        huge_pages=huge,
        rounds=len(table.of(cell)),
        cpu=median,
        normalised=table.ratios(table.baseline, cell),
        slowdown=table.ratios(clean, cell),
        to_custom=table.ratios(custom, cell) if cell.variant != custom.variant else {},
        to_best=table.ratios(beside, cell) if beside else {},
        to_small=table.ratios(small, cell) if huge != small.huge_pages else {},
        to_allocator=table.ratios(under_baseline, cell) if cell.allocator != spec.baseline.name else {},
        laid=next((run.laid for run in table.every(cell) if run.laid is not None), None),
        split=_split(sampled, median) if sampled else None,
        misses=table.misses(cell),
        verified=verify.judge(allocator, warmup.outcome.heap).verified if warmup else False,
        littered=table.littered(cell),
        same_output=table.same_output(cell),
        same_exit=table.same_exit(cell),
        problem=problem,
    )


def _split(run: Run, seconds: float) -> Split | None:
    seen = run.samples
    if seen is None or seen.all == 0:
        return None
    share = estimates.proportion(seen.inside, seen.all)
    return Split(
        samples=seen.all,
        share=share,
        inside=Estimate(value=share.value * seconds, low=share.low * seconds, high=share.high * seconds),
        outside=Estimate(
            value=(1 - share.value) * seconds,
            low=(1 - share.high) * seconds,
            high=(1 - share.low) * seconds,
        ),
        sees_kernel=seen.kernel,
        method=seen.method,
    )


def _control(table: Table, plan: Fragment, variant: str, allocator: str) -> Control:
    clean = table.cell(variant, allocator, plan.levels[0].name)
    return Control(
        variant=variant,
        allocator=allocator,
        preload=table.cpu(table.cell(variant, allocator, BARE), clean),
        emptied=table.cpu(clean, table.cell(variant, allocator, arms.emptied(plan).name)),
    )


def _layout_bias(table: Table, plan: Fragment, variant: str, level: str) -> LayoutBias:
    name = table.spec.baseline.name
    still = table.cell(variant, name, level)
    moved = (
        table.cpu(still, table.cell(variant, name, level, layout)) for layout in range(1, plan.layouts + 1)
    )
    return LayoutBias(variant=variant, level=level, ratios=[each for each in moved if each is not None])


def _failed_controls(table: Table, plan: Fragment) -> list[FailedControl]:
    """Controls that went wrong: a missing figure must not be taken for one that is as it should be."""
    wanted = {arm.arm() for arm in arms.wanted(table.spec, plan)}
    return [
        FailedControl(
            variant=cell.variant,
            allocator=cell.allocator,
            level=cell.level,
            layout=cell.layout,
            littered=table.littered(cell),
            same_output=table.same_output(cell),
            same_exit=table.same_exit(cell),
            problem=table.fault(cell),
        )
        for cell in arms.controls(table.spec, plan)
        if cell.arm() not in wanted and table.fault(cell)
    ]
