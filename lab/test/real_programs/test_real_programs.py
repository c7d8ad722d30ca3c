"""Real programs and services do under each of Reap's verbs what they do alone."""

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "lab" / "test" / "real_programs"
sys.path.insert(0, str(FOLDER))

import entries  # noqa: E402
import judging  # noqa: E402
import kept  # noqa: E402
import markdown_table  # noqa: E402
import running  # noqa: E402
from comparing import Baseline, Seen, files_of  # noqa: E402

KNOWN = entries.load()


def packages() -> set[str]:
    lists = [ROOT / "setup" / "apt" / f"{name}.txt" for name in ("programs", "build", "demo", "test")]
    lines = [line.partition("#")[0] for each in lists for line in each.read_text().splitlines()]
    return {name.strip() for line in lines for name in line.split("|") if name.strip()}


def seen(output="", errors="", status=0, files=None):
    streams = {"standard output": output.encode(), "standard error": errors.encode()}
    return Seen(status, streams, files or {})


def test_the_table_has_sixty_programs_whose_packages_are_listed():
    assert len(KNOWN) >= 60
    assert {package for entry in KNOWN.values() for package in entry.packages} <= packages()
    assert all(bool(entry.not_under) == bool(entry.because) for entry in KNOWN.values())


def test_what_is_equal_alone_is_compared():
    alone = Baseline([seen("a\nb\n", files={"x": "1"})] * 2)
    assert alone.not_compared() == []
    assert alone.differences(seen("a\nb\n", files={"x": "1"})) == []
    assert alone.differences(seen("a\nc\n", files={"x": "1"})) == [
        "standard output, line 2: 'c' instead of 'b'"
    ]
    assert alone.differences(seen("a\nb\n", "ERROR\n", files={"x": "1"}))[0].startswith(
        "standard error, line 1"
    )
    assert alone.differences(seen("a\nb\n", status=139, files={"x": "1"})) == ["exit status 139 instead of 0"]
    assert alone.differences(seen("a\nb\nc\n", files={"x": "1"})) == [
        "standard output, line 3: 'c' instead of ''"
    ]
    assert alone.differences(seen("a\nb\n")) == ["file x: missing instead of 1"]
    assert alone.differences(seen("a\nb\n", files={"x": "1", "core": "2"})) == ["file core is new"]


def test_what_varies_alone_is_named_and_not_compared():
    alone = Baseline([seen("a\npid 1\n", "x\n"), seen("a\npid 2\n", "x\ny\n")])
    assert alone.not_compared() == ["1 of 3 lines of standard output", "standard error"]
    assert alone.differences(seen("a\npid 3\n", "z\nz\nz\n")) == []
    assert alone.differences(seen("b\npid 3\n")) == ["standard output, line 1: 'b' instead of 'a'"]
    named = Baseline([seen(files={"log.81": "1"}), seen(files={"log.92": "1"})])
    assert named.differences(seen(files={"log.77": "1"})) == []
    assert named.differences(seen(files={"other": "1"})) == ["file other is new"]


