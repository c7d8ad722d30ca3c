"""Finding a program, and saying what a preload can do with it: every refusal has its own sentence."""

import contextlib
import os
import shutil
import stat
import struct
import tempfile
from pathlib import Path

import pytest
from programs import NOBODY, as_nobody, compile_c, program, reap

from reap.base.errors import ExitCode, ReapError
from reap.launch.program import require_preloadable, resolve


def enter(command, **options):
    require_preloadable(resolve(command, **options))


def refused(*command, preload=False, **options):
    with pytest.raises(ReapError) as caught:
        (enter if preload else resolve)(list(command), **options)
    assert caught.value.hint, "every refusal says what to do"
    assert "\n" not in caught.value.what
    return caught.value


def executable(path, data):
    path.write_bytes(data)
    path.chmod(0o755)
    return path


def test_a_program_in_path():
    found = resolve(["perl", "-e", "1"])
    assert found.path == shutil.which("perl")
    assert found.command == ["perl", "-e", "1"]
    assert "ld-linux" in found.loader
    assert not found.obstacle
    require_preloadable(found)


def test_a_program_by_relative_path_is_found_where_it_runs(tmp_path):
    (tmp_path / "busy").symlink_to(program("busy"))
    assert resolve(["./busy"], directory=str(tmp_path)).path == str(tmp_path / "busy")


def test_path_is_searched_in_order_and_past_what_is_not_executable(tmp_path):
    for name, mode in (("one", 0o644), ("two", 0o755)):
        (tmp_path / name).mkdir()
        executable(tmp_path / name / "tool", Path(program("busy")).read_bytes()).chmod(mode)
    search = {"PATH": f"{tmp_path}/one:{tmp_path}/two"}
    assert resolve(["tool"], environment=search).path == str(tmp_path / "two" / "tool")
    assert refused("tool", environment={"PATH": f"{tmp_path}/one"}).code == ExitCode.NOT_EXECUTABLE


@pytest.mark.parametrize("name", ["no-such-program-here", "./no-such-program-here", "/etc/passwd/x"])
def test_not_found(name):
    error = refused(name)
    assert error.code == ExitCode.NOT_FOUND
    assert "no-such-program-here" in error.what or "/etc/passwd/x" in error.what


def test_nothing_to_run():
    assert refused().code == ExitCode.USAGE
    assert refused("").code == ExitCode.USAGE


def test_not_executable(tmp_path):
    (tmp_path / "plain").write_text("text")
    error = refused(str(tmp_path / "plain"))
    assert error.code == ExitCode.NOT_EXECUTABLE
    assert error.hint.startswith("chmod +x")


def test_a_folder_and_a_device(tmp_path):
    assert "is a folder" in refused(str(tmp_path)).what
    assert "not a regular file" in refused("/dev/null").what


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"echo hello\n", "neither an ELF program nor a script"),
        (b"#!\n", "names no interpreter"),
        (b"#!/no/such/interpreter\n", "interpreter /no/such/interpreter"),
        (b"\x7fELF", "truncated"),
        (b"\x7fELF" + b"\xff" * 200, "truncated"),
    ],
)
def test_files_that_are_no_program(tmp_path, data, message):
    error = refused(str(executable(tmp_path / "file", data)))
    assert error.code in (ExitCode.NOT_EXECUTABLE, ExitCode.NOT_FOUND)
    assert message in error.what


