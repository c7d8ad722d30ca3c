"""Process trees: each process is counted, however it came to be and however it ended."""

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from programs import compile_c, program
from recorded import recorded, shell, target

from reap.launch import spawn
from reap.launch.records import Launch
from reap.recording import read, record
from reap.recording.analyse.notes import notes

DEPTHS = ("triage", "full")


def processes(folder, depth, *words, **options):
    done = recorded(folder, depth, target("processes"), *map(str, words), **options)
    assert done.outcome.status == 0, done.outcome.stderr_tail
    return done


def objects_of(done, size):
    return sum(objects for low, _, objects, _ in done.recording.sizes() if low == size)


@pytest.mark.parametrize("depth", DEPTHS)
def test_parent_and_child_of_a_fork_are_both_counted(tmp_path, depth):
    done = processes(tmp_path, depth, "fork")
    parent, child = done.profile.processes
    assert (parent.totals.total_objects, child.totals.total_objects) == (101, 100)
    assert child.pid != parent.pid
    assert child.note == "forked"
    assert [image.parent for image in done.recording.images()] == [-1, 0]
    assert done.totals.frees == 202
    # The child gave back its copy of a block that its parent had.
    assert done.totals.unmatched_frees == (1 if depth == "full" else 0)


@pytest.mark.parametrize("depth", DEPTHS)
def test_forks_of_a_program_whose_other_threads_allocate(tmp_path, depth):
    done = processes(tmp_path, depth, "threads", 30)
    assert objects_of(done, 2002) == 3000
    assert len(done.profile.processes) == 31


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_child_and_a_thread_of_its_parent_never_share_a_block(tmp_path, depth):
    """The parent takes a block for its child before the fork; a thread that began meanwhile took it, too."""
    done = processes(tmp_path, depth, "starts", 300)
    damage = done.recording.damage()
    assert not damage, damage
    assert objects_of(done, 2002) == 30000
    assert len(done.profile.processes) == 301


def test_two_hundred_quick_children(tmp_path):
    done = processes(tmp_path, "triage", "quick", 200)
    assert objects_of(done, 2002) == 200
    assert len({process.pid for process in done.profile.processes}) == 201
    assert done.recording.header().finished
    # A child takes one page: it begins its definitions and its events among its counters.
    assert done.path.stat().st_blocks * 512 < (1 << 18) + 200 * 8192


def test_a_child_costs_few_page_faults(tmp_path):
    """More than anything else they are what recording costs a program that forks: 8 to 15 a child.

    Which of them the kernel serves together differs from run to run, and a busy machine adds some: the
    minimum counts.
    """

    def added(count):
        words = [target("processes"), "tiny", str(count)]
        alone = spawn.run(Launch(argv=words, program=words[0])).minor_faults
        return processes(tmp_path, "triage", "tiny", count).outcome.minor_faults - alone

    assert any((added(300) - added(100)) / 200 < 16 for _ in range(4))


def test_a_child_with_a_sample_maps_nothing_and_looks_up_no_name(tmp_path):
    """System calls that cost as much as the rest of its recording. Two children of five have a sample."""
    calls = tmp_path / "calls"
    traced = [shutil.which("strace"), "-f", "-qq", "-e", "trace=execve,mmap,readlink", "-o", str(calls)]
    done = recorded(tmp_path, "triage", *traced, target("processes"), "quick", "40")
    assert objects_of(done, 2002) == 40
    by_pid = Counter(line.split()[0] for line in calls.read_text().splitlines())
    assert len(by_pid) == 1, "the children's, too"


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("way", ["vfork", "spawn"])
def test_a_program_started_without_fork(tmp_path, depth, way):
    done = processes(tmp_path, depth, way)
    assert [process.totals.total_objects for process in done.profile.processes] == [6, 7]
    assert [process.command[1] for process in done.profile.processes] == [way, "leaf"]


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_child_made_past_the_handlers_of_fork_does_not_write_into_its_parents_blocks(tmp_path, depth):
    done = processes(tmp_path, depth, "raw")
    damage = done.recording.damage()
    assert not damage, damage
    if depth == "full":
        assert [process.totals.total_objects for process in done.profile.processes] == [3050, 3000]
        assert (objects_of(done, 2001), objects_of(done, 2002)) == (3050, 3000)


def test_a_process_that_becomes_another_program_again_and_again(tmp_path):
    done = processes(tmp_path, "triage", "exec", 20)
    assert [process.totals.total_objects for process in done.profile.processes] == [10] * 20
    assert len({process.pid for process in done.profile.processes}) == 1


