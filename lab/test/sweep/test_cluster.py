"""A sweep on a real Dask cluster of processes: what is killed, what is lost, and what is the same as here."""

import json
import logging
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import distributed
import pytest
from lab.test.sweep import fakes

from reap import __version__
from reap.base.errors import ReapError
from reap.base.files import digest_of
from reap.experiment.runner import Listener
from reap.sweep import analyse, cluster, staging
from reap.sweep.folder import SweepFolder, blocks
from reap.sweep.pool import Here
from reap.sweep.run import Driver
from reap.sweep.worker import work

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def four():
    """A cluster of four processes and its client; a worker that is killed is started again."""
    with cluster.local(4) as (client, count):
        yield client, count


def driven(four, path, sweep, work=fakes.work, ask=fakes.ask):
    client, count = four
    pool = cluster.Dask(client, sweep, count, shared=True, work=work, ask=ask)
    pool.patience = 3.0
    try:
        with SweepFolder.create(path, sweep) as folder:
            return Driver(folder, pool, Listener()).run()
    finally:
        pool.close()


def ended(path):
    return [done.block.id for done in blocks(path)]


def intervals(path, sweep):
    found = analyse.effects(analyse.collected(blocks(path)).of, sweep.cells)
    of_kind = {(each.allocator, each.metric): each.kinds[0] for each in found}
    return {key: (each.rounds, each.ratio.value, each.ratio.low) for key, each in of_kind.items()}


def test_64_blocks_on_four_workers_give_the_intervals_of_one_after_another(four, tmp_path):
    sweep = fakes.a_sweep(fakes.a_cell(rounds=64))
    course = driven(four, tmp_path / "four", sweep, work=fakes.slow_work)
    with SweepFolder.create(tmp_path / "one", sweep) as folder:
        Driver(folder, Here(sweep, work=fakes.work, ask=fakes.ask), Listener()).run()
    assert sorted(ended(tmp_path / "four")) == sorted(ended(tmp_path / "one"))
    processes = {done.facts.worker for done in blocks(tmp_path / "four")}
    assert len(processes) == 4
    assert course.problems == []
    there, here = intervals(tmp_path / "four", sweep), intervals(tmp_path / "one", sweep)
    assert there.keys() == here.keys()
    for key, (rounds, *figures) in here.items():
        assert there[key][0] == rounds == 64
        assert there[key][1:] == pytest.approx(figures, rel=1e-12)


def test_a_worker_is_met_that_joined_before_the_scheduler_had_the_subscription(tmp_path, monkeypatch):
    """Once in CI: its scheduler knew of the worker, the driver did not, and nothing was run."""
    with cluster.local(1) as (client, count):
        told, hears = client.scheduler_info, client.subscribe_topic
        nobody_yet = [{"workers": {}}]
        monkeypatch.setattr(
            client, "scheduler_info", lambda **options: nobody_yet.pop() if nobody_yet else told(**options)
        )
        monkeypatch.setattr(
            client, "subscribe_topic", lambda topic, handler: topic == "all" or hears(topic, handler)
        )
        monkeypatch.setattr(client, "unsubscribe_topic", lambda _: None)
        course = driven((client, count), tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=2)))
    assert course.problems == []
    assert len(ended(tmp_path / "s")) == 2


def test_workers_that_cannot_be_met_are_named_and_not_waited_for(tmp_path, monkeypatch):
    def unreachable(*_, **__):
        raise OSError("no route to it")

    with cluster.local(1) as (client, count):
        monkeypatch.setattr(client, "run", unreachable)
        course = driven((client, count), tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=2)))
    assert any("is not used: OSError: no route to it" in each for each in course.problems)
    assert ended(tmp_path / "s") == []


def test_a_scheduler_keeps_nothing_of_rounds_that_ended(four, tmp_path):
    driven(four, tmp_path / "one", fakes.a_sweep(fakes.a_cell(rounds=8)))
    prefixes, *_ = four[0].run_on_scheduler(fakes.kept)
    driven(four, tmp_path / "two", fakes.a_sweep(fakes.a_cell("other", rounds=64)))
    assert four[0].run_on_scheduler(fakes.kept) == (prefixes, 0, 0)


