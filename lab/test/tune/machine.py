"""A machine whose programs cost what a test says, and searches on it."""

import math
import random

from reap.allocators.records import Allocator
from reap.experiment.folder import Folder
from reap.experiment.runner import Listener
from reap.experiment.starter import Started, Starter
from reap.launch.records import Outcome
from reap.tune import run as tuning
from reap.tune import spec as tune_spec

GLIBC = Allocator(name="glibc")


class Machine(Starter):
    """Programs whose cost follows from their environment, with noise; CPU time only until some round."""

    def __init__(self, folder, *, cpu=None, memory=None, noise=0.01, seed=1, odd=None, until=99, length=1e8):
        super().__init__(folder)
        self.length = length
        self.cpu, self.memory, self.noise, self.odd = cpu or {}, memory or {}, noise, odd or {}
        self.random, self.until = random.Random(seed), until
        self.stop_at = None
        self.serves = folder.spec.baseline.library or "/lib/libc.so.6"

    def start(self, cell, *, probe):
        if self.stop_at is not None:
            self.stop_at -= 1
            if self.stop_at < 0:
                raise KeyboardInterrupt
        said = " ".join(cell.environment.values())
        cost = math.prod(
            factor for word, factor in self.cpu.items() if word in said and cell.repeat < self.until
        )
        size = math.prod(factor for word, factor in self.memory.items() if word in said)
        fields = {
            "exit_code": 0,
            "user_ns": round(self.length * cost * math.exp(self.random.gauss(0, self.noise))),
            "wall_ns": 10**8,
            "peak_resident": round(1e8 * size),
            "stdout_digest": "d",
            "heap": {"x": {"malloc": self.serves}} if probe else {},
        }
        for word, other in self.odd.items():
            fields |= other if word in said else {}
        return Started(outcome=Outcome(**fields))


def search(
    where, *, name="e", runs=36, objectives=("cpu", "memory"), stop_at=None, allocator=GLIBC, **machine
):
    spec = tune_spec.specify_search(["/bin/true"], allocator, objectives, runs)
    with Folder.create(where / name, spec) as folder:
        starter = Machine(folder, **machine)
        starter.stop_at = stop_at
        return tuning.tune(folder, Listener(), starter)


def finding(tuned, objective):
    return next(each for each in tuned.findings if each.objective == objective)