SETPRIV = "setpriv --reuid=65534 --regid=65534 --clear-groups"


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user or change the root directory"
)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("way", [SETPRIV, "unshare --mount", "unshare --pid --fork", "chroot /"])
def test_what_is_executed_as_another_user_or_in_another_namespace_is_recorded(tmp_path, depth, way):
    tmp_path.chmod(0o755)
    script = "hidden=$(ls / | head -1); exec /usr/bin/perl -e 'my @a = map {q(x) x 50} 1 .. 20000; print 7'"
    done = shell(tmp_path, depth, f"exec {way} /bin/sh -c '{script.replace(chr(39), chr(34))}'")
    objects = {process.name: process.totals.total_objects for process in done.profile.processes}
    assert objects["perl"] > 20000
    assert {"ls", "head"} <= objects.keys()
    assert not any("Nothing was recorded" in note for note in done.profile.notes)


def test_processes_that_are_not_recorded_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("REAP_KEEP_ENVIRONMENT", "1")
    sleeper = compile_c(
        "sleeps-static", "#include <unistd.h>\nint main(void) { return usleep(300000); }", ["-static"]
    )
    done = shell(tmp_path, "triage", f"{sleeper} & env -i sleep 0.3; wait; true")
    said = [note for note in done.profile.notes if "Nothing was recorded" in note]
    assert [("sleeps-static" in note, "not loaded" in note) for note in said].count((True, True)) == 1
    assert any("of sleep:" in note for note in said)
    assert len(said) == 2


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    "way", ["", "exec ", "env ", "find {} -maxdepth 0 -exec {{}} \\;", "/usr/bin/python3 -c {}"]
)
def test_a_child_for_another_c_library_runs_and_is_named(tmp_path, depth, way):
    """Its loader would not take our preloads."""
    source = tmp_path / "musl.c"
    source.write_text(
        '#include <stdio.h>\nint main(void) { puts(getenv("LD_PRELOAD") ? "preload" : "hi"); }\n'
    )
    source.write_text("#include <stdlib.h>\n" + source.read_text())
    subprocess.run(["musl-gcc", "-o", tmp_path / "musl", source], check=True)
    spawned = f"'import subprocess; subprocess.run([\"{tmp_path}/musl\"])'"
    words = spawned if "python3" in way else f"{tmp_path}/musl"
    script = way.format(words) if "{" in way else way + words
    done = shell(tmp_path, depth, script)
    assert done.outcome.status == 0, done.outcome.stderr_tail
    assert done.outcome.stdout_bytes == 3
    assert any("Nothing was recorded of musl: it is for another C" in note for note in done.profile.notes)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("sanitizer", ["address", "thread", "leak"])
def test_a_child_built_with_a_sanitizer_runs_and_is_named(tmp_path, depth, sanitizer):
    """It would end at once: its runtime does not come first in the list of libraries.

    It runs long enough for the launcher to see that nothing is recorded, which is said once.
    """
    source = """
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(void) { free(malloc(9)); usleep(60000); puts("hi"); }"""
    child = compile_c(f"child-{sanitizer}", source, [f"-fsanitize={sanitizer}"])
    done = shell(tmp_path, depth, f"{child} && {child}")
    assert done.outcome.status == 0, done.outcome.stderr_tail
    assert done.outcome.stdout_bytes == 6
    said = [note for note in done.profile.notes if f"child-{sanitizer}" in note]
    assert [note.partition(",")[0] for note in said] == [
        f"Nothing was recorded of child-{sanitizer} (2 processes): it is built with a sanitizer"
    ]


def test_ldd_lists_the_libraries_of_a_program_and_none_of_ours(tmp_path):
    done = shell(tmp_path, "triage", "ldd /bin/true | wc -l >&2")
    bare = subprocess.run(["ldd", "/bin/true"], capture_output=True, text=True, check=True)
    assert int(done.outcome.stderr_tail) == len(bare.stdout.splitlines())


LOADER = "/lib64/ld-linux-x86-64.so.2"


@pytest.mark.parametrize("option", ["--list", "--inhibit-cache --library-path /lib --list", "--version"])
def test_the_loader_says_what_it_says_unrecorded(tmp_path, option):
    words = f"{LOADER} {option} /bin/true"
    done = shell(tmp_path, "triage", f"{words} | sed 's/0x.*//' >&2")
    bare = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=True)
    lines = [line.partition("0x")[0] for line in bare.stdout.splitlines()]
    assert done.outcome.stderr_tail.splitlines() == lines[-len(done.outcome.stderr_tail.splitlines()) :]
    assert not any("Nothing was recorded" in note for note in done.profile.notes)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_program_that_the_loader_is_told_to_run_is_recorded(tmp_path, depth):
    done = shell(tmp_path, depth, f"{LOADER} {target('processes')} fork; true")
    assert (objects_of(done, 2001), objects_of(done, 2002)) == (101, 100)
    assert not any("Nothing was recorded" in note for note in done.profile.notes)
    direct = recorded(tmp_path, depth, LOADER, "--argv0", "other", target("processes"), "fork")
    assert (objects_of(direct, 2001), objects_of(direct, 2002)) == (101, 100)


