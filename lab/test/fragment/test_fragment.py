"""Programs on fragmented heaps: what is promised of the litter; each fault of the older tool has its number.

Of the eighteen, 3, 10 and 11 are in recording/test_size_profile.py; of 8 there is more in test_heap_map.py.
"""

import functools
import json
import re
import subprocess
from pathlib import Path

import pytest
from programs import compile_c, library, program, reap
from recorded import recorded

from reap.allocators import catalog
from reap.base.errors import ExitCode, ReapError
from reap.launch import native_files, spawn
from reap.launch import program as programs
from reap.launch.host import memory
from reap.launch.litter import account
from reap.launch.litter import file as litter_file
from reap.launch.litter import run as littering
from reap.launch.litter.level import LEVELS, custom, named
from reap.launch.litter.records import DEFAULT_SEED, ORDERS, Litter, Littered
from reap.launch.records import Launch

SIZES = [(16, 40), (48, 30), (120, 20), (500, 9), (2000, 1)]
OTHERS = ("jemalloc", "mimalloc", "tcmalloc")

# Programs speak on standard error, whose end the launcher keeps.
HEAD = r"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <malloc.h>
    #include <pthread.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    #define SAY(...) fprintf(stderr, __VA_ARGS__)
    """

SOURCES = {
    # Where its blocks lie.
    "addresses": r'int main(void) { for (int i = 0; i < 50; i++) SAY("%p\n", malloc(i * 13 % 600)); }',
    # Whether a block of 200 KB comes by mmap: the bit that glibc keeps in front of a block.
    "threshold": r'int main(void) { size_t *p = malloc(200000); SAY("%zu\n", p[-1] & 2); }',
    # glibc's own account of its bins, before anything else.
    "bins": r"int main(void) { malloc_info(0, stderr); }",
    # What was in use when the first constructor of a library had run.
    "constructed": r'extern size_t in_use; int main(void) { SAY("%zu\n", in_use); }',
    "threads": r"""
        static void *work(void *given) { free(malloc(100)); return given; }
        int main(int count, char **words) {
            pthread_t all[64];
            int n = atoi(words[1]);
            for (int i = 0; i < n; i++) pthread_create(all + i, 0, work, all + i);
            for (int i = 0; i < n; i++) {
                void *got;
                pthread_join(all[i], &got);
                if (got != all + i) return 1;
            }
            SAY("%d joined", n);
            return 0;
        }""",
    # Executes its words in a child; without any, the child is a copy that says what it has in use.
    "parent": r"""int main(int count, char **words) {
        int status;
        if (!fork()) {
            if (count > 1) { execv(words[1], words + 1); _exit(9); }
            SAY("%zu\n", mallinfo2().uordblks);
            _exit(0);
        }
        wait(&status);
        return WEXITSTATUS(status);
    }""",
    "environment": r'int main(int n, char **w, char **e) { for (; *e; e++) SAY("%s\n", *e); return 0; }',
    # Throws its environment away, and ends without any handler.
    "careless": r'int main(void) { clearenv(); setenv("REAP_LITTER", "/nowhere", 1); _exit(3); }',
    # Uses 50 ms of CPU time, whatever was used before.
    "spin": r"""
        #include <time.h>
        static long used(void) {
            struct timespec t;
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
            return t.tv_sec * 1000000000 + t.tv_nsec;
        }
        int main(void) { for (long begin = used(); used() < begin + 50000000;); return 0; }""",
    # Creates a thread while it holds the lock that its own malloc wants.
    "locked": r"""
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        void *__libc_malloc(size_t);
        void *malloc(size_t size) {
            pthread_mutex_lock(&lock);
            void *got = __libc_malloc(size);
            pthread_mutex_unlock(&lock);
            return got;
        }
        static void *work(void *given) { return malloc(10) ? given : NULL; }
        int main(void) {
            pthread_t one, two;
            void *got[2];
            pthread_mutex_lock(&lock);
            pthread_create(&one, 0, work, &one);
            pthread_mutex_unlock(&lock);
            pthread_create(&two, 0, work, &two);
            pthread_join(one, got);
            pthread_join(two, got + 1);
            SAY(got[0] == &one && got[1] == &two ? "joined" : "lost");
            return 0;
        }""",
    # Dies where any thread opens a file, and has four threads.
    "sandboxed": r"""
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <stddef.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        static void *work(void *given) { free(malloc(100)); return given; }
        int main(void) {
            struct sock_filter rules[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_openat, 0, 1),
                BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
                BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)};
            struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
            pthread_t all[4];
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) { SAY("no seccomp"); return 0; }
            for (int i = 0; i < 4; i++) pthread_create(all + i, 0, work, 0);
            for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
            SAY("joined");
            return 0;
        }""",
    # Executes its words in two children, and lets the kernel forget them.
    "unwaited": r"""
        #include <signal.h>
        int main(int count, char **words) {
            signal(SIGCHLD, SIG_IGN);
            for (int i = 0; i < 2; i++)
                if (!fork()) { execv(words[1], words + 1); _exit(9); }
            wait(NULL);
            return 0;
        }""",
    "dies": "int main(void) { abort(); }",
    # Opens a library that binds malloc past every preload.
    "deepbind": r"""int main(int count, char **words) {
        void *library = dlopen(words[1], RTLD_NOW | RTLD_DEEPBIND);
        if (!library) { SAY("%s", dlerror()); return 1; }
        char *(*make)(void) = (char *(*)(void))dlsym(library, "make");
        free(make());
        SAY("opened");
        return 0;
    }""",
    "aligned": r"""int main(void) {
        for (int i = 0; i < 1000; i++) {
            void *p = memalign(64, 100 + i), *q = NULL;
            if ((uintptr_t)p % 64 || posix_memalign(&q, 4096, 10)) return 1;
            free(p);
            free(q);
        }
        SAY("aligned");
        return 0;
    }""",
    "zero": r'int main(void) { void *p = malloc(0), *q = malloc(0); SAY(p && q != p ? "two" : "none"); }',
}


@functools.cache
def target(name: str) -> str:
    """The path of one of SOURCES, compiled."""
    flags = ["-O1", "-fno-builtin", "-pthread", "-Wl,-rpath,$ORIGIN"]
    if name == "constructed":
        source = (
            HEAD + "size_t in_use; __attribute__((constructor)) static void begin(void)"
            "{ free(malloc(10)); in_use = mallinfo2().uordblks; }"
        )
        first = Path(compile_c("libfirst.so", source, ["-O1", "-fPIC", "-shared", "-fno-builtin"]))
        flags += [f"-L{first.parent}", f"-Wl,--no-as-needed,-l:{first.name}"]
    return compile_c(name, HEAD + SOURCES[name], flags)


def extension() -> str:
    """A library that "deepbind" can open: its block is malloc's as it finds it."""
    source = '#include <string.h>\nchar *make(void) { return strdup("made"); }'
    return compile_c("libmake.so", source, ["-O1", "-fPIC", "-shared"])


