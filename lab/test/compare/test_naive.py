"""`reap compare --naive` without --levels: the program with its own allocator and without."""

import json
import os
from pathlib import Path

from programs import linked_library, program, reap

from reap.base.errors import ExitCode

OPTIONS = ["-n", "2", "-a", "glibc", "--json", "r.json"]


def compared(folder, *options):
    done = reap("compare", "--details", *OPTIONS, *options, "--", program("busy"), cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "r.json").read_text())["answers"][0]["fragmented"], done


def test_naive_alone_compares_custom_and_naive(tmp_path):
    result, done = compared(tmp_path, "--naive", f"{program('busy')} big")
    assert result["variants"] == ["custom", "naive"]
    assert [level["name"] for level in result["levels"]] == ["adv0"]
    assert result["controls"] == []
    assert {arm["variant"] for arm in result["arms"]} == {"custom", "naive"}
    assert "naive as a ratio to custom" in done.stdout
    assert "next: reap wall -- " in done.stderr


def test_a_variable_does_it_too(tmp_path):
    result, _ = compared(tmp_path, "--naive", "SWITCH=off")
    assert result["naive_environment"] == {"SWITCH": "off"}


def test_what_is_of_fragmented_heaps_still_needs_levels(tmp_path):
    done = reap("compare", "--naive", "true", "--litter", "seed=2", "--", program("busy"), cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert "--litter requires --levels" in done.stderr


def test_fragment_and_levels_refuse_a_malloc_of_the_programs_own_in_the_same_words(tmp_path):
    own, busy = program("own_malloc"), program("busy")
    for words in (
        ["fragment", "--", own],
        ["compare", "-n", "2", "--levels", "adv0,adv1", "--", own],
        ["compare", "-n", "2", "--levels", "adv0,adv1", "--naive", busy, "--", own],
    ):
        done = reap(*words, cwd=tmp_path)
        assert done.returncode == ExitCode.NOT_EXECUTABLE, done.stderr
        assert "brings its own malloc, which a preload cannot replace: its heap cannot be" in done.stderr
        assert f"reap rss -- {own}" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_malloc_that_a_program_has_by_itself_is_not_called_glibc(tmp_path):
    """Where that is another library's, levels need it by its name; `fragment` says whose it is."""
    library = linked_library(tmp_path)
    options = {"cwd": tmp_path, "env": {**os.environ, "LD_PRELOAD": library}}
    levels = ["compare", "-f", "-o", "r", "-n", "2", "--levels", "adv0,adv1"]
    done = reap(*levels, "-a", "glibc", "--", program("busy"), **options)
    assert done.returncode == ExitCode.NOT_EXECUTABLE, done.stdout + done.stderr
    assert f"comes from {library} without our doing" in done.stderr
    named = f"--baseline own --allocators own={library}"
    assert f"name it: {named}\n" in done.stderr
    done = reap(*levels, *named.split(), "--", program("busy"), **options)
    assert done.returncode == 0, done.stderr
    assert "glibc" not in done.stdout
    done = reap("fragment", "--level", "adv1", "--", program("busy"), **options)
    assert f"On a heap littered at adv1, under {Path(library).name}\n" in done.stderr
