"""A Python program that runs already has the stacks that it writes down itself, native frames between."""

import contextlib
import json
import os
import subprocess
import time

import pytest
from lab.test.record.outside import NEEDS_UPROBES, recorded
from lab.test.recording.stacks.interpreters import GONE, INTERPRETERS, PYTHON, interpreter, python_frames
from programs import reap
from recorded import TARGETS

import reap as package

pytestmark = NEEDS_UPROBES


@contextlib.contextmanager
def started(*words, **environment):
    """A program that has begun its work, until the block ends."""
    process = subprocess.Popen(words, env={**os.environ, **environment}, stdin=subprocess.PIPE)
    try:
        time.sleep(0.7)
        yield process
    finally:
        process.kill()
        process.communicate()


def attached(folder, process, seconds, *options):
    words = ["record", "--pid", str(process.pid), "--seconds", str(seconds), "-o", "a.reap", *options]
    recorded(reap(*words, cwd=folder), folder / "a.reap")
    return package.open(folder / "a.reap")


def stacks_of(recording):
    """By the number of a stack its row; and the columns."""
    stacks = recording.stacks()
    return {stack: row for row, stack in enumerate(stacks["stack"])}, stacks


@pytest.fixture(scope="module", params=INTERPRETERS)
def run(tmp_path_factory, request):
    """What the program says of its own stacks, and its recording."""
    command, variables = interpreter(request.param)
    folder = tmp_path_factory.mktemp("attached")
    file = folder / "truth.json"
    words = [*command, str(TARGETS / "python_stacks.py"), "12", str(file), "-"]
    with started(*words, **variables) as process:
        recording = attached(folder, process, 4)
        process.communicate(timeout=60)
    assert process.returncode == 0
    truth = {int(size): frames for size, frames in json.loads(file.read_text()).items()}
    return truth, recording


def is_as_meant(said, meant):
    """Unknown are only functions that were compiled at run time, and gone before they were read."""
    if len(said) < min(len(meant), 100) or len(said) > len(meant):
        return False
    return all(
        one == [function, f"{file}:{line}"] or (one[0] == GONE and file.startswith("<"))
        for one, (function, file, line) in zip(said, meant, strict=False)
    )


@pytest.mark.timed  # a thread state whose page is swapped out is not found
def test_every_stack_is_the_one_that_the_program_wrote_down(run):
    truth, recording = run
    rows, stacks = stacks_of(recording)
    events = recording.events()
    found, exact, outside, wrong = 0, 0, 0, []
    for size, stack in zip(events["size"].tolist(), events["stack"].tolist(), strict=True):
        if size not in truth:
            continue
        found += 1
        said = python_frames(stacks, rows[stack])
        outside += not truth[size]
        exact += said == [[function, f"{file}:{line}"] for function, file, line in truth[size]]
        if not is_as_meant(said, truth[size]):
            wrong.append((size, said, truth[size]))
    assert found > 100
    assert outside > 0
    assert not wrong, (len(wrong), found, wrong[0])
    assert exact > 0.8 * found


def test_native_frames_stay_between(tmp_path):
    program = (
        "import json, time\n"
        "def f(): return json.dumps(['x' * 100000], ensure_ascii=True)\n"
        "def g(): return f()\n"
        "while True:\n"
        "    sorted([1, 2], key=lambda _: g())\n"
        "    time.sleep(0.001)\n"
    )
    with started(PYTHON, "-c", program) as process:
        recording = attached(tmp_path, process, 2)
    stacks = recording.stacks()
    chain = max(
        (frames for frames in stacks["frames"] if {"f", "g"} <= set(frames)),
        key=lambda frames: ("<lambda>" in frames, len(frames)),
    )
    inner = chain.index("f")
    python = ["JSONEncoder.encode", "dumps", "f", "g", "<lambda>", "<module>"]
    assert [frame for frame in chain if frame in python] == python
    assert "<module>" in chain[inner:]
    assert chain.index("<module>") - chain.index("<lambda>") > 1  # sorted() is between
    assert chain[-1] == "_start"
    assert not any("EvalFrame" in name for name in chain)


def test_children_of_a_fork_have_their_own_functions(tmp_path):
    program = (
        "import os, threading, time\n"
        "def parents(): return bytearray(300000)\n"
        "def childs(): return bytearray(400000)\n"
        "def work(function):\n"
        "    while True:\n"
        "        function(); time.sleep(0.002)\n"
        "if os.fork(): work(parents)\n"
        "threading.Thread(target=work, args=[childs]).start()\n"
        "work(childs)\n"
    )
    with started(PYTHON, "-c", program) as process:
        recording = attached(tmp_path, process, 2.5)
        subprocess.run(["pkill", "-P", str(process.pid)], check=True)
    rows, stacks = stacks_of(recording)
    events = recording.events()
    found = {300001: set(), 400001: set()}
    for size, stack in zip(events["size"].tolist(), events["stack"].tolist(), strict=True):
        if size in found:
            found[size].add(tuple(name for name, _ in python_frames(stacks, rows[stack])))
    outer = ("work", "<module>")
    thread = ("work", "Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap")
    assert found == {300001: {("parents", *outer)}, 400001: {("childs", *outer), ("childs", *thread)}}


def test_a_program_that_is_watched_from_its_start(tmp_path):
    program = (
        "import time\n"
        "def f(): return bytearray(300000)\n"
        "end = time.monotonic() + 2\n"
        "while time.monotonic() < end: f()\n"
    )
    done = reap("record", "--via", "uprobe", "-o", "s.reap", "--", PYTHON, "-c", program, cwd=tmp_path)
    recorded(done, tmp_path / "s.reap")
    frames = package.open(tmp_path / "s.reap").stacks()["frames"]
    assert any(chain.index("f") < chain.index("<module>") for chain in frames if "f" in chain)


def test_without_python_stacks_are_native(tmp_path):
    program = "import time\nwhile True: bytearray(300000); time.sleep(0.001)\n"
    with started(PYTHON, "-c", program) as process:
        frames = attached(tmp_path, process, 1, "--no-python").stacks()["frames"]
    names = {name for chain in frames for name in chain}
    assert "_PyEval_EvalFrameDefault" in names
    assert "<module>" not in names
