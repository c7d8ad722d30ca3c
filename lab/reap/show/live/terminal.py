"""The view of a moment, which takes the whole terminal. Requires Textual."""

import asyncio
import contextlib
import shlex
import signal
from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, Static

from reap.base import units
from reap.base.errors import ReapError
from reap.base.text import bar, printable, shortened, sparkline
from reap.show.live import words
from reap.show.live.records import Moment, SiteNow

_KEPT = 200
"""Moments that the curves show at most."""
_LINES = 3
"""Of each stream of the program's output."""
_LABEL, _FIGURE = 15, 16
_BAR = 14


class View(App[None]):
    """Draws what `look` returns, again and again; `look` runs in another thread."""

    CSS = """
    Screen { layout: vertical; }
    #head { height: 1; background: $primary-background; padding: 0 1; }
    #figures { height: 4; padding: 0 1; }
    #body { height: 1fr; }
    #tables { width: 1fr; }
    #tables Static { height: 1fr; padding: 0 1; }
    #sizes { width: 44; padding: 0 1; }
    .-narrow #sizes { display: none; }
    #output { height: auto; max-height: 8; padding: 0 1; display: none; }
    #output { border-top: solid $primary-background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Close the view"),
        Binding("space", "pause", "Pause"),
        Binding("ctrl+c", "interrupt", "Interrupt", priority=True),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        look: Callable[[], Moment],
        interval: float,
        *,
        tails: Callable[[], Sequence[tuple[str, list[str]]]] = list,
        send: Callable[[signal.Signals], None] | None = None,
    ) -> None:
        """`look` every `interval` seconds, until a moment says that it is over.

        `tails` are the last lines that the program wrote, by stream. `send` sends it a signal; without a
        program Ctrl-C closes the view.
        """
        super().__init__()
        self._look = look
        self._interval = interval
        self._tails = tails
        self._send = send
        self._paused = False
        self._allocations: deque[float] = deque(maxlen=_KEPT)
        self._live: deque[float] = deque(maxlen=_KEPT)
        self._resident: deque[float] = deque(maxlen=_KEPT)
        self.moment: Moment | None = None
        """The last one that was read."""
        self.error: ReapError | None = None
        """Why the view closed, where the recording could not be read on."""

    def compose(self) -> ComposeResult:
        """The parts of the screen, from top to bottom."""
        yield Static(id="head")
        yield Static(id="figures")
        with Horizontal(id="body"):
            with Vertical(id="tables"):
                yield Static(id="live")
                yield Static(id="busy")
            yield Static(id="sizes")
        yield Static(id="output")
        yield Footer()

    def on_mount(self) -> None:
        """Starts looking."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ValueError, RuntimeError):  # in tests the loop is not the main thread's
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._end, number)
        self.run_worker(self._watch(), exclusive=True)

    async def _watch(self) -> None:
        while True:
            begun = asyncio.get_running_loop().time()
            try:
                moment = await asyncio.to_thread(self._look)
            except ReapError as error:
                self.error = error
                self.exit()
                return
            if not self.is_running:  # it was closed meanwhile: its parts are gone
                return
            self._take(moment)
            if moment.over:
                self.exit()
                return
            passed = asyncio.get_running_loop().time() - begun
            await asyncio.sleep(0 if moment.behind else max(0.0, self._interval - passed))

    def _take(self, moment: Moment) -> None:
        self.moment = moment
        self._allocations.append(moment.allocations_per_second)
        self._live.append(moment.live_bytes)
        self._resident.append(moment.resident)
        if not self._paused:
            self._draw(moment)

    def _draw(self, moment: Moment) -> None:
        self.query_one("#head", Static).update(_head(moment, self._paused))
        self.query_one("#figures", Static).update(self._figures(moment))
        self.query_one("#live", Static).update(_bytes_table(moment))
        self.query_one("#busy", Static).update(_busy_table(moment))
        self.query_one("#sizes", Static).update(_sizes(moment))
        tails = [(name, lines) for name, lines in self._tails() if lines]
        output = self.query_one("#output", Static)
        output.display = bool(tails)
        output.update(_output(tails))

    def _figures(self, moment: Moment) -> Table:
        rate = f"{words.rate(moment)}/s"
        size = units.size(moment.bytes_per_second)
        rows = [
            ("Allocations", rate, self._allocations, f"{words.counted(moment, size)}/s"),
            (
                "Live bytes",
                words.live(moment, moment.live_bytes),
                self._live,
                f"at most {words.live(moment, moment.peak_bytes)}",
            ),
            (
                "Resident memory",
                words.resident(moment),
                self._resident,
                f"at most {words.peak_resident(moment)}",
            ),
        ]
        table = Table(box=None, show_header=False, pad_edge=False, expand=True)
        table.add_column(width=_LABEL, no_wrap=True)
        table.add_column(width=_FIGURE, justify="right", no_wrap=True)
        table.add_column(ratio=1, no_wrap=True, overflow="crop")
        table.add_column(no_wrap=True)
        width = max(8, self.size.width - _LABEL - _FIGURE - 30)
        for label, figure, curve, remark in rows:
            shown = list(curve)[-width:]
            drawn = Text(sparkline(shown, max(shown, default=0.0)), style="cyan")
            table.add_row(Text(label), Text(figure, style="bold"), drawn, Text(remark, style="dim"))
        return table

    def action_pause(self) -> None:
        """Keeps what is drawn, or goes on."""
        self._paused = not self._paused
        if self.moment is not None:
            self.query_one("#head", Static).update(_head(self.moment, self._paused))

    def action_interrupt(self) -> None:
        """Sends SIGINT to the program, as Ctrl-C does; closes the view if there is none to send it to."""
        if self._send is None:
            self.exit()
        else:
            self._send(signal.SIGINT)

    def _end(self, number: signal.Signals) -> None:
        if self._send is not None:
            self._send(number)
        self.exit()


