"""`reap diff`, as a user meets it: two builds whose differences are known."""

import json
import re
import shutil
import stat
from pathlib import Path

import pytest
from building import OUT, compiled
from programs import compile_c, reap
from recorded import TARGETS, recorded, target

from reap.base.errors import ExitCode

VERSION_AT = 8
"""Of the version in the header of a recording."""


def build(*flags: str, name: str = "versions") -> str:
    """A build of targets/versions.c, as `bin/NAME` of a folder of its own."""
    options = ["-g", "-O1", "-fno-builtin", "-w", *flags]
    return compiled(name, ["gcc", *options, TARGETS / "versions.c", "-o", OUT])


def recording_of(folder: Path, program: str, *, depth: str = "full", words: tuple[str, ...] = ()) -> Path:
    """Recorded under the same name, `program`, as a new build in the same place would be."""
    folder.mkdir(parents=True)
    shutil.copy(program, folder / "program")
    made = recorded(folder, depth, str(folder / "program"), *words).path
    return made.rename(folder / "r.reap")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("diff")
    recording_of(made / "old", build(name="versions-old"))
    recording_of(made / "new", build("-DNEWER", "-DMORE=30", name="versions-new"))
    return made


def compared(folder: Path, *options: str, code: int = 0) -> dict:
    done = reap("diff", "old/r.reap", "new/r.reap", "--json", "-", *options, cwd=folder)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)["answers"][0]["difference"]


def changes(place: dict) -> dict[str, tuple[float, float, str]]:
    return {
        measure: (each["before"]["value"], each["after"]["value"], each["verdict"])
        for measure, each in place["changes"].items()
    }


def test_totals_are_exact(folder):
    totals = {
        measure: (each["before"]["value"], each["after"]["value"], each["verdict"])
        for measure, each in compared(folder)["totals"].items()
    }
    assert totals == {
        "allocations": (61, 81, "grew"),
        "bytes": (10 * 100 + 50 * 64 + 500, 30 * 100 + 50 * 64 + 3000, "grew"),
        "peak": (10 * 100 + 500, 30 * 100 + 3000, "grew"),
        "temporary": (51, 51, "same"),
        "live-at-exit": (1000, 3000, "grew"),
    }


def test_functions_are_matched_by_name_and_the_largest_change_is_first(folder):
    found = compared(folder)["functions"]
    assert [(each["function"], each["module"]) for each in found] == [
        ("comes", "program"),
        ("keeps", "program"),
        ("goes", "program"),
    ], "what is the same in both is no change, although its address and line are others"
    assert changes(found[1])["allocations"] == (10, 30, "grew")
    assert changes(found[2])["bytes"] == (500, 0, "shrank")


def test_another_measure_gives_another_order(folder):
    found = compared(folder, "--by", "allocations")["functions"]
    assert found[0]["function"] == "keeps"


def test_stacks_are_whole(folder):
    (stack,) = [each for each in compared(folder)["stacks"] if each["function"] == "keeps"]
    assert stack["stack"][:3] == ["allocate (program)", "keeps (program)", "main (program)"]
    assert changes(stack)["bytes"] == (1000, 3000, "grew")


def test_the_flame_graph_has_both(folder):
    flame = compared(folder)["flame"]
    names = [flame["functions"][place] for place in flame["at"]]
    assert {"comes", "goes", "keeps", "frees_at_once"} <= set(names)
    assert sum(flame["before"]["bytes"]) == 4700
    assert sum(flame["after"]["bytes"]) == 9200
    assert not flame["estimated"]


def test_a_build_compared_with_itself_is_the_same(folder):
    done = reap("diff", "old/r.reap", "old/r.reap", "--fail-if", "bytes > +0", "--json", "x", cwd=folder)
    assert done.returncode == 0, done.stderr
    held = json.loads((folder / "x").read_text())["answers"][0]["difference"]
    assert {each["verdict"] for each in held["totals"].values()} == {"same"}
    assert held["functions"] == held["stacks"] == []
    assert "no function differs" in done.stdout


def test_the_terminal_has_totals_functions_and_limits(folder):
    said = reap("diff", "old/r.reap", "new/r.reap", cwd=folder).stdout
    for text in ("Totals", "+300 %", "comes (program)", "gone", "One recording each", "matched by name"):
        assert text in said
    assert said.index("Totals") < said.index("Functions") < said.index("Stacks") < said.index("What to know")
    assert "different programs" not in said
    assert "instruction pointer" not in said


