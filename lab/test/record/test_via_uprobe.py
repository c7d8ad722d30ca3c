"""`reap record --via uprobe`: programs that nothing can be preloaded into are recorded from outside."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from building import OUT, compiled
from lab.test.record.outside import NEEDS_UPROBES, crowded, recorded, target
from programs import NOBODY, as_nobody, reap, reap_command

from reap.base.errors import ExitCode

pytestmark = NEEDS_UPROBES

ROUNDS = ["5000", "0", "1"]
"""Words of attached.c: a round each 5 ms or so, for a second."""


def via(folder, *words, options=()):
    command = ["record", "--via", "uprobe", "-o", "v.reap", *options, "--", *words]
    done = reap(*command, cwd=folder)
    return done, recorded(done, folder / "v.reap")


def check(done, seen):
    """Where it was watched without a gap, every call was counted, from the first instruction on."""
    assert done.returncode == 7, done.stderr
    rounds = int(done.stdout.split()[0])
    assert rounds > 10
    assert seen.attached.from_start
    assert seen.calls["calloc"] == pytest.approx(rounds, abs=2 if seen.attached.share > 0.99 else 2 * rounds)
    assert {site.function for site in seen.sites} & {"take_small", "take_large", "grow", "start"}


@pytest.mark.parametrize("flags", [(), ("-static",), ("-static-pie",)])
def test_dynamic_and_static_programs(tmp_path, flags):
    check(*via(tmp_path, target("attached.c", *flags), *ROUNDS))


def test_code_whose_first_page_has_the_end_of_another_segment(tmp_path):
    """As lld links, and so Rust."""
    said = subprocess.run(["ld", "-pie", "--verbose"], capture_output=True, text=True, check=True).stdout
    pages = ". = ALIGN(CONSTANT (MAXPAGESIZE));"
    shared = said.split("=" * 50)[1].replace(pages, ". = . + CONSTANT (MAXPAGESIZE);", 1)
    (tmp_path / "script").write_text(shared)
    path, source = tmp_path / "program", Path(__file__).parent / "attached.c"
    flags = ["-g", "-O1", "-fno-builtin", "-w", "-pie", "-fPIE", f"-Wl,-T,{tmp_path / 'script'}"]
    subprocess.run(["gcc", *flags, "-Wl,-z,separate-code", source, "-o", path], check=True)
    check(*via(tmp_path, str(path), *ROUNDS))


@pytest.mark.parametrize("flags", [(), ("-static",)])
def test_programs_for_musl(tmp_path, flags):
    done, seen = via(tmp_path, target("attached.c", *flags, compiler="musl-gcc"), *ROUNDS)
    check(done, seen)
    # musl's calloc calls malloc, and its realloc both malloc and free.
    assert seen.calls["malloc"] == pytest.approx(3 * seen.calls["calloc"], rel=0.2)
    assert seen.calls["free"] == pytest.approx(5 * seen.calls["calloc"], rel=0.2)


def test_the_loader_of_musl_is_its_c_library(tmp_path):
    """As on Alpine, where no other name of the file is mapped."""
    loader = tmp_path / "ld-musl-x86_64.so.1"
    shutil.copy(Path("/lib/ld-musl-x86_64.so.1").resolve(), loader)
    loader.chmod(0o755)
    path, source = tmp_path / "program", Path(__file__).parent / "attached.c"
    flags = ["-O1", "-fno-builtin", "-w", f"-Wl,--dynamic-linker={loader}"]
    subprocess.run(["musl-gcc", *flags, source, "-o", path], check=True)
    _, seen = via(tmp_path, str(path), *ROUNDS)
    assert seen.calls["calloc"] > 10


def test_a_set_user_id_program_keeps_its_privilege(tmp_path):
    path = tmp_path / "changed"
    shutil.copy(target("attached.c"), path)
    os.chown(path, NOBODY, -1)
    path.chmod(0o4755)
    if (
        "nosuid"
        in subprocess.run(
            ["findmnt", "-no", "OPTIONS", "-T", path], capture_output=True, text=True, check=False
        ).stdout
    ):
        pytest.skip("set-user-ID is off on this file system")
    words = [*reap_command(), "record", "--via", "uprobe", "-o", "v.reap", "--", path, "1000", "0", "3"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        deadline = time.monotonic() + 30
        users = []
        while NOBODY not in users and run.poll() is None and time.monotonic() < deadline:
            found = subprocess.run(["pgrep", "-x", "changed"], capture_output=True, text=True, check=False)
            status = [Path(f"/proc/{pid}/status") for pid in found.stdout.split()]
            users = [int(file.read_text().split("Uid:\t")[1].split()[1]) for file in status if file.exists()]
        said, complaint = run.communicate(timeout=60)
    assert users == [NOBODY], complaint
    assert run.returncode == 7, complaint
    assert int(said.split()[0]) > 10


def test_children_and_what_they_execute(tmp_path):
    done, seen = via(tmp_path, "sh", "-c", f"{target('children.c', '-static')} 2; exit 3")
    assert done.returncode == 3, done.stderr
    assert {"take_first", "take_copied", "take_executed"} <= {site.function for site in seen.sites}
    assert len(seen.processes) >= 4


@pytest.mark.timed
def test_limits_of_cpu_time_and_size_hold_around_a_program(tmp_path):
    busy = [target("attached.c"), "0", "100000", "2"]
    _, more = via(tmp_path, *busy, options=["--max-cpu", "20%"])
    _, less = via(tmp_path, *busy, options=["--max-cpu", "2%", "--max-size", "128K", "--force"])
    assert less.attached.overhead < more.attached.overhead
    assert (tmp_path / "v.reap").stat().st_size <= 4 << 16  # with the names that are kept when it ends


def test_what_it_shows(tmp_path):
    done, _ = via(tmp_path, target("attached.c", "-static"), *ROUNDS)
    assert "each call that met a probe cost the process" in done.stderr
    shown = reap("show", "v.reap", "--html", "s.html", cwd=tmp_path)
    assert "by uprobes: all figures from" in shown.stdout
    assert "not known: calls are seen in windows of time" in shown.stdout
    assert f"next: reap wall -- {target('attached.c', '-static')}" in shown.stderr
    assert "Recorded by uprobes" in (tmp_path / "s.html").read_text()


def test_signals_reach_the_program(tmp_path):
    words = [
        "record",
        "--via",
        "uprobe",
        "-o",
        "v.reap",
        "--",
        target("attached.c", "-static"),
        "1000",
        "0",
        "60",
    ]
    with subprocess.Popen(
        [*reap_command(), *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as running:
        deadline = time.monotonic() + 30
        file = tmp_path / "v.reap"
        while not (file.exists() and file.stat().st_blocks > 1) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)
        running.send_signal(signal.SIGTERM)
        said, _ = running.communicate(timeout=30)
    assert running.returncode == 7
    assert int(said.split()[0]) > 10


def test_a_time_limit(tmp_path):
    path = target("attached.c", "-static")
    done, seen = via(tmp_path, path, "1000", "0", "60", options=("--timeout", "1"))
    assert done.returncode == ExitCode.TIMED_OUT
    assert seen.calls["calloc"] > 10


def test_a_program_without_symbols_is_refused(tmp_path):
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, target("attached.c", "-static")], check=True)
    done = reap("record", "--via", "uprobe", "-o", "v.reap", "--", str(bare), *ROUNDS, cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_EXECUTABLE
    assert "no allocation function was found" in done.stderr
    assert done.stdout == "", "it did not run"
    assert not (tmp_path / "v.reap").exists()


def test_a_file_that_exists_is_kept_and_nothing_runs(tmp_path):
    (tmp_path / "v.reap").write_text("mine")
    done = reap("record", "--via", "uprobe", "-o", "v.reap", "--", "touch", "ran", cwd=tmp_path)
    assert done.returncode == ExitCode.INTERNAL
    assert "v.reap exists already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["v.reap"]


def test_without_rights_nothing_runs(tmp_path):
    if as_nobody(lambda: str(os.access(sys.executable, os.X_OK))) != "True":
        pytest.skip("an unprivileged user may not enter this checkout's folder")
    tmp_path.chmod(0o777)
    words = [
        "record",
        "--via",
        "uprobe",
        "-o",
        str(tmp_path / "v.reap"),
        "--",
        "touch",
        str(tmp_path / "ran"),
    ]

    def action():
        done = subprocess.run([*reap_command(), *words], capture_output=True, text=True, check=False)
        return f"{done.stderr}\n{done.returncode}"

    said = as_nobody(action)
    assert said.endswith(f"\n{int(ExitCode.NOT_EXECUTABLE)}"), said
    assert "CAP_" in said
    assert "sudo reap record --via uprobe -- touch" in said
    assert not list(tmp_path.iterdir())


def test_a_static_program_names_this_way(tmp_path):
    path = target("attached.c", "-static")
    done = reap("record", "--", path, *ROUNDS, cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_EXECUTABLE
    assert f"reap record --via uprobe -- {path}" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--via", "uprobe", "--depth", "full", "--", "true"], "--depth must not be used with --via uprobe"),
        (["--via", "uprobe", "--pid", "1"], "--via must not be used with --pid"),
        (["--via", "uprobe", "--seconds", "1", "--", "true"], "--seconds requires --pid"),
        (["--via", "uprobe"], "no command to run"),
        (["--via", "uprobe", "--", "no-such-program"], "no such command"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, words, message):
    done = reap("record", *words, cwd=tmp_path)
    assert done.returncode in (ExitCode.USAGE, ExitCode.NOT_FOUND), done.stderr
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


LINKED = """
    #include <unistd.h>
    static char heap[1 << 16];
    static size_t used;
    __attribute__((noinline)) void *_rjem_malloc(size_t size) { return heap + (used += size) % (1 << 15); }
    __attribute__((noinline)) char *take(void) { return (char *)_rjem_malloc(24) + 1; }
    int main(void) {
        for (int i = 0; i < 1000; i++) { *take() = 1; usleep(200); }
        return 0;
    }"""


MIMALLOC = (
    LINKED.replace("_rjem_malloc(size_t size)", "mi_malloc_aligned(size_t size, size_t alignment)")
    .replace("_rjem_malloc(24)", "mi_malloc_aligned(24, 8)")
    .replace("int main", "__attribute__((used)) void *mi_malloc(size_t size) { return heap; }\n    int main")
)
"""As Rust calls it: aligned, always."""
ARROW = (
    LINKED.replace("_rjem_malloc(size_t size)", "je_arrow_mallocx(size_t size, int flags)")
    .replace("_rjem_malloc(24)", "je_arrow_mallocx(24, 0)")
    .replace("int main", "__attribute__((used)) int je_arrow_mallctl(void) { return 0; }\n    int main")
)
"""A jemalloc is known by what stands beside its malloc, whatever prefix it was built with."""


MIMALLOC_NEW = """
    #include <unistd.h>
    static char heap[1 << 16];
    static size_t used;
    __attribute__((noinline)) void *mi_malloc(size_t size) { return heap + (used += size) % (1 << 15); }
    __attribute__((noinline)) void *mi_new(size_t size) { return heap + (used += size) % (1 << 15); }
    __attribute__((noinline)) void *mi_new_nothrow(size_t size) { return (char *)mi_malloc(size) + 1; }
    __attribute__((noinline)) char *take(void) { return (char *)mi_new(24) + 1; }
    __attribute__((noinline)) char *take_wrapped(void) { return (char *)mi_new_nothrow(24) + 1; }
    int main(void) {
        for (int i = 0; i < 1000; i++) { *take() = 1; *take_wrapped() = 1; usleep(200); }
        return 0;
    }"""
"""Calls mi_new as mimalloc-new-delete.h does; a wrapper around another of its functions counts once."""


def test_the_operators_of_a_mimalloc_that_is_linked_in(tmp_path):
    command = ["gcc", "-x", "c", "-g", "-O1", "-w", "-", "-o", OUT]
    _, seen = via(tmp_path, compiled("linked-mimalloc-new", command, text=MIMALLOC_NEW))
    assert {"take", "take_wrapped"} <= {site.function for site in seen.sites}
    assert seen.calls["operator new"] > 10
    assert "malloc" not in seen.calls


@pytest.mark.parametrize(
    ("name", "text"),
    [("rjem", LINKED), ("mimalloc", MIMALLOC), ("arrow", ARROW)],
    ids=["rjem", "mimalloc", "arrow"],
)
def test_an_allocator_that_is_linked_in(tmp_path, name, text):
    """No preload comes between the functions of one file."""
    command = ["gcc", "-x", "c", "-g", "-O1", "-w", "-", "-o", OUT]
    _, seen = via(tmp_path, compiled(f"linked-{name}", command, text=text))
    assert "take" in {site.function for site in seen.sites}
    assert seen.calls["aligned_alloc" if name == "mimalloc" else "malloc"] > 10


BUSY = """
    #include <stdio.h>
    #include <stdlib.h>
    static char heap[1 << 16];
    static size_t used;
    static volatile unsigned long sink;
    __attribute__((noinline)) void *_rjem_malloc(size_t size) { return heap + (used += size) % (1 << 15); }
    __attribute__((noinline)) char *take(void) { return (char *)_rjem_malloc(24) + 1; }
    int main(int count, char **words) {
        long calls = atol(words[1]), work = atol(words[2]);
        for (long i = 0; i < calls; i++) {
            *take() = 1;
            for (long j = 0; j < work; j++) sink += j;
        }
        printf("%ld\\n", calls);
        return 0;
    }"""


def beside_busy_processes(folder, calls, work):
    """Estimated calls, and the windows; the program makes `calls` and counts to `work` before each."""
    command = ["gcc", "-x", "c", "-g", "-O1", "-w", "-", "-o", OUT]
    path = compiled("linked-busy", command, text=BUSY)
    with crowded(os.getpid(), 3):
        _, seen = via(folder, path, str(calls), str(work))
    return seen.calls["malloc"], seen.attached


@pytest.mark.timed
def test_beside_busy_processes_an_estimate_is_that_of_its_own_time(tmp_path):
    shown, seen = beside_busy_processes(tmp_path, 6000, 50_000)
    assert shown == pytest.approx(6000, rel=0.5)
    assert seen.slowed < seen.windows / 2


@pytest.mark.timed
def test_beside_busy_processes_calls_that_are_too_few_are_said_to_be(tmp_path):
    """12 million calls were shown as 1 million: a probe costs more there than when it was measured."""
    shown, seen = beside_busy_processes(tmp_path, 12_000_000, 20)
    assert shown < 2 * 12_000_000
    assert shown > 12_000_000 / 2 or seen.slowed > seen.windows / 2


def test_where_own_time_cannot_be_sampled_that_is_said(tmp_path):
    """Without randomised addresses the kernel steps probed instructions where the stack may be."""
    path = compiled("linked-busy", ["gcc", "-x", "c", "-g", "-O1", "-w", "-", "-o", OUT], text=BUSY)
    command = ["record", "--via", "uprobe", "-o", "v.reap", "--", path, "100000", "1000"]
    done = subprocess.run(
        ["setarch", "-R", *reap_command(), *command],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
    )
    seen = recorded(done, tmp_path / "v.reap")
    assert seen.attached.unsampled == seen.attached.windows > 0
    assert any("could not be sampled" in note for note in seen.notes)


CHANGES = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <time.h>
    static char heap[1 << 16];
    static size_t used;
    static volatile unsigned long sink;
    __attribute__((noinline)) void *_rjem_malloc(size_t size) { return heap + (used += size) % (1 << 15); }
    static long run(double seconds, long work) {
        long calls = 0;
        for (clock_t end = clock() + seconds * CLOCKS_PER_SEC; clock() < end; calls++) {
            *(char *)_rjem_malloc(24) = 1;
            for (long j = 0; j < work; j++) sink += j;
        }
        return calls;
    }
    int main(void) {
        long begin = run(0.05, 2000);
        printf("%ld\\n", begin + run(2.5, 200000));
        return 0;
    }"""


@pytest.mark.timed
def test_the_first_window_does_not_stand_for_all_until_the_second(tmp_path):
    """Of 12,000 calls, most of them at the begin, 90,000 to 210,000 were shown."""
    path = compiled("linked-changes", ["gcc", "-x", "c", "-g", "-O1", "-w", "-", "-o", OUT], text=CHANGES)
    done, seen = via(tmp_path, path)
    assert seen.calls["malloc"] < 4 * int(done.stdout)
