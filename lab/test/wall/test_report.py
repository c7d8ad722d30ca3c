"""The wall on a terminal and on the page: all that the verdict says, escaped, at any width."""

import io
from typing import Any

import answers
import msgspec
import pytest
from answers import fields_of
from hypothesis import given, settings
from lab.test.wall.test_verdict import ANY, walls
from reap.evidence.analyse.suspicions.verdict import judge
from rich.console import Console
from samples import HOSTILE, comparison_of, profile_of, report_of, side_of
from walls import WALLS

from reap.answer import html
from reap.answer.json import encode
from reap.answer.records import Answer
from reap.answer.trim import STEPS, trim
from reap.draw import flame
from reap.evidence import trial
from reap.evidence.records import Collector, Faults, Hot, Wall
from reap.recording.records import Latency
from reap.run.parts import read_json
from reap.run.terminal import render_answer
from reap.wall import words

changed = msgspec.structs.replace


def answer(wall: Wall, **changes: Any) -> Answer:
    return answers.answer("server", wall.command, wall=wall, wall_verdict=judge(wall), **changes)


def tried() -> Answer:
    """A program whose remedies were tried: a larger cache won."""
    wall = changed(
        WALLS["tcache overflow"],
        latency=Latency(call="malloc", samples=9000, p50=20, p90=60, p99=210, p999=1900),
        collections=[Collector(kind="go", count=72, pause_seconds=0.008, cpu_seconds=0.6)],
        hot=[Hot(function="_int_malloc", module="/usr/lib/libc.so.6", owner="allocator", samples=700)],
    )
    verdict = judge(wall)
    planned = trial.Plan(remedies=verdict.remedies[:2], allocators=[])
    names = [each.name for each in planned.remedies]
    comparison = comparison_of([side_of(names[0], 0.48), side_of(names[1], 0.61)])
    judged = trial.with_trial(verdict, planned, comparison)
    fields = {"wall": wall, "wall_verdict": judged, "comparison": comparison}
    return answers.answer("server", wall.command, **fields)


def on_terminal(held: Answer, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    render_answer(console, held)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("cause", WALLS)
def test_both_say_the_verdict(cause: str) -> None:
    held = answer(WALLS[cause])
    verdict = fields_of(held).wall_verdict
    page, text = html.render(report_of(held)), on_terminal(held)
    assert words.headline(verdict) in text
    assert words.headline(verdict).capitalize() in page
    for remedy in verdict.remedies:
        assert remedy.name in page
        assert remedy.name[:30] in text


def test_what_won_is_the_next_command() -> None:
    held = tried()
    next_command = "GLIBC_TUNABLES=glibc.malloc.tcache_count=1000 ./server --selftest"
    assert words.next_command(fields_of(held).wall_verdict, fields_of(held).wall) == next_command
    page = html.render(report_of(held))
    assert next_command in page
    assert "won when it was tried" in page
    assert "CPU time by who was executing" in page
    assert "72 collections" in page


@pytest.mark.parametrize(
    ("samples", "p99", "p999"), [(1, False, False), (100, True, False), (1000, True, True)]
)
def test_a_percentile_needs_its_samples(samples: int, p99: bool, p999: bool) -> None:
    latency = Latency(call="malloc", samples=samples, p50=21, p90=61, p99=211, p999=1910)
    wall = changed(WALLS["nothing"], latency=latency)
    profile = profile_of(latencies=[latency])
    shown = answer(wall, profile=profile)
    for text in (html.render(report_of(shown)), on_terminal(shown)):
        assert "21.0 ns" in text
        assert ("211 ns" in text) == p99
        assert ("1.91 µs" in text) == p999
        assert ("needs 1 000" in " ".join(text.split())) != p999


def test_no_line_is_wider_than_the_terminal() -> None:
    for line in on_terminal(tried()).splitlines():
        assert len(line) <= 80


def test_names_of_the_program_are_no_markup() -> None:
    wall = changed(
        WALLS["parsing"],
        command=[HOSTILE],
        notes=[HOSTILE],
        allocator=HOSTILE,
        faults=Faults(minor=9, samples=9, by_cause={HOSTILE: 9}),
        hot=[Hot(function=f"parse{HOSTILE}", module=HOSTILE, owner="other", samples=1500)],
    )
    held = answers.answer(HOSTILE, [HOSTILE], wall=wall, wall_verdict=judge(wall))
    assert HOSTILE not in html.render(report_of(held))


def test_json_has_it_all(tmp_path: Any) -> None:
    report = report_of(tried())
    path = tmp_path / "report.json"
    path.write_bytes(encode(report))
    assert read_json(path) == report


@settings(ANY, max_examples=40)  # each draws a whole page
@given(walls())
def test_any_facts_are_drawn(wall: Wall) -> None:
    held = answer(wall)
    assert "Traceback" not in on_terminal(held)
    assert html.render(report_of(held))


def test_the_flame_graph_is_in_the_page_and_bounded() -> None:
    stacks = [f"main;{HOSTILE};f{number};malloc_[a] {number + 1}" for number in range(5000)]
    few = html.render(report_of(answer(WALLS["nothing"], stacks=["main;work 3", "main;malloc_[a] 1"])))
    assert "malloc: 25 % (1 sample)" in few
    many = html.render(report_of(answer(WALLS["nothing"], stacks=stacks)))
    assert "4 200 other stacks" in many
    assert HOSTILE not in many
    assert 'aria-label="Flame graph"' not in html.render(report_of(answer(WALLS["nothing"])))


def test_a_stack_too_long_for_a_page_keeps_its_samples() -> None:
    """Names of templates are long: what is cut is cut from them, and parts stay parts."""
    deep = ";".join(["main", *(f"f{number}<{'long::name, ' * 40}>" for number in range(60))])
    held = answer(WALLS["nothing"], stacks=[f"{deep};malloc_[a] 75", "main;work 25"])
    for limits in STEPS:
        cut = fields_of(trim(report_of(held), limits).answers[0]).stacks
        assert [line.rpartition(" ")[2] for line in cut] == ["75", "25"]
        assert all(len(line) <= limits.text for line in cut)
        assert "main: 100 % (100 samples)" in flame.draw("t", cut)
    long = [f"main;x<{'y' * 5000}>::{end} 3" for end in ("begin", "end_[a]")]
    cut = trim(report_of(answer(WALLS["nothing"], stacks=long)), STEPS[0])
    one, other = fields_of(cut.answers[0]).stacks
    assert one.endswith("y>::begin 3")
    assert other.endswith("y>::end_[a] 3")
