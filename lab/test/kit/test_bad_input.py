"""What a kit cannot record is said in a sentence before anything runs, with what to do."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from programs import compile_c, program, reap

from reap.base.errors import ExitCode


def refused(done, code, what):
    """Whether nothing was run, and the message has what happened and what to do."""
    first, second, *more = done.stderr.splitlines()
    assert (done.returncode, done.stdout, more) == (code, "", []), done.stderr
    assert first.startswith("reap-record: ")
    assert what in first
    assert second.startswith("  ")
    return True


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "no command to run"),
        (["--"], "no command to run"),
        ([""], "no command to run"),
        (["-o"], "-o needs a value"),
        (["--live", "true"], "no such option: --live"),
        (["-xf", "true"], "no such option: -x"),
        (["--force=yes", "true"], "no such option: --force=yes"),
        (["--depth", "deep", "true"], "--depth is triage or full, not deep"),
    ],
)
def test_a_wrong_command_line(by_kit, words, what):
    assert refused(by_kit(*words), ExitCode.USAGE, what)


def test_help_and_version(by_kit):
    assert by_kit("--help").stdout.startswith("Usage: reap-record [OPTIONS] -- CMD...\n")
    assert by_kit("--version").stdout == f"reap-record {reap('--version').stdout.split()[-1]}\n"


def write(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def of_another_machine(folder: Path) -> str:
    data = bytearray(Path("/bin/true").read_bytes())
    data[18:20] = (183).to_bytes(2, "little")  # AArch64
    file = folder / "other"
    file.write_bytes(data)
    file.chmod(0o755)
    return str(file)


def of_older_glibc(folder: Path) -> str:
    """A program whose loader lies beside a C library that has no versions."""
    shutil.copy("/lib64/ld-linux-x86-64.so.2", folder / "ld.so")
    subprocess.run(
        ["gcc", "-shared", "-x", "c", "-", "-o", folder / "libc.so.6"], input=b"int x;", check=True
    )
    words = ["gcc", "-x", "c", "-", "-o", folder / "old", f"-Wl,--dynamic-linker={folder}/ld.so"]
    subprocess.run(words, input=b"int main(void) { return 0; }", check=True)
    return str(folder / "old")


def privileged(folder: Path) -> str:
    if os.geteuid() != 0:
        pytest.skip("only root can make one that belongs to another user")
    file = Path(shutil.copy("/bin/true", folder))
    os.chown(file, 65534, 65534)
    file.chmod(0o755 | stat.S_ISUID)
    return str(file)


PROGRAMS = {
    "no-such-program": (lambda _: "no-such-program", 127, "no-such-program: no such command in PATH"),
    "missing": (lambda folder: f"{folder}/a", 127, "does not exist"),
    "folder": (str, 126, "is not a regular file"),
    "not executable": (lambda folder: write(folder / "a", "x", 0o644), 126, "is not executable"),
    "text": (lambda folder: write(folder / "a", "echo"), 126, "is not an ELF file"),
    "empty": (lambda folder: write(folder / "a", ""), 126, "is empty"),
    "no interpreter": (lambda folder: write(folder / "a", "#!\n"), 126, "names no interpreter"),
    "lost interpreter": (
        lambda folder: write(folder / "a", "#!/no/sh\n"),
        127,
        "asks for the interpreter /no/sh",
    ),
    "long first line": (
        lambda folder: write(folder / "a", "#!/" + 300 * "a"),
        127,
        f"asks for the interpreter /{253 * 'a'}, which",
    ),
    "control characters": (lambda _: "/a\x9b\x1bb\xe9", 127, "/a??b\xe9 does not exist"),
    "itself": (lambda folder: write(folder / "a", f"#!{folder}/a\n"), 126, "too many to follow"),
    "other machine": (of_another_machine, 126, "is a program for another machine"),
    "static": (lambda _: program("peak_static"), 126, "is statically linked"),
    "older glibc": (of_older_glibc, 126, "runs with a C library that lacks GLIBC_2."),
    "sanitized": (
        lambda _: compile_c("sanitized", "int main(void) { return 0; }", ["-fsanitize=address"]),
        126,
        "is built with a sanitizer",
    ),
    "set-user-ID": (privileged, 126, "is set-user-ID, set-group-ID or has file capabilities"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_cannot_be_recorded(tmp_path, by_kit, name):
    make, code, what = PROGRAMS[name]
    (tmp_path / "programs").mkdir()
    assert refused(by_kit("--", make(tmp_path / "programs")), code, what)
    assert not list(tmp_path.glob("*.reap"))


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="needs musl-tools")
def test_a_program_of_musl(by_kit):
    file = compile_c(
        "of_musl", "int main(void) { return 0; }", ["-specs", "/usr/lib/x86_64-linux-musl/musl-gcc.specs"]
    )
    assert refused(by_kit(file), 126, "is built for the musl C library; the recorder is for glibc")


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_there_is_not_written_over(tmp_path, by_kit, kind):
    path, other = tmp_path / "x.reap", tmp_path / "other"
    other.write_text("kept")
    if kind == "file":
        path.write_text("kept")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(other)
    assert refused(by_kit("-o", "x.reap", "/bin/true"), ExitCode.INTERNAL, "x.reap exists already")
    done = by_kit("-f", "-o", "x.reap", "/bin/true")
    if kind == "file":
        assert done.returncode == 0
        assert path.stat().st_size > 1000
    else:
        assert refused(done, ExitCode.INTERNAL, "is no regular file, so --force does not replace it")
    assert other.read_text() == "kept"


def test_a_folder_that_is_not_there(by_kit):
    done = by_kit("-o", "no/x.reap", "/bin/true")
    assert refused(done, ExitCode.INTERNAL, "cannot be written: No such file or directory")


def test_no_folder_for_temporary_files(tmp_path, by_kit):
    done = by_kit("/bin/true", env={"TMPDIR": "/no/such"})
    assert refused(done, ExitCode.INTERNAL, "no temporary folder can be made")
    assert not list(tmp_path.iterdir())


def test_a_recording_is_kept_where_no_other_can_be_made(tmp_path, by_kit):
    (tmp_path / "x.reap").write_text("kept")
    done = by_kit("-f", "-o", "x.reap", "/bin/true", env={"TMPDIR": "/no/such"})
    assert refused(done, ExitCode.INTERNAL, "no temporary folder can be made")
    assert (tmp_path / "x.reap").read_text() == "kept"


def test_a_current_folder_that_was_removed(tmp_path, kit):
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" /bin/true'
    words = ["sh", "-c", script, kit / "reap-record"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused(done, ExitCode.INTERNAL, "the current folder is not there any more")


@pytest.mark.parametrize("part", ["reap-spawn", "libreap-record.so"])
def test_a_kit_that_lacks_a_part(tmp_path, kit, part):
    copy = shutil.copytree(kit, tmp_path / "copy")
    (copy / part).unlink()
    done = subprocess.run([copy / "reap-record", "/bin/true"], capture_output=True, text=True, check=False)
    assert refused(done, ExitCode.INTERNAL, f"a part of the kit is missing: {copy / part}")


def test_a_kit_whose_recorder_cannot_be_executed(tmp_path, kit):
    copy = shutil.copytree(kit, tmp_path / "copy")
    mounted = 'mount -t tmpfs -o noexec none "$1" && cp "$0" "$1" && mount --bind "$1/${0##*/}" "$0"'
    script = f'{mounted} && exec "$2" /bin/true'
    words = ["sh", "-c", script, copy / "libreap-record.so", tmp_path / "noexec", copy / "reap-record"]
    (tmp_path / "noexec").mkdir()
    done = subprocess.run(["unshare", "--mount", *words], capture_output=True, text=True, check=False)
    if "mount" in done.stderr.partition("reap-record: ")[0]:
        pytest.skip(f"nothing can be mounted here: {done.stderr}")
    assert refused(done, ExitCode.INTERNAL, "is on a file system that is mounted noexec")
