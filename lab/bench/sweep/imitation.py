"""Rounds that are not run: what a worker of `scale.py` answers. A module, since workers import it."""

import random
import socket
import time
import zlib
from collections.abc import Sequence

import msgspec

import reap
from reap.base.records import decode
from reap.experiment.records import Cell, Pairing, Run
from reap.launch.host import machine
from reap.launch.records import Outcome
from reap.sweep.records import Block, Done, Facts, SweepCell

KINDS = 4
HERE = machine.describe()


def ask(_names: Sequence[str], worker: str) -> bytes:
    """Every worker is a machine of its own, of one of four kinds."""
    number = zlib.crc32(worker.encode()) % KINDS
    here = msgspec.structs.replace(HERE, processor=f"Imitated {number}", kernel="Linux 6.1")
    facts = Facts(
        worker=worker,
        host=f"{socket.gethostname()}-{worker}",
        reap_version=reap.__version__,
        architecture="x86_64",
        machine=here,
        allocators={"glibc": "the C library", "jemalloc": "Debian package libjemalloc2 5.3.0-1"},
        clock=time.time(),
    )
    return msgspec.json.encode(facts)


def work(cell: bytes, block: bytes) -> tuple[bool, bytes]:
    """Answers at once, with as much as a real round gives."""
    which, planned = decode(block, Block), decode(cell, SweepCell)
    chance = random.Random(which.id)
    base = planned.allocators[0]
    arms = [(base, False), (base, True), *((name, False) for name in planned.allocators[1:])]
    runs = [
        Run(
            cell=Cell(workload=which.cell, allocator=name, repeat=which.round, control=control),
            outcome=Outcome(
                exit_code=0,
                user_ns=round(1e9 * chance.lognormvariate(0, 0.03)),
                wall_ns=10**9,
                peak_resident=1 << 24,
                minor_faults=4000,
                stdout_digest="0" * 32,
            ),
            order=number,
            started=time.time(),
            together=True,
        )
        for number, (name, control) in enumerate(arms)
    ]
    facts = decode(ask((), f"{zlib.crc32(block) % 1000}"), Facts)
    return True, msgspec.json.encode(
        Done(block=which, facts=facts, runs=runs, pairing=Pairing(method="simultaneous"))
    )
