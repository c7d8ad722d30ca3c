"""`make quick`: what counts as changed, which tests are chosen, in which order, and what is left out."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
QUICK = ROOT / "setup" / "quick"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The modules of setup/quick, importable and forgotten afterwards."""
    monkeypatch.syspath_prepend(str(QUICK))
    yield
    for path in [*QUICK.glob("*.py"), *QUICK.parent.glob("stages/*.py")]:
        sys.modules.pop(path.stem, None)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def git(root: Path, *words: str) -> str:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *settings, *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """A checkout with one commit on main, and a branch that is checked out."""
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, {"kept": "1", "edited": "1", "deleted": "1", ".gitignore": "build\n"})
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "checkout", "-qb", "topic")
    return tmp_path


def test_changed_is_what_is_committed_edited_deleted_and_untracked(repository):
    import changes

    write(repository, {"committed": "1"})
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    write(repository, {"edited": "2", "new file": "1", "build/made": "1"})
    (repository / "deleted").unlink()
    # What main got since is no change of ours.
    git(repository, "worktree", "add", "-q", "build/main", "main")
    write(repository / "build/main", {"kept": "2"})
    git(repository / "build/main", "commit", "-qam", "elsewhere")
    commit, name = changes.baseline(repository, None)
    assert name == "main"
    assert changes.changed(repository, commit) == ["committed", "deleted", "edited", "new file"]
    assert "deleted" not in changes.tracked(repository)


def test_on_main_the_baseline_is_the_remote_or_the_last_commit(repository):
    import changes

    git(repository, "checkout", "-q", "main")
    first = git(repository, "rev-parse", "HEAD")
    assert changes.baseline(repository, None) == ("HEAD", "HEAD (there is no origin/main)")
    git(repository, "update-ref", "refs/remotes/origin/main", first)
    write(repository, {"kept": "2"})
    git(repository, "commit", "-qam", "second")
    assert changes.baseline(repository, None) == (first, "origin/main")
    assert changes.baseline(repository, "HEAD") == (git(repository, "rev-parse", "HEAD"), "HEAD")


def test_a_baseline_that_is_none_is_refused(repository, tmp_path_factory):
    import changes

    with pytest.raises(changes.RefusalError, match="nosuch is no revision"):
        changes.baseline(repository, "nosuch")
    git(repository, "branch", "-q", "-D", "main")
    with pytest.raises(changes.RefusalError, match="python3 setup/quick --against REV"):
        changes.baseline(repository, None)
    with pytest.raises(changes.RefusalError, match="no git checkout"):
        changes.baseline(tmp_path_factory.mktemp("empty"), None)


LAB = {
    "lab/reap/__init__.py": "",
    "lab/reap/base/__init__.py": "",
    "lab/reap/base/units.py": "",
    "lab/reap/tune/plan.py": "from reap.base import units\n",
    "lab/reap/tune/command.py": "def tune():\n    from reap.tune.plan import rounds\n",
    "lab/reap/cli/drag.py": "import reap.base.units\n",
    "lab/reap/cli/wall.py": "",
    "lab/reap/cli/wall_quick.py": "",
    "lab/reap/cli/study_one.py": "",
    "lab/reap/draw/html.py": "PAGE = 'page/main.js'\n",
    "lab/reap/draw/page/main.js": "",
    "lab/reap/native.pyi": "",
    "lab/native/plan.cpp": "",
    "lab/test/programs.py": "def reap(): ...\n",
    "lab/test/samples.py": "from reap.base.units import x\n",
    "lab/test/targets/leaks.c": "",
    "lab/test/base/test_units.py": "from reap.base.units import y\n",
    "lab/test/tune/test_plan.py": "import reap.tune.plan\n",
    "lab/test/drag/test_drag.py": "from programs import reap\nreap('drag', '--json', target('leaks'))\n",
    "lab/test/cli/test_walls.py": "from programs import reap\nwords = ['wall', 'quick']\n",
    "lab/test/study/test_study.py": "from programs import reap\nwords = ['study', 'one']\n",
    "lab/test/tune/test_rounds.py": "import samples\n",
    "lab/test/draw/test_html.py": "from reap.draw.html import PAGE\nold = 'reap.tune.plan:rounds'\n",
    "lab/test/recording/test_exact.py": "",
    "lab/test/recording/test_share.py": "",
    "lab/test/launch/test_marks.py": "",
    "lab/test/setup/test_bootstrap.py": "",
    "lab/test/workloads/test_cards.py": "",
    "lab/test/docs/test_pages.py": "",
}


