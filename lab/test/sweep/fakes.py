"""Rounds that run nothing: figures that follow from cell, machine and round alone."""

import os
import random
import tempfile
import time
from pathlib import Path

import msgspec

import reap
from reap.base.records import decode
from reap.experiment.records import Cell, Pairing, Run
from reap.launch.records import Machine, Outcome
from reap.sweep.records import Block, Done, Facts, Failed, Program, Sweep, SweepCell

MACHINE = Machine(
    processor="Fake 9000",
    cores=8,
    memory=1 << 34,
    kernel="Linux 6.1",
    system="Debian",
    libc="glibc 2.36",
    virtual="",
    huge_pages="madvise",
)


def facts_of(worker="here", host="alpha", *, version=reap.__version__, unfit="", **machine):
    return Facts(
        worker=worker,
        host=host,
        reap_version=version,
        architecture="x86_64",
        machine=msgspec.structs.replace(MACHINE, **machine),
        allocators={"glibc": "the C library"},
        unfit=unfit,
        clock=time.time(),
    )


def ask(_names, worker):
    return msgspec.json.encode(facts_of(worker))


def ask_older(_names, worker):
    return msgspec.json.encode(facts_of(worker, version="0.0.1"))


def ask_ahead(_names, worker):
    """Of a machine whose clock is an hour ahead."""
    facts = facts_of(worker)
    return msgspec.json.encode(msgspec.structs.replace(facts, clock=facts.clock + 3600))


def a_cell(name="sort", rounds=16, allocators=("glibc", "jemalloc"), files=()):
    return SweepCell(
        name=name,
        program=Program(name=name, command=["true"]),
        environment={},
        allocators=list(allocators),
        levels=[],
        warm_ups=1,
        rounds=rounds,
        timeout=None,
        worth=0.03,
        seed=1,
        files=dict(files),
    )


def a_sweep(*cells, machines=(), directory="/"):
    return Sweep(
        schema=1,
        reap_version=reap.__version__,
        created="",
        directory=str(directory),
        machines=list(machines),
        cells=list(cells),
    )


def a_run(cell, block, allocator, cpu, *, control=False):
    outcome = Outcome(
        exit_code=0, user_ns=round(cpu), wall_ns=round(cpu), peak_resident=1 << 20, minor_faults=99
    )
    own = Cell(workload=cell.name, allocator=allocator, repeat=block.round, control=control)
    return Run(cell=own, outcome=outcome, order=0, started=0.0, together=True)


def a_done(cell, block, facts, effect=0.9, noise=0.02, between=0.0):
    """A round whose figures follow from the names of cell, host and round."""
    chance = random.Random(f"{block.id}")
    of_host = random.Random(f"{facts.host}/{cell.name}").gauss(0, between)

    def cpu():
        return 1e8 * (1 + chance.gauss(0, noise))

    base, *others = cell.allocators
    runs = [a_run(cell, block, base, cpu()), a_run(cell, block, base, cpu(), control=True)]
    runs += [a_run(cell, block, each, cpu() * effect * (1 + of_host)) for each in others]
    return Done(block=block, facts=facts, runs=runs, pairing=Pairing(method="simultaneous"))


def work(cell, block):
    """In place of a round: the same figures wherever it runs."""
    cell, block = decode(cell, SweepCell), decode(block, Block)
    done = a_done(cell, block, facts_of(f"process {os.getpid()}"))
    return True, msgspec.json.encode(done)


def slow_work(cell, block):
    time.sleep(0.05)
    return work(cell, block)


def deadly_work(cell, block):
    """The first worker that gets round 3 is killed by it, and the next is not."""
    which = decode(block, Block)
    mark = Path(os.environ["REAP_TEST_MARK"])
    if which.round == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return slow_work(cell, block)


def failing_work(cell, block):
    which = decode(block, Block)
    if which.cell == "bad":
        failed = Failed(
            block=which, worker="worker 7", problem="prog: no such command in PATH", hint="install"
        )
        return False, msgspec.json.encode(failed)
    return work(cell, block)


def raising_work(_cell, _block):
    raise ZeroDivisionError("of the test")


def of_block(done, block):
    return msgspec.structs.replace(done, block=block)


def with_outcome(done, allocator, **changed):
    """The same, but what came of an allocator's run is another."""
    runs = [
        msgspec.structs.replace(run, outcome=msgspec.structs.replace(run.outcome, **changed))
        if run.cell.allocator == allocator
        else run
        for run in done.runs
    ]
    return msgspec.structs.replace(done, runs=runs)


def standing(answer, standing):
    """The same answer with another outcome."""
    return msgspec.structs.replace(answer, standing=standing)


def kept(dask_scheduler):
    """What a scheduler keeps of rounds: names with totals, room for messages that were sent, submissions."""
    connections = [*dask_scheduler.stream_comms.values(), *dask_scheduler.client_comms.values()]
    spans = dask_scheduler.extensions["spans"].spans.values()
    return (
        list(dask_scheduler.task_prefixes),
        sum(each.recent_message_log.maxlen for each in connections),
        sum(len(each.metadata["collections"]) for each in spans),
    )


def set_temporary(path):
    """For a worker: where its temporary files are."""
    tempfile.tempdir = path


def set_variable(name, value):
    """For a worker: methods of os.environ are copied with what they belong to."""
    os.environ[name] = value
