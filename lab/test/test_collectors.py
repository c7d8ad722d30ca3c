"""Garbage collectors: what they say is read, and that they are made to say it changes nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from causes import CAUSES, go_program
from programs import program

from reap.analysis.collectors import collector
from reap.experiment.collectors import hear
from reap.launch import collectors, spawn
from reap.launch.records import Launch

GCTRACE = b"""\
gc 1 @0.011s 2%: 0.030+1.5+0.020 ms clock, 0.06+0.10/1.0/2.0+0.040 ms cpu, 3->4->2 MB, 4 MB goal, 0 P
the program's own words: gc 7 @1s
gc 2 @0.020s 3%: 0.010+2.0+0.040 ms clock, 0.02+0.30/1.5/2.5+0.080 ms cpu, 4->5->3 MB, 5 MB goal (forced)
"""
UNIFIED = b"""\
[0.021s][info][gc] Using G1
[0.449s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->3M(68M) 7.500ms
[0.543s][info][gc,start] GC(1) Pause Remark
[0.987s][info][gc] GC(1) Pause Remark 63M->63M(80M) 5.000ms
[0.993s][info][gc] GC(1) Pause Cleanup 63M->63M(80M) 0.500ms
[0.993s][info][gc] GC(1) Concurrent Mark Cycle 30.939ms
"""
OLD = b"""\
[GC (Allocation Failure)  33280K->4840K(125952K), 0.0040000 secs]
[Full GC (Ergonomics)  5000K->4840K(125952K), 0,0060000 secs]
"""


def test_what_go_says() -> None:
    held = collector("go", [GCTRACE])
    assert held is not None
    assert held.count == 2
    assert held.pause_seconds == pytest.approx(0.0001)
    assert held.cpu_seconds == pytest.approx(0.0076)


@pytest.mark.parametrize(("text", "seconds"), [(UNIFIED, 0.013), (OLD, 0.010)])
def test_what_java_says(text: bytes, seconds: float) -> None:
    held = collector("jvm", [text])
    assert held is not None
    assert held.count == 2
    assert held.pause_seconds == pytest.approx(seconds)


@pytest.mark.parametrize("kind", ["cpython", "go", "jvm"])
def test_whoever_says_nothing(kind: collectors.Kind) -> None:
    assert collector(kind, []) is None
    assert collector(kind, [b"", b"\xff\x00nonsense GC(1) Pause x ms\n"]) is None


def test_what_runs_a_program() -> None:
    assert collectors.kind_of(os.path.realpath(sys.executable)) == "cpython"
    assert collectors.kind_of(program("busy")) is None
    assert collectors.kind_of(__file__) is None


PYTHON = """
import gc, os, sys
import sitecustomize
gc.collect(); gc.collect()
if os.fork() == 0:
    gc.collect()
    os._exit(0)
os.wait()
print(sitecustomize.MINE, os.environ.get("PYTHONPATH"), sys.path.count(os.environ["PYTHONPATH"]))
print([p for p in sys.path if "hook" in p], [k for k in os.environ if "REAP" in k])
"""


def test_a_python_is_heard_and_is_as_it_was(tmp_path: Path) -> None:
    """It has its own sitecustomize, path and variables; its forked child is heard, too."""
    (tmp_path / "sitecustomize.py").write_text("MINE = 'mine'\n")
    launch = Launch(
        argv=[sys.executable, "-c", PYTHON],
        program=sys.executable,
        environment={"PYTHONPATH": str(tmp_path)},
    )
    with collectors.listening(launch, "cpython") as listening:
        heard = listening.launch
        assert spawn.run(heard).status == 0
        held = collector("cpython", listening.said())
        said = subprocess.run(
            heard.argv, env={**os.environ, **heard.environment}, capture_output=True, text=True, check=True
        )
    assert held is not None
    assert held.count is not None
    assert held.count >= 3
    assert held.pause_seconds
    assert said.stdout == f"mine {tmp_path} 1\n[] []\n"


def test_a_python_that_takes_no_hook_says_nothing() -> None:
    launch = Launch(argv=[sys.executable, "-I", "-c", "0"], program=sys.executable)
    assert hear(launch, os.path.realpath(sys.executable)) is None


def test_a_program_without_a_collector_is_not_run() -> None:
    assert hear(Launch(argv=["x"], program=program("busy")), program("busy")) is None


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_a_go_program_is_heard() -> None:
    path = go_program()
    held = hear(Launch(argv=[path, "0.1"], program=path, environment={"GOGC": "10"}), path)
    assert held is not None
    assert held.kind == "go"
    assert held.cpu_seconds


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("java"), reason="needs a JDK")
def test_a_jvm_is_heard() -> None:
    path = os.path.realpath(shutil.which("java") or "")
    launch = Launch(argv=["java", "-Xmx68m", str(CAUSES / "Collect.java"), "0.1"], program=path)
    held = hear(launch, path)
    assert held is not None
    assert held.kind == "jvm"
    assert held.pause_seconds