@pytest.fixture
def chosen(tmp_path):
    """The tests that belong to changed files of LAB, as (name, rank)."""
    write(tmp_path, LAB)

    def of(*changed):
        import choice

        found = choice.nearest(choice.python_tests(tmp_path, list(changed), list(LAB)))
        return [("_".join(choice.words_of(each.name)), each.rank) for each in found]

    return of


def test_a_module_is_tested_by_who_is_named_after_it_then_who_imports_it_then_who_imports_those(chosen):
    assert chosen("lab/reap/base/units.py") == [
        ("base_units", 0.25),
        ("drag", 2),
        ("draw_html", 2),
        ("tune_plan", 2),
        ("tune_rounds", 2),
    ]


def test_a_changed_test_comes_first(chosen):
    assert chosen("lab/reap/tune/plan.py", "lab/test/draw/test_html.py")[:2] == [
        ("draw_html", 0),
        ("tune_plan", 0.25),
    ]


def test_a_string_that_names_a_module_counts_as_an_import(chosen):
    assert ("draw_html", 1) in chosen("lab/reap/tune/plan.py")


def test_a_test_that_runs_the_command_belongs_to_the_verb(chosen):
    assert chosen("lab/reap/cli/wall.py") == [("cli_walls", 1)]
    assert chosen("lab/reap/cli/wall_quick.py") == [("cli_walls", 1)]


def test_a_name_may_be_a_part_of_the_other(chosen):
    assert chosen("lab/reap/tune/__init__.py") == [("tune_plan", 0.5), ("tune_rounds", 0.5)]
    assert ("study", 0.5) in chosen("lab/reap/cli/study_one.py")
    assert ("tune_plan", 0.25) in chosen("lab/native/plan.cpp")


def test_a_helper_belongs_to_the_tests_that_import_it(chosen):
    assert chosen("lab/test/samples.py") == [("tune_rounds", 1)]


def test_a_file_that_is_no_python_belongs_to_who_names_it(chosen):
    assert chosen("lab/reap/draw/page/main.js") == [("draw_html", 2)]
    assert chosen("lab/test/targets/leaks.c") == [("drag", 1)]


def test_a_deleted_module_belongs_to_who_still_imports_it(tmp_path):
    import choice

    write(tmp_path, LAB)
    (tmp_path / "lab/reap/tune/plan.py").unlink()
    files = [path for path in LAB if path != "lab/reap/tune/plan.py"]
    found = choice.nearest(choice.python_tests(tmp_path, ["lab/reap/tune/plan.py"], files))
    assert "lab/test/tune/test_plan.py" in [each.name for each in found]


def test_what_python_does_not_import_has_its_tests_in_a_table(chosen):
    assert [name for name, _ in chosen("lab/preload/record/calls/malloc.cpp")] == [
        "recording_exact",
        "recording_share",
        "launch_marks",
    ]
    assert chosen("setup/golden") == chosen(".ci/run") == [("setup_bootstrap", 0.75)]
    assert chosen("workloads/gcc/card.toml") == [("workloads_cards", 0.75)]
    assert chosen("docs/drag.md") == [("docs_pages", 0.75)]
    assert chosen("CHANGELOG.md") == []


def test_every_entry_of_the_table_is_a_file_and_has_a_test():
    """A folder that moved, or a test that was renamed, would silently leave nothing to choose."""
    import choice

    tests = [str(path.relative_to(ROOT)) for path in (ROOT / "lab/test").rglob("test_*.py")]
    for path, names in choice.TESTS_OF.items():
        assert (ROOT / path).exists(), path
        for name in names:
            assert any(choice.begins(choice.words_of(test), choice.split(name)) for test in tests), name


LIBRARY = {
    "library/include/reap/core/size.h": "",
    "library/include/reap/layer/region.h": '#include "reap/core/size.h"\n',
    "library/include/reap/layer/reap.h": '#include <reap/layer/region.h>\n#include "size.h"\n',
    "library/include/reap/layer/size.h": "",
    "library/test/layer/region_test.cpp": '#include "reap/layer/region.h"\n',
    "library/test/layer/reap_test.cpp": '#include "reap/layer/reap.h"\n',
    "library/test/model/cases.cpp": '#include "reap/layer/region.h"\n',
    "lab/native/reader.cpp": "",
}


