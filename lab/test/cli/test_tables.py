"""`--html` of what is a table: one page with a verdict, that needs no network and runs no foreign script."""

import re

import pytest
from programs import program, reap
from samples import HOSTILE

from reap.base.errors import ExitCode
from reap.commandline.tables import Sheet, write_page

VERBS = {
    "allocators": (["allocators"], "glibc"),
    "doctor": (["doctor"], "preloading"),
    "workloads": (["workloads", "list"], "geometry-pass"),
    "fragment": (["fragment", "--level", "adv0", "--map"], "page faults"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_page_with_a_verdict_and_its_command(tmp_path, verb):
    words, named = VERBS[verb]
    program_of = ["--", program("busy")] if verb == "fragment" else []
    done = reap(*words, "--html", "x.html", *program_of, cwd=tmp_path)
    assert "the report: x.html" in done.stderr
    page = (tmp_path / "x.html").read_text()
    assert '<div class="verdict">' in page
    assert f">{named}<" in page
    assert f"reap {words[0]}" in page, "the command that made it"
    text = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r'(src|href)="(?!#|data:)', text)
    assert ('data-figure="heap"' in page) == (verb == "fragment")
    again = reap(*words, "--html", "x.html", *program_of, cwd=tmp_path)
    assert again.returncode == ExitCode.INTERNAL
    assert "x.html exists already" in again.stderr


def test_hostile_words_stay_text(tmp_path):
    path = tmp_path / "x.html"
    sheet = Sheet("All", [HOSTILE], [[HOSTILE, "\x1b[31m"]])
    write_page(path, HOSTILE, [HOSTILE], [sheet], force=False, notes=[HOSTILE])
    page = path.read_text()
    assert HOSTILE not in page
    assert "\x1b" not in page
