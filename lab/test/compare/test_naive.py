"""`reap compare --naive` without --levels: the program with its own allocator and without."""

import json

from programs import program, reap

from reap.base.errors import ExitCode

OPTIONS = ["-n", "2", "-a", "glibc", "--json", "r.json"]


def compared(folder, *options):
    done = reap("compare", *OPTIONS, *options, "--", program("busy"), cwd=folder)
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
    result, _ = compared(tmp_path, "--naive-env", "SWITCH=off")
    assert result["naive_environment"] == {"SWITCH": "off"}


def test_what_is_of_fragmented_heaps_still_needs_levels(tmp_path):
    done = reap("compare", "--naive", "true", "--seed", "2", "--", program("busy"), cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert "--seed requires --levels" in done.stderr


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