def test_a_scheduler_forgets_the_results_of_a_driver_that_is_gone(four, tmp_path):
    with cluster.client(four[0].scheduler.address) as client:
        driven((client, 4), tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=8)))
        topic = f"reap-sweep-{client.id}"
        assert len(client.get_events(topic)) == 8
    until = time.monotonic() + 20
    while four[0].get_events(topic) and time.monotonic() < until:
        time.sleep(0.05)
    assert four[0].get_events(topic) == ()


def test_a_worker_that_is_killed_loses_nothing(four, tmp_path):
    """Its blocks are run by others, and each is counted once."""
    mark = tmp_path / "killed"
    four[0].run(fakes.set_variable, "REAP_TEST_MARK", str(mark))
    course = driven(four, tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=32)), work=fakes.deadly_work)
    assert mark.exists()
    assert course.lost == 1
    found = ended(tmp_path / "s")
    assert len(found) == len(set(found)) == 32
    four[0].wait_for_workers(4, timeout=60)
    assert four[0].run_on_scheduler(fakes.kept)[1:] == (0, 0), "of the worker that came in its place, too"


def test_what_fails_on_a_worker_is_named_with_worker_and_cell(four, tmp_path):
    sweep = fakes.a_sweep(fakes.a_cell("bad", 4), fakes.a_cell("good", 8))
    course = driven(four, tmp_path / "s", sweep, work=fakes.failing_work)
    assert len(ended(tmp_path / "s")) == 8
    assert "worker" in course.problems[0]
    assert "cell bad: prog: no such command in PATH (install)" in course.problems[0]


@pytest.fixture
def full(tmp_path):
    """A folder on a full disk."""
    disk = tmp_path / "full"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", disk]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing may be mounted here")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.privileged
def test_a_worker_with_a_full_disk_is_named_and_others_run_its_rounds(four, tmp_path, full):
    client, _ = four
    worker = min(client.scheduler_info(n_workers=-1)["workers"])
    client.run(fakes.set_temporary, str(full), workers=[worker])
    try:
        both = {"rounds": 8, "allocators": ("glibc", "reap")}
        sweep = fakes.a_sweep(fakes.a_cell("true", **both), fakes.a_cell("also", **both))
        course = driven(four, tmp_path / "s", sweep, work=work)
    finally:
        client.run(fakes.set_temporary, None, workers=[worker])
    assert len(ended(tmp_path / "s")) == 16
    assert len(course.problems) == 1, course.problems
    (said,) = course.problems
    assert re.fullmatch(
        rf"worker \d+, cell (true|also): {full}: No space left on device "
        r"\(free some space there, or set TMPDIR for the worker\)",
        said,
    )


@pytest.mark.privileged
def test_a_worker_without_room_for_a_file_of_the_plan_is_named(four, tmp_path, full):
    client, _ = four
    worker = min(client.scheduler_info(n_workers=-1)["workers"])
    client.run(fakes.set_variable, "XDG_CACHE_HOME", str(tmp_path / "cache"))
    client.run(fakes.set_variable, "XDG_CACHE_HOME", str(full), workers=[worker])
    (tmp_path / "text").write_text("of the test\n" * 1000)
    files = {"text": digest_of(tmp_path / "text")}
    sweep = fakes.a_sweep(fakes.a_cell(rounds=8, files=files), directory=tmp_path)
    course = driven(four, tmp_path / "s", sweep)
    assert len(ended(tmp_path / "s")) == 8
    (said,) = course.problems
    assert said == (
        f"worker {worker} is not used: {full}/reap/sweep cannot be written: No space left on device "
        "(free some space there, or set XDG_CACHE_HOME)"
    )


def test_a_worker_whose_clock_is_apart_is_named(four, tmp_path):
    course = driven(four, tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=4)), ask=fakes.ask_ahead)
    said = r"the clock of (worker \d+) is (?:59|60) min \d+ s ahead: the start times of its runs are wrong"
    named = {found[1] for each in course.notes if (found := re.match(said, each))}
    assert named == {f"worker {number}" for number in range(4)}


def test_a_mistake_of_ours_on_a_worker_ends_the_sweep_with_a_message(four, tmp_path):
    course = driven(four, tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=4)), work=fakes.raising_work)
    assert any("ZeroDivisionError: of the test" in each for each in course.problems)


def test_workers_of_another_version_are_refused(four, tmp_path):
    course = driven(four, tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=2)), ask=fakes.ask_older)
    assert len([each for each in course.problems if "it has reap 0.0.1" in each]) == 4


