"""Stacks have Python functions in place of the interpreter's calls, exactly those that run."""

import json

import pytest
from lab.test.recording.stacks.interpreters import INTERPRETERS, PYTHON, interpreter, python_frames
from programs import reap
from recorded import TARGETS, recorded, target

import reap as package

TURNS = 12
NAMED = ["own", "3.12"]
"""Those whose native functions have names: another's loader runs the third, in whose place they are."""


@pytest.fixture(scope="module", params=INTERPRETERS)
def run(tmp_path_factory, request):
    """What the program says of its own stacks, and its recording."""
    command, variables = interpreter(request.param)
    folder = tmp_path_factory.mktemp("python")
    file = folder / "truth.json"
    words = [*command, str(TARGETS / "python_stacks.py"), str(TURNS), str(file)]
    done = recorded(folder, "full", *words, environment=variables)
    assert done.outcome.status == 0, done.outcome.stderr_tail
    truth = {int(size): frames for size, frames in json.loads(file.read_text()).items()}
    return truth, done


def test_every_stack_is_the_one_that_the_program_wrote_down(run):
    truth, done = run
    recording = package.open(done.path)
    stacks = recording.stacks()
    rows = {stack: row for row, stack in enumerate(stacks["stack"])}
    events = recording.events()
    found, wrong = 0, []
    for size, stack in zip(events["size"].tolist(), events["stack"].tolist(), strict=True):
        if size not in truth:
            continue
        found += 1
        said = python_frames(stacks, rows[stack])
        meant = [[function, f"{file}:{line}"] for function, file, line in truth[size]]
        if said != meant[: len(said)] or len(said) < min(len(meant), 100):
            wrong.append((size, said, meant))
    assert found == len(truth) > 1000
    assert not wrong, (len(wrong), wrong[0])


@pytest.mark.parametrize("run", NAMED, indirect=True)
def test_sites_are_lines_of_python_and_not_functions_of_cpython(run):
    _, done = run
    largest = done.profile.sites[:20]
    places = [site.location.rpartition("/")[2].partition(":")[0] for site in largest]
    assert places.count("python_stacks.py") > 10, largest
    assert any(site.function == "Made.__init__" for site in done.profile.sites)


@pytest.mark.parametrize("run", NAMED, indirect=True)
def test_native_callers_stay(run):
    _, done = run
    stacks = package.open(done.path).stacks()
    chain = max(stacks["frames"], key=lambda frames: "Made.__lt__" in frames)
    assert chain.index("Made.__lt__") < chain.index("everything") < chain.index("Py_BytesMain")
    assert chain[-1] == "_start"
    assert chain.index("everything") - chain.index("Made.__lt__") > 1  # sorted() is between
    assert not any("EvalFrame" in name for name in chain)


@pytest.mark.parametrize("depth", ["triage", "full"])
def test_without_python_stacks_are_native(tmp_path, depth):
    words = ["record", "--no-python", "-d", depth, "-o", "native.reap", "--", PYTHON, "-c", "[0] * 10**6"]
    assert reap(*words, cwd=tmp_path).returncode == 0
    stacks = package.open(tmp_path / "native.reap").stacks()
    names = {name for frames in stacks["frames"] for name in frames}
    assert "<module>" not in names
    assert "_PyEval_EvalFrameDefault" in names or depth == "triage"


def test_a_fork_goes_on_with_its_parents_lines(tmp_path):
    program = (
        "import os\n"
        "def before(): return bytearray(30000)\n"
        "def after(): return bytearray(40000)\n"
        "before()\n"
        "if os.fork() == 0:\n"
        "    before(); after(); os._exit(0)\n"
        "os.wait(); before()\n"
    )
    (tmp_path / "forks.py").write_text(program)
    done = recorded(tmp_path, "full", PYTHON, str(tmp_path / "forks.py"))
    recording = package.open(done.path)
    stacks, events = recording.stacks(), recording.events()
    rows = {stack: row for row, stack in enumerate(stacks["stack"])}
    found = {
        size: [
            [frame for frame, _ in python_frames(stacks, rows[stack])]
            for number, stack in zip(events["size"].tolist(), events["stack"].tolist(), strict=True)
            if number == size
        ]
        for size in (30001, 40001)
    }
    assert found == {30001: [["before", "<module>"]] * 3, 40001: [["after", "<module>"]]}


def test_a_program_that_embeds_no_python_has_none(tmp_path):
    done = recorded(tmp_path, "full", target("stacks"), "100")
    assert not any(
        frame[3].endswith(".py")
        for row in done.recording.stacks(100)
        for frame in done.recording.frames(row[0], row[1])
    )
