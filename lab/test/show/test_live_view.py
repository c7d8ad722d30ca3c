"""The view of `--live`, driven by Textual's own pilot: what it draws, and what its keys do."""

import asyncio
import signal
import sys
from collections.abc import Callable

import pytest
from textual.widgets import Static

from reap.base import units
from reap.base.errors import ReapError
from reap.recording.records import SizeBin
from reap.show.live import steps
from reap.show.live.records import Moment, SiteNow
from reap.show.live.terminal import View

HOSTILE = "evil\x1b[31m\x07[red]markup[/red]\u202e"


def moment(**fields) -> Moment:
    shown = {
        "depth": "full",
        "command": ["./server", "two words"],
        "seconds": 3.0,
        "allocations": 4000,
        "bytes": 1 << 20,
        "frees": 3000,
        "allocations_per_second": 1250.0,
        "bytes_per_second": 2048.0,
        "live_bytes": 3 << 20,
        "peak_bytes": 5 << 20,
        "samples": 0,
        "resident": 7 << 20,
        "peak_resident": 9 << 20,
        "running": 1,
        "processes": 1,
        "sizes": [
            SizeBin(low=9, high=16, objects=30, bytes=400),
            SizeBin(low=17, high=32, objects=10, bytes=300),
        ],
        "live_sites": [
            SiteNow(function="keeps", location="a.c:1", live_bytes=3 << 20, allocations=0, bytes=0)
        ],
        "busy_sites": [
            SiteNow(function="churns", location="b.c:2", live_bytes=0, allocations=900, bytes=9000)
        ],
    }
    return Moment(**{**shown, **fields})


def driven(view: View, act: Callable, size=(120, 30)) -> None:
    """Runs the view without a terminal while `act` awaits what it does."""

    async def run() -> None:
        async with view.run_test(size=size) as pilot:
            await act(pilot)

    asyncio.run(run())


async def drawn(pilot, part: str, word: str) -> str:
    """The text of a part when it has the word."""
    for _ in range(200):
        await pilot.pause(0.02)
        text = screen(pilot, part)
        if word in text:
            return text
    raise AssertionError(text)


def screen(pilot, part: str) -> str:
    """What a part has on the screen, line for line."""
    region = pilot.app.query_one(part, Static).region
    lines = pilot.app.screen._compositor.render_strips()
    return "\n".join(
        "".join(segment.text for segment in lines[y].crop(region.x, region.right))
        for y in range(region.y, region.bottom)
    )


def test_a_look_that_ends_after_the_view_was_closed_draws_nothing() -> None:
    """The parts are removed one after another while it closes, and a look may end between two of them."""
    view = View(moment, 0.1)

    async def closed(pilot) -> None:
        await drawn(pilot, "#live", "keeps")
        pilot.app._running = False  # as the first step of closing does
        for part in pilot.app.query(Static):
            await part.remove()
        await pilot.app.workers.wait_for_complete()  # throws what the worker threw

    driven(view, closed)


def test_it_draws_every_part():
    async def act(pilot):
        head = await drawn(pilot, "#head", "server")
        assert "./server 'two words'" in head
        assert "every event, exact" in head
        figures = screen(pilot, "#figures")
        assert "1 250/s" in figures
        assert "3.00 MiB" in figures
        assert "at most 5.00 MiB" in figures
        assert "at most 9.00 MiB" in figures
        live = screen(pilot, "#live")
        assert "keeps (a.c:1)" in live
        assert "100 %" in live
        busy = screen(pilot, "#busy")
        assert "churns (b.c:2)" in busy
        assert "900" in busy
        sizes = screen(pilot, "#sizes")
        assert "9-16 B" in sizes
        assert "75 %" in sizes
        assert not pilot.app.query_one("#output").display

    driven(View(moment, 0.05), act)


def test_estimates_are_marked():
    async def act(pilot):
        head = await drawn(pilot, "#head", "samples")
        assert "~ from 12 samples" in head
        assert "~3.00 MiB" in screen(pilot, "#figures")
        assert "1 250/s" in screen(pilot, "#figures")
        assert "~900" in screen(pilot, "#busy")

    driven(View(lambda: moment(depth="triage", samples=12), 0.05), act)


