"""What a sweep of many workers costs its scheduler and its driver, a round: with workers that run nothing.

    .venv/bin/python lab/bench/sweep/scale.py --workers 1000 --rounds 100000

A real Dask scheduler in a process of its own, a real driver with a real folder here, and real Dask workers,
many to a process; only the rounds are imitated: each answers at once with the record of one that was run.
Printed are CPU time per round and resident memory of scheduler and driver, after each tenth of the rounds.
The CPU time of the workers is that of the machines that measure, and is not counted.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from imitation import KINDS, ask, work

import reap
from reap.experiment.runner import Listener
from reap.sweep import analyse, cluster
from reap.sweep.folder import SweepFolder, blocks
from reap.sweep.records import Program, Sweep, SweepCell
from reap.sweep.remote import MEASURE
from reap.sweep.run import Driver

CELLS = 10
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")


def sweep_of(rounds: int) -> Sweep:
    """A plan of ten cells with so many rounds together, on all kinds of machine."""
    cells = [
        SweepCell(
            name=f"program-{number}",
            program=Program(name=f"program-{number}", command=["true"]),
            environment={},
            allocators=["glibc", "jemalloc", "mimalloc"],
            levels=[],
            warm_ups=1,
            rounds=rounds // CELLS // KINDS,
            timeout=None,
            worth=0.03,
            seed=1,
        )
        for number in range(CELLS)
    ]
    version = reap.__version__
    return Sweep(schema=1, reap_version=version, created="", directory="/", machines=[], cells=cells)


def cpu(pid: int) -> float:
    """Seconds of CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident(pid: int) -> float:
    """MiB of resident memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 2**20


class Meter(Listener):
    """Looks at both processes after each tenth of the rounds."""

    def __init__(self, rounds: int, scheduler: int) -> None:
        self._at = [rounds * tenths // 10 for tenths in range(1, 11)]
        self._pids = {"scheduler": scheduler, "driver": os.getpid()}
        self._begun = {name: cpu(pid) for name, pid in self._pids.items()}
        self.seen: list[dict[str, float]] = []

    def progress(self, done: int, _total: int, _label: str) -> None:
        """Called when a round has ended."""
        if not self._at or done < self._at[0]:
            return
        self._at.pop(0)
        seen = {"rounds": float(done)}
        for name, pid in self._pids.items():
            seen[f"{name}_ms_a_round"] = 1e3 * (cpu(pid) - self._begun[name]) / done
            seen[f"{name}_mib"] = resident(pid)
        self.seen.append(seen)


@contextmanager
def started(workers: int, processes: int, folder: Path) -> Iterator[tuple[str, int]]:
    """A scheduler and its workers: its address and process."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "DASK_LOGGING__DISTRIBUTED": "critical",
        # Workers that share a few cores are late, which those of a machine each are not.
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "600s",
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "1 hour",
    }
    # What a worker does beside its rounds, many times a second: a machine has time for it, a thousand
    # workers in a process have not.
    of_workers = {
        **environment,
        "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
        "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "60s",
        "DASK_DISTRIBUTED__ADMIN__TICK__CYCLE": "60s",
        "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1 hour",
        "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "60s",
    }
    contact = folder / "scheduler.json"
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--dashboard-address",
        ":0",
        "--port",
        "0",
    ]
    command += ["--host", "127.0.0.1", "--scheduler-file", str(contact)]
    running = [subprocess.Popen(command, env=environment, cwd=folder)]
    try:
        while not (contact.exists() and contact.read_text().endswith("}")):  # created, then written
            time.sleep(0.1)
        address = json.loads(contact.read_text())["address"]
        for number in range(processes):
            count = workers * (number + 1) // processes - workers * number // processes
            words = [
                sys.executable,
                __file__,
                "--serve",
                address,
                "--workers",
                str(count),
                "--name",
                str(number),
            ]
            running.append(subprocess.Popen(words, env=of_workers, cwd=folder))
        yield address, running[0].pid
    finally:
        for process in running:
            process.kill()
            process.wait()


async def serve(address: str, count: int, name: str, folder: str) -> None:
    """So many workers in this process, until it is killed."""
    from distributed import Worker

    made = [
        Worker(
            address,
            nthreads=1,
            name=f"{name}-{number}",
            resources={MEASURE: 1},
            memory_limit=0,
            local_directory=folder,
            dashboard=False,
        )
        for number in range(count)
    ]
    for some in range(0, count, 50):
        await asyncio.gather(*made[some : some + 50])
    await asyncio.Event().wait()


def measure(workers: int, rounds: int, processes: int) -> list[dict[str, float]]:
    """Runs a sweep and returns what was seen of scheduler and driver."""
    sweep = sweep_of(rounds)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        with started(workers, processes, place) as (address, pid):
            client = cluster.client(address)
            client.wait_for_workers(workers, timeout=300)
            begun = time.monotonic()
            with client, SweepFolder.create(place / "sweep", sweep) as folder:
                meter = Meter(len(sweep.cells) * sweep.cells[0].rounds * KINDS, pid)
                pool = cluster.Dask(client, sweep, workers, work=work, ask=ask)
                course = Driver(folder, pool, meter).run()
                pool.close()
            wall = time.monotonic() - begun
        assert not course.problems, course.problems  # noqa: S101 - a figure of half a sweep is none
        size = (place / "sweep/blocks.jsonl").stat().st_size / 2**20
        before = time.process_time()
        effects = analyse.effects(analyse.collected(blocks(place / "sweep")).of, sweep.cells)
        print(
            f"{workers} workers, {rounds} rounds in {wall:.0f} s; folder {size:.0f} MiB; "
            f"{len(effects)} effects from it in {time.process_time() - before:.1f} s of CPU time, "
            f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
        )
    return meter.seen


def main(words: Sequence[str]) -> None:
    """Prints the figures; with --serve it is a process of workers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=4, help="of workers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--name", help=argparse.SUPPRESS)
    asked = parser.parse_args(words)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if asked.serve:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(serve(asked.serve, asked.workers, asked.name, folder))
        return
    seen = measure(asked.workers, asked.rounds, asked.processes)
    for each in seen:
        print(
            f"after {each['rounds']:.0f} rounds: "
            f"scheduler {each['scheduler_ms_a_round']:.2f} ms a round, {each['scheduler_mib']:.0f} MiB; "
            f"driver {each['driver_ms_a_round']:.2f} ms a round, {each['driver_mib']:.0f} MiB"
        )
    if asked.json:
        print(msgspec.json.encode(seen).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
