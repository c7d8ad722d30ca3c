"""What a program is called, and what is called in it, cannot act: in no verb, in no format."""

import csv
import json
import os
import re
import subprocess
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from building import OUT, compiled
from programs import reap

ACTS = "\x1b]0;TITLE\x07\x1b[31m</script><evil onload=1>\n::error::EVIL\x9b\u202e"
"""Sets a terminal's title, colours it, ends a script, and is a command to GitHub's runner."""
PROGRAM = "=1+2" + ACTS.replace("/", "")
ARGUMENT = f"a{ACTS}"
_FUNCTION, _FILE = "FUNCTION_" + "A" * 80, "FILENAME_" + "A" * 80
SOURCE = f"""
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#line 1 "{_FILE}"
__attribute__((noinline)) void *{_FUNCTION}(int n) {{ void *volatile p = malloc(n); return p; }}
int main(void) {{
    prctl(PR_SET_NAME, "\\033[31m\\n::x");
    for (int i = 0; i < 100000; ++i) {{
        void *block = {_FUNCTION}(i % 900 + 1);
        memset(block, 1, i % 900 + 1);
        if (i % 50) free(block);
    }}
}}
"""
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    f"HOSTILE{ACTS}".replace("=", ""): ACTS,
    "GITHUB_ACTIONS": "true",
    "HOME": "/root",
}
PAGE = ["--html", "o.html", "--json", "o.json"]
FILES = {
    "show": PAGE,
    "diff": PAGE,
    "check": [
        "--max-peak",
        "1",
        "--suppress",
        ACTS,
        "--junit",
        "o.xml",
        "--html",
        "o.html",
        "--json",
        "o.json",
    ],
    "rss": PAGE,
    "drag": PAGE,
    "fragment": [*PAGE, "--save-profile", "o.txt"],
    "compare": ["-n", "2", "--against", "true", "--export", "o.csv", "--export", "o.md"],
    "wall": PAGE,
    "run": ["--budget", "5", *PAGE],
    "tune": ["-n", "28", *PAGE],
    "record": ["--depth", "full"],
}
FORMATS = ["collapsed", "speedscope", "chrome-trace", "fleet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program and two recordings of it."""
    where = tmp_path_factory.mktemp(ACTS.replace("/", "").replace("\n", ""))
    code = Path(
        compiled("hostile", ["gcc", "-x", "c", "-g", "-O1", "-w", "-", "-o", OUT], text=SOURCE)
    ).read_bytes()
    for name in (_FUNCTION, _FILE):
        longest = max(re.findall(name.encode() + b"A*", code), key=len)
        code = code.replace(longest, ACTS.encode().ljust(len(longest), b"~"))
    (where / PROGRAM).write_bytes(code)
    (where / PROGRAM).chmod(0o755)
    for name in ("a.reap", "b.reap"):
        run("record", "-o", name, "--depth", "full", "--", f"./{PROGRAM}", ARGUMENT, cwd=where)
    return where


def run(*words: str, cwd: Path) -> None:
    done = reap(*words, cwd=cwd, env={**os.environ, **ENVIRONMENT}, text=False, timeout=300)
    for said in (done.stdout, done.stderr):
        acts_not(said.decode())
        assert b"Traceback" not in said, said


def acts_not(text: str, also: str = "\n\t") -> None:
    """A text for a terminal or for the log of a CI system has nothing that either obeys."""
    obeyed = {each for each in text if unicodedata.category(each)[0] == "C" and each not in also}
    assert not obeyed, (obeyed, text[:2000])
    commands = [line for line in text.splitlines() if re.match(r"\s*(::|##\[)", line)]
    assert all(line.startswith("::error title=reap check%3A ") for line in commands), commands


def files_act_not(where: Path) -> None:
    for path in where.glob("o.*"):
        text = path.read_text(encoding="utf-8")
        path.unlink()
        acts_not(text, also="\n\t\r" if path.suffix == ".csv" else "\n\t")
        if path.suffix == ".json":
            json.loads(text)
        if path.suffix == ".xml":
            ET.fromstring(text)  # noqa: S314 - our own
        if path.suffix == ".html":
            assert "<evil" not in text
        if path.suffix == ".csv":
            cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
            assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t"))]


@pytest.mark.parametrize(
    "verb", [*(verb for verb in FILES if verb != "tune"), pytest.param("tune", marks=pytest.mark.slow)]
)
def test_a_verb_obeys_no_name(folder: Path, verb: str) -> None:
    of = {"show": ["a.reap"], "diff": ["a.reap", "b.reap"]}
    run(verb, *FILES[verb], *of.get(verb, ["--", f"./{PROGRAM}", ARGUMENT]), cwd=folder)
    files_act_not(folder)


def test_annotations_obey_no_name(folder: Path) -> None:
    run("check", "--max-peak", "1", "--github", "--", f"./{PROGRAM}", ARGUMENT, cwd=folder)


@pytest.mark.parametrize("kind", FORMATS)
def test_an_export_obeys_no_name(folder: Path, kind: str) -> None:
    run(
        "export",
        "a.reap",
        "--to",
        kind,
        "-f",
        "-o",
        "o.json" if kind in FORMATS[1:3] else "o.out",
        cwd=folder,
    )
    if kind == "fleet":
        run("fleet", "o.out", "--json", "o.json", "--html", "o.html", cwd=folder)
        (folder / "o.out").unlink()
    files_act_not(folder)


@pytest.mark.parametrize(
    "words",
    [
        *([verb, "--", f"./none{ACTS}"] for verb in ("run", "record", "rss", "compare")),
        *([verb, f"none{ACTS}"] for verb in ("show", "fleet", "check")),
        ["diff", f"none{ACTS}", "a.reap"],
        ["export", f"none{ACTS}", "--to", "pprof"],
        ["show", f"--none{ACTS}"],
        [f"none{ACTS}"],
    ],
    ids=lambda words: words[0][:8],
)
def test_a_message_obeys_no_name(folder: Path, words: list[str]) -> None:
    run(*words, cwd=folder)


def test_a_command_to_paste_is_the_command() -> None:
    from reap.base.text import command_line

    words = ["/bin/echo", "-n", PROGRAM, "it's\\", "\udcff'"]
    said = subprocess.run(["bash", "-c", command_line(words)], capture_output=True, check=True).stdout
    assert said == " ".join(words[2:]).encode(errors="surrogateescape")
    acts_not(command_line(words))
