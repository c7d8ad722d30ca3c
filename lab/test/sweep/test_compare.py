"""`reap compare` with its rounds on workers: what is copied to them, and what only one machine can do."""

import json
import shutil
import subprocess

import pytest
from lab.test.cli.schemas import assert_valid
from programs import reap, reap_command

from reap.sweep import command_line, folder


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/text").write_text("of the test\n" * 1000)
    return tmp_path


def test_files_that_the_command_names_below_this_folder_are_copied(place):
    shutil.copy(shutil.which("cat"), place / "ours")
    words = ["./ours", "data/text", str(place / "data/text"), "data", "-n", "/etc/passwd", "../x"]
    run, files = command_line.staged(words, place)
    assert run == ["./ours", "data/text", "data/text", "data", "-n", "/etc/passwd", "../x"]
    assert files == ["ours", "data/text"]


def test_a_program_of_the_path_is_the_worker_s_own_even_if_a_file_here_is_called_so(place):
    (place / "cat").touch()
    assert command_line.staged(["cat", "cat"], place) == (["cat", "cat"], ["cat"])
    assert command_line.staged([str(place / "cat")], place) == (["./cat"], ["cat"])


@pytest.mark.slow
def test_rounds_on_workers_are_a_sweep_of_one_program(place):
    shutil.copy(shutil.which("cat"), place / "ours")
    words = ["-a", "reap", "-n", "3", "--on", "local:2", "-o", "s", "--json", "s.json"]
    answer = reap("compare", *words, "--", "./ours", "data/text")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "copied to the workers: ours, data/text" in answer.stderr
    assert "3 rounds on 1 machine of 1 kind" in answer.stdout
    found = json.loads((place / "s.json").read_text())
    assert_valid("sweep", found)
    assert found["sweep"]["baseline"] == "glibc"
    done = list(folder.blocks(place / "s"))
    assert sorted(each.block.round for each in done) == [0, 1, 2]
    assert {each.facts.worker for each in done} <= {"worker 0", "worker 1"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--against", "true"], "--against cannot be used with --on"),
        (["--budget", "9", "--prepare", "true"], "--budget and --prepare cannot be used with --on"),
        (["--litter", "seed=7"], "--litter cannot be used with --on"),
        (["--on", "alpha"], "'alpha' names no place"),
        (["--levels", "adv99"], "no level is called 'adv99'"),
        (["-a", "no-such"], "no-such"),
    ],
)
def test_what_one_machine_alone_can_do_is_refused(place, words, said):
    answer = reap("compare", "--on", "local:2", *words, "--", "true")
    assert answer.returncode == 2, answer.stderr
    assert said in answer.stderr
    assert [each.name for each in place.iterdir()] == ["data"]


@pytest.mark.usefixtures("place")
def test_standard_input_is_refused():
    words = [*reap_command(), "compare", "--on", "local:2", "-a", "reap", "--", "cat"]
    answer = subprocess.run(words, input="text", capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "standard input is not copied to other machines" in answer.stderr


def test_without_a_place_it_is_the_comparison_here(place):
    answer = reap("compare", "-n", "2", "-a", "reap", "--pairing", "sequential", "-o", "e", "--", "true")
    assert answer.returncode == 0, answer.stderr
    assert (place / "e/experiment.json").is_file()
