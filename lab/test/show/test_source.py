"""Lines of the source: those that allocate, with what they allocate, and nothing that is no source."""

import os
import re
import time

import pytest
from programs import reap
from recorded import TARGETS, recorded, target
from samples import HOSTILE, report_of

from reap.answer.html import render
from reap.answer.records import Answer
from reap.recording.analyse.calls import Calls, Place
from reap.show.analyse import source
from reap.show.part import SourcePart
from reap.show.records import Excerpt, SourceLine
from reap.show.run import source_of


def tree_of(*places: tuple[str, str, int]) -> Calls:
    """One stack through these functions, files and lines, outermost first; it allocated ten bytes once."""
    held = [Place(function, file, line, "/bin/x", 1, False, False) for function, file, line in places]
    count = len(held)
    own = [0.0] * (count - 1)
    measures = {"bytes": [*own, 10.0], "allocations": [*own, 1.0]}
    return Calls([-1, *range(count - 1)], list(range(count)), measures, held)


def lines(held: Excerpt) -> dict[int, float]:
    return {line.number: line.bytes for line in held.lines if line.allocations}


def test_a_line_has_what_it_and_its_callees_allocate(tmp_path):
    file = tmp_path / "a.cpp"
    file.write_text("".join(f"line {number}\n" for number in range(1, 31)))
    name = str(file)
    tree = tree_of(("main", name, 20), ("work", name, 5), ("work", name, 5), ("work", name, 7))
    (work,) = source.excerpts(tree, {"malloc"}, source_of(time.time() + 1))
    assert work.function == "work"
    assert lines(work) == {5: 10.0, 7: 10.0}, "a recursion counts once"
    assert [line.number for line in work.lines] == [3, 4, 5, 6, 7, 8, 9]
    assert work.lines[0].text == "line 3"


def test_wrappers_of_malloc_are_left_to_their_callers(tmp_path):
    file = tmp_path / "a.c"
    file.write_text("x\n" * 9)
    tree = tree_of(("main", str(file), 2), ("xmalloc", str(file), 8))
    (held,) = source.excerpts(tree, {"xmalloc"}, source_of(time.time() + 1))
    assert (held.function, lines(held)) == ("main", {2: 10.0})


def test_nothing_but_source_that_is_as_it_was_is_read(tmp_path):
    now = time.time() + 1
    secret = tmp_path / "secret"
    secret.write_text("password\n" * 9)
    (tmp_path / "short.c").write_text("x\n")
    (tmp_path / "old.c").write_text("x\n" * 9)
    os.mkfifo(tmp_path / "pipe.c")
    for file in (secret, tmp_path / "short.c", tmp_path / "pipe.c", tmp_path / "missing.c", tmp_path):
        assert source.excerpts(tree_of(("main", str(file), 5)), set(), source_of(now)) == [], file
    assert source.excerpts(tree_of(("main", "old.c", 5)), set(), source_of(now)) == [], "no absolute path"
    assert source.excerpts(tree_of(("main", "/a\0b.c", 5)), set(), source_of(now)) == []
    assert source.excerpts(tree_of(("main", str(tmp_path / "old.c"), 5)), set(), source_of(now))
    assert (
        source.excerpts(tree_of(("main", str(tmp_path / "old.c"), 5)), set(), source_of(now - 3600)) == []
    ), "changed"


def test_the_page_of_a_recording_shows_them(tmp_path):
    path = recorded(tmp_path, "full", target("stacks")).path
    done = reap("show", str(path), "--html", "a.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "a.html").read_text()
    text = next(TARGETS.glob("stacks.c*")).read_text()
    shown = re.findall(r'<tr class="allocates">.*?<td><code>(.*?)</code>', page)
    assert shown
    assert any("allocate(" in line and line.strip() in text for line in shown)


def test_hostile_source_is_only_text():
    held = Excerpt(
        function=HOSTILE,
        file=f"/{HOSTILE}.c",
        lines=[SourceLine(number=1, text=f"\x1b[31m{HOSTILE}", bytes=1, allocations=1)],
    )
    page = render(report_of(Answer(title="x", command=["x"], parts=[SourcePart(source=[held])])))
    assert HOSTILE not in page
    assert "\x1b" not in page


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's link")
def test_another_users_link_shows_no_file_of_roots(tmp_path):
    """DWARF names the source, and its user may have made that name a link."""
    now = time.time() + 60
    (tmp_path / "secret").write_text("root:secret\n" * 9)
    link = tmp_path / "a.c"
    link.symlink_to(tmp_path / "secret")
    assert source_of(now)(str(link))
    os.lchown(link, 65534, 65534)
    assert source_of(now)(str(link)) == []