def _head(moment: Moment, paused: bool) -> Text:
    state = "paused" if paused else "reading on" if moment.behind else f"{units.duration(moment.seconds)}"
    processes = f", {units.many(moment.running, 'process', 'es')}" if moment.running != 1 else ""
    command = printable(shlex.join(moment.command)) or "waiting for the program"
    return Text.assemble(
        (state, "bold"),
        f"{processes}  {words.method(moment)}  ",
        (command, "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )


def _bytes_table(moment: Moment) -> Table:
    """The sites with most bytes in use, or where that is not known, with most that were allocated."""
    if moment.depth == "attached":
        table, whole = _site_table("Most bytes allocated", ("bytes/s", "part")), moment.bytes_per_second
        held = [(site, site.bytes) for site in moment.large_sites]
    else:
        table, whole = _site_table("Most bytes in use", ("bytes", "part")), moment.live_bytes
        held = [(site, site.live_bytes) for site in moment.live_sites]
    for site, size in held:
        part = min(1.0, size / max(whole, 1.0))
        table.add_row(words.estimate(moment, size), units.percent(part), _name(site))
    return table


def _busy_table(moment: Moment) -> Table:
    table = _site_table("Most allocations", ("a second", "bytes/s"))
    for site in moment.busy_sites:
        rate = f"{words.mark(moment)}{units.count(site.allocations)}"
        table.add_row(rate, words.estimate(moment, site.bytes), _name(site))
    return table


def _site_table(title: str, columns: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, expand=True, header_style="dim")
    for column in columns:
        table.add_column(column, justify="right", width=11, no_wrap=True)
    table.add_column(Text(title, style="bold not dim"), ratio=1, no_wrap=True, overflow="ellipsis")
    return table


def _name(site: SiteNow) -> Text:
    return Text(shortened(words.site_name(site), 200))


def _sizes(moment: Moment) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(Text("Sizes", style="bold not dim"), justify="right", width=12, no_wrap=True)
    table.add_column("share", width=_BAR, no_wrap=True)
    table.add_column("", justify="right", width=8, no_wrap=True)
    whole = max(sum(each.objects for each in moment.sizes), 1)
    most = max((each.objects for each in moment.sizes), default=1) or 1
    for each in moment.sizes:
        table.add_row(
            words.size_name(each),
            Text(bar(each.objects / most, _BAR), style="cyan"),
            units.percent(each.objects / whole) if each.objects else "",
        )
    return table


def _output(tails: Sequence[tuple[str, list[str]]]) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for name, lines in tails:
        for line in lines[-_LINES:]:
            text.append(f"{name} ", style="dim")
            text.append(f"{printable(line)}\n")
    text.rstrip()
    return text
