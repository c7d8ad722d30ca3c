"""Garbage collectors: what they say is read, and that they are made to say it changes nothing else."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from causes import go_program, java_classes
from msgspec.structs import replace

from reap.evidence.analyse.collectors import collector, with_shares
from reap.evidence.analyse.facts import with_heard
from reap.evidence.collectors_run import hear
from reap.evidence.records import Collector, Wall
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


def test_samples_say_how_long_go_collected_and_its_log_how_often() -> None:
    heard = Collector(kind="go", count=7, pause_seconds=0.1, cpu_seconds=3.0)
    sampled = [Collector(kind="go", cpu_seconds=0.5), Collector(kind="jvm", cpu_seconds=0.2)]
    assert with_heard(sampled, heard) == [replace(heard, cpu_seconds=0.5), sampled[1]]
    assert with_heard([], heard) == [heard]
    python = Collector(kind="cpython", count=2, pause_seconds=0.3, cpu_seconds=0.3)
    assert with_heard([Collector(kind="cpython", cpu_seconds=0.1)], python) == [python]


def test_what_node_says() -> None:
    held = collector("v8", [b"1 700\n3 1500\n", b"2 500\n4 9", b"", b"7 12", b"0 0\n"])
    assert held is not None
    assert (held.count, held.pause_seconds) == (5, pytest.approx(0.002))


@pytest.mark.parametrize("kind", ["cpython", "go", "jvm", "v8"])
def test_whoever_says_nothing(kind: collectors.Kind) -> None:
    assert collector(kind, []) is None
    assert collector(kind, [b"", b"\xff\x00nonsense GC(1) Pause x ms\n"]) is None


@pytest.mark.parametrize(
    ("files", "functions", "kind"),
    [
        (["/bin/sh", "/usr/bin/python3.11"], ["main"], "cpython"),
        (["/x/server", "/usr/lib/libpython3.12.so.1.0"], [], "cpython"),
        (["/usr/bin/java", "/opt/jdk/lib/server/libjvm.so"], [], "jvm"),
        (["/x/server"], ["runtime.mallocgc", "main.main"], "go"),
        (["/usr/bin/node"], ["main"], "v8"),
        (["/x/electron"], ["v8::internal::Heap::Scavenge()"], "v8"),
        (["/home/node/server"], ["main"], None),
        (["/usr/lib/libpython-free.so", "/home/python/server"], ["main"], None),
        ([], [], None),
    ],
)
def test_what_has_a_collector(files: list[str], functions: list[str], kind: str | None) -> None:
    assert collectors.kind_of(files, functions) == kind


@pytest.mark.parametrize(("version", "option"), [("1.8.0_392", "-Xloggc:"), ("17.0.15", "-Xlog:gc:file=")])
def test_an_old_jvm_gets_the_option_that_it_knows(tmp_path: Path, version: str, option: str) -> None:
    library = tmp_path / "lib" / "server" / "libjvm.so"
    (tmp_path / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    launch = Launch(argv=["java"], program="/usr/bin/java", environment={"JAVA_TOOL_OPTIONS": "-Dx=y"})
    with collectors.listening(launch, "jvm", [str(library)]) as listening:
        said = listening.launch.environment["JAVA_TOOL_OPTIONS"]
    assert said.startswith("-Dx=y -")
    assert option in said


def test_a_jvm_gets_a_path_with_a_space_as_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "a b"))
    with collectors.listening(Launch(argv=["java"], program="/usr/bin/java"), "jvm") as listening:
        said = listening.launch.environment["JAVA_TOOL_OPTIONS"]
    assert len([word for word in shlex.split(said) if "a b" in word]) == 1


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
    said: list[str] = []
    launch = Launch(argv=[sys.executable, "-I", "-c", "0"], program=sys.executable)
    assert hear(launch, [os.path.realpath(sys.executable)], [], said.append) is None
    assert len(said) == 1


def test_a_program_without_a_collector_is_not_run() -> None:
    said: list[str] = []
    assert hear(Launch(argv=["x"], program="/no/such"), ["/no/such"], ["main"], said.append) is None
    assert said == []


@pytest.mark.verdict
@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_a_go_program_is_heard() -> None:
    path = go_program()
    held = hear(
        Launch(argv=[path, "0.1"], program=path, environment={"GOGC": "10"}), [path], ["runtime.main"], print
    )
    assert held is not None
    assert held.kind == "go"
    assert held.cpu_seconds


@pytest.mark.verdict
@pytest.mark.skipif(not shutil.which("java"), reason="needs a JDK")
def test_a_jvm_is_heard() -> None:
    path = os.path.realpath(shutil.which("java") or "")
    launch = Launch(argv=["java", "-Xmx68m", "-cp", java_classes(), "Collect", "0.1"], program=path)
    held = hear(launch, [path, "/x/libjvm.so"], [], print)
    assert held is not None
    assert held.kind == "jvm"
    assert held.pause_seconds


NODE = """
const { Worker, isMainThread } = require('worker_threads');
let live = [];
for (let i = 0; i < 600000; i++) { live.push({ i, s: 'x' + i }); if (live.length > 50000) live = []; }
if (isMainThread) {
  new Worker(__filename);
  console.log(process.listenerCount('exit'), process.env.NODE_OPTIONS.split(' ')[0]);
  process.on('exit', () => console.log('mine'));
}
"""


BACKGROUND = """
const fs = require('fs');
fs.rmSync(process.env.REAP_COLLECTIONS, { recursive: true });
for (let i = 0; i < 10; i++) process.on('exit', () => {});
setTimeout(() => console.log(Object.keys(require.cache).length, process.listenerCount('exit')), 700);
"""


@pytest.mark.verdict
@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_a_node_that_goes_on_longer_than_it_is_heard_is_left_alone(tmp_path: Path) -> None:
    """Its timer has nowhere to write, and it has as many listeners as it may have without a warning."""
    script = tmp_path / "x.js"
    script.write_text(BACKGROUND)
    sink = tmp_path / "sink"
    sink.mkdir()
    hook = Path(collectors.__file__).parent / "node_hook" / "collections.cjs"
    said = subprocess.run(
        ["node", "--require", str(hook), str(script)],
        env={**os.environ, "REAP_COLLECTIONS": str(sink)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stdout, said.stderr) == (0, "1 10\n", "")


def test_a_node_gets_a_file_to_run_unless_it_may_not_read_it() -> None:
    launch = Launch(
        argv=["node", "x.js"], program="/usr/bin/node", environment={"NODE_OPTIONS": "--no-warnings"}
    )
    with collectors.listening(launch, "v8") as listening:
        assert listening.launch.environment["NODE_OPTIONS"].startswith("--no-warnings --require ")
    for refused in (
        replace(launch, argv=["node", "--experimental-permission", "x.js"]),
        replace(launch, environment={"NODE_OPTIONS": "--permission --allow-fs-read=/srv"}),
    ):
        with collectors.listening(refused, "v8") as listening:
            assert listening.launch == refused


@pytest.mark.verdict
@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_a_node_is_heard_and_says_what_it_would(tmp_path: Path) -> None:
    """Both of its threads are; its own options, output and listeners stay."""
    script = tmp_path / "x.js"
    script.write_text(NODE)
    path = os.path.realpath(shutil.which("node") or "")
    options = {"NODE_OPTIONS": "--no-warnings"}
    with collectors.listening(
        Launch(argv=["node", str(script)], program=path, environment=options), "v8"
    ) as listening:
        heard = listening.launch
        said = subprocess.run(
            heard.argv, env={**os.environ, **heard.environment}, capture_output=True, text=True, check=True
        )
        written = listening.said()
    held = collector("v8", written)
    assert len(written) == 2
    assert held is not None
    assert held.count is not None
    assert held.count >= 2
    assert held.pause_seconds
    assert (said.stdout, said.stderr) == ("0 --no-warnings\nmine\n", "")


def test_a_collector_s_cpu_time_and_the_time_it_stopped_the_program_are_kept_apart():
    seen = Collector(kind="v8", cpu_seconds=0.4, pause_seconds=1.0, of_seconds=2.0)
    heard = Collector(kind="cpython", cpu_seconds=1.0, pause_seconds=1.0, of_cpu_seconds=4.0)
    other = Collector(kind="jvm", cpu_seconds=9.0)
    wall = with_shares(
        Wall(command=["x"], cpu_seconds=2.0, wall_seconds=5.0, collections=[seen, heard, other])
    )
    shares = [(each.cpu_share, each.stopped_share) for each in wall.collections]
    assert shares == [(0.2, 0.5), (0.25, 0.2), (1.0, None)]
    idle = with_shares(Wall(command=["x"], collections=[seen]))
    assert idle.collections[0].cpu_share is None
