"""A program that hangs only with a preload of reap's: which one is measured and named."""

import pytest
from programs import reap

from reap.base.errors import ExitCode
from reap.launch import hung, spawn
from reap.launch.records import Launch

HANGS_WITH = "case $LD_PRELOAD in *libreap-{}.so*) exec sleep 60;; esac"


def launch(script, **options):
    return Launch(argv=["sh", "-c", script], program="/bin/sh", timeout=1.0, **options)


@pytest.mark.parametrize(("hangs", "found"), [("requests", ["requests"]), ("record", ["probe", "requests"])])
def test_the_preload_that_makes_a_program_hang_is_found_and_all_of_them_where_none_does_alone(hangs, found):
    script = HANGS_WITH.format(hangs)
    each = {"probe": launch(script, probe=True), "requests": launch(script, requests=True)}
    assert hung.culprits(launch(script), each) == found


def test_no_preload_is_blamed_for_a_program_that_takes_long_by_itself():
    runs = []

    def start(one):
        runs.append(one)
        return spawn.run(one)

    slow = launch("exec sleep 60")
    error = hung.too_long("sh", slow, {"record": slow}, "give it more", start)
    assert (str(error.what), error.hint, len(runs)) == ("sh did not end within 1 s", "give it more", 1)


def test_run_names_the_recorder_that_makes_a_program_hang(tmp_path):
    said = reap(
        *("run", "--timeout", "1", "-o", str(tmp_path / "folder"), "--"),
        *("sh", "-c", HANGS_WITH.format("record")),
    )
    assert said.returncode == ExitCode.TIMED_OUT
    assert "hangs with libreap-record.so loaded" in said.stderr
    assert "--timeout" not in said.stderr
    assert "--via uprobe" in said.stderr


def test_check_names_it_too():
    words = ("check", "--timeout", "1", "--max-peak", "1GB", "--")
    said = reap(*words, "sh", "-c", HANGS_WITH.format("record"))
    assert said.returncode == ExitCode.TIMED_OUT
    assert "hangs with libreap-record.so loaded" in said.stderr


def test_compare_names_what_its_first_run_loads(tmp_path):
    said = reap(
        *("compare", "--timeout", "1", "-a", "glibc,jemalloc", "--html", str(tmp_path / "page.html"), "--"),
        *("sh", "-c", HANGS_WITH.format("probe")),
    )
    assert said.returncode == ExitCode.TIMED_OUT
    assert "hangs with libreap-probe.so loaded" in said.stderr
