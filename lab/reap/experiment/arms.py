"""Arms of an experiment: the cells that run again in every round."""

from collections.abc import Mapping, Sequence

from reap.allocators import settings
from reap.allocators.records import Allocator
from reap.base import units
from reap.experiment.records import BARE, Cell, HugePages
from reap.experiment.spec import Fragment, Spec
from reap.launch import price
from reap.launch.host import machine
from reap.launch.litter.level import Level, custom

_SLOWER = 2.0
"""From so many times the baseline on a preload makes a cost larger, whatever noise adds to one run."""


def arms(spec: Spec) -> list[Cell]:
    """One cell an arm, of round 0. The first is the baseline, run before all others."""
    if spec.fragment is None:
        own = [_arm(spec, spec.variant, each.name, BARE) for each in spec.allocators]
        return own + [_arm(spec, each.name, spec.baseline.name, BARE) for each in spec.against]
    controlled = controls(spec, spec.fragment) if spec.fragment.controls else []
    every = [*wanted(spec, spec.fragment), *controlled]
    return list({arm.arm(): arm for arm in every}.values())


def slower(arms: Sequence[Cell], spent: Mapping[str, int]) -> dict[str, str]:
    """Preloads that take no cost away, with the reason: others have the time of their rounds.

    By the CPU time of each arm's warm-up, in nanoseconds, by `Cell.arm()`. The first arm is the baseline.
    """
    usual = max(1, spent.get(arms[0].arm(), 0))
    times = {cell.arm(): spent.get(cell.arm(), 0) / usual for cell in arms if price.is_price(cell.allocator)}
    said = "in its warm-up it took {} times the program's CPU time"
    return {arm: said.format(units.ratio(each)) for arm, each in times.items() if each > _SLOWER}


def commands(arms: Sequence[Cell]) -> list[Cell]:
    """The first arm of each variant: every command once."""
    return list({arm.variant: arm for arm in reversed(arms)}.values())


def wanted(spec: Spec, plan: Fragment) -> list[Cell]:
    """Every variant under every allocator at every level; the levels of a pair are compared to its adv0."""
    return [
        _arm(spec, variant.name, allocator.name, level.name, huge=huge)
        for variant in plan.variants
        for allocator in spec.allocators
        if runs_over(plan, variant.name, allocator.name)
        for huge in plan.huge_pages
        if huge != "on" or can_have_huge_pages(allocator)
        for level in plan.levels
    ]


def runs_over(plan: Fragment, variant: str, allocator: str) -> bool:
    """Whether the variant is run over that allocator."""
    return variant not in plan.only_over or allocator in plan.only_over[variant]


def can_have_huge_pages(allocator: Allocator) -> bool:
    """Whether it has a switch for them, or the kernel gives them unasked."""
    return machine.describe().huge_pages == "always" or settings.huge_pages(allocator, {}) is not None


def controls(spec: Spec, plan: Fragment) -> list[Cell]:
    """Returns the controls, which must make no difference, and the cells that measure layout bias.

    Bare and adv0 differ by the preload alone; a heap of which everything was freed is as good as one
    that was never littered. Other layouts are tried with the baseline's allocator.
    """
    empty = emptied(plan)
    huge = plan.huge_pages[0]
    still = [
        _arm(spec, variant.name, allocator.name, level, huge=huge)
        for variant in plan.variants
        for allocator in spec.allocators
        if runs_over(plan, variant.name, allocator.name)
        for level in (BARE, empty.name)
    ]
    moved = [
        _arm(spec, variant.name, spec.baseline.name, level, layout, huge)
        for variant in plan.variants
        for level in (BARE, plan.levels[0].name)
        for layout in range(1, plan.layouts + 1)
    ]
    return [*still, *moved]


def emptied(plan: Fragment) -> Level:
    """The level with most litter, of which nothing stays."""
    return custom(max(level.multiplier for level in plan.levels), 0)


def levels(plan: Fragment) -> dict[str, Level]:
    """Every level at which something is run, by name; those of its controls too."""
    controlled = [emptied(plan)] if plan.controls else []
    return {level.name: level for level in [*plan.levels, *controlled]}


def label(spec: Spec, arm: Cell) -> str:
    """Name of an arm in messages while it runs."""
    if spec.fragment is None:
        return arm.variant if any(each.name == arm.variant for each in spec.against) else arm.allocator
    words = [arm.variant] if len(spec.fragment.variants) > 1 else []
    words += [arm.allocator, "bare" if arm.level == BARE else arm.level]
    words += [f"layout {arm.layout}"] if arm.layout else []
    words += [f"huge pages {arm.huge_pages}"] if arm.huge_pages else []
    return ", ".join(words)


def _arm(spec: Spec, variant: str, allocator: str, level: str, layout: int = 0, huge: HugePages = "") -> Cell:
    return Cell(
        workload=spec.workload,
        variant=variant,
        allocator=allocator,
        level=level,
        layout=layout,
        huge_pages=huge,
        environment=spec.environment,
    )
