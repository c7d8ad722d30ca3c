"""`reap rss` on programs rebuilt from reports of memory that stays: one pass."""

import io
import os

import asking
import pytest
from memory import HOLDINGS, Holding, command
from memory.judge import of_owner, of_twin

from reap.launch import program as programs
from reap.launch.records import Launch
from reap.rss import run
from reap.rss.judge import ResidenceVerdict, judge

pytestmark = [pytest.mark.verdict, pytest.mark.settled]

_ASKED = [case for case in HOLDINGS if case.ci and not case.missing]


@pytest.mark.parametrize("case", _ASKED, ids=lambda case: case.name)
def test_the_owner_is_named(case: Holding) -> None:
    verdict = _verdict(case, cured=False)
    assert of_owner(verdict.cause, case) == "right", verdict


@pytest.mark.parametrize("case", _ASKED, ids=lambda case: case.name)
def test_the_fault_is_not_said_of_the_twin(case: Holding) -> None:
    verdict = _verdict(case, cured=True)
    assert of_twin(verdict.cause, case) == "right", verdict


def _verdict(case: Holding, *, cured: bool) -> ResidenceVerdict:
    words, environment = command(case, 0.5, cured=cured)
    found = programs.resolve(words, environment={**os.environ, **environment})
    launch = Launch(argv=words, program=found.path, environment=environment)
    observed = run.command(found, launch, asking.INTERVAL, io.StringIO(), ask=True)
    return judge(observed.tree or observed.processes[0])