def litter(level: str | tuple[float, float] = "adv3", **changes: object) -> Litter:
    """A litter for a program that has ten thousand small blocks."""
    chosen = named(level) if isinstance(level, str) else custom(*level)
    return Litter(**{"level": chosen, "sizes": SIZES, "peak": 10000, **changes})


def run(how: Litter, *argv: str, **options: object) -> Littered:
    return littering.run(Launch(argv=list(argv), program=argv[0], **options), how)


def said(how: Litter, *argv: str, **options: object) -> str:
    """What a program that ends well says on a littered heap."""
    outcome = run(how, *argv, **options).outcome
    assert outcome.status == 0, outcome
    return outcome.stderr_tail


def bare(*argv: str, **options: object) -> str:
    outcome = spawn.run(Launch(argv=list(argv), program=argv[0], **options))
    assert outcome.status == 0, outcome
    return outcome.stderr_tail


def allocator(name: str) -> str:
    return catalog.parse(name)[0].library


def unrandomised(name: str) -> tuple[str, ...]:
    """The same program with address randomisation off; it is a child of the one that switches it off."""
    return ("/usr/bin/setarch", "-R", target(name))


# --- what is promised -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["glibc", *OTHERS])
@pytest.mark.parametrize("level", LEVELS)
def test_a_level_is_what_its_name_says_under_any_allocator(name, level):
    done = run(litter(level), target("aligned"), allocator=allocator(name))
    assert done.outcome.stderr_tail == "aligned"
    (one,) = done.litterings
    multiplier, occupancy = LEVELS[level].multiplier, LEVELS[level].occupancy
    assert one.objects == multiplier * 10000
    assert one.kept == round(multiplier * 10000 * occupancy)
    assert one.bytes == pytest.approx(one.objects * 110, rel=0.05), "the mean of SIZES is 109.8"
    assert one.kept_bytes == pytest.approx(one.kept * 110, rel=0.05)
    assert (name if name != "glibc" else "libc.so") in one.provider
    assert one.failure == ""