def test_an_elf_file_cut_short_anywhere_is_refused_or_read(tmp_path):
    whole = Path(program("busy")).read_bytes()
    for length in range(4, len(whole), len(whole) // 40):
        path = executable(tmp_path / "cut", whole[:length])
        with contextlib.suppress(ReapError):
            resolve([str(path)])
    assert "truncated" in refused(str(executable(tmp_path / "cut", whole[: len(whole) // 4]))).what


def test_another_machine(tmp_path):
    data = bytearray(Path(program("busy")).read_bytes())
    struct.pack_into("<H", data, 18, 183)  # e_machine: AArch64
    error = refused(str(executable(tmp_path / "foreign", bytes(data))))
    assert "another machine (AARCH64" in error.what


def test_a_missing_loader(tmp_path):
    data = (
        Path(program("busy"))
        .read_bytes()
        .replace(b"/lib64/ld-linux-x86-64.so.2", b"/lib64/ld-nowhere-here.so.2")
    )
    assert "ld-nowhere-here" in refused(str(executable(tmp_path / "foreign", data))).what


def test_musl(tmp_path):
    loader = tmp_path / "ld-musl-x86_64.so.1"
    loader.touch()
    old = b"/lib64/ld-linux-x86-64.so.2"
    link = Path("/tmp") / f"ld-musl{os.getpid()}"
    link.symlink_to(loader)
    try:
        new = str(link).encode()
        data = Path(program("busy")).read_bytes().replace(old, new.ljust(len(old), b"\0"))
        assert "musl" in refused(str(executable(tmp_path / "program", data)), preload=True).what
    finally:
        link.unlink()


@pytest.mark.parametrize(("minor", "refuses"), [(5, True), (99, False)])
def test_a_c_library_that_is_older_than_the_preloads_need(tmp_path, minor, refuses):
    """Its loader is never run: it would end the program, "version `GLIBC_2.35' not found"."""
    banner = f"GNU C Library (Debian GLIBC 2.{minor}-1) stable release version 2.{minor}.\n"
    (tmp_path / "libc-2.so").write_text(banner)
    (tmp_path / "libc.so.6").symlink_to("libc-2.so")
    (tmp_path / "ld-linux").touch()
    old = b"/lib64/ld-linux-x86-64.so.2"
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="ld") as short:
        link = Path(short) / "ld.so"
        link.symlink_to(tmp_path / "ld-linux")
        data = Path(program("busy")).read_bytes().replace(old, bytes(link).ljust(len(old), b"\0"))
        path = str(executable(tmp_path / "program", data))
        if not refuses:
            enter([path])
            return
        what = refused(path, preload=True).what
        assert what.startswith(f"{path} runs with glibc 2.5, and reap's preloads need glibc 2.")


def test_static():
    found = resolve([program("peak_static")])
    assert found.loader == ""
    error = refused(program("peak_static"), preload=True)
    assert "statically linked" in error.what
    assert error.code == ExitCode.NOT_EXECUTABLE


def test_a_static_program_is_sent_to_what_sees_it_and_a_go_program_is_named(tmp_path):
    static = refused(program("peak_static"), preload=True)
    assert static.hint.startswith("link it dynamically")
    assert static.hint.endswith(f"reap wall -- {program('peak_static')}")
    data = Path(program("peak_static")).read_bytes()
    # As Go's linker names it, in place of a section of the same length.
    assert b"\0.note.ABI-tag\0" in data
    go = executable(tmp_path / "trees", data.replace(b"\0.note.ABI-tag\0", b"\0.go.buildinfo\0"))
    told = refused(str(go), preload=True)
    assert told.hint == (
        f"it is a Go program, which has an allocator of its own; see where its time goes: reap wall -- {go}"
    )


LOADER = "/lib64/ld-linux-x86-64.so.2"


def test_the_loader_executed_itself_is_followed_to_the_program():
    found = resolve([LOADER, "--argv0", "x", "--inhibit-cache", program("busy"), "--list"])
    assert (found.path, found.image, found.obstacle) == (LOADER, program("busy"), "")
    assert "statically linked" in resolve([LOADER, program("peak_static")]).obstacle


@pytest.mark.parametrize("words", [[], ["--list", "/bin/true"], ["busy"], ["--preload", "/bin/true"]])
def test_the_loader_without_a_program(words):
    error = refused(LOADER, *words)
    assert error.code == ExitCode.NOT_EXECUTABLE
    assert "is the loader, and no program is named" in error.what


def test_set_user_id(tmp_path):
    path = executable(tmp_path / "privileged", Path(program("busy")).read_bytes())
    os.chown(path, NOBODY if os.geteuid() == 0 else -1, -1)
    path.chmod(0o755 | stat.S_ISUID)
    if os.geteuid() != 0:
        assert resolve([str(path)]).obstacle == ""  # one's own: nothing changes
    else:
        assert "set-user-ID" in refused(str(path), preload=True).what


@pytest.mark.parametrize(
    ("flag", "name"),
    [
        ("-fsanitize=address", "AddressSanitizer"),
        ("-fsanitize=leak", "LeakSanitizer"),
        ("-fsanitize=thread", "ThreadSanitizer"),
        ("-static-libasan -fsanitize=address", "AddressSanitizer"),
    ],
)
def test_sanitizers_are_recognised_before_the_start(tmp_path, flag, name):
    path = compile_c(f"sanitized{flag.replace(' ', '')}", "int main(void) { return 0; }", flag.split())
    for words in (["run"], ["compare"], ["record"], ["drag"], ["wall"]):
        done = reap(*words, "--", path, cwd=tmp_path)
        assert done.returncode == 126, done.stderr
        assert f"is built with {name}" in done.stderr


def test_set_group_id_and_unreadable_as_an_unprivileged_user(open_folder):
    path = executable(open_folder / "privileged", Path(program("busy")).read_bytes())
    path.chmod(0o755 | stat.S_ISGID)
    assert "set-group-ID" in as_nobody(lambda: resolve([str(path)]).obstacle)
    path.chmod(0o711)

    def read():
        try:
            return str(resolve([str(path)]))
        except ReapError as error:
            return error.what

    assert "cannot be read" in as_nobody(read)
    path.chmod(0o700)
    assert "not executable" in as_nobody(read)


def test_scripts_are_followed_to_the_program_that_runs(tmp_path):
    sh = executable(tmp_path / "script", b"#!/bin/sh -e\necho hello\n")
    assert resolve([str(sh)]).image == "/bin/sh"
    env = executable(tmp_path / "other", b"#!/usr/bin/env -S LC_ALL=C perl\n")
    assert resolve([str(env)]).image == shutil.which("perl")
    second = executable(tmp_path / "second", f"#!{sh}\n".encode())
    assert resolve([str(second)]).image == "/bin/sh"


def test_scripts_that_go_in_a_circle(tmp_path):
    path = tmp_path / "circle"
    assert "too many" in refused(str(executable(path, f"#!{path}\n".encode()))).what


def test_a_program_that_brings_its_own_malloc():
    found = resolve([program("own_malloc")])
    assert found.brings_malloc
    assert "brings its own malloc" in found.notes[0]
    assert not resolve([program("busy")]).brings_malloc


def test_a_runtime_with_a_heap_of_its_own_is_noticed(tmp_path):
    node = executable(tmp_path / "node", Path(program("busy")).read_bytes())
    (note,) = resolve([str(node)]).notes
    assert "V8's own heap" in note
    assert note.endswith("figures of malloc leave them out")  # rss counts their pages
    assert resolve([str(executable(tmp_path / "nodes", node.read_bytes()))]).notes == []


def test_a_hidden_allocator_is_noticed():
    source = (
        "void *_rjem_malloc(unsigned long n) { return 0; }\nint main(void) { return _rjem_malloc(1) != 0; }"
    )
    found = resolve([compile_c("hidden", source, ["-O0"])])
    assert "jemalloc linked in" in found.notes[0]
