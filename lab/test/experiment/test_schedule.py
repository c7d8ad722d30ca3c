"""The order of runs: interleaved, fair, and the same after a resume."""

from collections import Counter

from reap.experiment.records import Cell
from reap.experiment.schedule import a_round, sampled

NAMES = ["glibc", "jemalloc", "mimalloc", "tcmalloc"]
ARMS = [Cell(workload="perl", variant="custom", allocator=name, environment={"A": "1"}) for name in NAMES]


def test_a_round_has_every_allocator_once_and_the_baseline_twice():
    cells = a_round(ARMS, 3, seed=1)
    assert Counter(cell.allocator for cell in cells) == {
        "glibc": 2,
        "jemalloc": 1,
        "mimalloc": 1,
        "tcmalloc": 1,
    }
    assert [cell.allocator for cell in cells if cell.control] == ["glibc"]
    assert {cell.repeat for cell in cells} == {3}
    assert all(cell.workload == "perl" and cell.environment == {"A": "1"} for cell in cells)


def test_no_two_cells_have_one_key():
    cells = [cell for number in range(30) for cell in a_round(ARMS, number, seed=1)]
    assert len({cell.key() for cell in cells}) == len(cells)


def test_a_round_does_not_depend_on_those_before_it():
    assert a_round(ARMS, 7, seed=5) == a_round(ARMS, 7, seed=5)
    assert [a_round(ARMS, n, seed=5) for n in range(9)] != [a_round(ARMS, n, seed=6) for n in range(9)]


def test_every_allocator_has_every_place():
    places = Counter()
    for number in range(200):
        for place, cell in enumerate(a_round(ARMS, number, seed=1)):
            places[cell.allocator, cell.control, place] += 1
    assert len(places) == 25
    assert min(places.values()) > 20


def test_cells_of_one_arm_differ_in_their_keys_alone():
    cells = [ARMS[0], *a_round([ARMS[0]], 1, seed=1), sampled(ARMS[0])]
    assert {cell.arm() for cell in cells} == {ARMS[0].arm()}
    assert len({cell.key() for cell in cells}) == len(cells) == 4