def test_files_are_staged_by_content_once(four, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    four[0].run(fakes.set_variable, "XDG_CACHE_HOME", str(cache))
    (tmp_path / "text").write_text("of the test")
    digest = digest_of(tmp_path / "text")
    sweep = fakes.a_sweep(fakes.a_cell(rounds=2, files={"text": digest}), directory=tmp_path)
    driven(four, tmp_path / "s", sweep)
    assert (staging.store() / digest).read_text() == "of the test"
    (staging.store() / digest).write_text("kept")
    driven(four, tmp_path / "t", sweep)
    assert (staging.store() / digest).read_text() == "kept"


def test_a_scheduler_that_is_not_there(monkeypatch):
    monkeypatch.setattr(cluster, "_CONNECTING", 0.5)
    with pytest.raises(ReapError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9") as caught:
        cluster.scheduler("tcp://127.0.0.1:9").__enter__()
    assert "dask scheduler" in caught.value.hint


CLUSTER = """
import time
from reap.sweep import cluster
if __name__ == "__main__":
    with cluster.local(1) as (client, _):
        print(client.scheduler.address, flush=True)
        time.sleep(600)
"""


class Killing(Listener):
    """Kills a session when so many blocks have ended."""

    def __init__(self, leader, blocks):
        self.leader, self.blocks = leader, blocks

    def progress(self, done, total, doing):  # noqa: ARG002 - what listeners take
        if done == self.blocks:
            os.killpg(self.leader, signal.SIGKILL)


def test_a_scheduler_that_dies_ends_the_sweep_with_a_message(tmp_path, monkeypatch):
    """And what ended before is kept."""
    monkeypatch.setattr(cluster, "_CONNECTING", 3.0)
    script = tmp_path / "scheduler.py"
    script.write_text(CLUSTER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    options = {"env": environment, "stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    path, sweep = tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=8))
    with (
        subprocess.Popen([sys.executable, script], **options) as process,
        cluster.scheduler(process.stdout.readline().strip()) as (client, count),
        SweepFolder.create(path, sweep) as folder,
    ):
        pool = cluster.Dask(client, sweep, count, work=fakes.slow_work, ask=fakes.ask)
        with pytest.raises(ReapError, match="the scheduler is gone") as caught:
            Driver(folder, pool, Killing(process.pid, 3)).run()
        pool.close()
    assert caught.value.hint == "start it again, and resume the sweep"
    before = ended(path)
    assert len(before) >= 3
    with SweepFolder.resume(path) as folder:
        Driver(folder, Here(sweep, work=fakes.work, ask=fakes.ask), Listener()).run()
    found = ended(path)
    assert found[: len(before)] == before
    assert len(found) == len(set(found)) == 8


WITHOUT_REAP = "import sys; sys.modules['reap'] = None"
"""As sitecustomize.py: what a machine says on which Reap is not installed."""


def test_a_worker_without_reap_is_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_REAP)
    made = distributed.LocalCluster(
        n_workers=0, protocol="tcp", dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
    )
    words = [sys.executable, "-m", "distributed.cli.dask_worker", made.scheduler_address, "--no-nanny"]
    words += ["--nthreads", "1", "--resources", "measure=1", "--no-dashboard"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with made, subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            with cluster.client(made.scheduler_address) as client:
                client.wait_for_workers(1, timeout=60)
                course = driven((client, 1), tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=2)))
        finally:
            process.kill()
    said, nothing = course.problems
    assert re.fullmatch(
        rf"worker tcp://\S+ is not used: .*ModuleNotFoundError.*reap.* \(install reap {__version__} there\)",
        said,
    )
    assert nothing == "no worker joined that could be used: nothing was run"


def test_a_scheduler_without_reap_is_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_REAP)
    contact = tmp_path / "scheduler.json"
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--dashboard-address", ":0"]
    words += ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", contact]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            while not (contact.exists() and contact.read_text().endswith("}")):  # created, then written
                time.sleep(0.05)
            with cluster.client(json.loads(contact.read_text())["address"]) as client:
                sweep = fakes.a_sweep(fakes.a_cell(rounds=2))
                with pytest.raises(ReapError, match="the scheduler cannot use reap") as caught:
                    cluster.Dask(client, sweep, 1, work=fakes.work, ask=fakes.ask)
        finally:
            process.kill()
    assert caught.value.hint == "install the same version there, too"