def test_files_are_described_by_kind_mode_and_contents(tmp_path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").symlink_to("a")
    before = files_of(tmp_path)
    assert before["b"].endswith(" to a")
    (tmp_path / "a").chmod(0o600)
    assert files_of(tmp_path)["a"] != before["a"]


@pytest.fixture
def entry(tmp_path, monkeypatch):
    """Makes entries, which run in a folder of this test's own."""
    monkeypatch.setattr(running, "PLACE", tmp_path / "place")
    return lambda name, script: entries.Entry(name=name, group="test", packages=(), script=script)


def test_a_program_that_sees_reap_differs(entry):
    """Its own LD_PRELOAD is what a program can see."""
    found = judging.judge(entry("sees", 'echo "${LD_PRELOAD:+seen}"'), "triage")
    assert found.differences == ["standard output, line 1: 'seen' instead of ''"]
    assert found.objects is not None


@pytest.mark.slow
def test_what_valgrind_alone_does_to_a_program_is_told_apart(entry):
    """It executes itself in the place of the program."""
    found = judging.judge(entry("itself", "readlink /proc/$$/exe"), "drag")
    assert found.differences
    assert found.by_valgrind


def test_a_program_that_does_not_see_it_is_equal_in_every_run(entry):
    """`reap wall` runs it twice, in the same folder."""
    found = judging.judge(entry("same", "mkdir new; seq 900 | sort -n | tail -1; exit 3"), "wall")
    assert (found.differences, found.not_compared) == ([], [])
    assert len(list((running.PLACE / "same").glob("output.*"))) >= 2


def test_what_a_program_leaves_running_is_ended(entry):
    running.run(entry("leaves", "setsid sleep 98.7 & echo started"), "alone")
    assert subprocess.run(["pgrep", "-f", "sleep 98.7"], check=False, capture_output=True).stdout == b""


def test_results_are_kept_at_once_and_a_line_that_was_cut_short_is_passed_over(entry, tmp_path):
    path, one = tmp_path / "results", entry("one", "true")
    kept.Results(path).append(judging.Result("one", "full", one.key, 0.1))
    with path.open("a") as file:
        file.write('{"name": "one", "wa')
    again = kept.Results(path)
    assert again.of(one, "full") is not None
    again.append(judging.Result("one", "rss", one.key, 0.1, differences=["a"]))
    whole = kept.Results(path)
    assert whole.of(one, "rss").differences == ["a"]
    assert whole.of(one, "full") is not None
    assert whole.of(entry("one", "false"), "full") is None
    assert "| one |  | = | **differs** |  |  |  |" in markdown_table.markdown({"one": one}, whole)


def test_repeats_are_resumed_and_counted(entry, tmp_path, monkeypatch):
    one, two, path = entry("one", "true"), entry("two", "true"), tmp_path / "results"
    monkeypatch.setattr(entries, "load", lambda: {"one": one, "two": two})
    differing = [["standard output: fewer"], []]

    def judge(chosen, way):
        found = differing.pop() if differing and chosen is one and way == "full" else []
        return judging.Result(chosen.name, way, chosen.key, 0.1, differences=found)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["real_programs", "--results", str(path), *words])
        return runpy.run_path(str(FOLDER / "__main__.py"))["main"]()

    monkeypatch.setattr(judging, "judge", judge)
    assert run("--way", "full") == 0
    assert run("--way", "full", "--repeat", "3") == 1
    assert [line.split('"')[3] for line in path.read_text().splitlines()] == [*(["one", "two"] * 3)]
    shown = markdown_table.markdown({"one": one, "two": two}, kept.Results(path))
    assert "| one |  | **differs** (3) |  |  |  |" in shown
    assert "| two |  | = (3) |  |  |  |" in shown
    assert run("--way", "full", "--repeat", "3", "--again", "one") == 0
    assert "| one |  | = (3) |  |  |  |" in markdown_table.markdown({"one": one}, kept.Results(path))


def test_what_has_no_result_here_stays_in_the_page(entry, tmp_path):
    page, results, one = tmp_path / "page.md", tmp_path / "results", entry("one", "true")
    page.write_text(f"Before.\n{markdown_table.BEGIN}\n\n{markdown_table.END}\nAfter.\n")
    kept.Results(results).append(judging.Result("one", "full", one.key, 0.1, not_compared=["a file"]))
    markdown_table.write(page, {"one": one}, kept.Results(results))
    results.unlink()
    kept.Results(results).append(judging.Result("one", "drag", one.key, 0.1))
    markdown_table.write(page, {"one": one}, kept.Results(results))
    assert "| one |  | = |  |  | = | a file |" in page.read_text()
    assert page.read_text().startswith("Before.\n")
    assert page.read_text().endswith("\nAfter.\n")


def test_the_page_shows_no_difference():
    page = (ROOT / "docs" / "programs.md").read_text()
    rows = [
        line for line in page.partition(markdown_table.BEGIN)[2].splitlines() if re.match(r"\| [^p-]", line)
    ]
    assert len(rows) >= 60
    assert "**differs**" not in page


@pytest.mark.long
@pytest.mark.parametrize("way", running.VERBS)
@pytest.mark.parametrize("name", KNOWN)
def test_a_real_program_does_what_it_does_alone(name, way):
    chosen = KNOWN[name]
    if way in chosen.not_under:
        assert chosen.because
        return
    if shutil.which("dpkg-query") is not None:
        missing = [each for each in chosen.packages if not installed(each)]
        assert missing == [], "setup/bootstrap programs installs them"
    found = judging.judge(chosen, way)
    assert found.by_valgrind or found.differences == [], found.said


def installed(package: str) -> bool:
    words = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    return subprocess.run(words, check=False, capture_output=True).stdout == b"installed"
