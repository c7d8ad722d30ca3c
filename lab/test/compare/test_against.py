"""Two commands compared: builds, settings, folders; no allocator is needed."""

import json
import shutil
from pathlib import Path

import pytest
from programs import compile_c, reap

from reap.base.errors import ExitCode
from reap.compare import against

pytestmark = pytest.mark.timed

TURNS = r"""
    #include <stdio.h>
    #include <stdlib.h>
    int main(int count, char **words) {
        const char *more = getenv("TURNS");
        volatile unsigned long sum = 0;
        for (unsigned long turn = atol(more ? more : words[1]) * 1000000; turn > 0; turn--) sum += turn;
        puts("done");
        return 0;
    }"""


def turns() -> str:
    return compile_c("turns_against", TURNS, ["-O1"])


def compared(where: Path, *words: str) -> dict:
    done = reap("compare", "-n", "3", "--details", "--json", "x.json", *words, cwd=where)
    assert done.returncode == 0, done.stderr
    assert "each of 2 commands" in done.stderr or "each of 3 commands" in done.stderr
    assert "Commands, each as a ratio to turns_against" in done.stdout
    return json.loads((where / "x.json").read_text())["answers"][0]["comparison"]


def test_another_command(tmp_path: Path) -> None:
    answer = compared(tmp_path, "--against", f"{turns()} 600", "--", turns(), "200")
    (side,) = answer["sides"]
    assert side["allocator"] == "turns_against 600"
    assert answer["against"] == {"turns_against 600": [turns(), "600"]}
    assert 2 < side["ratios"]["cpu"]["ratio"]["value"] < 4.5
    assert answer["pairing"]["method"] == "simultaneous"
    # Alone the longer one would have the core for itself for 400 of 1000.
    assert answer["pairing"]["restarts"]
    assert side["unpaired"] < 0.2


def test_several_commands_in_one_table(tmp_path: Path) -> None:
    answer = compared(
        tmp_path, "--against", f"{turns()} 9", "--against", f"{turns()} 30", "--", turns(), "20"
    )
    low, high = (side["ratios"]["cpu"]["ratio"]["value"] for side in answer["sides"])
    assert low < 1 < high


@pytest.mark.parametrize("name", ["glibc", "default"])
def test_a_command_may_be_called_as_an_arm_of_reap_is(name: str, tmp_path: Path) -> None:
    """Names of sides are no names of allocators or variants."""
    other = shutil.copy(turns(), tmp_path / name)
    answer = compared(tmp_path, "--against", f"{other} 60", "--", turns(), "20")
    (side,) = answer["sides"]
    assert side["allocator"] == f"{name} 2"
    assert side["ratios"]["cpu"]["ratio"]["value"] > 2


def test_programs_that_nothing_can_be_preloaded_into(tmp_path: Path) -> None:
    """No allocator is replaced, so none has to be seen."""
    static = compile_c("turns_against", TURNS, ["-O1", "-static"])
    answer = compared(tmp_path, "--against", "TURNS=60", "--", static, "20")
    (side,) = answer["sides"]
    assert side["verified"]
    assert side["ratios"]["cpu"]["ratio"]["value"] > 2


def test_the_same_command_with_a_variable(tmp_path: Path) -> None:
    answer = compared(tmp_path, "--against", "TURNS=60", "--", turns(), "20")
    (side,) = answer["sides"]
    assert side["allocator"] == "turns_against (TURNS=60)"
    assert side["ratios"]["cpu"]["ratio"]["value"] > 2


def test_the_same_command_in_another_folder(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    for folder, count in ((tmp_path, 20), (tmp_path / "new", 60)):
        (folder / "run.sh").write_text(f"exec {turns()} {count}\n")
    done = reap(
        *("compare", "-n", "3", "--json", "x.json", "--against", "-C new", "--", "sh", "run.sh"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    (side,) = json.loads((tmp_path / "x.json").read_text())["answers"][0]["comparison"]["sides"]
    assert side["ratios"]["cpu"]["ratio"]["value"] > 2


def test_commands_with_their_own_variables_and_folders(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    answer = compared(
        tmp_path, "--against", "TURNS=60", "--against", f"-C new TURNS=9 {turns()} 0", "--", turns(), "20"
    )
    high, low = answer["sides"]
    assert (high["allocator"], low["allocator"]) == (
        "turns_against (TURNS=60)",
        "turns_against (TURNS=9, new)",
    )
    assert low["ratios"]["cpu"]["ratio"]["value"] < 1 < high["ratios"]["cpu"]["ratio"]["value"]


def test_another_output_is_told(tmp_path: Path) -> None:
    done = reap("compare", "-n", "2", "--details", "--against", "echo new", "--", "echo", "old", cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED
    assert "OTHER OUTPUT" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--against", "no-such-program", "--", "true"], "no-such-program"),
        (["--against", "'", "--", "true"], "cannot be split into words"),
        (["--against", "", "--", "true"], "names no command"),
        (["--against", "=x", "--", "true"], "no such command"),
        (["--against", "-C nowhere", "--", "true"], "nowhere is not a folder"),
        (["--against", "-C", "--", "true"], "-C names no folder"),
        (["--against", "true", "-a", "jemalloc", "--", "true"], "compares commands, not allocators"),
        (["--against", "true"], "there is no command"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], message: str, tmp_path: Path) -> None:
    done = reap("compare", *words, cwd=tmp_path)
    assert done.returncode in {ExitCode.USAGE, ExitCode.NOT_FOUND}, done.stderr
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def names(own: list[str], *others: list[str]) -> list[str]:
    return against._names(
        ["server", "glibc", "default"],
        own,
        [against._Other(command=each, environment={}, directory="") for each in others],
    )


def test_a_command_behind_a_wrapper_is_named_by_it() -> None:
    def named(*before: str) -> list[str]:
        return names(["./server", "1"], [*before, "./server", "1"])

    assert named("sudo") == ["sudo"]
    assert named("/usr/bin/setsid") == ["setsid"]
    assert named("taskset", "-c", "0") == ["taskset -c 0"]
    assert named("nice", "-n", "5") == ["nice -n 5"]
    assert named("taskset", "-c", "0,2,4,6,8,10,12,14,16") == ["taskset"], "too long for a table"
    assert names(["nice", "-n", "5", "./server"], ["nice", "-n", "9", "./server"]) == ["server 9"]


def test_a_command_of_the_same_file_is_named_by_the_words_that_differ() -> None:
    own = ["./server", "per-request", "1", "40"]

    def named(*others: list[str]) -> list[str]:
        return names(own, *others)

    assert named(["./server", "arena", "1", "40"], ["./server", "less-arena", "1", "40"]) == [
        "arena",
        "less-arena",
    ]
    assert named(["./server-old", "x"], ["./server", "x"], ["./server", "x"]) == ["server-old", "x", "x 2"]
    assert named(["../before/server", *own[1:]]) == ["server 2"], "nothing differs but the file"
    assert named(["./server", "a" * 80], ["./server", "two\nlines"]) == ["server 2", "server 3"]
    assert named(["./server", "per-request", "8", "40"]) == ["server 8"], "a number alone is no name"
    assert named(["./server", "glibc"]) == ["glibc 2"], "no name of an allocator"
