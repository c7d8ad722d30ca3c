"""Commands that only a shell understands: what to type instead."""

import shlex
import subprocess

import pytest
from programs import reap

from reap.base.errors import ExitCode, ReapError
from reap.launch.program import resolve
from reap.launch.shell_line import advice


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["ls -l"], "sh -c 'ls -l'"),
        (["ls | wc -l"], "sh -c 'ls | wc -l'"),
        (["./x -a", "y"], "sh -c './x -a y'"),
        (["cd", "my folder"], """sh -c 'cd '"'"'my folder'"'"''"""),
        (["source", "x.sh"], "bash -c 'source x.sh'"),
        (["diff <(ls) y"], "bash -c 'diff <(ls) y'"),
        (["A=1", "./x"], "env A=1 ./x"),
        (["no-such-program"], ""),
        (["A=1"], ""),
        (["./missing"], ""),
    ],
)
def test_what_a_shell_would_run_is_offered_to_one(command: list[str], said: str) -> None:
    told = advice(command)
    assert told.endswith(f"-- {said}") if said else told == ""


def test_what_is_offered_does_what_was_meant() -> None:
    for line, printed in (("echo a | tr a b", "b\n"), ("X=1; echo $X'2'", "12\n")):
        (_, _, pasted) = advice([line]).partition("-- ")
        assert (
            subprocess.run(shlex.split(pasted), capture_output=True, text=True, check=True).stdout == printed
        )


def test_it_is_said_where_no_such_program_is_found() -> None:
    with pytest.raises(ReapError) as told:
        resolve(["ls | wc -l"])
    assert told.value.code == ExitCode.NOT_FOUND
    assert told.value.hint == "that is a line for a shell: -- sh -c 'ls | wc -l'"
    with pytest.raises(ReapError) as told:
        resolve(["no-such-program"])
    assert "check the spelling" in told.value.hint
    done = reap("run", "--", "/bin/ls -l")
    assert done.returncode == ExitCode.NOT_FOUND
    assert "-- sh -c '/bin/ls -l'" in done.stderr
