"""`make quick`: what counts as changed, and which tests are chosen, in which order."""

import json

import pytest
from lab.test.setup.quick.checkout import ROOT, git, write


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
