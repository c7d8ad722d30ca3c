"""A recording names what ran, whatever became of the files since."""

import errno
import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner
from lab.test.recording.names.builds import FIRST, build, functions
from programs import reap
from recorded import recorded

from reap import native
from reap.launch.records import Launch
from reap.record import command
from reap.recording import read, record
from reap.recording.analyse import notes as told
from reap.recording.analyse.notes import notes


def unnamed(folder, file, **options):
    """A recording without names of its own, as one that was killed before its end."""
    path = folder / "unnamed.reap"
    record.record(Launch(argv=[file], program=file), path, "full", force=True, names=False, **options)
    return path


def about_names(path):
    return [note for note in notes(read.read(path), "full") if "names" in note]


@pytest.mark.parametrize("depth", ["triage", "full"])
@pytest.mark.parametrize("compress", [False, True])
def test_names_stay_when_the_program_is_rebuilt(tmp_path, depth, compress):
    file = build(tmp_path / "prog")
    path = tmp_path / "first.reap"
    record.record(Launch(argv=[file], program=file), path, depth, compress=compress)
    before = functions(read.read(path))
    build(tmp_path / "prog", "-DSECOND")
    assert functions(read.read(path)) == before
    assert before <= FIRST
    assert before & {"read_body", "write_log"}
    (tmp_path / "prog").unlink()
    assert functions(read.read(path)) == before
    assert about_names(path) == []
    assert not read.read(path).damage()


def test_two_builds_are_compared_by_the_names_of_each(tmp_path):
    files = [str(tmp_path / "first.reap"), str(tmp_path / "second.reap")]
    for file, flags in zip(files, ([], ["-DSECOND"]), strict=True):
        program = build(tmp_path / "prog", *flags)
        assert reap("record", "-d", "full", "-o", file, "--", program).returncode == 0
    text = reap("diff", *files).stdout
    assert "parse_header (prog)" in text
    assert "read_body (prog)" not in text
    assert "write_log (prog)" not in text


def test_another_build_gives_no_names_and_one_note(tmp_path):
    file = build(tmp_path / "prog")
    path = unnamed(tmp_path, file)
    shutil.copy(file, tmp_path / "old")
    assert functions(read.read(path)) == FIRST
    assert about_names(path) == []
    build(tmp_path / "prog", "-DSECOND")
    assert functions(read.read(path)) == {"prog+0x"}
    (note,) = about_names(path)
    assert "prog (the file is another build now)" in note
    assert "reap show --resolve" in note
    (tmp_path / "prog").unlink()
    (note,) = about_names(path)
    assert "prog (the file is gone)" in note
    shutil.move(tmp_path / "old", file)
    assert functions(read.read(path)) == FIRST
    assert about_names(path) == []


def test_without_a_build_id_the_file_must_not_have_changed(tmp_path):
    file = build(tmp_path / "prog", "-Wl,--build-id=none")
    path = unnamed(tmp_path, file)
    assert functions(read.read(path)) == FIRST
    shutil.copy(file, tmp_path / "same")
    shutil.move(tmp_path / "same", file)  # another file, of which nothing is known
    assert functions(read.read(path)) == {"prog+0x"}
    (note,) = about_names(path)
    assert "it has no build id, and changed since the recording began" in note
    record.record(Launch(argv=[file], program=file), tmp_path / "named.reap", "full")
    (tmp_path / "prog").unlink()
    assert functions(read.read(tmp_path / "named.reap")) == FIRST


def test_an_earlier_versions_recording_has_one_note_on_files_that_changed_since():
    """It has no build ids; what naming such a module finds is held in names_test.cpp."""
    modules = [(f"/srv/lib{at}.so", native.NAMES_UNCHECKED) for at in range(5)]
    (note,) = told._uncertain(modules)
    assert "lib0.so, lib1.so, lib2.so and 2 more have the names that the files have now" in note
    assert "may be false: an earlier version of reap recorded this" in note


@pytest.mark.parametrize("end", ["rm {0}", "mv {0} {0}.old && cp {1} {0}"])
@pytest.mark.parametrize("flags", [(), ("-Wl,--build-id=none",)])
def test_a_file_that_is_deleted_or_replaced_while_it_runs_is_held(tmp_path, end, flags):
    file = build(tmp_path / "prog", *flags)
    other = build(tmp_path / "other", "-DSECOND", *flags)
    done = recorded(tmp_path, "full", file, end.format(file, other))
    assert done.outcome.status == 0
    assert functions(done.recording) == FIRST
    assert about_names(done.path) == []


MEMFD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
int main(int count, char **words) {
    for (int turn = 1; turn < count; ++turn) { /* each library as the same path, one after another */
        int to = memfd_create("code", MFD_CLOEXEC), from = open(words[turn], O_RDONLY);
        char name[64];
        sendfile(to, from, 0, 1 << 30);
        sprintf(name, "/proc/self/fd/%d", to);
        void *library = dlopen(name, RTLD_NOW);
        close(to), close(from);
        if (!library) return 2;
        for (int i = 0; i < 10; ++i) free(((void *(*)(int))dlsym(library, "made"))(100));
        if (dlclose(library)) return 3;
    }
    return 0;
}
"""


def test_libraries_in_memory_have_names(tmp_path):
    host = build(tmp_path / "host", source=MEMFD)
    body = "{{ char *volatile p = malloc(n); *p = 1; return p; }}"
    source = "void *malloc(unsigned long); {0} void *{1}(int n) " + body
    libraries = []
    for name in ("first", "second"):
        inner = source.format("__attribute__((noinline))", name)
        outer = f"void *made(int n) {{ char *p = {name}(n); p[1] = 1; return p; }}"
        libraries.append(build(tmp_path / f"{name}.so", "-shared", "-fPIC", source=inner + outer))
    done = recorded(tmp_path, "full", host, *libraries)
    assert done.outcome.status == 0
    found = {
        function
        for image, stack, *_ in done.recording.stacks(100)
        for path, _, function, *_ in done.recording.frames(image, stack)
        if path.startswith("/proc/self/fd/")
    }
    assert found == {"first", "second", "made"}


def test_a_recording_that_cannot_be_added_to_is_as_it_was(tmp_path):
    file = build(tmp_path / "prog")
    path = unnamed(tmp_path, file)
    size = path.stat().st_size
    script = (
        "import resource, sys; from pathlib import Path; from reap.recording import record;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}));"
        "record.finish(Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    assert path.stat().st_size == size
    recording = read.read(path)
    assert functions(recording) == FIRST
    assert not recording.damage()


def test_samples_of_time_are_judged_once(tmp_path):
    file = build(tmp_path / "prog")
    path = unnamed(tmp_path, file)
    before = read.read(path).instruction_samples()
    outcome = native.keep_names(str(path), "libreap-record.so")
    assert outcome.complete
    after = read.read(path).instruction_samples()
    for name in ("all", "inside", "kernel_inside", "kernel", "recorder", "unknown"):
        assert getattr(after, name) == getattr(before, name)


def test_names_that_cannot_be_kept_are_a_note(tmp_path, monkeypatch):
    def full(*_words, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(record.native, "keep_names", full)
    path = tmp_path / "full.reap"
    done = CliRunner().invoke(command.record, ["-o", str(path), "--", "true"])
    assert done.exit_code == 0, done.output
    assert "note: the recording has no names of functions (No space left on device)" in done.output
    assert f"reap show --resolve {path}" in done.output
    assert read.read(path).header().finished
