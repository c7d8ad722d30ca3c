"""Steps of watching a recording in progress, which `record --live` and `show --live` share."""

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import click

from reap.base import packages
from reap.base.errors import ExitCode, ReapError
from reap.commandline import reporting
from reap.commandline.errors import complain
from reap.show.live import words
from reap.show.live.records import Moment
from reap.show.live.run import Watched

INTERVAL = 1.0
"""Seconds between two refreshes."""


def has_terminal() -> bool:
    """Whether the view is shown, not lines. Throws ReapError where its package is not installed."""
    viewed = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    if viewed:
        require_textual()
    return viewed


def require_textual() -> None:
    """Throws ReapError where the package of the view is not installed."""
    lines = ", or append </dev/null, which prints lines"
    packages.require("textual", "the view of --live", "textual>=3", otherwise=lines)


def watch(path: Path, interval: float) -> int:
    """Watches a recording that another command makes. Throws ReapError."""
    viewed = has_terminal()
    last = show(Watched(path).look, interval, viewed=viewed)
    for said in words.summary(last) if last is not None else []:
        click.echo(said, err=True)
    reporting.say_next(["reap", "show", str(path)])
    return ExitCode.OK


def show(look: Callable[[], Moment], interval: float, *, viewed: bool) -> Moment | None:
    """The view, or lines, until nothing more comes, or until it is closed. Returns the last moment."""
    if not viewed:
        return print_lines(look, interval)
    from reap.show.live import terminal

    view = terminal.View(look, interval)
    view.run()
    if view.error is not None:
        raise view.error
    return view.moment


def print_lines(
    look: Callable[[], Moment], interval: float, ended: threading.Event | None = None
) -> Moment | None:
    """A line each `interval`, until nothing more comes, `ended` is set, or Ctrl-C.

    In another thread than the main one an error of the recording is printed.
    """
    ended = ended or threading.Event()
    last: Moment | None = None
    due = time.monotonic() + interval
    try:
        while not ended.wait(max(0.0, due - time.monotonic())):
            last = look()
            while last.behind and time.monotonic() < due + interval and not ended.is_set():
                last = look()
            click.echo(words.line(last), err=True)
            if last.over:
                break
            due = max(due + interval, time.monotonic())
    except KeyboardInterrupt:
        pass
    except ReapError as error:
        if threading.current_thread() is threading.main_thread():
            raise
        complain(error)  # the program runs on
    return last


def say_last(watched: Watched) -> None:
    """Prints the totals of a recording that is complete. Throws ReapError."""
    last = watched.look(ended=True)
    while last.behind:
        last = watched.look(ended=True)
    for said in words.summary(last):
        click.echo(said, err=True)