def test_the_same_seed_gives_the_same_addresses():
    first = said(litter(children=True), *unrandomised("addresses"))
    assert said(litter(children=True), *unrandomised("addresses")) == first
    assert said(litter(children=True, seed=2), *unrandomised("addresses")) != first


def test_what_is_executed_on_the_way_to_the_program_passes_the_litter_on(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env perl\nprint STDERR 'run by ', $^X =~ m{(perl)}, system('true');")
    script.chmod(0o755)
    found = programs.resolve([str(script)])
    launch = Launch(argv=[str(script)], program=found.path)
    done = littering.run(launch, litter(), image=found.image)
    assert done.outcome.stderr_tail == "run by perl0"
    assert len(done.litterings) == 1, "perl, and neither env nor true"
    assert len(littering.run(launch, litter(children=True), image=found.image).litterings) == 3


@pytest.mark.parametrize(
    ("name", "setting", "sign"),
    [
        ("jemalloc", {"MALLOC_CONF": "stats_print:true"}, "End jemalloc statistics"),
        ("mimalloc", {"MIMALLOC_SHOW_STATS": "1"}, "elapsed"),
    ],
)
def test_an_allocator_finds_its_settings_although_it_is_used_before_libc_has_started(name, setting, sign):
    assert sign in said(litter(), target("zero"), allocator=allocator(name), environment=setting)


@pytest.mark.timed
def test_what_the_litter_costs_is_taken_off():
    done = run(litter((30, 0.5), peak=20000), target("spin"))
    (one,) = done.litterings
    # The kernel divides a process's time by its own ticks, and may say less of the whole than of a part.
    assert one.user_ns > 0
    assert done.outcome.user_ns == max(0, done.gross.user_ns - one.user_ns)
    assert done.gross.wall_ns - done.outcome.wall_ns == one.end_ns - one.begin_ns > 0
    assert done.gross.minor_faults - done.outcome.minor_faults == one.minor_faults > 1000
    assert done.outcome.cpu_ns == pytest.approx(50e6, rel=0.5), "the program itself spins for 50 ms"
    assert one.resident_after - one.resident_before > one.kept_bytes


def test_a_litter_that_does_not_fit_is_refused_with_the_sum():
    free = memory.available()
    peak = free // 100
    with pytest.raises(ReapError) as refused:
        run(litter("adv10", peak=peak), "/bin/true")
    assert "adv10 needs about" in refused.value.what
    assert f"the sum: 10 x {peak:,}".replace(",", " ") in refused.value.what


def test_the_program_goes_on_with_a_clean_heap_where_the_litter_finds_no_memory():
    # Within the process, by a limit that the lab cannot see: it is the shell that sets it.
    shell = f"ulimit -v 150000; exec {target('aligned')}"
    done = run(litter((100, 0.5), peak=20000, children=True), "/bin/sh", "-c", shell)
    assert done.outcome.stderr_tail == "aligned"
    assert done.litterings[-1].failure == "malloc returned null"
    assert done.litterings[-1].kept == 0


@pytest.mark.parametrize(
    ("multiplier", "occupancy", "what"),
    [
        (-1, 0.5, "cannot be littered with -1 times"),
        (float("nan"), 0.5, "cannot be littered with nan times"),
        (float("inf"), 0.5, "cannot be littered with inf times"),
        (1e305, 0.5, r"cannot be littered with 1e\+305 times"),
        (1, -0.1, "occupancy of -0.1 is impossible"),
        (1, 1.5, "occupancy of 1.5 is impossible"),
        (1, float("nan"), "occupancy of nan is impossible"),
    ],
)
def test_a_level_that_cannot_be_is_refused(multiplier, occupancy, what):
    with pytest.raises(ReapError, match=what):
        custom(multiplier, occupancy)
    with pytest.raises(ReapError, match="no level is called 'adv2'"):
        named("adv2")


def test_memory_is_bounded_by_control_groups(tmp_path):
    membership, root = tmp_path / "cgroup", tmp_path / "fs"
    (root / "a/b").mkdir(parents=True)
    for folder, most, now in ((root / "a/b", "max", "5"), (root / "a", "1000", "400"), (root, "9000", "1")):
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text(f"{now}\n")
    membership.write_text("0::/a/b\n")
    assert memory._cgroup(membership, root) == 600
    membership.write_text("4:memory:/x\n1:cpu:/y\n")
    (root / "memory/x").mkdir(parents=True)
    (root / "memory/x/memory.limit_in_bytes").write_text("70\n")
    (root / "memory/x/memory.usage_in_bytes").write_text("90\n")
    assert memory._cgroup(membership, root) == 0
    membership.write_text("0::/elsewhere\n")
    assert memory._cgroup(membership, root) == 8999
    assert memory._cgroup(tmp_path / "none", root) is None


def test_files_that_a_control_group_has_read_are_room(tmp_path):
    membership, root = tmp_path / "cgroup", tmp_path / "fs"
    (root / "memory").mkdir(parents=True)
    (root / "memory.max").write_text("1000\n")
    (root / "memory.current").write_text("900\n")
    membership.write_text("0::/\n")
    for reclaimable, left in ((700, 800), (2000, 1000)):
        text = f"anon 200\ninactive_file {reclaimable}\nactive_file 7\n"
        (root / "memory.stat").write_text(text)
        assert memory._cgroup(membership, root) == left, "never more than the limit"
    (root / "memory.stat").write_text("anon 200\n")
    assert memory._cgroup(membership, root) == 100
    membership.write_text("4:memory:/\n")
    (root / "memory/memory.limit_in_bytes").write_text("1000\n")
    (root / "memory/memory.usage_in_bytes").write_text("900\n")
    (root / "memory/memory.stat").write_text("inactive_file 1\ntotal_inactive_file 300\n")
    assert memory._cgroup(membership, root) == 400


# --- the eighteen faults ----------------------------------------------------------------------------------


def test_each_of_the_eighteen_faults_has_its_test():
    tests = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    assert {int(number) for number in re.findall(r"def test_fault_(\d+)_", tests)} == set(range(1, 19))


@pytest.mark.parametrize("depth", ["triage", "full"])
def test_fault_1_aligned_blocks_and_deepbind_are_survived_by_the_detection(tmp_path, depth):
    assert recorded(tmp_path, depth, target("aligned")).outcome.stderr_tail == "aligned"
    assert recorded(tmp_path, depth, target("deepbind"), extension()).outcome.stderr_tail == "opened"
    done = run(litter(), target("deepbind"), extension())
    assert done.outcome.stderr_tail == "opened"
    assert done.deepbind == 1


def test_fault_1_a_deepbind_program_that_dies_of_the_allocator_is_explained(tmp_path):
    profile = tmp_path / "p.json"
    profile.write_text(json.dumps(PROFILE))
    words = ["fragment", "--profile", str(profile), "--allocator", "jemalloc"]
    done = reap(*words, "--", target("deepbind"), extension())
    assert "opens extensions with RTLD_DEEPBIND" in " ".join(done.stderr.split())


def test_fault_2_malloc_of_nothing_is_passed_on():
    for name in ("glibc", *OTHERS):
        assert said(litter(sizes=[(0, 1), (16, 1)]), target("zero"), allocator=allocator(name)) == "two"


def test_fault_4_the_preload_alone_moves_no_block():
    """At multiplier 0 every block lies where it lies without the preload."""
    loaded = said(litter("adv0", children=True), *unrandomised("addresses"))
    assert loaded == bare(*unrandomised("addresses"))
    assert native_files.preload("fragment").stat().st_size < 100_000


def test_fault_5_the_source_of_malloc_is_the_real_one_in_position_dependent_programs():
    for name, file in (("glibc", "libc.so.6"), ("jemalloc", "libjemalloc.so.2")):
        (one,) = run(litter(), program("takes_address"), allocator=allocator(name)).litterings
        assert Path(one.provider).name == file


def test_fault_6_litter_is_as_resident_as_one_asks():
    def added(touch: bool, name: str) -> int:
        how = litter((10, 1), sizes=[(1000, 1)], peak=2000, touch=touch)
        (one,) = run(how, "/bin/true", allocator=allocator(name)).litterings
        return one.resident_after - one.resident_before

    for name in ("glibc", *OTHERS):
        assert added(True, name) > 19e6, name
    assert added(False, "jemalloc") < 5e6


def test_fault_7_blocks_are_given_back_in_the_order_asked_for():
    orders = [said(litter(children=True, order=order), *unrandomised("addresses")) for order in ORDERS]
    assert len(set(orders)) == 3


def test_fault_8_occupancy_0_gives_everything_back():
    (one,) = run(litter((10, 0)), "/bin/true").litterings
    assert one.objects == 100000
    assert one.kept == one.kept_bytes == 0


def test_fault_9_a_program_may_throw_its_environment_away():
    done = run(litter(), target("careless"))
    assert done.outcome.status == 3
    assert done.litterings[0].objects == 30000


def test_fault_12_glibc_s_thresholds_stay_where_they_were():
    assert bare(target("threshold")) == "2\n", "by mmap"
    assert said(litter(peak=200000), target("threshold")) == "2\n"


def test_fault_13_what_was_freed_is_sorted_before_the_program_runs():
    text = said(litter(peak=50000, sizes=[(24, 5), (100, 3), (700, 1)]), target("bins"))
    assert '<total type="fast" count="0" size="0"/>' in text
    assert '<total type="rest" count="0"' not in text, "what was given back is in the bins"
    assert "<unsorted" not in text


@pytest.mark.parametrize("name", ["glibc", *OTHERS])
def test_fault_14_every_thread_s_arena_is_littered(name):
    done = run(litter(threads=4), target("threads"), "6", allocator=allocator(name))
    assert done.outcome.stderr_tail == "6 joined"
    assert sorted(one.thread for one in done.litterings) == [0, 1, 2, 3]
    assert all(one.objects == 7500 for one in done.litterings), "four even shares of 30 000"
    assert sum(one.kept for one in done.litterings) == 19800
    alone = run(litter(), target("threads"), "6", allocator=allocator(name))
    assert [one.objects for one in alone.litterings] == [30000]


def test_fault_14_shares_add_up_where_they_are_uneven():
    done = run(litter((1, 0.5), peak=1001, threads=3), target("threads"), "2")
    assert sorted(one.objects for one in done.litterings) == [333, 334, 334]
    assert sum(one.kept for one in done.litterings) == 500


def test_a_thread_whose_creator_holds_the_lock_of_malloc_is_not_waited_for_for_ever():
    done = run(litter(threads=4), target("locked"), timeout=300.0)
    assert done.outcome.stderr_tail == "joined"
    assert [(one.thread, one.beside) for one in done.litterings] == [(0, False), (1, True)]
    assert done.outcome.wall_ns > 300_000_000, "what was waited for in vain is the program's"


def test_threads_of_a_program_that_may_not_open_files_are_littered():
    done = run(litter(threads=4), target("sandboxed"))
    assert done.outcome.status == 0
    if done.outcome.stderr_tail == "no seccomp":
        pytest.skip("the kernel has none")
    assert len(done.litterings) == 4
    (added,) = account.resident_added(done.litterings).values()
    assert added > sum(one.kept_bytes for one in done.litterings)


def test_children_that_nobody_waits_for_are_taken_off_no_clock():
    done = run(litter(children=True), target("unwaited"), target("addresses"))
    assert done.uncounted == 2
    assert done.outcome.minor_faults > 0
    first = done.litterings[0]
    assert done.outcome.minor_faults == done.gross.minor_faults - first.minor_faults
    waited = run(litter(children=True), target("parent"), target("addresses"))
    assert waited.uncounted == 0


def test_fault_15_children_are_littered_only_by_choice():
    child = [target("parent"), target("addresses")]
    alone = run(litter(), *child)
    assert len(alone.litterings) == 1
    both = run(litter(children=True), *child)
    assert len(both.litterings) == 2
    assert len({one.pid for one in both.litterings}) == 2, "each has a report of its own"


def test_fault_15_a_copy_inherits_the_litter_and_is_not_littered_again():
    done = run(litter(), target("parent"))
    assert len(done.litterings) == 1
    assert int(done.outcome.stderr_tail) > done.litterings[0].kept_bytes


def test_fault_15_programs_executed_by_a_littered_one_find_their_environment_as_it_was():
    child = [target("parent"), target("environment")]
    before, after = bare(*child), said(litter(), *child)
    assert sorted(after.splitlines()) == sorted(before.splitlines())
    under = said(litter(), *child, allocator=allocator("jemalloc"))
    guard = native_files.preload("exec")  # as without a litter
    assert f"LD_PRELOAD={allocator('jemalloc')}:{guard}" in under.splitlines()


def test_fault_15_a_report_outlives_whatever_ends_the_process():
    done = run(litter(), target("dies"))
    assert done.outcome.signal == 6
    assert done.litterings[0].kept == 19800


def test_a_report_that_the_program_overwrites_is_not_believed(profile):
    done = run(litter(), program("scribbles"))
    assert done.overwritten
    assert (done.outcome, done.litterings) == (done.gross, [])
    told = reap("fragment", "--profile", profile, "--", program("scribbles"))
    assert told.returncode == 3
    assert "the program overwrote what its littering reported" in " ".join(told.stderr.split())


def test_fault_15_reports_beyond_the_slots_are_counted():
    loop = f"for i in $(seq 1100); do {target('zero')} 2>/dev/null; done"
    done = run(litter("adv0", children=True), "/bin/sh", "-c", loop)
    assert len(done.litterings) == 1024
    assert done.lost == 1 + 1100 + 1 - 1024, "the shell, the programs, seq"


def test_fault_16_multipliers_need_not_be_whole_and_seeds_are_fixed():
    (one,) = run(litter((0.25, 0.5)), "/bin/true").litterings
    assert (one.objects, one.kept) == (2500, 1250)
    assert litter().seed == DEFAULT_SEED


def test_fault_17_constructors_of_libraries_run_on_a_littered_heap():
    done = run(litter(), target("constructed"))
    assert int(done.outcome.stderr_tail) > done.litterings[0].kept_bytes > 1e6


def test_fault_18_the_answer_has_cpu_time_faults_and_memory_beside_wall_time(tmp_path):
    profile = tmp_path / "p.json"
    profile.write_text(json.dumps(PROFILE))
    answer = reap("fragment", "--profile", str(profile), "--", program("busy")).stderr
    for row in ("user time", "system time", "wall time", "page faults", "resident memory"):
        assert row in answer


def test_a_library_is_looked_for_where_the_program_says(tmp_path):
    """The loader must see the program and not the preload as the one that opens it."""
    name = Path(extension()).name
    assert said(litter(), target("deepbind"), name, directory=str(tmp_path)) == "opened"


# --- the command ------------------------------------------------------------------------------------------

PROFILE = {
    "format": "reap size profile",
    "version": 1,
    "program": "",
    "command": [],
    "counted": "allocations",
    "cut_off": 4096,
    "sizes": SIZES,
    "left_out": 0,
    "left_out_bytes": 0,
    "peak": {"value": 10000, "low": 10000, "high": 10000},
}


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(PROFILE))
    return str(path)


