"""A recorded program does what it does unrecorded."""

import os
import stat
import subprocess

import pytest
from programs import compile_c, reap
from recorded import recorded, recorded_as, target

from reap import native
from reap.launch import spawn
from reap.launch.records import Launch

DEPTHS = ("triage", "full")

PYTHON = """
import json, threading
words = []
def work(n):
    for i in range(300):
        words.append(json.dumps({"n": n, "list": list(range(i % 50))}))
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(words), sum(map(len, words)))
"""

REAL = {
    "perl": r"""perl -e '$h{$_ % 977} .= $_ for 1..60000; print join(",", map {length} @h{sort keys %h})'""",
    "python": f"/usr/bin/python3 -c '{PYTHON}'",
    "gcc": "echo 'int main(void){return 3;}' | gcc -O2 -x c -S -o - -",
    "gcc that fails": "echo 'int main(void){return x;}' | LC_ALL=C gcc -x c -S -o - -",
    "sed": r"seq 20000 | sed -E 's/(.)(.)/\2\1/g; /7$/d'",
    "sort": "seq 50000 | sort -r --parallel=4 | md5sum",
    "tar and gzip": "cd /usr/share/doc && tar -cf - --sort=name base-files bash 2>&1 | gzip -n | md5sum",
    "git": "git -c safe.directory='*' -C {repository} log --oneline -5 --stat",
    "find": "find /usr/include/linux -name '*.h' | sort | head -200",
    "awk": "seq 30000 | awk '{ sum[$1 % 97] += $1 } END { for (key in sum) print key, sum[key] }' | sort -n",
    "tight limits": "for limit in '-d 6000' '-s 64' '-v 40000' '-n 4'; do "
    r"""(ulimit -S $limit; exec perl -e '$h{$_} = "x" x ($_ % 300) for 1..5000; """
    r"""print length(join "", %h), "\n"; $p = fork // exit 4; waitpid $p, 0; print "$?\n"'); echo $?; done""",
    "a look at itself": "grep -c libc /proc/self/maps | wc -l; LD_PRELOAD= env -u REAP_TRACE seq 3; "
    "LD_PRELOAD=libm.so.6 perl -e 'print $ENV{LD_PRELOAD} =~ /libm.so.6$/'",
    "an exit code": "exit 42",
    "a signal": "kill -TERM $$",
    "errors": "ls /nonexistent; cat /nonexistent; false",
}


def same(native, seen):
    return (native.exit_code, native.signal, native.stdout_digest, native.stderr_digest) == (
        seen.exit_code,
        seen.signal,
        seen.stdout_digest,
        seen.stderr_digest,
    )


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", REAL)
def test_real_programs_say_what_they_say_unrecorded(tmp_path, depth, name, request):
    script = REAL[name].replace("{repository}", str(request.config.rootpath))
    words = ["/bin/sh", "-c", script]
    native = spawn.run(Launch(argv=words, program=words[0]))
    done = recorded(tmp_path, depth, *words)
    assert same(native, done.outcome), (native, done.outcome)
    assert done.objects > 0
    assert done.recording.header().stop_reason == 0
    assert not done.recording.damage()


FRAGILE = [
    ("descriptors",),
    ("files", "20"),
    ("fsize",),
    ("memory",),
    ("stacks",),
    ("handlers",),
    ("jump",),
    ("signals",),
    ("fibers",),
    ("sandbox", "kill"),
    ("sandbox", "errno"),
    ("sandbox", "strict"),
    ("sandbox", "tsc"),
    ("table",),
]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("words", FRAGILE, ids=" ".join)
def test_fragile_programs_do_not_notice(tmp_path, depth, words):
    argv = [target("fragile"), *words]
    native = spawn.run(Launch(argv=argv, program=argv[0]))
    assert native.status == 0, native
    done = recorded(tmp_path, depth, *argv)
    assert same(native, done.outcome), (native, done.outcome)
    assert done.objects > 0 or words[0] == "fsize"
    assert not done.recording.damage().corrupt


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("how", ["kill", "errno", "strict", "tsc"])
def test_sandboxed_programs_are_recorded_or_it_is_said(tmp_path, depth, how):
    """Strict mode allows no clock, and so no events; counters go on. Full depth records what was reserved."""
    done = recorded(tmp_path, depth, target("fragile"), "sandbox", how)
    objects = {low: objects for low, _, objects, _ in done.recording.sizes()}[700]
    stopped = done.recording.header().stop_reason
    if depth == "triage" or how != "strict":
        assert objects >= 200_000
    assert (stopped == native.STOP_SANDBOX) == (how == "strict")


