"""Programs on fragmented heaps: what is promised of the litter; each fault of the older tool has its number.

Of the eighteen, 3, 10 and 11 are in recording/test_size_profile.py; of 8 there is more in test_heap_map.py.
"""

import json
import re
from pathlib import Path

import pytest
from lab.test.fragment.littered import PROFILE, bare, extension, litter, run, said, target, unrandomised
from programs import program, reap
from recorded import recorded

from reap.allocators import catalog
from reap.base.errors import ReapError
from reap.launch import native_files
from reap.launch import program as programs
from reap.launch.host import memory
from reap.launch.litter import account
from reap.launch.litter import run as littering
from reap.launch.litter.level import LEVELS, custom, named
from reap.launch.litter.records import DEFAULT_SEED, ORDERS
from reap.launch.records import Launch

OTHERS = ("jemalloc", "mimalloc", "tcmalloc")


def allocator(name: str) -> str:
    return catalog.parse(name)[0].library


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
    words = ["fragment", "--litter", f"profile={profile}", "--allocator", "jemalloc"]
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
    assert '<total type="rest" count="0"' not in text, "what was freed is in the bins"
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
    answer = reap("fragment", "--litter", f"profile={profile}", "--", program("busy")).stderr
    for row in ("user time", "system time", "wall time", "page faults", "resident memory"):
        assert row in answer


def test_a_library_is_looked_for_where_the_program_says(tmp_path):
    """The loader must see the program and not the preload as the one that opens it."""
    name = Path(extension()).name
    assert said(litter(), target("deepbind"), name, directory=str(tmp_path)) == "opened"


# --- the command ------------------------------------------------------------------------------------------


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