def test_the_command_says_what_the_program_says_and_takes_the_profile_first(tmp_path):
    files = ["--json", str(tmp_path / "a.json"), "--save-profile", str(tmp_path / "p.json")]
    done = reap("fragment", "--level", "adv1", *files, "--", program("busy"), "x")
    assert done.stdout == reap_free(program("busy"), "x")
    assert done.returncode == 0
    answer = json.loads((tmp_path / "a.json").read_text())
    assert answer["litter"]["level"]["name"] == "adv1"
    assert answer["run"]["litterings"][0]["objects"] == round(answer["profile"]["peak"]["value"])
    assert answer["notes"] == []
    again = reap("fragment", "--profile", str(tmp_path / "p.json"), "--", program("busy"), "x")
    assert again.stdout == done.stdout
    assert "On a heap littered at adv3, under glibc" in again.stderr
    beside = f"next: reap fragment --level adv0 --profile {tmp_path}/p.json -- {program('busy')} x"
    assert beside in again.stderr, "the same on a clean heap"


def reap_free(*argv: str) -> str:
    """What a program prints without us."""
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_the_command_gives_both_runs_the_same_input():
    done = reap(
        "fragment",
        "--",
        "/usr/bin/perl",
        "-ne",
        "$n += length; END { print $n }",
        stdin=None,
        input="a\n" * 5000,
    )
    assert done.stdout == "10000"