def test_the_sampling_timer_sends_no_signals_to_what_is_debugged(tmp_path):
    """gdb would stop at each."""
    log = tmp_path / "log"
    busy = "my $n = 0; for my $i (1 .. 500000) { $n += $i % 7 } print $n"
    words = ["/usr/bin/strace", "-f", "-e", "trace=none", "-o", str(log), "/usr/bin/perl", "-e", busy]
    done = recorded_as(tmp_path, *words, depth=native.TRIAGE, sampler=native.SAMPLER_TIMER)
    assert done.outcome.status == 0
    assert "exited with 0" in log.read_text()
    assert "SIG" not in log.read_text()


PLUGIN = """
    #include <stdlib.h>
    void *make(void) { return malloc(3000); }
    void drop(void *block) { free(block); }"""
HOST = r"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdio.h>
    #include <stdlib.h>
    int main(int count, char **words) {
        void *plugin = dlopen(words[1], RTLD_NOW | RTLD_DEEPBIND);
        void *(*make)(void) = dlsym(plugin, "make");
        void (*drop)(void *) = dlsym(plugin, "drop");
        for (int i = 0; i < 100; i++) { free(make()); drop(malloc(20)); }
        return puts("ran") < 0;
    }"""


def deepbind():
    plugin = compile_c("libdeepbind.so", PLUGIN, ["-shared", "-fPIC", "-O1", "-fno-builtin"])
    return [compile_c("deepbind", HOST, ["-O1", "-fno-builtin"]), plugin]


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_library_opened_past_all_preloads_is_recorded(tmp_path, depth):
    """As Debian's php opens its extensions."""
    done = recorded(tmp_path, depth, *deepbind())
    assert done.outcome.status == 0
    assert {low: objects for low, _, objects, _ in done.recording.sizes()}[3000] == 100
    assert done.totals.unmatched_frees == 0
    assert any("RTLD_DEEPBIND" in note for note in done.profile.notes)


def test_a_library_opened_past_an_allocator_is_no_crash_under_it(tmp_path):
    words = ["compare", "-n", "3", "-a", "jemalloc", "-o", str(tmp_path / "x"), "--", *deepbind()]
    done = reap(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "opens libraries with RTLD_DEEPBIND" in " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 600 KB."""
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(place)]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing may be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_full_disk_ends_the_recording_and_no_process(small_disk, depth):
    sampled = {"triage": native.TRIAGE, "full": native.FULL}[depth]
    for _ in range(3):  # every allocation is a sample
        words = [target("processes"), "quick", "300"]
        done = recorded_as(small_disk, *words, depth=sampled, sampler=native.SAMPLER_PERF, period_bytes=1)
        assert done.outcome.status == 0, done.outcome.stderr_tail
        assert done.recording.header().stop_reason == native.STOP_NO_SPACE
        del done  # it keeps the file open, which fills the disk


@pytest.mark.parametrize("depth", DEPTHS)
def test_recording_goes_on_where_all_descriptors_are_in_use(tmp_path, depth):
    done = recorded(tmp_path, depth, target("fragile"), "table")
    assert {low: objects for low, _, objects, _ in done.recording.sizes()}[700] == 400_000
    assert done.recording.header().stop_reason == 0


@pytest.mark.parametrize(("kind", "count"), [("quick", 300), ("beside", 300)])
def test_processes_and_threads_that_allocate_little_take_little_of_the_disk(tmp_path, kind, count):
    done = recorded(tmp_path, "triage", target("processes"), kind, str(count))
    assert done.objects >= count
    assert done.path.stat().st_blocks * 512 < (count + 8) * 8192


@pytest.mark.parametrize("kind", ["fifo", "link"])
def test_force_replaces_no_special_files(tmp_path, kind):
    """As root, `-f -o /dev/null` would remove the device."""
    place = tmp_path / "place"
    make = {"fifo": os.mkfifo, "link": lambda path: path.symlink_to(os.devnull)}
    make[kind](place)
    before = os.lstat(place)
    done = reap("record", "-f", "-o", str(place), "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (125, "")
    assert "is no regular file" in done.stderr
    assert (os.lstat(place).st_ino, stat.S_IFMT(os.lstat(place).st_mode)) == (
        before.st_ino,
        stat.S_IFMT(before.st_mode),
    )


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_limit_of_the_program_s_data_is_the_program_s(tmp_path, depth):
    """Tables of the recorder do not count; its variables and its part of the loader's memory do."""
    words = [target("limits/tight"), "16384", "20"]
    alone = subprocess.run(words, capture_output=True, text=True, check=True)
    seen = reap("record", "-d", depth, "-o", str(tmp_path / "tight.reap"), "--", *words)
    assert seen.returncode == 0, seen.stderr
    missing = int(alone.stdout) - int(seen.stdout)
    assert missing <= 128, "at most 512 KB"
