"""Sweeps as a user calls them: real rounds of a small program, here and on a cluster."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest
from lab.test.cli.schemas import assert_valid
from programs import reap, reap_command

from reap.sweep import folder

PLAN = """
allocators = ["glibc", "reap"]
rounds = {rounds}
[[programs]]
command = ["./ours", "text"]
files = ["ours", "text"]
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What the machine's calibration and staged files are kept in, for all tests here."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def place(tmp_path, monkeypatch, cache):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    shutil.copy(shutil.which("cat"), tmp_path / "ours")
    (tmp_path / "text").write_text("of the test\n" * 1000)
    (tmp_path / "plan.toml").write_text(PLAN.format(rounds=3))
    return tmp_path


def ended(place):
    return [done.block.round for done in folder.blocks(place / "s")]


def test_a_plan_is_run_here_and_everything_is_written(place):
    files = ["--json", "s.json", "--html", "s.html", "--export", "s.parquet"]
    answer = reap("compare", "--plan", "plan.toml", "-o", "s", *files)
    assert answer.returncode == 0, answer.stderr
    assert "CPU time against glibc" in answer.stdout
    assert "3 rounds on 1 machine of 1 kind" in answer.stdout
    found = json.loads((place / "s.json").read_text())
    assert_valid("sweep", found)
    assert {each["allocator"] for each in found["sweep"]["effects"]} == {"glibc", "reap"}
    (here,) = found["sweep"]["machines"]
    assert here["machine"]["kernel"].startswith("Linux")
    assert "comes with Reap" in here["allocators"]["reap"]
    assert here["doctor"] or here["unfit"] == ""
    page = (place / "s.html").read_text()
    assert '<table class="heat">' in page
    assert "CPU time by kind of machine and allocator" in page
    table = pyarrow.parquet.read_table(place / "s.parquet").to_pylist()
    assert len(table) == 9
    assert {row["kernel"] for row in table} == {here["machine"]["kernel"]}
    assert all(row["cpu_seconds"] > 0 and row["status"] == 0 for row in table)
    again = reap("compare", "--resume", "s", "--json", "-")
    assert again.returncode == 0
    assert json.loads(again.stdout)["sweep"] == found["sweep"]
    assert ended(place) == [0, 1, 2]


@pytest.mark.usefixtures("place")
def test_the_queries_of_the_page_answer():
    assert reap("compare", "--plan", "plan.toml", "-o", "s", "--export", "s1.parquet").returncode == 0
    page = (Path(__file__).parents[3] / "docs/sweep.md").read_text()
    written = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    ratios, noise = (duckdb.sql(re.sub("'(perl-hash|sort)'", "'ours'", each)).fetchall() for each in written)
    ((allocator, _, rounds, ratio),) = ratios
    assert (allocator, rounds) == ("reap", 3)
    assert 0 < ratio < 100
    ((_, rounds, *_),) = noise
    assert rounds == 3


def test_another_sweep_s_folder_is_replaced_where_that_is_asked(place):
    words = ["compare", "--plan", "plan.toml", "-o", "s"]
    assert reap(*words).returncode == 0
    assert "exists already" in reap(*words).stderr
    (place / "s" / "stray").touch()
    assert reap(*words, "-f").returncode == 0
    assert not (place / "s" / "stray").exists()
    (place / "mine").mkdir()
    answer = reap("compare", "--plan", "plan.toml", "-f", "-o", "mine")
    assert "exists already" in answer.stderr


def test_a_typo_is_one_message(place):
    (place / "plan.toml").write_text(PLAN.format(rounds=3).replace("rounds", "roudns"))
    answer = reap("compare", "--plan", "plan.toml")
    assert answer.returncode == 2
    what, hint = answer.stderr.splitlines()
    assert what == "reap: plan.toml has an unknown key 'roudns'"
    assert hint.startswith("  did you mean rounds? the keys there are programs, allocators, levels, settings")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--plan", "plan.toml", "--resume", "s"], "leave out --plan"),
        (["--plan", "plan.toml", "-a", "reap"], "--allocators cannot be used with --plan"),
        (["--plan", "plan.toml", "--", "true"], "plan.toml names the programs"),
        (["--resume", "s", "-o", "t"], "it takes no --output"),
        (["--resume", "s", "--on", "local:2"], "s is not a sweep's folder"),
        (["--plan", "plan.toml", "--on", "local:0"], "'local:0' names no place"),
        (["--plan", "missing.toml"], "missing.toml cannot be read"),
        (["--export", "x.parquet", "--", "true"], "there is no such format of a comparison"),
    ],
)
def test_what_does_not_go_together_is_refused(place, words, said):
    answer = reap("compare", *words)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert not (place / "s").exists()