def program(name, **words):
    import cmake

    ours = {"folder": "library/test", "artifact": f"/build/{name}", "googletest": True, "tests": ()}
    parts = {"sources": frozenset(), "objects": frozenset(), "linked": frozenset(), "targets": (name,)}
    return cmake.Program(name=name, **{**ours, **parts, **words})


def test_a_header_is_tested_by_who_is_named_after_it_then_who_includes_it(tmp_path):
    import choice

    write(tmp_path, LIBRARY)
    programs = [
        program("other-plain", sources=frozenset({"library/test/layer/reap_test.cpp"})),
        program("layer-checked", sources=frozenset({"library/test/layer/region_test.cpp"})),
        program("layer-plain", sources=frozenset({"library/test/layer/region_test.cpp"})),
        program("model", objects=frozenset({"library/test/model/cases.cpp"})),
        program("reader-test", folder="lab/native/test", linked=frozenset({"lab/native/reader.cpp"})),
    ]

    def of(*changed):
        found = choice.nearest(choice.cpp_programs(tmp_path, list(changed), list(LIBRARY), programs))
        return [(each.name, each.rank) for each in found]

    assert of("library/include/reap/layer/region.h") == [
        ("layer-plain", 0.25),
        ("layer-checked", 0.35),
        ("model", 2),
        ("other-plain", 2),
    ]
    assert of("library/test/layer/reap_test.cpp") == [("other-plain", 0)]
    # Of two headers of one name the includer's neighbour is meant.
    assert of("library/include/reap/layer/size.h") == [("other-plain", 2)]
    assert of("lab/native/reader.cpp") == [("reader-test", 1)]
    assert [name for name, _ in of("library/test/CMakeLists.txt")] == [
        "layer-plain",
        "model",
        "other-plain",
        "layer-checked",
    ]


def test_programs_are_read_from_what_cmake_and_ctest_wrote(tmp_path):
    import cmake

    build = tmp_path / "build"
    targets = {
        "unit": {"type": "EXECUTABLE", "sources": [{"path": "a_test.cpp"}], "dependencies": [{"id": "part"}]},
        "part": {"type": "STATIC_LIBRARY", "sources": [{"path": "part.cpp"}, {"path": "/usr/gtest.cc"}]},
        "helper": {"type": "EXECUTABLE", "sources": []},
        "unit-2": {"type": "EXECUTABLE", "sources": []},
        "lib": {"type": "SHARED_LIBRARY", "sources": []},
    }
    entries = []
    for name, target in targets.items():
        target.update(name=name, id=name, paths={"source": "lab"}, artifacts=[{"path": f"lab/{name}"}])
        entries.append({"id": name, "jsonFile": f"{name}.json"})
        write(build, {f".cmake/api/v1/reply/{name}.json": json.dumps(target)})
    write(
        build,
        {
            ".cmake/api/v1/reply/index-1.json": json.dumps(
                {"reply": {"codemodel-v2": {"jsonFile": "model.json"}}}
            ),
            ".cmake/api/v1/reply/model.json": json.dumps({"configurations": [{"targets": entries}]}),
            "lab/CTestTestfile.cmake": f'include("{build}/lab/unit[1]_include.cmake")\n'
            f'add_test([=[in.it]=] "env" "LD_PRELOAD={build}/lab/lib" "{build}/lab/unit-2")\n'
            f'add_test(lines "sh" "-c" "nm {build}/lab/lib |\n  grep it")\n'
            'set_tests_properties([=[in.it]=] PROPERTIES  LABELS "x")\n',
        },
    )
    found = {each.name: each for each in cmake.programs(build)}
    assert set(found) == {"unit", "unit-2", "lib"}
    assert found["unit"].googletest
    assert found["unit"].sources == {"a_test.cpp"}
    assert found["unit"].linked == {"part.cpp"}
    assert found["unit"].tests == ()
    assert found["unit-2"].tests == ("in.it",)
    assert found["unit-2"].targets == ("lib", "unit-2")
    assert found["lib"].tests == ("in.it", "lines")


@pytest.fixture
def steps(tmp_path):
    (tmp_path / "build").mkdir()
    import steps

    return steps


