"""The check of words and commit subjects fails on what it should, and says where and what to write."""

import runpy
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "setup" / "style"
WORDS = """
exempt = ["quoted/*"]
[[word]]
pattern = '\\bprocessor time\\b'
write = "CPU time"
[[word]]
pattern = '\\blookers?\\b'
write = "poller"
pending = true
[[word]]
pattern = '\\bthe books\\b'
write = "the model"
pending_in = ["later/*"]
"""


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def style(tmp_path, capsys):
    """Checks a checkout of files given by name; its exit status and what it prints."""
    git(tmp_path, "init", "--initial-branch", "main")
    words = tmp_path / "words.toml"
    words.write_text(WORDS)
    check = runpy.run_path(str(FOLDER / "__main__.py"), run_name="style")["check"]

    def of(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            git(tmp_path, "add", str(path))
        return check(tmp_path, words), capsys.readouterr().out

    of.folder = tmp_path
    return of


def test_a_word_is_named_with_its_place_and_replacement(style):
    status, printed = style(page="one\nIts Processor time is short.\n")
    assert status == 1
    assert printed == "page:2: 'Processor time': write CPU time\n"


def test_a_word_across_two_lines_of_a_comment_is_found(style):
    status, printed = style(page="# the processor\n# time of a run\n")
    assert status == 1
    assert printed.startswith("page:1: ")


def test_exempt_files_pass_and_pending_words_are_counted(style):
    status, printed = style(quoted__page="processor time\n", page="two lookers, a looker\n")
    assert status == 0
    assert printed == "pending in words.toml: 2 occurrences to replace by 'poller'\n"


def test_a_word_pending_in_a_folder_is_refused_elsewhere(style):
    status, printed = style(later__page="the books\n", page="the books\n")
    assert status == 1
    assert printed == (
        "page:1: 'the books': write the model\n"
        "pending in words.toml: 1 occurrences to replace by 'the model'\n"
    )


def test_a_long_subject_of_the_branch_fails_and_one_of_main_does_not(style):
    git(style.folder, "commit", "--allow-empty", "-m", "m" * 80)
    assert style() == (0, "")
    git(style.folder, "checkout", "-b", "topic")
    git(style.folder, "commit", "--allow-empty", "-m", "t" * 72)
    assert style() == (0, "")
    git(style.folder, "commit", "--allow-empty", "-m", "t" * 73)
    status, printed = style()
    assert status == 1
    assert "the subject has 73 characters; write at most 72" in printed


def test_no_main_is_no_fault(style):
    git(style.folder, "checkout", "-b", "topic")
    git(style.folder, "commit", "--allow-empty", "-m", "t" * 80)
    assert style() == (0, "")


def test_the_words_of_the_project_can_be_read():
    words, *_ = runpy.run_path(str(FOLDER / "__main__.py"), run_name="style")["read_words"](
        FOLDER / "words.toml"
    )
    assert all(word.write for word in words)
    assert any(not word.pending for word in words)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('def f() -> int:\n    """What it costs."""\n', "page.py:2: 'What': begin with a verb or a noun\n"),
        ('def f() -> bool:\n    """Whether it costs."""\n', ""),
        (
            'def f() -> str:\n    """Whether it costs."""\n',
            "page.py:2: 'Whether': begin with a verb or a noun\n",
        ),
        ('"""Those that cost."""\n', "page.py:1: 'Those': begin with a verb or a noun\n"),
        ('def f() -> int:\n    """Costs, in ns; the same as before."""\n', ""),
        ("def f(:\n", ""),
    ],
)
def test_a_docstring_begins_with_a_verb_or_a_noun(style, line, fault):
    (style.folder / "page.py").write_text(line)
    git(style.folder, "add", "page.py")
    assert style() == (int(bool(fault)), fault)


@pytest.mark.parametrize(
    ("subject", "right"),
    [
        ("record: keep names", True),
        ("record: keeps names", False),
        ("record: fixed names", False),
        ("run, wall: process names", True),
    ],
)
def test_a_subject_is_imperative(style, subject, right):
    (style.folder / "page").write_text("one\n")
    git(style.folder, "add", "page")
    git(style.folder, "commit", "-m", subject)
    status, printed = style()
    assert (status == 0) == right
    assert right or "is no imperative" in printed
