"""The wall on a terminal and on the page: all that the verdict says, escaped, at any width."""

import io
from functools import partial
from html import unescape
from typing import Any

import answers
import msgspec
import pytest
from answers import fields_of
from any_records import ANY
from hypothesis import given, settings
from lab.test.evidence.any_walls import walls
from lab.test.evidence.suspected import CACHE, price, setting
from rich.console import Console
from samples import HOSTILE, comparison_of, profile_of, report_of, side_of
from terminals import flat, printed
from walls import WALLS

from reap.answer import html
from reap.answer.json import encode
from reap.answer.records import Answer
from reap.answer.trim import STEPS, trim
from reap.evidence import terminal as evidence_terminal
from reap.evidence.analyse.suspicions.suspect import suspect
from reap.evidence.judge.verdict import diagnose
from reap.evidence.records import Collector, Faults, Hot, Wall
from reap.recording.records import Latency
from reap.run.parts import read_json
from reap.run.terminal import render_answer

changed = msgspec.structs.replace


def answer(wall: Wall, **changes: Any) -> Answer:
    """The answer of a program of which no more than these parts is known, and of which nothing was tried."""
    parts = {name: changes.get(name) for name in ("profile", "comparison", "causes")}
    verdict = diagnose(command=wall.command, wall=wall, suspicions=suspect(wall), **parts)
    return answers.answer("server", wall.command, wall=wall, diagnosis=verdict, **changes)


def tried() -> Answer:
    """A program whose causes were told apart: a larger cache won."""
    wall = changed(
        WALLS["tcache overflow"],
        latency=Latency(call="malloc", samples=9000, p50=20, p90=60, p99=210, p999=1900),
        collections=[Collector(kind="go", count=72, pause_seconds=0.008, cpu_seconds=0.6)],
        hot=[Hot(function="_int_malloc", module="/usr/lib/libc.so.6", owner="allocator", samples=700)],
    )
    comparison = comparison_of([side_of("jemalloc", 0.9), price("recycle", 0.45)])
    causes = comparison_of([price("cache", 0.5), setting(CACHE, 0.48), price("placed", same_output=False)])
    return answer(wall, comparison=comparison, causes=causes)