def test_a_stripped_build_is_matched_without_addresses(tmp_path):
    for name, flags in (("old", ()), ("new", ("-DNEWER", "-DMORE=30"))):
        recording_of(tmp_path / name, build("-s", *flags, name=f"versions-stripped-{name}"))
    held = compared(tmp_path)
    assert [(each["function"], each["module"]) for each in held["functions"]] == [("(no symbol)", "program")]
    assert changes(held["functions"][0])["allocations"] == (61, 81, "grew")
    assert "0x" not in json.dumps(held["functions"] + held["stacks"])


def test_other_names_of_one_program_are_matched_and_said(folder, tmp_path):
    other = recorded(tmp_path, "full", build("-DNEWER", "-DMORE=30", name="versions-new")).path
    done = reap("diff", str(folder / "old/r.reap"), str(other), "--json", "-")
    held = json.loads(done.stdout)["answers"][0]["difference"]
    assert [each["function"] for each in held["functions"]] == ["comes", "keeps", "goes"]
    assert any("different programs: program and " in said for said in held["limits"])


def test_a_function_that_is_gone_is_told_of_the_program_that_had_it(folder, tmp_path):
    other = recorded(tmp_path, "full", build("-DNEWER", "-DMORE=30", name="versions-new")).path
    done = reap("diff", str(folder / "old/r.reap"), str(other), "--json", "-")
    held = json.loads(done.stdout)["answers"][0]["difference"]
    modules = {each["function"]: each["module"] for each in held["functions"]}
    assert modules["goes"] == "program"
    assert "program" not in {modules["comes"], modules["keeps"]}


def test_different_programs_are_said_and_not_refused(folder, tmp_path):
    other = recorded(tmp_path, "full", target("stacks")).path
    done = reap("diff", str(folder / "old/r.reap"), str(other))
    assert done.returncode == 0, done.stderr
    assert "These are different programs: program and" in " ".join(done.stdout.split())
    assert "peaks_with_a_megabyte" in done.stdout


def test_other_arguments_are_said(folder, tmp_path):
    made = recording_of(tmp_path / "x", build(name="versions-old"), words=("word",))
    assert "The arguments differ" in reap("diff", str(folder / "old/r.reap"), str(made)).stdout


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        ("peak > +5 %", "exceeded"),
        ("peak > +299.9%", "exceeded"),
        ("peak > +300 %", "kept"),
        ("peak>+4.4 KiB", "kept"),
        ("peak > +4.499 kB", "exceeded"),
        ("allocations > +19", "exceeded"),
        ("allocations > +20", "kept"),
        ("allocations > +1k", "kept"),
        ("temporary > +0 %", "kept"),
        ("live-at-exit > +1.9 KiB", "exceeded"),
        ("bytes > +1 MB", "kept"),
    ],
)
def test_a_limit_on_growth(folder, limit, verdict):
    done = reap("diff", "old/r.reap", "new/r.reap", "--fail-if", limit, "--json", "-", cwd=folder)
    assert done.returncode == (ExitCode.FAILED if verdict == "exceeded" else ExitCode.OK)
    (budget,) = json.loads(done.stdout)["answers"][0]["difference"]["budgets"]
    assert (budget["text"], budget["verdict"]) == (limit, verdict)
    assert (f"reap: exceeded: {limit}" in done.stderr) == (verdict == "exceeded")


def test_every_limit_is_judged(folder):
    options = ["--fail-if", "bytes > +1 TiB", "--fail-if", "peak > +1%", "--fail-if", "allocations > +1"]
    done = reap("diff", "old/r.reap", "new/r.reap", *options, cwd=folder)
    assert done.returncode == ExitCode.FAILED
    assert "reap: exceeded: peak > +1%; allocations > +1\n" in done.stderr
    assert "kept: bytes > +1 TiB" in done.stdout


def test_less_is_never_too_much(folder):
    done = reap("diff", "new/r.reap", "old/r.reap", "--fail-if", "peak > +0 %", cwd=folder)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "limit",
    [
        "peak", "peak > 5 %", "peak >= +5 %", "peak > +5 % ; bytes > +1", "peak > -5 %", "peak > +nan %",
        "speed > +5 %", "peaks > +5 %", "peak > +5 MW", "allocations > +5 MB", "peak > +1e3", "", "peak > +٣",
    ],
)  # fmt: skip
def test_a_limit_that_is_not_understood_is_refused(folder, limit):
    done = reap("diff", "old/r.reap", "new/r.reap", "--fail-if", limit, cwd=folder)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert "is not understood" in done.stderr
    assert "examples: --fail-if 'peak > +5 %'" in done.stderr