@pytest.fixture
def bare_root(tmp_path):
    """A root directory with dash, echo and the C library, and without the recorder."""
    root = tmp_path / "root"
    libraries = ["/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"]
    for file in ["/bin/dash", "/bin/echo", *libraries]:
        place = root / file.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    return root


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the root directory")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("way", ["chroot", "setpriv --no-new-privs chroot"])
def test_what_is_executed_in_a_root_without_the_recorder_runs_quietly_and_is_named(
    tmp_path, bare_root, depth, way
):
    """Its loader would complain on standard error that it cannot preload: bwrap does this to programs."""
    script = "echo $LD_PRELOAD; /bin/echo run >&2; exit 3"
    done = shell(tmp_path, depth, f"{way} {bare_root} /bin/dash -c '{script}'")
    assert done.outcome.status == 3
    assert done.outcome.stderr_tail == "run\n"
    assert done.outcome.stdout_bytes == 1
    assert any("Nothing was recorded of dash: its root" in note for note in done.profile.notes)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the root directory")
def test_what_a_program_preloads_itself_stays_where_the_recorder_is_out_of_reach(tmp_path, bare_root):
    """As fakeroot puts its library in front of what is preloaded already."""
    own = bare_root / "own.so"
    source = '#include <unistd.h>\n__attribute__((constructor)) void f(void) { write(2, "own\\n", 4); }'
    words = ["gcc", "-w", "-shared", "-fPIC", "-x", "c", "-o", own, "-"]
    subprocess.run(words, input=source, text=True, check=True)
    script = f'LD_PRELOAD="/own.so:$LD_PRELOAD" exec {sys.executable} -c "$0" {bare_root}'
    enters = "import os, sys; os.chroot(sys.argv[1]); os.execv('/bin/echo', ['echo', 'run'])"
    done = recorded(tmp_path, "triage", "/bin/sh", "-c", script, enters)
    complaint = "from LD_PRELOAD cannot be preloaded"  # of Python's loader, outside
    said = [line for line in done.outcome.stderr_tail.splitlines() if complaint not in line]
    assert (done.outcome.status, done.outcome.stdout_bytes, said) == (0, 4, ["own"])


def test_gcc_works_through_its_children(tmp_path):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    done = shell(tmp_path, "triage", f"gcc -o {tmp_path}/a {tmp_path}/a.c")
    assert done.outcome.status == 0
    names = [process.name for process in done.profile.processes]
    assert any("gcc" in name for name in names)
    assert {"cc1", "collect2"} <= set(names)
    assert next(p for p in done.profile.processes if p.name == "cc1").totals.total_objects > 1000


def test_a_script_and_what_it_starts(tmp_path):
    done = shell(tmp_path, "full", f"seq 3 | sort -r | head -1; {program('busy')}")
    names = [process.name for process in done.profile.processes]
    assert {"seq", "sort", "head", "busy"} <= set(names)


def test_a_daemon_that_outlives_its_parent_is_said_to_run_still(tmp_path):
    path = tmp_path / "daemon.reap"
    launch = Launch(argv=["p", "daemon"], program=target("processes"), capture=False)
    stderr = os.dup(2)
    noted = os.open(tmp_path / "pid", os.O_CREAT | os.O_WRONLY)
    os.dup2(noted, 2)
    try:
        record.record(launch, path, "full")
    finally:
        os.dup2(stderr, 2)
    daemon = int((tmp_path / "pid").read_text())
    try:
        seen = read.read(path)
        assert not seen.header().finished
        assert any("still ran" in note for note in notes(seen, "full"))
    finally:
        os.kill(daemon, signal.SIGUSR1)
    while Path(f"/proc/{daemon}").exists():
        os.sched_yield()
    assert record.finish(path) == record.Finished(left=0)
    later = read.read(path)
    assert later.header().finished
    assert {low: objects for low, _, objects, _ in later.sizes()}[2006] == 10


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_child_that_changes_root_and_user_is_recorded(tmp_path, depth):
    (tmp_path / "empty").mkdir()
    done = processes(tmp_path, depth, "other", tmp_path / "empty")
    assert done.recording.header().stop_reason == 0
    assert (objects_of(done, 2001), objects_of(done, 2007)) == (10, 100_000 + 20 * 10)
    assert not done.recording.damage()
