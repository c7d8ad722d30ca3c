"""Snippets of the page *My memory stays high*: each whole program runs, each variable and option exists."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from building import OUT, compiled

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "memory.md"


def snippets(language: str) -> list[str]:
    """Code blocks of the page in a language."""
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found, language
    return found


def run(*words: str, environment: dict[str, str] | None = None) -> str:
    """What a command prints. It must succeed."""
    more = {**os.environ, **(environment or {})}
    return subprocess.run(words, env=more, capture_output=True, text=True, check=True, timeout=60).stdout


def needs(tool: str) -> None:
    """Skip where a tool is not installed."""
    if not shutil.which(tool):
        pytest.skip(f"needs {tool}")


def test_programs_in_python_run() -> None:
    for snippet in snippets("python"):
        run(
            sys.executable,
            "-W",
            "error",
            "-c",
            snippet.replace("200_000", "2_000").replace("sleep(3)", "sleep(0)"),
        )


def test_programs_in_c_run() -> None:
    *programs, preload = sorted(snippets("c"), key=lambda text: "constructor" in text)
    for program in programs:
        run(compiled("typed", ["gcc", "-Wall", "-Werror", "-x", "c", "-", "-o", OUT], text=program))
    flags = ["-Wall", "-Werror", "-shared", "-fPIC", "-pthread", "-x", "c", "-"]
    library = compiled("libtrims.so", ["gcc", *flags, "-o", OUT], text=preload)
    assert run("echo", "done", environment={"LD_PRELOAD": library}) == "done\n"


def test_the_program_in_ruby_runs() -> None:
    needs("ruby")
    for snippet in snippets("ruby"):
        run("ruby", "-e", snippet)


@pytest.mark.slow
def test_programs_in_go_run(tmp_path: Path) -> None:
    needs("go")
    for number, snippet in enumerate(snippets("go")):
        file = tmp_path / f"main{number}.go"
        file.write_text(snippet)
        run(compiled(f"memory-page-{number}", ["go", "build", "-o", OUT, file]))


def test_options_of_the_jvm_exist() -> None:
    needs("java")
    (line,) = re.findall(r"^java (\S+) -jar", PAGE.read_text(), re.MULTILINE)
    options = [line, *re.findall(r"-XX:[+\w=]+", PAGE.read_text())]
    run("java", "-Xmx64m", *dict.fromkeys(options), "-version")
