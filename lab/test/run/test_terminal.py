"""A whole answer on a terminal: complete at 80 columns, plain in a pipe, harmless whatever the names are."""

from functools import partial

import msgspec
import pytest
from answers import fields_of
from any_records import ANY, comparisons, profiles
from hypothesis import given
from lab.test.evidence.suspected import STEPS
from lab.test.run.situations import SITUATIONS, Situation, records
from samples import (
    answer_of,
    hostile_report,
    machine,
    profile_of,
    report_of,
    three_answers,
)
from terminals import flat, printed

from reap.evidence import terminal as evidence_terminal
from reap.evidence.judge.records import Finding
from reap.run.terminal import render_answer, render_overview

PERL, GCC, SED = three_answers().answers
perl = fields_of(PERL)


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("answer", [PERL, GCC, SED], ids=["perl", "gcc", "sed"])
def test_no_line_is_wider_than_the_terminal_but_commands(answer, width: int) -> None:
    commands = {fields_of(answer).diagnosis.next_command, " ".join(answer.command)}
    for line in printed(render_answer, answer, width).splitlines():
        assert len(line.rstrip()) <= width or line.strip() in commands


def test_a_pipe_gets_no_colour_and_a_terminal_does() -> None:
    assert "\x1b" not in printed(render_answer, PERL)
    assert "\x1b[" in printed(render_answer, PERL, force_terminal=True, color_system="standard")


def test_the_verdict_comes_last_and_its_command_can_be_pasted() -> None:
    shown = printed(render_answer, PERL)
    assert shown.index("Allocators,") < shown.index("Totals") < shown.index("Verdict: switch the allocator")
    assert f"\n  {perl.diagnosis.next_command}\n" in shown
    assert perl.diagnosis.paragraph in flat(shown)


@pytest.mark.parametrize("case", SITUATIONS, ids=lambda case: case.name)
def test_without_details_an_answer_is_a_screen(case: Situation) -> None:
    profile, comparison = records(case)
    answer = answer_of("program", profile, comparison)
    shown = printed(lambda console, held: render_answer(console, held, details=False), answer, 80)
    assert len(shown.splitlines()) <= 22, "with the lines that name the report and the tables a screen of 24"
    assert "Allocators," not in shown
    assert fields_of(answer).diagnosis.headline in shown


@pytest.mark.parametrize("sentences", [1, 4, 8])
def test_reasons_that_have_no_room_are_left_to_the_report(sentences: int) -> None:
    found = Finding(cause="arena lock", status="not tried", sentence=f"{'A reason as long as this. ' * 9}")
    verdict = msgspec.structs.replace(
        perl.diagnosis,
        paragraph="A sentence of twelve words, which is as long as most of them are. " * sentences,
    )
    long = msgspec.structs.replace(verdict, findings=[found] * 3)
    shown = printed(evidence_terminal.render, long)
    assert len(shown.splitlines()) <= 19
    first = verdict.paragraph.split(".")[0]
    assert first in flat(shown)
    assert "- A reason" in shown
    assert ("more in the report" in shown) == (shown.count("- A reason") < 3)
    assert flat(printed(partial(evidence_terminal.render, details=True), long)).count("- A reason") == 3


def test_a_line_of_the_recording_comes_before_what_was_not_tried() -> None:
    """Its change is known; what was not tried may be none."""
    untried = Finding(cause="page faults", status="not tried", sentence="Suspected.")
    proven = msgspec.structs.replace(untried, cause="many allocations", status="proven", sentence="Proven.")
    verdict = msgspec.structs.replace(perl.diagnosis, findings=[proven, untried], patterns=[STEPS])
    said = flat(printed(evidence_terminal.render, verdict))
    assert "- Proven. - In the recording: a.c:7: each block" in said
    assert said.index("In the recording") < said.index("Suspected.")


def test_a_long_command_is_not_broken() -> None:
    argv = ["./a", *(f"argument-{i}" for i in range(40))]
    verdict = fields_of(answer_of("a", profile_of(command=argv), None)).diagnosis
    assert verdict.next_command in printed(evidence_terminal.render, verdict)


def test_hostile_names_cannot_reach_the_terminal() -> None:
    for answer in hostile_report().answers:
        shown = printed(render_answer, answer, force_terminal=True, color_system=None)
        assert "\x1b[31m" not in shown
        assert "\\x1b[31m" in shown
        assert "\u2028" not in shown


def test_the_machine_of_the_samples_is_a_machine() -> None:
    assert machine().cores


def test_overview_has_a_line_for_each_program() -> None:
    shown = flat(printed(render_overview, three_answers()))
    assert "perl switch the allocator 12.4 % 0.902 [0.891, 0.913] mimalloc" in shown
    assert "sed leave it alone 1.1 %" in shown
    assert "-" in printed(render_overview, report_of(answer_of("x", None, None)))


@ANY
@given(profiles(), comparisons())
def test_any_records_are_drawn(profile, comparison) -> None:
    assert printed(render_answer, answer_of("any", profile, comparison))
