"""The progress bar: late, on a terminal only, and gone when it is done."""

import io

from rich.console import Console

from reap.commandline import progress


def drawn(monkeypatch, *, patience, terminal):
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")  # on a dumb terminal nothing can be drawn over
    text = io.StringIO()
    with progress.Bar(Console(file=text, force_terminal=terminal, width=80)) as bar:
        for done in range(3):
            bar.update(done, 3, f"part {done}")
        bar.say("[a line] of its own")
    return text.getvalue()


def test_a_short_job_has_no_bar(monkeypatch):
    assert drawn(monkeypatch, patience=60, terminal=True) == "[a line] of its own\n"


def test_a_long_one_has(monkeypatch):
    text = drawn(monkeypatch, patience=0, terminal=True)
    assert "part 2" in text
    assert text.rstrip().endswith("\x1b[2K"), "the bar is cleared at the end"


def test_a_file_has_none(monkeypatch):
    assert drawn(monkeypatch, patience=0, terminal=False) == "[a line] of its own\n"
