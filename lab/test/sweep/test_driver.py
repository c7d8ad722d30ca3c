"""Which worker gets which block, and what becomes of those of a worker that is lost."""

from collections import deque

import msgspec
import pytest
from lab.test.sweep import fakes

from reap.experiment.runner import InterruptedRunError, Listener
from reap.sweep.folder import SweepFolder, blocks
from reap.sweep.pool import Ended, Here, Joined, Left, Refused, met
from reap.sweep.records import Kind
from reap.sweep.run import Driver, kind_of


class Scripted:
    """Workers that do at once what they are told to: `deaths` take a worker with the block of that number."""

    depth = 2
    patience = 0.0

    def __init__(self, *workers, work=fakes.work, deaths=(), events=()):
        self._events = deque([*workers, *events])
        self._work = work
        self._deaths = set(deaths)
        self.given = []

    def submit(self, address, cell, block):
        self.given.append((address, block.id))
        if len(self.given) in self._deaths:
            self._events.append(Left(address))
            return
        self._events.append(Ended(address, block, *self._work(cell, msgspec.json.encode(block))))

    def next(self, _seconds):
        return self._events.popleft() if self._events else None

    def settled(self):
        return not self._events


def joined(name, **facts):
    return Joined(name, fakes.facts_of(f"worker {name}", **facts))


def driven(tmp_path, pool, sweep):
    with SweepFolder.create(tmp_path / "s", sweep) as folder:
        course = Driver(folder, pool, Listener()).run()
    return course, [done.block.id for done in blocks(tmp_path / "s")]


def test_all_blocks_are_run_once(tmp_path):
    sweep = fakes.a_sweep(fakes.a_cell("one", 8), fakes.a_cell("two", 8))
    pool = Scripted(joined("a"), joined("b"))
    course, found = driven(tmp_path, pool, sweep)
    assert len(found) == len(set(found)) == course.planned == 16
    assert {address for address, _ in pool.given} == {"a", "b"}
    assert not course.problems


def test_the_blocks_of_a_lost_worker_are_run_by_another(tmp_path):
    pool = Scripted(joined("a"), joined("b"), deaths=[5])
    course, found = driven(tmp_path, pool, fakes.a_sweep(fakes.a_cell(rounds=8)))
    assert len(found) == len(set(found)) == 8
    assert course.lost == 1
    lost = pool.given[4]
    assert [address for address, block in pool.given if block == lost[1]] == [
        lost[0],
        {"a": "b", "b": "a"}[lost[0]],
    ]


def test_a_result_that_comes_after_its_worker_was_given_up_is_not_counted_twice(tmp_path):
    """The network was cut, and not the worker: its block was run by another meanwhile."""
    sweep = fakes.a_sweep(fakes.a_cell(rounds=4))

    class Late(Scripted):
        def submit(self, address, cell, block):
            super().submit(address, cell, block)
            if len(self.given) == 1:  # its end comes behind that of the worker
                self._events.rotate(-self._events.index(self._events[-1]))
                self._events.insert(0, Left(address))

    course, found = driven(tmp_path, Late(joined("a"), joined("b")), sweep)
    assert course.repeated >= 1
    assert len(found) == len(set(found)) == 4


def test_a_block_that_takes_every_worker_with_it_is_given_up(tmp_path):
    class Deadly(Scripted):
        def submit(self, address, cell, block):
            self.given.append((address, block.id))
            if block.round == 0:
                self._events.append(Left(address))
            else:
                self._events.append(Ended(address, block, *self._work(cell, msgspec.json.encode(block))))

    pool = Deadly(*(joined(name) for name in "abcd"))
    course, found = driven(tmp_path, pool, fakes.a_sweep(fakes.a_cell(rounds=8)))
    assert len(found) == 7
    assert any("round 1 of cell sort was lost with 3 workers" in each for each in course.problems)