def remembered(folder: Path, took=(), more_than=()) -> None:
    write(folder, {"build/quick.json": json.dumps({"took": dict(took), "more than": dict(more_than)})})


def test_what_would_not_end_in_time_is_not_started_and_what_fits_is(steps, tmp_path):
    remembered(tmp_path, took={"long": [900, 1], "short": [0.1]}, more_than={"long": 5, "stopped": 200})
    runner = steps.Runner(tmp_path, 20, 1)
    each = [steps.Step(name, f"touch {name}", 90) for name in ("long", "new", "stopped", "short")]
    assert not runner.run(each)
    assert not (tmp_path / "long").exists()
    assert (tmp_path / "short").exists()
    assert [(one.step.name, one.verdict, one.seconds) for one in runner.outcomes[1:]] == [
        ("long", "not run", 900),
        ("new", "not run", 90),
        ("stopped", "not run", 200),
    ]
    # That it was stopped may have been the machine's fault: it has its chance again.
    assert steps.Runner(tmp_path, 20, 1).expected(each[2]) == 160


def test_what_others_need_is_started_as_long_as_there_is_time(steps, tmp_path):
    runner = steps.Runner(tmp_path, 20, 1)
    assert runner.run([steps.Step("install", "true", 90, needed=True)])
    assert not steps.Runner(tmp_path, 0, 1).run([steps.Step("install", "true", 90, needed=True)])