def test_the_command_ends_as_the_program_ends(profile):
    assert reap("fragment", "--profile", profile, "--", target("careless")).returncode == 3
    assert reap("fragment", "--profile", profile, "--", target("dies")).returncode == 128 + 6
    late = reap("fragment", "--profile", profile, "--timeout", "0.2", "--", "/bin/sleep", "9")
    assert late.returncode == ExitCode.TIMED_OUT
    unknown = reap("fragment", "--timeout", "0.2", "--", "/bin/sleep", "9")
    assert unknown.returncode == ExitCode.TIMED_OUT
    assert "did not end in time while its size profile was taken" in unknown.stderr


def test_threads_that_do_not_come_are_pointed_out(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**PROFILE, "threads": 4}))
    few = reap("fragment", "--profile", str(path), "--", target("threads"), "1")
    assert "50 % of the litter was laid" in " ".join(few.stderr.split())
    enough = reap("fragment", "--profile", str(path), "--", target("threads"), "3")
    assert "of the litter was laid" not in " ".join(enough.stderr.split())
    alone = reap("fragment", "--profile", str(path), "--no-threads", "--", target("threads"), "1")
    assert "of the litter was laid" not in " ".join(alone.stderr.split())


# Forks before it creates threads, as a server does; as many as it is told, in each of two children.
FORKS = r"""
    #include <pthread.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static void *work(void *given) { free(malloc(100)); return given; }
    int main(int count, char **words) {
        for (int child = 0; child < 2; child++)
            if (!fork()) {
                for (int i = 0; i < atoi(words[1]); i++) {
                    pthread_t one;
                    pthread_create(&one, 0, work, 0);
                    pthread_join(one, 0);
                }
                _exit(0);
            }
        while (wait(0) > 0) {}
        return 0;
    }"""


