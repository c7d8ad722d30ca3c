"""`reap.toml`, completion and man pages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import program, reap

from reap.base.errors import ExitCode

ROOT = Path(__file__).resolve().parents[3]
BUSY = program("busy")


def test_a_default_is_taken_and_the_command_line_comes_first(tmp_path):
    (tmp_path / "reap.toml").write_text(
        '[check]\nmax-peak = "1"\njson = "c.json"\nsuppress = "a*"\nforce = true\n'
    )
    assert reap("check", "--", BUSY, cwd=tmp_path).returncode == ExitCode.FAILED
    assert '"a*"' in (tmp_path / "c.json").read_text()
    assert reap("check", "--max-peak", "1GB", "--", BUSY, cwd=tmp_path).returncode == 0


def test_another_file_is_named(tmp_path):
    (tmp_path / "reap.toml").write_text("not toml")
    (tmp_path / "o.toml").write_text("[check]\nmax-peak = 1\n[workloads.list]\njson = 'cards.json'\n")
    words = ("--config", "o.toml")
    assert reap(*words, "check", "--", BUSY, cwd=tmp_path).returncode == ExitCode.FAILED
    assert reap(*words, "workloads", "list", cwd=tmp_path).returncode == 0
    assert (tmp_path / "cards.json").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[check]\nmax-peek = 1\n", "did you mean max-peak?"),
        ("[chek]\nmax-peak = 1\n", "did you mean check?"),
        ("check = 1\n", "no table of a command's options"),
        ("[check\n", "is not understood"),
        ("[check]\nruns = 'many'\n", "is not a valid integer range"),
    ],
)
def test_a_configuration_that_is_not_understood_is_refused(tmp_path, text, said):
    (tmp_path / "reap.toml").write_text(text)
    done = reap("check", "--max-peak", "1", "--", BUSY, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert said in done.stderr


def test_a_file_that_is_named_has_to_be_there(tmp_path):
    done = reap("--config", "none.toml", "check", "--max-peak", "1", "--", BUSY, cwd=tmp_path)
    assert (done.returncode, "there is no none.toml" in done.stderr) == (ExitCode.USAGE, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_ignored(tmp_path):
    (tmp_path / "reap.toml").write_text("[check]\nmax-peak = 1\n")
    os.chown(tmp_path / "reap.toml", 65534, 65534)
    done = reap("check", "--max-allocations", "1G", "--", BUSY, cwd=tmp_path)
    assert done.returncode == 0
    assert "belongs to another user and is ignored" in done.stderr


def made_by_others(folder: Path, how: str) -> str:
    """Leaves a reap.toml that somebody else may have written; says what the note says of it."""
    file = folder / "reap.toml"
    if how in ("pipe", "device"):
        os.mkfifo(file) if how == "pipe" else file.symlink_to("/dev/zero")
        return "is no regular file"
    file.write_text("[check]\nmax-peak = 1\n")
    if how == "shared file":
        file.chmod(0o666)
        return "may be written by other users"
    if how == "group":
        file.chmod(0o660)
        os.chown(file, 0, 12)
        return "may be written by other users"
    if how == "shared folder":
        folder.chmod(0o1777)
        return "is in a folder that other users may write"
    if how == "link":
        file.rename(folder / "roots.toml")
        file.symlink_to("roots.toml")
        os.lchown(file, 65534, 65534)
        return "is another user's link"
    os.chown(folder, 65534, 65534)
    return "is in another user's folder"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(
    "how", ["pipe", "device", "shared file", "group", "shared folder", "link", "others' folder"]
)
def test_a_file_that_others_may_have_written_is_ignored(tmp_path, how):
    said = made_by_others(tmp_path, how)
    done = reap("check", "--max-allocations", "1G", "--", BUSY, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"note: reap.toml {said} and is ignored; --config reap.toml takes it" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [("a = " + "[" * 100_000, "it is nested too deeply"), ("#" * (2 << 20), "it has more than 1 MiB")],
    ids=["deep", "large"],
)
def test_a_file_that_takes_too_much_is_refused(tmp_path, text, said):
    (tmp_path / "reap.toml").write_text(text)
    done = reap("doctor", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert f"reap.toml is not understood: {said}" in done.stderr


def test_a_pipe_that_is_named_is_read(tmp_path):
    os.mkfifo(tmp_path / "o.toml")
    with subprocess.Popen(["sh", "-c", f"echo '[chek]' > {tmp_path / 'o.toml'}"]):
        done = reap("--config", "o.toml", "doctor", cwd=tmp_path)
    assert "did you mean check?" in done.stderr


def test_commands_of_the_file_are_named_before_they_run(tmp_path):
    (tmp_path / "reap.toml").write_text('[compare]\nprepare = "true; \\u001b[31m"\n')
    said = "note: reap.toml gives reap compare --prepare $'true; \\x1b[31m'\n"
    assert said in reap("compare", "--", "no-such-program", cwd=tmp_path).stderr
    assert said not in reap("compare", "--prepare", "true", "--", "no-such-program", cwd=tmp_path).stderr


@pytest.mark.parametrize("name", ["naive", "against"])
def test_a_command_after_variables_is_named_too(tmp_path, name):
    (tmp_path / "reap.toml").write_text(f'[compare]\n{name} = {"[" * (name == "against")}"K=V ./other"')
    with (tmp_path / "reap.toml").open("a") as file:
        file.write("]\n" if name == "against" else "\n")
    said = f"note: reap.toml gives reap compare --{name} 'K=V ./other'\n"
    assert said in reap("compare", "--", "no-such-program", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [("reap che", "check"), ("reap check --max-p", "--max-peak"), ("reap record -d f", "full")],
)
def test_bash_completes(words, offered):
    variables = {"_REAP_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = Path(sys.executable).with_name("reap")
    done = subprocess.run(
        [command], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    assert f"plain,{offered}" in done.stdout.splitlines()


def test_man_pages_are_those_of_the_commands():
    done = subprocess.run([ROOT / "setup" / "man", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_man_pages_are_installed():
    installed = Path(sys.prefix) / "share" / "man" / "man1"
    assert {path.name for path in (ROOT / "lab" / "man").glob("*.1")} <= {
        path.name for path in installed.iterdir()
    }


@pytest.mark.parametrize("page", sorted((ROOT / "lab" / "man").glob("*.1")), ids=lambda page: page.stem)
def test_a_man_page_is_sound(page):
    words = ["groff", "-man", "-Tutf8", "-P-cbou", "-wall", page]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "NAME" in done.stdout
    assert "\x08\n" not in page.read_text()
