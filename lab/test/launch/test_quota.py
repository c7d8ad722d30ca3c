"""CPU quotas of control groups: seen, and said where they stop what is measured."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import library, program

from reap.allocators import catalog
from reap.compare import run as comparing
from reap.doctor import cores
from reap.experiment.folder import Folder
from reap.experiment.specify import Conditions, specify
from reap.launch.host import cgroups, machine, quota


def group(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


def test_the_smallest_quota_counts_and_the_stops_of_all(tmp_path: Path) -> None:
    membership, root = tmp_path / "cgroup", tmp_path / "fs"
    membership.write_text("0::/a/b\n")
    group(root / "a" / "b", {"cpu.max": "max 100000", "cpu.stat": "nr_periods 9\nnr_throttled 0"})
    assert quota.here(membership, root) is None
    group(root / "a", {"cpu.max": "150000 100000", "cpu.stat": "nr_throttled 3\nthrottled_usec 5"})
    group(root, {"cpu.max": "50000 100000", "cpu.stat": "nr_throttled 4"})
    assert quota.here(membership, root) == quota.Quota(cores=0.5, stops=7)


def test_version_1(tmp_path: Path) -> None:
    membership, root = tmp_path / "cgroup", tmp_path / "fs"
    membership.write_text("4:memory:/x\n1:cpu,cpuacct:/y\n")
    group(root / "cpu" / "y", {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"})
    assert quota.here(membership, root) is None
    group(root / "cpu" / "y", {"cpu.cfs_quota_us": "20000", "cpu.stat": "nr_throttled 2"})
    assert quota.here(membership, root) == quota.Quota(cores=0.2, stops=2)


def test_stops_between_are_noted() -> None:
    def at(stops: int) -> quota.Quota:
        return quota.Quota(cores=0.5, stops=stops)

    assert quota.note(None, None) == quota.note(at(3), at(3)) == quota.note(None, at(3)) == []
    (said,) = quota.note(at(3), at(4))
    assert said.startswith("a CPU quota of 0.5 cores stopped the runs in 1 period of it")


@pytest.mark.parametrize(
    ("found", "state", "says"),
    [
        (None, "good", "no control group limits CPU time"),
        (quota.Quota(cores=0.5, stops=0), "good", "allows 0.5 s of CPU time per second, which was never"),
        (quota.Quota(cores=1.5, stops=20), "poor", "has stopped what is in it in 20 periods"),
    ],
)
def test_doctor_says_what_limits_cpu_time(
    found: quota.Quota | None, state: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "here", lambda: found)
    check = cores.limited()
    assert (check.name, check.state) == ("quota", state)
    assert says in check.says
    assert bool(check.mend) == (state == "poor")


def test_doctor_says_which_cores_share_a_physical_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "siblings", lambda _core: 1)
    assert "SMT" not in cores.which().says
    monkeypatch.setattr(machine, "siblings", lambda _core: 2)
    assert "one of 2 threads of a physical core (SMT)" in cores.which().says


def test_siblings_are_counted_as_the_kernel_has_them() -> None:
    core = min(os.sched_getaffinity(0))
    assert 1 <= machine.siblings(core) <= (os.cpu_count() or 1)
    assert machine.siblings(99_999) == 1


@contextlib.contextmanager
def limited(cores: float) -> Iterator[None]:
    """In a control group that has so much CPU time."""
    places = [each for each in cgroups.folders("cpu") if (each[0] / "cgroup.procs").exists()]
    for folder, version in places:
        own = folder / f"reap-test-{os.getpid()}"
        limit = ("cpu.max", f"{round(100_000 * cores)} 100000")
        if version == 1:
            limit = ("cpu.cfs_quota_us", str(round(100_000 * cores)))
        try:
            own.mkdir()
        except OSError:
            continue
        try:
            if not (own / limit[0]).exists():
                continue
            (own / limit[0]).write_text(limit[1])
            (own / "cgroup.procs").write_text(str(os.getpid()))
            yield
            return
        finally:
            (folder / "cgroup.procs").write_text(str(os.getpid()))
            own.rmdir()
    pytest.skip("no control group with a CPU quota can be made here")


def test_a_comparison_says_that_it_was_stopped(tmp_path: Path) -> None:
    spec = specify(
        [program("busy")],
        catalog.parse(f"glibc,good={library('good')}"),
        conditions=Conditions(pairing="simultaneous", runs=3),
    )
    with Folder.create(tmp_path / "experiment", spec, None) as folder, limited(0.05):
        notes = comparing.compare(folder).notes
    assert any(each.startswith("a CPU quota of 0.05 cores stopped the runs in ") for each in notes)
