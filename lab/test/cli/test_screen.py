"""The verdict of every verb is on the last 24 lines, a screen, of all that it prints on a small program."""

import subprocess
from pathlib import Path

import pytest
from programs import library, reap_command

LINES = 24
GOOD = f"good={library('good')}"

VERBS = {
    "compare": (["compare", "-a", GOOD, "-n", "2"], "Verdict: "),
    "drag": (["drag"], "Verdict: "),
    "drag, sampled": (["drag", "--engine", "sample"], "Verdict: "),
    "tune": (["tune", "-n", "28"], "Verdict: "),
    "rss": (["rss"], "Verdict: "),
    "check": (["check", "--max-peak", "1GB"], "ok: peak"),
    "wall": (["wall", "--budget", "4"], "Verdict: "),
    "run": (["run", "-a", GOOD, "-n", "2"], "Verdict: "),
}
"""What begins the verdict of each. Those of several processes or settings have the rest in --details."""


@pytest.mark.parametrize("verb", VERBS)
def test_the_verdict_is_on_the_screen(tmp_path: Path, verb: str) -> None:
    words, verdict = VERBS[verb]
    done = subprocess.run(
        [
            *reap_command(),
            *words,
            "--",
            "perl",
            "-e",
            "@a = 1..20000; select undef, undef, undef, 0.15",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "80"},
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    shown = "\n".join(done.stdout.splitlines()[-LINES:])
    assert verdict in shown, done.stdout