def test_an_address_that_is_none(monkeypatch):
    monkeypatch.setattr(cluster, "_CONNECTING", 0.5)
    with pytest.raises(ReapError, match="no scheduler answers at nonsense://"):
        cluster.scheduler("nonsense://").__enter__()


def test_a_worker_without_the_resource_is_named(tmp_path):
    made = distributed.LocalCluster(
        n_workers=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
    )
    with made, cluster.scheduler(made.scheduler_address) as (client, count):
        course = driven((client, count), tmp_path / "s", fakes.a_sweep(fakes.a_cell(rounds=2)))
    assert "it has no resource measure (start it so: dask worker" in course.problems[0]


@pytest.mark.parametrize(("system", "mark"), [("slurm", "#SBATCH"), ("pbs", "#PBS"), ("lsf", "#BSUB")])
def test_jobs_of_a_batch_system_declare_the_resource(system, mark):
    made = cluster.job_cluster(system)
    try:
        script = made.job_script()
    finally:
        made.close()
    assert "--resources measure=1" in script
    assert mark in script


def test_without_dask_there_is_one_message(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ReapError, match="the Python package distributed is not installed") as caught:
        cluster.require()
    assert "-m pip install" in caught.value.hint
    assert "distributed" in caught.value.hint


SCRIPT = """
import sys
from pathlib import Path
from lab.test.sweep import fakes
from reap.experiment.runner import Listener
from reap.sweep import cluster
from reap.sweep.folder import SweepFolder
from reap.sweep.run import Driver
if __name__ == "__main__":
    with SweepFolder.resume(Path(sys.argv[1])) as folder, cluster.local(2) as (client, count):
        pool = cluster.Dask(client, folder.sweep, count, work=fakes.slow_work, ask=fakes.ask)
        Driver(folder, pool, Listener()).run()
"""


def test_a_driver_that_is_killed_leaves_no_worker_and_loses_nothing(tmp_path):
    path = tmp_path / "s"
    sweep = fakes.a_sweep(fakes.a_cell(rounds=400))
    SweepFolder.create(path, sweep).close()
    script = tmp_path / "drive.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, script, path], env=environment, start_new_session=True)
    until = time.monotonic() + 120
    while len(ended(path)) < 5 and time.monotonic() < until:
        time.sleep(0.1)
    process.kill()
    process.wait()
    before = ended(path)
    assert len(before) >= 5
    while (left := session_of(process.pid)) and time.monotonic() < until:
        time.sleep(0.2)
    assert not left
    with SweepFolder.resume(path) as folder:
        Driver(folder, Here(sweep, work=fakes.work, ask=fakes.ask), Listener()).run()
    found = ended(path)
    assert found[: len(before)] == before
    assert len(found) == len(set(found)) == 400


@pytest.mark.long
def test_kills_of_workers_and_of_the_driver_at_random_moments_lose_nothing(tmp_path):
    """Ten drivers are killed, and before that up to two of their workers: every block is there once."""
    path, blocks_of_all = tmp_path / "s", 1200
    sweep = fakes.a_sweep(fakes.a_cell(rounds=blocks_of_all))
    SweepFolder.create(path, sweep).close()
    script = tmp_path / "drive.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    chance = random.Random(20260101)
    before = []
    for _ in range(10):
        process = subprocess.Popen([sys.executable, script, path], env=environment, start_new_session=True)
        until = time.monotonic() + 60
        while len(ended(path)) == len(before) and time.monotonic() < until:
            time.sleep(0.05)
        for _ in range(chance.randint(0, 2)):
            time.sleep(chance.uniform(0, 0.5))
            others = [int(each) for each in session_of(process.pid) if int(each) != process.pid]
            os.kill(chance.choice(others), signal.SIGKILL)
        time.sleep(chance.uniform(0, 1.5))
        process.kill()
        process.wait()
        while session_of(process.pid) and time.monotonic() < until:
            time.sleep(0.1)
        now = ended(path)
        assert now[: len(before)] == before
        assert len(now) == len(set(now)) > len(before)
        before = now
    with SweepFolder.resume(path) as folder:
        Driver(folder, Here(sweep, work=fakes.work, ask=fakes.ask), Listener()).run()
    found = ended(path)
    assert found[: len(before)] == before
    assert len(found) == len(set(found)) == blocks_of_all


def session_of(leader):
    """The processes that a session still has."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(stat.parent.name)
    return found
