"""Locales that have not all of Unicode: what is printed is plain ASCII, and nothing ends in a traceback."""

import os
import subprocess
import sys

import pytest
from programs import library, program, reap

from reap.base.errors import ExitCode
from reap.cli.plain import print_plainly

ASCII = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""As a terminal of any locale whose letters are no UTF-8, as far as Python is concerned."""
BUSY = program("busy")
GOOD = f"good={library('good')}"

VERBS = {
    "show": ["show", "x.reap", "--html", "x.html", "--json", "x.json"],
    "doctor": ["doctor"],
    "compare": ["compare", "-n", "2", "-a", GOOD, "--html", "c.html", "--", BUSY],
    "run": ["run", "-n", "2", "-a", GOOD, "--", BUSY],
    "wall": ["wall", "--no-try", "--", BUSY],
    "rss": ["rss", "--html", "r.html", "--", "sleep", "0.3"],
    "fragment": ["fragment", "--map", "--", BUSY],
    "workloads": ["workloads", "list"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_locale_without_utf_8_gets_plain_ascii(tmp_path, verb):
    if verb == "show":
        reap("record", "-o", "x.reap", "--", BUSY, cwd=tmp_path, env=ASCII)
    done = reap(*VERBS[verb], cwd=tmp_path, env=ASCII, text=False)
    said = (done.stdout + done.stderr).decode("ascii")  # throws for anything else
    assert "Traceback" not in said
    assert done.returncode == ExitCode.OK or (verb, done.returncode) == ("doctor", ExitCode.FAILED), said


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "-n", "2", "-a", GOOD, "--", BUSY, "\u00e9"],
        ["record", "-o", "\u00e9.reap", "--", BUSY],
        ["show", "\u00e9.reap"],
        ["wall", "--no-try", "--", BUSY, "\u00e9"],
    ],
    ids=["compare", "record", "show", "wall"],
)
def test_what_is_no_text_in_the_locale_gets_one_message(tmp_path, words):
    done = reap(*words, cwd=tmp_path, env=ASCII)
    assert done.returncode in {ExitCode.USAGE, ExitCode.INTERNAL}
    assert "Traceback" not in done.stderr
    assert "not valid text in this locale" in done.stderr
    assert "LC_ALL=C.UTF-8" in done.stderr


def test_characters_are_spelt():
    where = print_plainly.__module__
    code = f"import sys\nfrom {where} import print_plainly\nprint_plainly()\nprint(sys.argv[1])"
    words = [sys.executable, "-c", code, "12 \u00b5s \u2026 \u2588\u2581 \u4e2d"]
    shown = subprocess.run(
        words, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=True
    )
    assert shown.stdout == b"12 us ... #_ ?\n"