def test_triage_counts_are_exact_and_the_rest_is_inconclusive(tmp_path):
    recording_of(tmp_path / "old", build(name="versions-old"), depth="triage")
    recording_of(tmp_path / "new", build("-DNEWER", "-DMORE=30", name="versions-new"), depth="triage")
    done = reap("diff", "old/r.reap", "new/r.reap", "--fail-if", "peak > +5 %", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, "noise is no reason to fail"
    held = json.loads(done.stdout)["answers"][0]["difference"]
    totals = held["totals"]
    assert [totals[name]["verdict"] for name in ("allocations", "bytes")] == ["grew", "grew"]
    assert (totals["allocations"]["before"]["value"], totals["allocations"]["after"]["value"]) == (61, 81)
    for name in ("peak", "temporary", "live-at-exit"):
        assert totals[name]["verdict"] == "inconclusive"
        assert totals[name]["change"]["low"] <= 0 <= totals[name]["change"]["high"]
    assert held["budgets"][0]["verdict"] == "inconclusive"
    assert any("triage recording" in said for said in held["limits"])
    places = held["functions"] + held["stacks"]
    assert {each["changes"]["bytes"]["verdict"] for each in places} <= {"inconclusive"}


def test_files_are_private_and_replace_nothing(folder, tmp_path):
    words = ("diff", str(folder / "old/r.reap"), str(folder / "new/r.reap"))
    words = (*words, "--html", "a.html", "--json", "a.json")
    done = reap(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("a.html", "a.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    page = (tmp_path / "a.html").read_text()
    assert "Differential flame graph" in page
    assert "What does this program allocate more, or less, than before?" in page
    again = reap(*words, cwd=tmp_path)
    assert again.returncode == ExitCode.INTERNAL
    assert "exists already" in again.stderr
    assert reap(*words, "--force", cwd=tmp_path).returncode == 0


def test_two_recordings_without_allocations_are_refused(tmp_path):
    path = recorded(tmp_path, "full", compile_c("idle", "int main(void) { return 0; }", ["-O1"])).path
    done = reap("diff", str(path), str(path))
    assert (done.returncode, done.stdout) == (ExitCode.INTERNAL, "")
    assert "has an allocation, so there is no stack to compare" in done.stderr


def unwrapped(text):
    """Without white space: a long path is wrapped within, too."""
    return "".join(text.split())


def test_one_recording_without_allocations_is_said(folder, tmp_path):
    path = recorded(tmp_path, "full", compile_c("idle", "int main(void) { return 0; }", ["-O1"])).path
    done = reap("diff", str(path), str(folder / "old/r.reap"))
    assert done.returncode == 0, done.stderr
    assert unwrapped("full.reap has no allocation") in unwrapped(done.stdout)
    assert "+4.59 KiB" in done.stdout


def test_a_truncated_recording_is_compared_and_said_but_not_judged(folder, tmp_path):
    data = (folder / "new/r.reap").read_bytes()
    (tmp_path / "cut.reap").write_bytes(data[: -2 * 65536])  # a busy machine may add a block
    words = ("diff", str(folder / "old/r.reap"), str(tmp_path / "cut.reap"))
    done = reap(*words)
    assert done.returncode == 0, done.stderr
    assert unwrapped("cut.reap: The file is damaged: 2 blocks are missing") in unwrapped(done.stdout)
    judged = reap(*words, "--fail-if", "bytes > +1 GB")
    assert (judged.returncode, judged.stdout) == (ExitCode.INTERNAL, "")
    assert "cut.reap is damaged or was cut short" in judged.stderr


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("newer", "its format has version"),
        ("empty", "it is empty"),
        ("text", "it is not a recording made by reap"),
        ("none", "No such file"),
    ],
)
def test_what_is_no_recording_gets_one_message(folder, tmp_path, which, name, words):
    data = bytearray((folder / "old/r.reap").read_bytes())
    data[VERSION_AT] += 1
    (tmp_path / "newer").write_bytes(data)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_bytes(b"no recording\n" * 1000)
    files = [str(folder / "old/r.reap")] * 2
    files[which] = str(tmp_path / name)
    done = reap("diff", *files)
    assert (done.returncode, done.stdout) == (ExitCode.INTERNAL, "")
    assert words in done.stderr
    assert re.match(r"reap: .*\n", done.stderr)
    assert "Traceback" not in done.stderr