def test_threads_of_a_forked_process_have_the_rest_of_its_parent_s_litter(tmp_path):
    path, forks = tmp_path / "p.json", compile_c("forks-first", FORKS, ["-O1", "-fno-builtin", "-pthread"])
    path.write_text(json.dumps({**PROFILE, "threads": 4}))
    whole = reap("fragment", "--profile", str(path), "--", forks, "3")
    assert "of the litter was laid" not in " ".join(whole.stderr.split())
    few = reap("fragment", "--profile", str(path), "--", forks, "2")
    assert "75 % of the litter was laid" in " ".join(few.stderr.split())


def test_a_profile_of_another_program_is_pointed_out(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**PROFILE, "program": "/usr/bin/perl"}))
    done = reap("fragment", "--profile", str(path), "--", program("busy"))
    assert "the profile is of perl, not of busy" in " ".join(done.stderr.split())


def test_what_is_left_out_of_the_litter_is_said(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**PROFILE, "left_out": 3, "left_out_bytes": 30000}))
    most = " ".join(reap("fragment", "--profile", str(path), "--", program("busy")).stderr.split())
    assert "left out: blocks of 4 096 bytes and more, 73 % of its bytes" in most
    assert "73 % of what it allocates is in blocks of 4 096 bytes and more, which are not imitated" in most
    assert "littered: 1 process, 1 thread" in most
    path.write_text(json.dumps({**PROFILE, "left_out": 3, "left_out_bytes": 3000}))
    few = " ".join(reap("fragment", "--profile", str(path), "--", program("busy")).stderr.split())
    assert "not imitated" not in few


