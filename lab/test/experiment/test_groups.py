"""A round that memory does not hold takes turns in groups; what it needs is what each of its runs needs."""

from pathlib import Path

import pytest
from programs import library

from reap.allocators import catalog
from reap.compare import pairings
from reap.compare import run as comparing
from reap.compare.levels import run as levels
from reap.experiment import arms, pairing
from reap.experiment.folder import Folder
from reap.experiment.records import Asked, Cell, Pairing, Run
from reap.experiment.spec import Spec, Variant
from reap.experiment.specify import AskedFragment, Conditions, specify
from reap.launch import program as programs
from reap.launch.host import memory
from reap.launch.litter.level import LEVELS
from reap.launch.records import Loaded, Outcome
from reap.server.records import Server

LARGE, SMALL = "my $x; vec($x, 120_000_000, 8) = 1; print 1", "print 1"
MB = 1_000_000


def cells(allocators: str) -> list[Cell]:
    return [Cell(workload="w", allocator=name, level=level) for level in ("a", "b") for name in allocators]


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_each_run_is_in_one_group_beside_those_of_its_allocator(count: int) -> None:
    wanted = cells("pqrs")
    groups = pairing.groups(wanted, Pairing(method="sliced", groups=count))
    assert len(groups) == count
    assert sorted(cell.key() for group in groups for cell in group) == sorted(cell.key() for cell in wanted)
    order = [cell.allocator for group in groups for cell in group]
    if count > 1:
        assert order == list("ppqqrrss")


def fragmented(asked: Asked, allocators: str) -> Spec:
    return specify(
        ["perl", "-e", "my @a = map { {} } 1 .. 5000"],
        catalog.parse(allocators),
        conditions=Conditions(pairing=asked, runs=2),
        fragmented=AskedFragment(levels=[LEVELS["adv0"], LEVELS["adv1"]], layouts=0, controls=False),
    )


def test_littered_heaps_that_do_not_fit_at_once_take_turns_in_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available", lambda: 45 * MB)
    spec = fragmented("sliced", f"glibc,good={library('good')}")
    with Folder.create(tmp_path / "e", spec, None) as folder:
        found = levels.run(folder).pairing
        rounds = [run for run in folder.runs if not run.warmup and not run.cell.sampled]
    assert (found.method, found.reason) == ("sliced", "")
    assert found.groups > 1
    said = pairings.paired(found, littered=True)
    assert (
        f"turns of 0.1 to 0.2 s on all cores, in {found.groups} groups, as memory does not hold all" in said
    )
    assert len(rounds) == 2 * 5
    assert all(run.in_turns and not run.outcome.failure for run in rounds)


def test_two_that_do_not_fit_run_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 10 * MB)
    with Folder.create(tmp_path / "e", fragmented("sliced", "glibc"), None) as folder:
        found = levels.run(folder).pairing
    assert found.method == "sequential"
    assert "two copies at once take" in found.reason


@pytest.mark.parametrize(("available", "method"), [(260, "simultaneous"), (150, "sequential")])
def test_small_runs_beside_a_large_one_need_little(
    available: int, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the largest counted for all: 3 x 125 MB, where 125 and 2 x 6 are needed."""
    monkeypatch.setattr(memory, "available", lambda: available * MB)
    spec = specify(
        ["perl", "-e", SMALL],
        catalog.parse("glibc"),
        conditions=Conditions(pairing="auto", runs=2),
        against=[Variant(name="large", program=programs.resolve(["perl", "-e", LARGE]))],
    )
    with Folder.create(tmp_path / "e", spec, None) as folder:
        found = comparing.compare(folder).pairing
    assert found.method == method
    assert ("all copies at once take" in found.reason) == (method == "sequential")


def test_processes_that_plan_side_by_side_share_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = memory.available()
    monkeypatch.setattr(memory, "_sharers", 1)  # and so again at the end
    memory.share(4)
    assert memory.available() == pytest.approx(whole / 4, rel=0.2)


def test_servers_that_do_not_fit_at_once_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take no turns in groups: where two fitted, all were started."""
    monkeypatch.setattr(memory, "available", lambda: 100 * MB)
    command = programs.resolve(["cat", "{port}"])
    spec = specify(
        command.command,
        catalog.parse(f"glibc,good={library('good')}"),
        server=Server(ready="tcp", load=command, stop=15, ready_within=1, has_port=True),
        conditions=Conditions(pairing="sliced"),
    )
    load = Loaded(cpu_ns=10**9, wall_ns=10**9, requests=1)
    outcome = Outcome(exit_code=0, wall_ns=10**9, peak_resident=30 * MB, loads=[load])
    with Folder.create(tmp_path / "e", spec, None) as folder:
        folder.append(Run(cell=arms.arms(spec)[0], outcome=outcome, order=0, started=0.0, warmup=True))
        found = pairing.settle(folder, 3, list, print)
    assert found.method == "sequential"
    assert "all copies at once take" in found.reason