def test_of_an_attached_process_live_bytes_are_not_known():
    large = SiteNow(function="fills", location="c.c:3", live_bytes=0, allocations=3, bytes=1024)
    seen = moment(depth="attached", samples=12, live_sites=[], large_sites=[large], live_bytes=0.0)

    async def act(pilot):
        head = await drawn(pilot, "#head", "uprobes")
        assert "all estimated from 12 samples" in head
        figures = screen(pilot, "#figures")
        assert "~1 250/s" in figures
        assert "~2.00 KiB/s" in figures
        assert f"at most {units.UNKNOWN}" in figures
        bytes_table = screen(pilot, "#live")
        assert "Most bytes allocated" in bytes_table
        assert "fills (c.c:3)" in bytes_table
        assert "50 %" in bytes_table

    driven(View(lambda: seen, 0.05), act)


def test_names_of_the_program_do_not_steer_the_terminal():
    site = SiteNow(function=HOSTILE, location=HOSTILE, live_bytes=1 << 20, allocations=5, bytes=9)
    tails = [("stdout", [HOSTILE])]

    async def act(pilot):
        await drawn(pilot, "#live", "evil")
        for part in ("#head", "#live", "#busy", "#output"):
            text = screen(pilot, part)
            assert r"evil\x1b[31m\x07[red]markup[/red]\u202e" in text
            assert "\x1b" not in text

    hostile = moment(command=[HOSTILE], live_sites=[site], busy_sites=[site])
    driven(View(lambda: hostile, 0.05, tails=lambda: tails), act, size=(160, 40))


def test_a_narrow_terminal_leaves_the_sizes_out():
    async def act(pilot):
        await drawn(pilot, "#live", "keeps")
        assert not pilot.app.query_one("#sizes").display
        await pilot.resize_terminal(120, 30)
        await drawn(pilot, "#sizes", "9-16 B")

    driven(View(moment, 0.05), act, size=(80, 24))


def test_it_shows_what_comes_and_pauses():
    shown = iter(range(1, 10**6))

    async def act(pilot):
        await drawn(pilot, "#head", "3.00 s")
        first = screen(pilot, "#figures")
        await drawn(pilot, "#head", "3.00 s")
        for _ in range(100):
            await pilot.pause(0.02)
            if screen(pilot, "#figures") != first:
                break
        assert screen(pilot, "#figures") != first
        await pilot.press("space")
        await drawn(pilot, "#head", "paused")
        kept, taken = screen(pilot, "#figures"), pilot.app.moment
        await pilot.pause(0.3)
        assert screen(pilot, "#figures") == kept
        assert pilot.app.moment.live_bytes > taken.live_bytes, "it reads on"
        await pilot.press("space")
        for _ in range(100):
            await pilot.pause(0.02)
            if screen(pilot, "#figures") != kept:
                return
        raise AssertionError

    driven(View(lambda: moment(live_bytes=next(shown) << 20), 0.05), act)


def test_it_ends_when_nothing_more_comes():
    left = iter([moment(behind=True), moment(seconds=4.0), moment(seconds=5.0, over=True)])
    view = View(lambda: next(left), 0.01)

    async def act(pilot):
        while pilot.app._exit is False:
            await pilot.pause(0.02)

    driven(view, act)
    assert view.moment.seconds == 5.0
    assert view.error is None


def test_q_closes_it():
    async def act(pilot):
        await drawn(pilot, "#head", "server")
        await pilot.press("q")
        while pilot.app._exit is False:
            await pilot.pause(0.02)

    driven(View(moment, 0.05), act)


def test_ctrl_c_is_for_the_program():
    sent = []

    async def with_program(pilot):
        await drawn(pilot, "#head", "server")
        await pilot.press("ctrl+c")
        await pilot.pause(0.1)
        assert sent == [signal.SIGINT]
        assert pilot.app._exit is False

    async def without(pilot):
        await drawn(pilot, "#head", "server")
        await pilot.press("ctrl+c")
        while pilot.app._exit is False:
            await pilot.pause(0.02)

    driven(View(moment, 0.05, send=sent.append), with_program)
    driven(View(moment, 0.05), without)


def test_a_recording_that_cannot_be_read_on_closes_it():
    def fails() -> Moment:
        raise ReapError("the recording x cannot be read")

    view = View(fails, 0.05)

    async def act(pilot):
        while pilot.app._exit is False:
            await pilot.pause(0.02)

    driven(view, act)
    assert view.error.what == "the recording x cannot be read"


def test_without_textual_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "textual", None)
    with pytest.raises(ReapError, match="textual is not installed") as raised:
        steps.require_textual()
    assert "pip install 'textual" in raised.value.hint
    assert "append </dev/null" in raised.value.hint
