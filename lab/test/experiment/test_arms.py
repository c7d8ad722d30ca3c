"""Arms that are not run again, since they cannot say what they are for."""

from reap.experiment import arms
from reap.experiment.records import Cell


def cell(name: str) -> Cell:
    return Cell(workload="w", allocator=name)


def test_a_preload_that_makes_a_cost_larger_is_not_run_beyond_its_warm_up() -> None:
    cells = [cell(name) for name in ("glibc", "price: placed", "price: cache", "larger thread caches")]
    spent = {each.arm(): ms for each, ms in zip(cells, (100, 480, 190, 900), strict=True)}
    (dropped,) = arms.slower(cells, spent).items()
    assert dropped == (cells[1].arm(), "in its warm-up it took 4.80 times the program's CPU time")


def test_a_program_that_takes_no_time_drops_nothing_of_itself() -> None:
    cells = [cell("glibc"), cell("price: cache")]
    assert arms.slower(cells, {}) == {}
