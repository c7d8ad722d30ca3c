"""Cores that there are for a measurement, who else uses them, and what limits their use."""

import os

from reap.base import units
from reap.doctor.records import Check
from reap.launch.host import machine, quota

_BUSY = 0.5


def load() -> Check:
    """Checks what else wants to run."""
    cores = len(os.sched_getaffinity(0))
    found = os.getloadavg()[0]
    says = f"load {found:.2f} on {units.many(cores, 'core')}"
    if found > _BUSY * cores:
        return Check(
            name="load",
            state="poor",
            says=says,
            mend="stop other programs: ps -eo pcpu,comm --sort=-pcpu | head",
        )
    return Check(name="load", state="good", says=says)


def which() -> Check:
    """The cores that may be used, and whether they are hardware threads of cores that others use, too."""
    here = machine.describe()
    says = f"{here.cores} of {here.processor}{f', virtual ({here.virtual})' if here.virtual else ''}"
    shared = max(map(machine.siblings, os.sched_getaffinity(0)))
    if shared > 1:
        says += (
            f"; each is one of {shared} threads of a physical core (SMT), and slower while another works: "
            "that meets runs at the same time on one core alike, and not runs one after another"
        )
    if here.cores == 1:
        return Check(
            name="cores",
            state="poor",
            says=says,
            mend="on one core, reap itself disturbs the program",
        )
    return Check(name="cores", state="good", says=says)


def limited() -> Check:
    """Checks whether a control group stops what runs here when it has used up its CPU time."""
    found = quota.here()
    if found is None:
        return Check(name="quota", state="good", says="no control group limits CPU time")
    says = f"a control group allows {found.cores:g} s of CPU time per second"
    if not found.stops:
        return Check(name="quota", state="good", says=f"{says}, which was never used up")
    return Check(
        name="quota",
        state="poor",
        says=f"{says}, and has stopped what is in it in {units.number(found.stops, 'period')}: wall time and "
        "latency include that; CPU time of runs at the same time is compared as without it",
        mend="raise the quota of the container or service (cpu.max, CPUQuota=, --cpus) while you measure",
    )
