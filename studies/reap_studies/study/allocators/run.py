"""*An experimental evaluation of six general-purpose memory allocators*, reproduced with today's.

The benchmark program (`lists-and-trees`) with more and more evaluations and threads, and perl, gcc and sed,
over every allocator that is here. Each setup is an experiment in a folder of its own below the study's, so
that a study that was stopped goes on where it was.
"""

import os
from pathlib import Path

from reap.api import Allocator, Listener
from reap_studies.study import measuring
from reap_studies.study.allocators import memory, setups, timing
from reap_studies.study.allocators.judge import conclusions as claims
from reap_studies.study.folder import make_plan
from reap_studies.study.records import Consumed, Evaluated, Mode, Plan, Study

NAME = "allocators"
WORKLOADS = setups.WORKLOADS
ALLOCATORS: tuple[str, ...] = (
    "glibc", "dlmalloc", "hoard", "jemalloc", "tcmalloc", "google-tcmalloc", "mimalloc-v3", "snmalloc",
    "rpmalloc", "tbbmalloc", "scudo", "hardened-malloc",
)  # fmt: skip
"""The paper's, and today's others. No recipe builds Lockless: it is named by its file."""


def plan(mode: Mode, workloads: list[str], allocators: list[str]) -> Plan:
    """A study of these workloads; all of them if none are named. Throws ReapError for one that it has not."""
    return make_plan(NAME, WORKLOADS, mode, workloads, allocators)


def run(place: Path, plan: Plan, allocators: list[Allocator], listener: Listener) -> Study:
    """Runs what is left of the study and judges it.

    Throws InterruptedRunError on Ctrl-C, after which it can go on; whatever else goes wrong with a setup
    leaves that setup out.
    """
    cores = len(os.sched_getaffinity(0))
    threads = setups.full_load(cores)
    wanted = setups.setups(plan.workloads, cores)
    timed = timing.measure(place, wanted, allocators, plan.mode, listener)
    consumed: Consumed | None = None
    if setups.PROGRAM in plan.workloads:
        listener.say("what each allocator asks the system for as the program goes on")
        consumed = memory.take(place / "consumption.json", allocators, plan.mode, threads)
    summaries = consumed.summaries if consumed else []
    found = Evaluated(threads=threads, timed=timed, consumed=consumed, summaries=summaries)
    return Study(
        plan=plan,
        **measuring.circumstances(),
        measured=[],
        conclusions=claims.judge(found),
        evaluated=found,
    )