def test_a_cell_that_a_worker_cannot_run_is_named_with_both(tmp_path):
    sweep = fakes.a_sweep(fakes.a_cell("bad", 4), fakes.a_cell("good", 4))
    course, found = driven(tmp_path, Scripted(joined("7"), work=fakes.failing_work), sweep)
    assert len(found) == 4
    assert course.problems[0] == "worker 7, cell bad: prog: no such command in PATH (install)"
    assert any("4 blocks of cell bad" in each for each in course.problems)


def test_what_one_worker_cannot_run_another_can(tmp_path):
    def work(cell, block):
        return fakes.failing_work(cell, block) if len(pool.given) < 3 else fakes.work(cell, block)

    pool = Scripted(joined("7"), joined("8"), work=work)
    course, found = driven(tmp_path, pool, fakes.a_sweep(fakes.a_cell("bad", 6)))
    assert len(found) == len(set(found)) == 6
    assert {address for address, _ in pool.given[2:]} == {"8"}
    assert len(course.problems) == 1


def test_each_kind_of_machine_gets_all_rounds(tmp_path):
    pool = Scripted(joined("a"), joined("b", host="beta", processor="Other 1"))
    course, found = driven(tmp_path, pool, fakes.a_sweep(fakes.a_cell(rounds=4)))
    assert len(found) == course.planned == 8
    kinds = {
        done.block.kind: {x.facts.host for x in blocks(tmp_path / "s")} for done in blocks(tmp_path / "s")
    }
    assert len(kinds) == 2


def test_kinds_of_the_plan_match_facts():
    kinds = [Kind(name="other", processor="Other*"), Kind(name="rest", kernel="Linux 6.*")]
    sweep = fakes.a_sweep(fakes.a_cell(), machines=kinds)
    assert kind_of(sweep, fakes.facts_of(processor="Other 1")) == "other"
    assert kind_of(sweep, fakes.facts_of()) == "rest"
    assert kind_of(sweep, fakes.facts_of(kernel="Linux 5.10")) == ""


def test_workers_that_are_not_used_and_kinds_without_one_are_named(tmp_path):
    kinds = [Kind(name="zen4", processor="AMD*"), Kind(name="fake", processor="Fake*")]
    sweep = fakes.a_sweep(fakes.a_cell(rounds=2), machines=kinds)
    pool = Scripted(
        joined("a"),
        joined("b", processor="Other 1"),
        met("c", fakes.facts_of("worker c", version="0.0.1")),
        met("d", fakes.facts_of("worker d", unfit="preloading: the loader does not load")),
        events=[Refused("worker e", "it has no resource measure", "start it so")],
    )
    course, found = driven(tmp_path, pool, sweep)
    assert len(found) == 2
    said = "\n".join([*course.problems, *course.notes])
    assert "worker b is not used: it is of no kind that the plan names" in said
    assert "worker c is not used: it has reap 0.0.1" in said
    assert "worker d is not used: preloading" in said
    assert "worker e is not used: it has no resource measure (start it so)" in said
    assert "no worker is of the kind zen4" in said


def test_a_sweep_without_any_worker_is_no_success(tmp_path):
    course, found = driven(tmp_path, Scripted(), fakes.a_sweep(fakes.a_cell()))
    assert not found
    assert course.problems == ["no worker joined that could be used: nothing was run"]


def test_a_clock_that_is_apart_is_a_note(tmp_path):
    pool = Scripted(Joined("a", fakes.facts_of("worker a"), -90.0))
    course, _ = driven(tmp_path, pool, fakes.a_sweep(fakes.a_cell(rounds=2)))
    assert course.notes == [
        "the clock of worker a is 90.0 s behind: the start times of its runs are wrong by that"
    ]


def test_ctrl_c_says_how_to_go_on(tmp_path):
    def work(_cell, _block):
        raise KeyboardInterrupt

    sweep = fakes.a_sweep(fakes.a_cell())
    with SweepFolder.create(tmp_path / "s", sweep) as folder:
        driver = Driver(folder, Here(sweep, work=work, ask=fakes.ask), Listener())
        with pytest.raises(InterruptedRunError) as caught:
            driver.run()
    assert caught.value.code == 130
    assert "reap compare --resume" in caught.value.hint
