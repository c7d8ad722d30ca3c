"""How the tests of `wall` measure a program, and what this machine allows."""

import os

import pytest

from reap.evidence import run as experiment
from reap.launch import program as programs
from reap.launch.host import sampling
from reap.launch.records import Launch

PERF = sampling.check()


needs_perf = pytest.mark.skipif(PERF.samples == 0, reason="perf events are not allowed here")


TRACEPOINTS = os.access("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", os.R_OK)


def measured(folder, *command, **options):
    """The facts of one program."""
    found = programs.resolve(list(command))
    launch = Launch(argv=list(command), program=found.path, **options)
    return experiment.measure(launch, found, folder, lambda _: None)