def test_a_program_that_leaves_the_work_to_another_is_pointed_out():
    words = ["/bin/sh", "-c", f"{program('busy')} >/dev/null; true"]
    done = reap("fragment", "--", *words)
    assert "most was allocated by busy, which dash executed" in " ".join(done.stderr.split())
    assert "most was" not in " ".join(reap("fragment", "--children", "--", *words).stderr.split())


BAD = {
    "an impossible occupancy": (["--multiplier", "1", "--occupancy", "7"], 2, "occupancy of 7 is impossible"),
    "half a level": (["--multiplier", "1"], 2, "--multiplier and --occupancy together"),
    "two levels": (
        ["--level", "adv1", "--multiplier", "1", "--occupancy", "1"],
        2,
        "described by --level, or",
    ),
    "an unknown level": (["--level", "adv2"], 2, "no level is called 'adv2'"),
    "two allocators": (["--allocator", "glibc,jemalloc"], 2, "a run has one allocator"),
    "an allocator that lacks a call": (["--allocator", "lacks=LACKS"], 2, "lacks posix_memalign"),
    "what is no profile": (["--profile", "/etc/passwd"], 125, "/etc/passwd is no size profile"),
    "no profile there": (["--profile", "/nowhere"], 125, "/nowhere cannot be read"),
    "an empty profile": (["--profile", "EMPTY"], 125, "allocates nothing of less than 4096 bytes"),
    "a level that does not fit": (["--profile", "HUGE"], 1, "adv3 needs about"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_in_a_sentence(what, tmp_path):
    words, code, message = BAD[what]
    words = [word.replace("LACKS", library("lacks_aligned") if "LACKS" in word else "") for word in words]
    peak = {"value": 1e12, "low": 1e12, "high": 1e12}
    for name, changes in (("EMPTY", {"sizes": []}), ("HUGE", {"peak": peak})):
        (tmp_path / name).write_text(json.dumps({**PROFILE, **changes}))
        words = [str(tmp_path / name) if word == name else word for word in words]
    done = reap("fragment", *words, "--", "/bin/true")
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_programs_that_cannot_be_littered_are_refused(profile):
    static = reap("fragment", "--profile", profile, "--", program("peak_static"), "1")
    assert static.returncode == ExitCode.NOT_EXECUTABLE
    assert "statically linked" in static.stderr
    large = compile_c("large", "#include <stdlib.h>\nint main(void) { return !malloc(100000); }", ["-O0"])
    empty = reap("fragment", "--", large)
    assert "allocates nothing of less than 4096 bytes" in empty.stderr


def test_the_layout_of_the_litter_file_is_the_header_s():
    """Python's structs are those of lab/format/reap_litter.h."""
    header, report = "struct reap_litter_header", "struct reap_litter_report"
    facts = {
        f"sizeof({header})": litter_file._HEADER.size,
        "sizeof(struct reap_litter_size)": litter_file._SIZE.size,
        f"sizeof({report})": litter_file._REPORT.size,
        f"offsetof({header}, next_report)": litter_file._NEXT_REPORT,
        f"offsetof({header}, deepbind)": litter_file._NEXT_REPORT + 4,
        f"offsetof({header}, event_config)": litter_file._HEADER.size - 32,
        f"offsetof({report}, beside)": litter_file._REPORT.size - 120,
        f"offsetof({report}, provider)": litter_file._REPORT.size - 116,
    }
    checks = "".join(f'_Static_assert({fact} == {value}, "{fact}");' for fact, value in facts.items())
    source = f'#include "reap_litter.h"\n#include <stddef.h>\n{checks}\nint main(void) {{ return 0; }}'
    compile_c("layout", source, [f"-I{Path(__file__).resolve().parents[2] / 'format'}"])


def test_sizes_of_the_estimate_cover_what_glibc_takes():
    how = litter((20, 1))
    (one,) = run(how, "/bin/true").litterings
    taken = one.resident_after - one.resident_before
    assert taken < how.needed < 2 * taken


def test_a_preload_whose_path_has_separators_leaves_no_trace_either(tmp_path, monkeypatch):
    folder = tmp_path / "a b:c"
    folder.mkdir()
    preload = folder / "libreap-fragment.so"
    preload.write_bytes(native_files.preload("fragment").read_bytes())
    real = native_files.preload
    monkeypatch.setattr(native_files, "preload", lambda name: preload if name == "fragment" else real(name))
    child = [target("parent"), target("environment")]
    assert "LD_PRELOAD" not in said(litter(), *child)
