"""Which arms an experiment has: what is run again and again, in every round."""

from collections.abc import Sequence

from reap.allocators import huge_pages
from reap.allocators.records import Allocator
from reap.experiment.records import BARE, Cell, HugePages
from reap.experiment.spec import Matrix, Spec
from reap.launch.host import machine
from reap.launch.litter.level import Level, custom


def arms(spec: Spec) -> list[Cell]:
    """One cell an arm, of round 0. The first is the baseline, run before all others."""
    if spec.matrix is None:
        own = [_arm(spec, spec.variant, each.name, BARE) for each in spec.allocators]
        return own + [_arm(spec, each.name, spec.baseline.name, BARE) for each in spec.against]
    controlled = controls(spec, spec.matrix) if spec.matrix.controls else []
    every = [*wanted(spec, spec.matrix), *controlled]
    return list({arm.arm(): arm for arm in every}.values())


def commands(arms: Sequence[Cell]) -> list[Cell]:
    """The first arm of each variant: every command once."""
    return list({arm.variant: arm for arm in reversed(arms)}.values())


def wanted(spec: Spec, matrix: Matrix) -> list[Cell]:
    """Every variant under every allocator at every level. Each pair's adv0 is what its levels are held to."""
    return [
        _arm(spec, variant.name, allocator.name, level.name, huge=huge)
        for variant in matrix.variants
        for allocator in spec.allocators
        if runs_over(matrix, variant.name, allocator.name)
        for huge in matrix.huge_pages
        if huge != "on" or can_have_huge_pages(allocator)
        for level in matrix.levels
    ]


def runs_over(matrix: Matrix, variant: str, allocator: str) -> bool:
    """Whether the variant is run over that allocator."""
    return variant not in matrix.only_over or allocator in matrix.only_over[variant]


def can_have_huge_pages(allocator: Allocator) -> bool:
    """Whether it has a switch for them, or the kernel gives them unasked."""
    return machine.describe().huge_pages == "always" or huge_pages.switch(allocator, {}) is not None


def controls(spec: Spec, matrix: Matrix) -> list[Cell]:
    """What must make no difference, and what luck does.

    Bare and adv0 differ by the preload alone; a heap of which everything was freed is as good as one
    that was never littered. Other layouts are tried with the baseline's allocator.
    """
    empty = emptied(matrix)
    huge = matrix.huge_pages[0]
    still = [
        _arm(spec, variant.name, allocator.name, level, huge=huge)
        for variant in matrix.variants
        for allocator in spec.allocators
        if runs_over(matrix, variant.name, allocator.name)
        for level in (BARE, empty.name)
    ]
    moved = [
        _arm(spec, variant.name, spec.baseline.name, level, layout, huge)
        for variant in matrix.variants
        for level in (BARE, matrix.levels[0].name)
        for layout in range(1, matrix.layouts + 1)
    ]
    return [*still, *moved]


def emptied(matrix: Matrix) -> Level:
    """The level with most litter, of which nothing stays."""
    return custom(max(level.multiplier for level in matrix.levels), 0)


def levels(matrix: Matrix) -> dict[str, Level]:
    """Every level at which something of the matrix runs, by name; those of its controls too."""
    controlled = [emptied(matrix)] if matrix.controls else []
    return {level.name: level for level in [*matrix.levels, *controlled]}


def label(spec: Spec, arm: Cell) -> str:
    """How an arm is called while it runs."""
    if spec.matrix is None:
        return arm.variant if any(each.name == arm.variant for each in spec.against) else arm.allocator
    words = [arm.variant] if len(spec.matrix.variants) > 1 else []
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
