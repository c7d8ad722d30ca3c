"""Programs that run at the same time on one core are timed alike."""

import os
import subprocess
from pathlib import Path

import paired
import pytest
from programs import compile_c

SPIN = r"""
    #include <stdlib.h>
    int main(int count, char **words) {
        volatile unsigned long sum = 0;
        for (unsigned long turn = atol(words[1]) * 1000000; turn > 0; turn--) sum += turn;
        return count > 2;
    }"""


def spin(millions: int, *more: str) -> list[str]:
    return [compile_c("turns", SPIN, ["-O1"]), str(millions), *more]


@pytest.mark.timed
def test_a_program_takes_as_long_as_itself_and_half_as_long_as_twice_of_it() -> None:
    """Whatever else runs: the two share a core, and one that takes longer has more of it in the end."""
    same = paired.ratios(spin(30), spin(30), pairs=4)
    twice = paired.ratios(spin(30), spin(60), pairs=4)
    assert 0.8 < same.mean < 1.25
    assert 1.6 < twice.mean < 2.5
    low, high = twice.interval()
    assert low < twice.mean < high


def test_all_run_at_the_same_time_on_one_core(tmp_path: Path) -> None:
    """Each ends when all have begun, and says which cores it may have."""
    cores = os.sched_getaffinity(0)
    others = "until test -e a -a -e b -a -e c; do sleep 0.01; done"
    script = f"cd {tmp_path}; taskset -cp $$ >$1.new; mv $1.new $1; timeout 60 sh -c '{others}'"
    seconds = paired.cpu_seconds(*(["/bin/sh", "-c", script, "sh", name] for name in "abc"))
    assert len(seconds) == 3
    assert min(seconds) > 0
    (core,) = {(tmp_path / name).read_text().rpartition(":")[2].strip() for name in "abc"}
    assert int(core) in cores
    assert os.sched_getaffinity(0) == cores, "this process keeps its own"


def test_an_environment_is_the_command_s_own() -> None:
    test = ["/bin/sh", "-c", 'test "$REAP_TOGETHER" = "$1"', "sh"]
    paired.cpu_seconds([*test, ""], [*test, "x"], environments=[None, {"REAP_TOGETHER": "x"}])


def test_a_command_that_fails_is_told_when_all_have_ended() -> None:
    with pytest.raises(subprocess.CalledProcessError, match="exit status 1"):
        paired.cpu_seconds(spin(1), spin(1, "fail"))