def on_terminal(held: Answer, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    render_answer(console, held)
    return console.file.getvalue()  # type: ignore[attr-defined]


def plain(page: str) -> str:
    """The words of a page, without the characters that only keep them together or stand for others."""
    return " ".join(unescape(page).replace("\u00a0", " ").replace("\u202f", " ").split())


@pytest.mark.parametrize("cause", WALLS)
def test_both_say_the_verdict_and_what_was_suspected(cause: str) -> None:
    held = answer(WALLS[cause])
    verdict = fields_of(held).diagnosis
    page, text = plain(html.render(report_of(held))), flat(on_terminal(held))
    assert f"Verdict: {verdict.headline}" in text
    assert verdict.headline.capitalize() in page
    assert verdict.paragraph in page
    for found in verdict.findings:
        assert found.sentence in page
        assert found.sentence in text
        for remedy in found.by_hand:
            assert remedy.name in page
    for fact in verdict.evidence:
        assert fact.statement in page
        assert f"{fact.statement} [{fact.source}]" in text


def test_what_won_is_the_next_command() -> None:
    held = tried()
    next_command = "GLIBC_TUNABLES=glibc.malloc.tcache_count=1000 ./server --selftest"
    assert fields_of(held).diagnosis.headline == "change a setting"
    assert fields_of(held).diagnosis.next_command == next_command
    page = plain(html.render(report_of(held)))
    assert next_command in page
    assert f'so malloc takes its slow path. With "{CACHE}" it takes 52 % less CPU time' in page
    assert "CPU time by who was executing" in page
    assert "72 collections" in page


def test_causes_told_apart_have_a_part_of_their_own() -> None:
    held = tried()
    page, text = plain(html.render(report_of(held))), flat(on_terminal(held))
    for shown in (page, text):
        for arm in ("price: recycle", "price: cache", CACHE, "jemalloc"):
            assert arm in shown
    assert "One cause taken away at a time" in page
    bare = plain(html.render(report_of(answer(WALLS["tcache overflow"]))))
    assert "One cause taken away at a time" not in bare


def test_trials_are_a_line_each() -> None:
    fields = fields_of(tried())
    held = [fields.comparison, fields.causes]
    lines = printed(evidence_terminal.render_trials, held, width=120).splitlines()
    (cache,) = (line for line in lines if CACHE in line)
    assert "52 % less (95 % CI 51.0 to 53.0 % less)" in cache
    assert cache.rstrip().endswith("960 ms for 2.00 s")
    (placed,) = (line for line in lines if "price: placed" in line)
    assert "its figures cannot be trusted" in placed
    assert sum("(noise)" in line for line in lines) == 2
    assert "\x1b[31m" not in printed(
        evidence_terminal.render_trials,
        [comparison_of([side_of(f"\x1b[31m{HOSTILE}"), side_of("x", problem="\x1b[31mbad")])],
    )


def test_a_screen_has_what_is_proven_or_open_and_details_have_all() -> None:
    """Refuted causes and the evidence are details."""
    wall = WALLS["tcache overflow"]
    sides = [side_of("jemalloc"), price("recycle"), price("bump")]
    causes = comparison_of([price("cache"), setting(CACHE)])
    held = answer(wall, comparison=comparison_of(sides), causes=causes)
    verdict = fields_of(held).diagnosis
    (refuted,) = verdict.findings
    assert refuted.status == "refuted"
    short, long = (
        flat(printed(partial(evidence_terminal.render, details=details), verdict))
        for details in (False, True)
    )
    assert refuted.sentence in long
    assert refuted.sentence not in short
    assert verdict.evidence[0].statement in long
    assert verdict.evidence[0].statement not in short
    for shown in (short, long):
        assert verdict.paragraph in shown
        assert f"Next: {verdict.next_step}" in shown


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
        WALLS["tcache overflow"],
        command=[HOSTILE],
        irreplaceable=HOSTILE,
        notes=[HOSTILE],
        allocator=HOSTILE,
        faults=Faults(minor=9, samples=9, by_cause={HOSTILE: 9}),
        hot=[Hot(function=f"parse{HOSTILE}", module=HOSTILE, owner="other", samples=1500)],
    )
    escape = f"\x1b[31m{HOSTILE}"
    sides = [side_of(escape, problem=escape), price("cache", problem=escape), setting(escape, 0.5)]
    named = [comparison_of(sides, baseline=escape, command=[escape], notes=[escape]) for _ in range(2)]
    for comparison, causes in ([None, None], named):
        held = answer(wall, comparison=comparison, causes=causes)
        assert HOSTILE not in html.render(report_of(held))
        assert "\x1b" not in on_terminal(held)


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
    assert 'aria-label="Flame graph of CPU time"' in few
    many = html.render(report_of(answer(WALLS["nothing"], stacks=stacks)))
    assert "4 200 other stacks" in many
    assert HOSTILE not in many
    assert 'aria-label="Flame graph of CPU time"' not in html.render(report_of(answer(WALLS["nothing"])))


def test_a_stack_too_long_for_a_page_keeps_its_samples() -> None:
    """Names of templates are long: what is cut is cut from them, and parts stay parts."""
    deep = ";".join(["main", *(f"f{number}<{'long::name, ' * 40}>" for number in range(60))])
    held = answer(WALLS["nothing"], stacks=[f"{deep};malloc_[a] 75", "main;work 25"])
    for limits in STEPS:
        cut = fields_of(trim(report_of(held), limits).answers[0]).stacks
        assert [line.rpartition(" ")[2] for line in cut] == ["75", "25"]
        assert all(len(line) <= limits.text for line in cut)
    long = [f"main;x<{'y' * 5000}>::{end} 3" for end in ("begin", "end_[a]")]
    cut = trim(report_of(answer(WALLS["nothing"], stacks=long)), STEPS[0])
    one, other = fields_of(cut.answers[0]).stacks
    assert one.endswith("y>::begin 3")
    assert other.endswith("y>::end_[a] 3")
