"""`--redact`: one rule for records, text and markup; hostile names neither break it nor get around it."""

from dataclasses import dataclass
from pathlib import Path

import markupsafe
import pytest

from reap.base import redact
from reap.base.records import Record
from reap.base.redact import redacted


class Run(Record):
    """Something measured."""

    command: list[str]
    said: str
    places: list[str] = []


@dataclass(frozen=True)
class View:
    command: str
    rows: list[tuple[str, Path]]
    drawing: markupsafe.Markup


def test_a_command_is_its_program_wherever_it_stands():
    command = ["/home/jane/bin/tool", "--password=s3cr3t", "hunter2", "in put/x.txt", "fast", "3"]
    said = "next: reap compare -- /home/jane/bin/tool --password=s3cr3t hunter2 'in put/x.txt' fast 3"
    held = redacted(Run(command=command, said=said))
    assert held.command == ["tool", "..."]
    assert held.said == "next: reap compare -- tool ..."
    part = redacted(Run(command=command, said="hunter2 is fast in 3 s: in put/x.txt, tool --password=s3cr3t"))
    assert part.said == "... is fast in 3 s: x.txt, tool ..."


@pytest.mark.parametrize(
    "user", ["jane", "j.d", "a+b", "(x)", "x[1]", "$HOME", "ünal", "<b>", "o'neil", "back\\slash"]
)
def test_whatever_a_user_is_called(user):
    run = Run(command=["x"], said=f"/home/{user}/a.c of {user}, not of {user}s", places=[f"/home/{user}/b.c"])
    held = redacted(run)
    assert held.places == ["b.c"]
    assert held.said.startswith("a.c of user, not of ")


@pytest.mark.parametrize(
    "hostile", ["<script>/home/jane/x</script>", "\x1b[31m/home/jane/x", "/home/jane/\u202ex"]
)
def test_hostile_text_keeps_all_but_its_folders(hostile):
    held = redacted(Run(command=["x", hostile], said=f"{hostile}!"))
    assert "jane" not in held.said
    assert "/home" not in held.said


def test_views_and_markup_are_covered():
    drawing = markupsafe.Markup(
        '<svg aria-label="/srv/jane&#39;s/a.c &amp; b"><text x="1">/srv/p&amp;q/tool --key=k3y</text></svg>'
    )
    view = View("/srv/p&q/tool --key=k3y", [("a", Path("/srv/x/y.txt"))], drawing)
    held = redacted(
        {"view": view, "argv": ["/srv/p&q/tool", "--key=k3y"], "made_by": "reap rss --html /a/b x"}
    )
    assert held["view"].command == "tool ..."
    assert held["view"].rows == [("a", Path("y.txt"))]
    assert held["made_by"] == "reap rss ..."
    text = str(held["view"].drawing)
    assert text.startswith("<svg aria-label=")
    assert text.endswith("</text></svg>")
    assert "srv" not in text
    assert "k3y" not in text
    assert isinstance(held["view"].drawing, markupsafe.Markup)


def test_a_field_that_is_a_path_is_its_last_part():
    assert redacted({"module": "/home/jane/my work of art/lib x.so"}) == {"module": "lib x.so"}


def test_numbers_and_ordinary_text_stay():
    held = {"a": [1, 2.5, None, True], "b": "3 requests/s, 5 MiB/s and/or 1/2", "c": {"d": ("glibc", 7)}}
    assert redacted(held, ["reap", "show", "--html", "x.html", "r.reap"]) == held


def test_twice_is_as_once():
    run = Run(command=["/a/b c/x", "y=1"], said="/home/jane/x and jane, /a/b c/x y=1")
    assert redacted(redacted(run)) == redacted(run)


def test_nothing_is_touched_without_the_option():
    run = Run(command=["/home/jane/x", "y"], said="/home/jane")
    assert redact.shared(run) is run
    redact.begin(["reap", "rss", "--", "/home/jane/x", "y"])
    try:
        assert redact.shared(run).command == ["x", "..."]
    finally:
        redact.end()
    assert redact.shared(run) is run
