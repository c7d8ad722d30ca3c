"""Walks from outside of many processes: whose turn it is, what it may cost, and whom the findings are of."""

from types import SimpleNamespace

import pytest
from lab.test.rss.moments import kernel_of, walk_of

from reap.launch.process.libc import Libc
from reap.launch.process.look import View
from reap.rss import outside

MB = 1 << 20


class Machine:
    """Processes with heaps of so many bytes, and a clock that a walk moves on."""

    def __init__(self, monkeypatch, seconds=0.03):
        self.now, self.used, self.seconds = 100.0, 0.0, seconds
        self.walks, self.found, self.programs = [], True, {}
        clock = SimpleNamespace(monotonic=lambda: self.now, thread_time=lambda: self.used)
        monkeypatch.setattr(outside, "time", clock)
        monkeypatch.setattr(outside.native, "walk_heaps", self.walk)
        monkeypatch.setattr(outside.libc, "find", lambda pid, _: Libc(36, pid, pid + 1))
        monkeypatch.setattr(outside.smaps, "program", lambda pid: self.programs.get(pid, (pid, pid)))
        # Each walk has ended before the next look.
        monkeypatch.setattr(outside, "wait", lambda walks, _: [each.result() for each in walks])

    def walk(self, pid, **_):
        self.walks.append(pid)
        self.used += self.seconds
        walk = {name: getattr(walk_of(live=pid), name) for name in walk_of().__struct_fields__}
        found = SimpleNamespace(
            main=SimpleNamespace(**walk), others=None, around=None, system_bytes=0, mapped_bytes=0
        )
        return found if self.found else None

    def watch(self, walks, pids, seconds, size=100 * MB):
        view = View(kernel_of(heap=size), None, [], {}, "text")
        for _ in range(round(seconds * 10)):
            walks.begin(pids)
            said = [walks.look(pid, view) for pid in pids]
            for each in walks._processes.values():  # a later walk is taken by the next look
                if each.walk is not None:
                    each.walk.result()
            self.now += 0.1
        return said


@pytest.mark.parametrize("found", [True, False])
def test_walks_take_no_more_than_their_share(monkeypatch, found):
    """Failed ones cost as much as others, and counted for nothing."""
    machine = Machine(monkeypatch)
    machine.found = found
    machine.watch(outside.Walks(), [1], 600)
    assert 0.5 * 2.4 < machine.used <= 0.1 + 0.004 * 600 + 2 * machine.seconds


def test_each_process_gets_its_turn(monkeypatch):
    machine = Machine(monkeypatch)
    machine.watch(outside.Walks(), range(1, 21), 600)
    counts = [machine.walks.count(pid) for pid in range(1, 21)]
    assert min(counts) >= max(counts) - 1 >= 3, counts


def test_another_program_in_a_process_is_another(monkeypatch):
    """A shell executed a program without glibc, which had the shell's heap for ever."""
    machine = Machine(monkeypatch)
    walks = outside.Walks()
    (said,) = machine.watch(walks, [1], 1)
    assert said.walk.live == 1
    machine.programs[1] = (1, 7)
    monkeypatch.setattr(outside.libc, "find", lambda *_: None)
    (said,) = machine.watch(walks, [1], 1, size=500 * MB)
    assert "not glibc" in said


def test_what_is_no_longer_watched_is_forgotten(monkeypatch):
    machine = Machine(monkeypatch)
    walks = outside.Walks()
    machine.watch(walks, [1, 2], 1)
    machine.watch(walks, [2], 1)
    assert list(walks._processes) == [2]


def test_a_heap_that_has_shrunk_is_not_told_by_its_last_walk(monkeypatch):
    machine = Machine(monkeypatch, seconds=5.0)  # the next one has no time
    walks = outside.Walks()
    assert machine.watch(walks, [1], 1)[0].outside
    assert "shrank" in machine.watch(walks, [1], 1, size=80 * MB)[0]
    assert machine.watch(walks, [1], 1, size=200 * MB)[0].outside
