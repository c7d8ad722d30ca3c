"""What the study's programs measure where others run on the same CPU."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reap.launch.records import Launch
from reap_studies.study.allocator_wall import rounds as running
from reap_studies.study.allocator_wall import run as studying
from reap_studies.study.allocator_wall.asks import Ask
from reap_studies.study.allocator_wall.records import Place
from reap_studies.workloads import card, preparation


@contextlib.contextmanager
def crowded():
    """Words that run a command on a processor that three others have, too."""
    pinned = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    busy = [subprocess.Popen([*pinned, sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        yield pinned
    finally:
        for each in busy:
            each.kill()
            each.wait()


@pytest.mark.timed
def test_a_collection_that_waits_for_a_processor_is_none_that_waits():
    """Others that run on the same processor make a pause longer, and not off-processor."""
    if not Path("/proc/thread-self/schedstat").exists():
        pytest.skip("the kernel does not say how long a thread was queued")
    script = card.find(studying.WORKLOAD) / "json_requests.py"
    code = f"import runpy; print(runpy.run_path({str(script)!r})['collector']()['gc_on_cpu_share'])"
    with crowded() as pinned:
        command = [*pinned, sys.executable, "-c", code]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(said.stdout) > 0.9


@pytest.mark.timed
def test_faults_are_by_time_on_a_processor():
    (program, *_) = preparation.prepare(studying.WORKLOAD, "naive").argv
    tuned = {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=131072"}
    with crowded() as pinned:
        launch = Launch(
            argv=[*pinned, program, "ask", "threshold", "touch", "1", "turns", "1000"],
            program=shutil.which("taskset"),
            environment=tuned,
        )
        sample = running.take(Ask(Place(part="p", arm="a", setting="s"), launch), 0)
    values = sample.values
    of_all = values["minor_faults"] * 1e9 / values["cpu_ns"]
    assert values["faults_per_second"] > 0.6 * of_all
