"""One command with several values of its parameters, and warm-ups that are not counted."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from programs import compile_c, reap

from reap.base.errors import ExitCode, ReapError
from reap.cli.compare import compare

pytestmark = pytest.mark.timed

# TIMES MILLIONS: takes as long as both together say, and prints them; every run adds a byte to a file.
WORK = r"""
    #include <stdio.h>
    #include <stdlib.h>
    int main(int count, char **words) {
        volatile unsigned long sum = 0;
        for (unsigned long turn = atol(words[1]) * atol(words[2]) * 1000000; turn > 0; turn--) sum += turn;
        printf("%s %s\n", words[1], words[2]);
        FILE *runs = fopen("runs", "a");
        fputc('x', runs);
        return fclose(runs);
    }"""


def work() -> str:
    return compile_c("work_to_scan", WORK, ["-O1"])


def test_every_combination_is_compared_with_the_first(tmp_path: Path) -> None:
    scanned = ("--scan", "times=1,3", "--scan", "m=60,30")
    done = reap(
        *("compare", "-n", "3", "--details", "--json", "x.json", "--export", "x.csv", *scanned),
        *("--", work(), "{times}", "{m}"),
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.OK, done.stderr
    assert "Commands, each as a ratio to times=1 m=60" in done.stdout
    answer = json.loads((tmp_path / "x.json").read_text())["answers"][0]["comparison"]
    assert answer["command"] == [work(), "1", "60"]
    assert answer["against"] == {
        "times=1 m=30": [work(), "1", "30"],
        "times=3 m=60": [work(), "3", "60"],
        "times=3 m=30": [work(), "3", "30"],
    }
    half, three, middle = (side["ratios"]["cpu"]["ratio"]["value"] for side in answer["sides"])
    assert 0.3 < half < 0.8 < middle < 2 < three < 4
    # What it prints follows from the values, so it is not held against them.
    assert all(side["same_output"] is None and not side["problem"] for side in answer["sides"])
    assert "output" not in done.stdout
    assert "times=3 m=60,cpu,s," in (tmp_path / "x.csv").read_text()


@pytest.mark.parametrize("count", [1, 3])
def test_warm_ups_are_run_and_not_counted(count: int, tmp_path: Path) -> None:
    more = ["--warmup", str(count)] if count > 1 else []
    done = reap(
        *("compare", "-n", "2", *more, "--pairing", "sequential", "-o", "there", "--scan", "m=1,2"),
        *("--", work(), "1", "{m}"),
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.OK, done.stderr
    assert "2 paired rounds" in done.stdout
    runs = [json.loads(line) for line in (tmp_path / "there/runs.jsonl").read_text().splitlines()]
    arms = [run["cell"]["variant"] for run in runs if run["warmup"]]
    assert arms == ["m=1", "m=2"] * count
    assert len((tmp_path / "runs").read_text()) == 2 * count + 2 * 3
    again = reap("compare", "--resume", "there", "-n", "3", cwd=tmp_path)
    assert again.returncode == ExitCode.OK, again.stderr
    assert len((tmp_path / "runs").read_text()) == 2 * count + 3 * 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--scan", "n=1,2", "--", "true"), "{n} is not in the command"),
        (("--scan", "n=1", "--", "echo", "{n}"), "gives 1 command"),
        (("--scan", "n=1,1", "--", "echo", "{n}"), "gives 1 command"),
        (("--scan", "n", "--", "echo", "{n}"), "--scan n is not NAME=VALUE"),
        (("--scan", "n=1,,2", "--", "echo", "{n}"), "is not NAME=VALUE"),
        (("--scan", "arm=1,2", "--", "echo", "{arm}"), "is not NAME=VALUE"),
        (("--scan", "n=1,2", "--scan", "n=3", "--", "echo", "{n}"), "names a parameter twice"),
        (("--scan", "n=1,2", "--prepare", "rm {n}", "--", "echo", "{n}"), "{n} is in --prepare"),
        (("--scan", "n=1,2", "--against", "true", "--", "echo", "{n}"), "do not go together"),
        (("--scan", "n=1,2", "-a", "glibc", "--", "echo", "{n}"), "--scan compares commands"),
        (
            ("--server", "cat {port}", "--ready", "tcp", "--load", "cat {port}", "--scan", "n=1,2"),
            "--scan does not go",
        ),
    ],
)
def test_what_is_no_scan(
    given: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(compare, given)
    assert isinstance(done.exception, ReapError), done.output
    assert done.exception.code == ExitCode.USAGE
    assert said in done.exception.what
    assert not list(tmp_path.iterdir())