def test_what_overruns_is_killed_with_all_it_started_and_remembered_as_longer(steps, tmp_path, monkeypatch):
    monkeypatch.setattr(steps, "GRACE", 0.2)
    runner = steps.Runner(tmp_path, 0.3, 2)
    hangs = steps.Step("hangs", "sleep 60 & echo $! > child; wait", 0.1)
    assert not runner.run([hangs])
    outcome = runner.outcomes[0]
    assert outcome.verdict == "stopped"
    assert outcome.seconds < 20
    stat = Path(f"/proc/{int((tmp_path / 'child').read_text())}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"
    assert steps.Runner(tmp_path, 9, 1).expected(hangs) > outcome.seconds


@pytest.mark.usefixtures("steps")
def test_what_is_killed_may_have_process_groups_of_its_own():
    """As ninja's compilers do."""
    process = subprocess.Popen(["bash", "-c", "set -m; sleep 60 & wait"], start_new_session=True)
    from session import kill, session

    while len(session(process.pid)) < 2:
        assert process.poll() is None
    kill(process)
    process.wait()
    assert session(process.pid) == []


def test_what_needs_a_step_waits_for_it_and_is_not_run_without_it(steps, tmp_path):
    runner = steps.Runner(tmp_path, 60, 2)
    runner.run(
        [
            steps.Step("uses", "test -e made", 1, needs="makes"),
            steps.Step("lacks", "true", 1, needs="fails"),
            steps.Step("makes", "sleep 0.1; touch made", 1),
            steps.Step("fails", "false", 1),
        ]
    )
    verdicts = {each.step.name: each.verdict for each in runner.outcomes}
    assert verdicts == {"makes": "passed", "uses": "passed", "fails": "FAILED", "lacks": "blocked"}


def test_steps_run_beside_each_other_but_for_those_that_run_alone(steps, tmp_path):
    runner = steps.Runner(tmp_path, 60, 2)
    meet = "touch {0}; until test -e {1}; do sleep 0.01; done"
    pair = [steps.Step("a", meet.format("a", "b"), 1), steps.Step("b", meet.format("b", "a"), 1)]
    busy = "test ! -e busy && touch busy && sleep 0.1 && rm busy"
    alone = [steps.Step(name, busy, 1, alone=True) for name in ("c", "d")]
    assert runner.run([*pair, *alone])


@pytest.mark.parametrize("text", ["", "[1]", '{"took": {"a": 1}, "more than": {}}', '{"took": {"a": ["x"]}}'])
def test_a_file_of_durations_that_cannot_be_read_is_as_none(steps, tmp_path, text):
    write(tmp_path, {"build/quick.json": text})
    assert steps.Runner(tmp_path, 1, 1).expected(steps.Step("a", "true", 7)) == 7


FAKE = """#!/bin/bash
echo "$(basename "$0") $*" >> calls
case "$*" in *test_empty.py*) exit 5;; esac
case "$*" in *test_bad.py*) echo "E because"; exit 1;; *test_long.py*) exec sleep 60;; esac
"""


@pytest.fixture
def tree(repository):
    """A checkout with setup/quick, whose tools note how they were called."""
    shutil.copytree(QUICK, repository / "setup/quick", ignore=shutil.ignore_patterns("__pycache__"))
    (repository / "setup/stages").mkdir()
    shutil.copy(QUICK.parent / "stages" / "session.py", repository / "setup/stages")
    tools = ["python", "ruff", "mypy", "lint-imports", "clang-format"]
    write(
        repository,
        {
            **{f".venv/bin/{name}": FAKE for name in tools},
            "setup/install": FAKE,
            ".gitignore": "build\n.venv\ncalls\n__pycache__\n",
            "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow: of seconds', 'long']\n",
            "lab/reap/good.py": "",
            "lab/reap/bad.py": "",
            "lab/reap/empty.py": "",
            "lab/reap/long.py": "",
            "lab/test/test_good.py": "import reap.good, pytest\n@pytest.mark.slow\ndef test_a(): ...\n",
            "lab/test/test_empty.py": "import reap.empty\n",
            "lab/test/test_bad.py": "import reap.bad\n",
            "lab/test/test_long.py": "import reap.long\n",
        },
    )
    for path in [*(repository / ".venv/bin").iterdir(), repository / "setup/install"]:
        path.chmod(0o755)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    return repository


def run(tree: Path, *words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-B", "setup/quick", "--against", "HEAD", "--jobs", "1", *words]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=60, check=False)


def test_nothing_changed_is_said(tree):
    done = run(tree)
    assert done.returncode == 0
    assert done.stdout == "quick: nothing changed against HEAD; no test was run\n"


def test_a_change_is_linted_installed_and_tested(tree):
    write(tree, {"lab/reap/good.py": "x = 1\n"})
    done = run(tree)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = (tree / "calls").read_text().splitlines()
    assert calls[:5] == [
        "ruff check -q lab/reap/good.py",
        "ruff format --check -q lab/reap/good.py",
        "mypy ",
        "lint-imports --no-logo",
        "install ",
    ]
    assert len(calls) == 7
    assert "-m not slow and not long lab/test/test_good.py" in calls[5]
    assert "-m slow and not long lab/test/test_good.py" in calls[6]
    assert "\n7 passed, 0 failed, in " in done.stdout
    assert "make test" in done.stdout.splitlines()[-1]
    assert "not run" not in done.stdout


def test_a_failure_shows_its_output_and_what_had_no_time_is_named(tree):
    write(tree, {"lab/reap/bad.py": "x = 1\n", "lab/reap/long.py": "x = 1\n", "docs/picture.py": ""})
    remembered(tree, took={"lab/test/test_long.py": [300]})
    done = run(tree, "--seconds", "100")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "    E because" in lines
    assert "failed: lab/test/test_bad.py" in lines
    assert "not run for want of time: lab/test/test_long.py (about 300 s)" in lines
    assert any(
        line.startswith("  run it with: python3 setup/quick --against HEAD --seconds 3") for line in lines
    )
    assert "no test is known for: docs/picture.py" in lines


def test_an_install_that_fails_is_told_once(tree):
    write(tree, {"lab/reap/good.py": "x = 1\n", "setup/install": "#!/bin/sh\nexit 3\n"})
    done = run(tree)
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert (
        "not run, since what they need failed: lab/test/test_good.py, lab/test/test_good.py (slow)"
        in done.stdout
    )


def test_a_file_of_which_no_test_was_selected_is_not_passed_over(tree):
    write(tree, {"lab/reap/empty.py": "x = 1\n"})
    done = run(tree)
    assert done.returncode == 0
    assert "\n5 passed, 0 failed" in done.stdout
    assert re.search(
        "^not run, since all their tests are marked long or .*: lab/test/test_empty.py$",
        done.stdout,
        re.MULTILINE,
    )


def test_without_an_environment_it_says_how_to_make_one(tree):
    write(tree, {"lab/reap/good.py": "x = 1\n"})
    shutil.rmtree(tree / ".venv")
    done = run(tree)
    assert done.returncode == 2
    assert "setup/bootstrap test" in done.stderr