def test_the_configuration_s_plan_is_for_a_command_line_that_names_nothing(place):
    """Nor does it keep one program from being compared, or a folder from being resumed."""
    (place / "reap.toml").write_text('[compare]\nplan = "plan.toml"\noutput = "s"\nexport = "s.parquet"\n')
    assert reap("compare").returncode == 0
    assert (place / "s.parquet").exists()
    assert reap("compare", "--resume", "s").returncode == 0
    answer = reap("compare", "-n", "2", "-a", "reap", "-o", "e", "--", "true")
    assert answer.returncode == 0, answer.stderr


def test_a_table_that_a_sweep_does_not_make_is_refused(place):
    (place / "reap.toml").write_text('[compare]\nexport = "c.csv"\n')
    answer = reap("compare", "--plan", "plan.toml")
    assert answer.returncode == 2
    assert "--export c.csv: there is no such format of a sweep" in answer.stderr


def test_a_program_that_is_not_there_is_named_with_its_cell(place):
    more = '[[programs]]\ncommand = ["no-such-program-of-reap"]\n'
    (place / "plan.toml").write_text(PLAN.format(rounds=2) + more)
    answer = reap("compare", "--plan", "plan.toml", "-o", "s")
    assert answer.returncode == 1
    said = "here, cell no-such-program-of-reap: no-such-program-of-reap: no such command in PATH"
    assert said in " ".join(answer.stdout.split())
    assert "to run what is missing: reap compare --resume" in answer.stderr
    assert len(ended(place)) == 2


def test_levels_are_compared_within_themselves(place):
    text = PLAN.format(rounds=2).replace("rounds", 'levels = ["adv0", "adv1"]\nrounds')
    (place / "plan.toml").write_text(text)
    answer = reap("compare", "--plan", "plan.toml", "-o", "s", "--json", "s.json")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    effects = json.loads((place / "s.json").read_text())["sweep"]["effects"]
    assert {each["level"] for each in effects if each["allocator"] == "reap"} == {"adv0", "adv1"}


def test_a_kill_loses_the_running_round_alone(place):
    (place / "plan.toml").write_text(PLAN.format(rounds=200))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*reap_command(), "compare", "--plan", "plan.toml", "-o", "s"], **quiet)
    log = place / "s/blocks.jsonl"
    until = time.monotonic() + 60
    while not (log.exists() and log.stat().st_size) and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = ended(place)
    assert before
    sweep = json.loads((place / "s/sweep.json").read_text())
    sweep["cells"][0]["rounds"] = max(before) + 3
    (place / "s/sweep.json").write_text(json.dumps(sweep))
    answer = reap("compare", "--resume", "s")
    assert answer.returncode == 0, answer.stderr
    assert sorted(ended(place)) == list(range(max(before) + 3))


def test_a_program_for_another_processor_is_named_with_its_cell(place):
    """What a worker of another architecture says of a program that was copied to it."""
    image = bytearray((place / "ours").read_bytes())
    image[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64
    (place / "ours").write_bytes(image)
    answer = reap("compare", "--plan", "plan.toml", "-o", "s")
    assert answer.returncode == 1
    assert "here, cell ours: " in answer.stderr
    assert "is a program for another machine (AARCH64, 64-bit)" in answer.stderr
    assert ended(place) == []


@pytest.mark.timed
@pytest.mark.slow
def test_real_rounds_on_workers_say_what_those_here_say(place):
    """As many rounds on workers and here: all are there, paired alike, and the intervals meet."""
    rounds, workers = 64, 4
    (place / "plan.toml").write_text(PLAN.format(rounds=rounds))
    found = {}
    for where in ([], ["--on", f"local:{workers}"]):
        name = "".join(where) or "here"
        answer = reap("compare", "--plan", "plan.toml", *where, "-o", name, "--json", f"{name}.json")
        assert answer.returncode == 0, answer.stdout + answer.stderr
        found[name] = json.loads((place / f"{name}.json").read_text())["sweep"]
    done = list(folder.blocks(place / f"--onlocal:{workers}"))
    assert sorted(each.block.round for each in done) == list(range(rounds))
    assert {each.facts.worker for each in done} == {f"worker {number}" for number in range(workers)}
    assert {each.pairing.method for each in done} == {"simultaneous"}
    intervals = [
        next(each for each in swept["effects"] if each["allocator"] == "reap")["kinds"][0]["ratio"]
        for swept in found.values()
    ]
    one, other = intervals
    apart = abs(math.log(one["value"] / other["value"]))
    assert apart < 3 * math.log(one["high"] / one["low"] * other["high"] / other["low"])
