"""Programs on fragmented heaps: the whole matrix with its controls, and what is drawn from its runs."""

import errno
import functools
import json
import shlex
import shutil
from pathlib import Path

import msgspec
import pytest
import recorded
from programs import compile_c, library, program, reap

from reap.allocators import catalog, huge_pages
from reap.base.errors import ExitCode, ReapError
from reap.base.records import exactly
from reap.compare.command import compare
from reap.compare.levels import run as matrix
from reap.compare.levels import words
from reap.compare.levels.judge import judge
from reap.compare.levels.view import view
from reap.experiment import arms, once, runner
from reap.experiment import folder as folders
from reap.experiment.folder import Folder, read_runs
from reap.experiment.littering import litter_of
from reap.experiment.records import BARE, Laid, Run, Samples
from reap.experiment.runner import Listener
from reap.experiment.schedule import sampled
from reap.experiment.spec import COUNTERS
from reap.experiment.specify import AskedFragment, Conditions, specify
from reap.experiment.starter import Started, Starter
from reap.fragment.run import load_profile
from reap.launch.host import machine, sampling
from reap.launch.litter import level
from reap.launch.litter import run as littering
from reap.launch.litter.level import LEVELS
from reap.launch.litter.records import Event
from reap.launch.records import Launch, Outcome
from reap.launch.tools import callgrind, counters, valgrind
from reap.recording import sample
from reap.recording.analyse.size_profile import SizeProfile

# A list of 20 000 nodes, walked ten times: from a region of its own, or with NAIVE set by malloc each.
LIST = r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    struct node { struct node *next; long value[5]; };
    int main(int count, char **words) {
        char *naive = getenv("NAIVE");
        if (naive && !strcmp(naive, "crash")) abort();
        struct node *region = naive ? 0 : malloc(20000 * sizeof *region), *first = 0;
        for (int i = 0; i < 20000; i++) {
            struct node *node = naive ? malloc(sizeof *node) : region + i;
            node->next = first;
            node->value[0] = i;
            first = node;
        }
        long sum = naive && !strcmp(naive, "other");
        for (int round = 0; round < 10; round++)
            for (struct node *node = first; node; node = node->next) sum += node->value[0];
        printf("%ld\n", sum);
        return 0;
    }"""

PROFILE = SizeProfile(
    format="reap size profile",
    version=1,
    program="",
    command=[],
    counted="allocations",
    cut_off=4096,
    sizes=[(48, 20000), (500, 10)],
    left_out=0,
    left_out_bytes=0,
    peak=exactly(20000),
)


@functools.cache
def target() -> str:
    return compile_c("list", LIST, ["-O1", "-fno-builtin"])


def fragmented(levels="adv0,adv3", **options) -> AskedFragment:
    return AskedFragment(levels=level.parse(levels), **{"layouts": 1, **options})


def spec_of(allocators="glibc,jemalloc", how=None, **options):
    how = how or fragmented(naive_environment={"NAIVE": "1"})
    conditions = Conditions(**{"runs": 2, **options})
    return specify([target()], catalog.parse(allocators), fragmented=how, conditions=conditions)


def measured(where: Path, profile=PROFILE, **options):
    with Folder.create(where / "e", spec_of(**options)) as folder:
        if profile:
            matrix.keep_profile(folder, profile)
        return matrix.run(folder)


def runs_of(where: Path) -> list[Run]:
    return read_runs(where / "e" / "runs.jsonl")[0]


# --- what is run ------------------------------------------------------------------------------------------


def test_levels_are_names_or_numbers():
    assert [each.name for each in level.parse("adv0, adv3,10x0.5,adv3")] == ["adv0", "adv3", "10x0.5"]
    assert level.parse("2.5x0")[0].multiplier == 2.5
    for wrong, message in (("adv2", "no level is called"), ("axb", "no level"), ("1x7", "occupancy of 7")):
        with pytest.raises(ReapError, match=message):
            level.parse(wrong)


def test_the_arms_are_the_matrix_and_its_controls():
    spec = spec_of(how=fragmented("adv1,adv10", naive_environment={"NAIVE": "1"}, layouts=2))
    every = arms.arms(spec)
    assert len({arm.arm() for arm in every}) == len(every)
    first = every[0]
    assert (first.variant, first.allocator, first.level, first.layout) == ("custom", "glibc", "adv0", 0)
    wanted = arms.wanted(spec, spec.matrix)
    assert len(wanted) == 2 * 2 * 3, "adv0 is among the levels, said or not"
    others = [(arm.variant, arm.allocator, arm.level, arm.layout) for arm in every if arm not in wanted]
    for variant in ("custom", "naive"):
        for allocator in ("glibc", "jemalloc"):
            assert (variant, allocator, BARE, 0) in others
            assert (variant, allocator, "10x0", 0) in others
        for layout in (1, 2):
            assert (variant, "glibc", BARE, layout) in others
            assert (variant, "glibc", "adv0", layout) in others
    assert len(others) == 2 * (2 * 2 + 4)


def test_a_variant_may_be_run_over_some_allocators_alone():
    how = fragmented(naive=[target()], replaced=[target()], replaced_over=["glibc"], layouts=0)
    spec = spec_of(how=how)
    over = {(arm.variant, arm.allocator) for arm in arms.arms(spec)}
    every = {(variant, name) for variant in ("custom", "reap", "naive") for name in ("glibc", "jemalloc")}
    assert over == every - {("reap", "jemalloc")}


def test_more_rounds_than_an_experiment_was_to_have_are_of_its_figures_and_of_no_control(tmp_path):
    with Folder.create(tmp_path / "e", spec_of("glibc", fragmented(layouts=0))) as folder:
        matrix.keep_profile(folder, PROFILE)
        cost = matrix.cost(folder)
        assert all(run.warmup for run in folder.runs)
        assert cost.a_round > sum(run.seconds for run in folder.runs)  # the baseline twice
        first = matrix.run(folder)
        assert first.rounds == 2
        before = list(folder.runs)
        more = matrix.run(folder, rounds=4)
    assert more.rounds == 4
    runs = runs_of(tmp_path)
    assert runs[: len(before)] == before
    assert {run.cell.level for run in before} > {"adv0", "adv3"}
    assert {run.cell.level for run in runs[len(before) :]} == {"adv0", "adv3"}
    assert {run.cell.repeat for run in runs[len(before) :]} == {2, 3}
    with Folder.resume(tmp_path / "e") as folder:
        assert matrix.run(folder).rounds == 4  # none is lost where it goes on as it began


def test_one_variant_and_one_allocator_are_enough_but_not_one_level():
    spec = spec_of("glibc", fragmented())
    assert len(arms.wanted(spec, spec.matrix)) == 2
    with pytest.raises(ReapError, match="no level litters the heap"):
        spec_of("glibc", fragmented("adv0"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    where = tmp_path_factory.mktemp("matrix")
    return measured(where), runs_of(where), where


def test_every_variant_runs_under_every_allocator_at_every_level(whole):
    result, runs, _ = whole
    assert [(arm.variant, arm.allocator, arm.level) for arm in result.arms] == [
        (variant, allocator, name)
        for variant in ("custom", "naive")
        for allocator in ("glibc", "jemalloc")
        for name in ("adv0", "adv3")
    ]
    for arm in result.arms:
        assert (arm.problem, arm.rounds, arm.verified, arm.same_output) == ("", 2, True, True), arm
        objects = LEVELS[arm.level].objects(20000)
        assert arm.laid.objects == objects
        assert arm.allocator in arm.laid.provider or arm.allocator == "glibc"
        assert arm.normalised.keys() >= {"cpu", "wall", "peak_resident", "minor_faults"}
        assert bool(arm.to_custom) == (arm.variant == "naive")
        assert bool(arm.to_allocator) == (arm.allocator == "jemalloc")
    bare = [run for run in runs if run.cell.level == BARE]
    assert bare
    assert not any(run.laid for run in bare)
    assert result.notes == []
    assert not matrix.differs(result)


def test_the_controls_are_always_run(whole):
    result, runs, _ = whole
    assert [(each.variant, each.allocator) for each in result.controls] == [
        (variant, allocator) for variant in ("custom", "naive") for allocator in ("glibc", "jemalloc")
    ]
    assert all(each.preload and each.emptied for each in result.controls)
    assert all(len(luck.ratios) == 1 for luck in result.luck)
    assert {(luck.variant, luck.level) for luck in result.luck} == {
        (variant, name) for variant in ("custom", "naive") for name in (BARE, "adv0")
    }
    emptied = [run for run in runs if run.cell.level == "3x0"]
    assert emptied
    assert {(run.laid.objects, run.laid.kept_bytes) for run in emptied} == {(60000, 0)}


def test_heaps_are_littered_as_one_chooses(tmp_path):
    chosen = {"seed": 7, "order": "reversed", "touch": False, "children": True}
    spec = spec_of("glibc", fragmented(**chosen, layouts=0))
    litter = spec.matrix.litter(PROFILE, LEVELS["adv3"])
    assert {name: getattr(litter, name) for name in chosen} == chosen
    with Folder.create(tmp_path / "e", spec) as folder:
        arm = next(arm for arm in arms.arms(spec) if arm.level == "adv3")
        seen = Starter(folder, PROFILE).start(arm, probe=False).laid
    touched = littering.run(
        Launch(argv=[target()], program=target()), spec.matrix.litter(PROFILE, LEVELS["adv3"])
    )
    assert seen.kept_bytes == touched.litterings[0].kept_bytes, "by the same seed"


# Says how long the variable is that moves its stack, and whether a further library lies before its others.
MOVED = r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    int main(void) {
        char *room = getenv("REAP_LAYOUT"), line[512];
        int more = 0;
        FILE *map = fopen("/proc/self/maps", "r");
        while (fgets(line, sizeof line, map)) more |= strstr(line, "libreap-probe") != 0;
        fprintf(stderr, "%zu %d", room ? strlen(room) : 0, more);
        return 0;
    }"""


def test_layouts_move_stack_and_libraries(tmp_path):
    moved = compile_c("moved", MOVED, ["-O1"])
    spec = specify([moved], catalog.parse("glibc"), fragmented=fragmented(layouts=4))
    with Folder.create(tmp_path / "e", spec) as folder:
        starter = Starter(folder, PROFILE)
        seen = {}
        for arm in arms.arms(spec):
            if arm.level in (BARE, "adv0"):
                room, more = starter.start(arm, probe=False).outcome.stderr_tail.split()
                seen[arm.level, arm.layout] = int(room), int(more)
    assert seen[BARE, 0] == seen["adv0", 0] == (0, 0)
    for layout in range(1, 5):
        assert seen[BARE, layout] == seen["adv0", layout], "the same for both, to be compared"
        assert seen[BARE, layout][1] == layout % 2
    assert len({room for room, _ in seen.values()}) == 5


def test_where_the_time_goes_is_sampled_for_each_arm(whole):
    result, runs, _ = whole
    assert sum(run.cell.sampled for run in runs) == len(result.arms)
    with_time = [arm for arm in result.arms if arm.split]
    assert with_time
    for arm in with_time:
        assert arm.split.inside.value + arm.split.outside.value == pytest.approx(arm.cpu)


def test_a_finished_experiment_runs_nothing_again(whole):
    result, runs, where = whole
    with Folder.resume(where / "e") as folder:
        assert matrix.run(folder) == result
    assert runs_of(where) == runs


def test_a_killed_experiment_goes_on_with_its_profile(whole, tmp_path):
    result, runs, where = whole
    (tmp_path / "e").mkdir()
    for name in ("experiment.json", "profile.json"):
        (tmp_path / "e" / name).write_bytes((where / "e" / name).read_bytes())
    lines = (where / "e" / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "e" / "runs.jsonl").write_bytes(b"".join(lines[:-7]) + lines[-7][:40])
    with Folder.resume(tmp_path / "e") as folder:
        again = matrix.run(folder)
    after = runs_of(tmp_path)
    assert after[: len(runs) - 7] == runs[:-7]
    assert [run.cell for run in after] == [run.cell for run in runs]
    assert [arm.problem for arm in again.arms] == [arm.problem for arm in result.arms]


def test_the_sizes_are_those_of_the_naive_variant(tmp_path):
    result = measured(tmp_path, profile=None, allocators="glibc")
    assert result.profile.peak.value > 19000, "its own allocator takes one block; malloc sees nodes"
    assert dict(result.profile.sizes)[48] == 20000
    assert (tmp_path / "e" / "profile.json").stat().st_mode & 0o777 == 0o600


THREADS = r"""
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    static void *work(void *given) {
        void *blocks[3000];
        for (int i = 0; i < 3000; i++) blocks[i] = malloc(48);
        for (int i = 0; i < 3000; i++) free(blocks[i]);
        return given;
    }
    int main(void) {
        pthread_t all[3];
        for (int i = 0; i < 3; i++) pthread_create(all + i, 0, work, 0);
        for (int i = 0; i < 3; i++) pthread_join(all[i], 0);
        puts("joined");
        return 0;
    }"""


@pytest.mark.timed
def test_every_thread_of_a_matrix_is_littered(tmp_path):
    threads = compile_c("matrix-threads", THREADS, ["-O1", "-fno-builtin", "-pthread"])
    profile = msgspec.structs.replace(PROFILE, threads=4)
    chosen = catalog.parse("glibc,jemalloc")
    spec = specify([threads], chosen, conditions=Conditions(runs=2), fragmented=fragmented(layouts=0))
    for attempt in "abc":  # a thread that gets no processor for a third of a second is not waited for
        with Folder.create(tmp_path / attempt, spec) as folder:
            matrix.keep_profile(folder, profile)
            result = matrix.run(folder)
        if not result.notes:
            break
    assert [arm.problem for arm in result.arms] == [""] * 4
    for arm in result.arms:
        threads = 4 if arm.level == "adv3" else 1
        assert (arm.laid.threads, arm.laid.objects) == (threads, LEVELS[arm.level].objects(20000))
    assert result.notes == []


def test_threads_that_do_not_come_are_pointed_out(tmp_path):
    profile = msgspec.structs.replace(PROFILE, threads=4)
    result = measured(tmp_path, profile=profile, allocators="glibc", how=fragmented(layouts=0))
    assert any(note.startswith("25 % of the litter of adv3 was laid: 4 threads") for note in result.notes)


def test_a_variant_that_crashes_is_reported_and_the_other_goes_on(tmp_path):
    how = fragmented(naive_environment={"NAIVE": "crash"})
    result = measured(tmp_path, allocators="glibc", how=how)
    for arm in result.arms:
        assert ("SIGABRT" in arm.problem) == (arm.variant == "naive"), arm.problem
        assert bool(arm.normalised) == (arm.variant == "custom")
    assert matrix.differs(result)
    crashed = [run for run in runs_of(tmp_path) if run.cell.variant == "naive"]
    assert all(run.warmup for run in crashed), "it is not run again"


def test_a_variant_that_says_something_else_is_not_compared(tmp_path):
    result = measured(
        tmp_path, allocators="glibc", how=fragmented(naive=[target()], naive_environment={"NAIVE": "other"})
    )
    for arm in result.arms:
        assert ("output" in arm.problem) == (arm.variant == "naive")
    assert matrix.differs(result)


def test_a_level_that_does_not_fit_is_refused_before_anything_runs(tmp_path):
    huge = msgspec.structs.replace(PROFILE, peak=exactly(10**10))
    with pytest.raises(ReapError, match="adv3 needs about"):
        measured(tmp_path, profile=huge)
    assert runs_of(tmp_path) == []


def refuse_perf_events(monkeypatch):
    monkeypatch.setattr(sampling, "check", lambda: sampling.Sampling(samples=0, kernel=False, errno=1))


METHODS = ["perf", "timer"] if sampling.check().samples else ["timer"]


@pytest.mark.timed
@pytest.mark.parametrize("method", METHODS)
def test_samples_of_the_littering_are_left_out(monkeypatch, method):
    if method == "timer":
        refuse_perf_events(monkeypatch)
    spin = program("spin")  # 50 ms of the process's CPU time, the littering counted: it has them all
    launch = Launch(argv=[spin], program=spin)
    big = litter_of(msgspec.structs.replace(PROFILE, peak=exactly(600_000)), LEVELS["adv3"])
    run = sample.sample(launch, big, image=spin, providers=[])
    net, gross = run.littered.outcome.cpu_ns / 1e6, run.littered.gross.cpu_ns / 1e6
    assert run.method == method
    assert gross > net + 60, "a littering worth seeing"
    every = 1 if method == "perf" else 4  # milliseconds
    assert run.seen["all"] < (net + 30) / every


@pytest.mark.timed
@pytest.mark.parametrize("method", METHODS)
def test_time_in_the_allocator_is_told_from_time_outside_it(monkeypatch, method):
    """Where perf events are refused, a timer tells it."""
    if method == "timer":
        refuse_perf_events(monkeypatch)
    how = litter_of(PROFILE, LEVELS["adv1"])
    shares = []
    for work, turns in (("20", "40000"), ("10000", "300")):
        words = [recorded.target("share"), "with", work, turns]
        seen = sample.sample(Launch(argv=words, program=words[0]), how, providers=[]).seen
        assert seen["all"] > 10
        shares.append(seen["inside"] / seen["all"])
    assert shares[0] > 0.15 > shares[1]


# --- caches and huge pages --------------------------------------------------------------------------------

VALGRIND = pytest.mark.skipif(not shutil.which("valgrind"), reason="needs Debian's valgrind")


@VALGRIND
def test_misses_are_counted_from_where_the_heap_is_littered(tmp_path):
    how = fragmented("adv0,adv3", naive_environment={"NAIVE": "1"}, layouts=0, caches="i7-8559u")
    result = measured(tmp_path, allocators="glibc", how=how)
    custom, littered = (result.arm("custom", "glibc", name).misses for name in ("adv0", "adv3"))
    clean, apart = (result.arm("naive", "glibc", name).misses for name in ("adv0", "adv3"))
    assert littered.instructions == pytest.approx(custom.instructions, rel=0.02), (
        "60 000 blocks not among them"
    )
    assert littered.last == pytest.approx(custom.last, rel=0.1)
    assert apart.last > 1.3 * clean.last
    assert "LL cache: 8388608 B, 64 B, 16-way associative" in apart.caches
    assert sum(run.cell.simulated for run in runs_of(tmp_path)) == 4
    assert all(arm.rounds == 2 for arm in result.arms), "simulated runs are none of the rounds"
    with Folder.resume(tmp_path / "e") as folder:
        assert matrix.run(folder) == result


@VALGRIND
@pytest.mark.parametrize("caches", callgrind.CACHES)
def test_the_named_caches_are_ones_that_the_model_takes(caches):
    how = litter_of(PROFILE, LEVELS["adv0"])
    launch = Launch(argv=["/bin/true"], program="/bin/true")
    littered, misses = callgrind.run(launch, how, caches)
    assert littered.outcome.status == 0
    assert misses.instructions > 1000
    asked = [int(word.partition("=")[2].partition(",")[0]) for word in callgrind.CACHES[caches]]
    got = [int(text.split(": ")[1].split()[0]) for text in misses.caches]
    assert got == asked or not asked


@VALGRIND
def test_a_program_that_executes_another_has_no_misses():
    how = litter_of(PROFILE, LEVELS["adv1"])
    env = Launch(argv=["/bin/sh", "-c", "kill -KILL $$"], program="/bin/sh")
    assert callgrind.run(env, how, "machine")[1] is None


def test_without_callgrind_caches_are_refused(monkeypatch):
    monkeypatch.setattr(valgrind, "tools", lambda: None)
    with pytest.raises(ReapError, match="is not installed"):
        spec_of(how=fragmented(caches="machine"))


def test_a_file_of_callgrinds_that_counts_nothing_is_passed_over():
    assert callgrind.parse("events: Ir Dr\ntotals: 0 0\n") is None
    assert callgrind.parse("") is None
    assert callgrind.parse("events: Ir Dr Dw D1mr\ntotals: 9 5 1 2\n").accesses == 6


# What this kernel counts without any help of the processor.
PAGE_FAULTS, NOTHING = Event(type=1, config=5), Event(type=1, config=9999)


def only_page_faults(monkeypatch, lacking=()):
    """Every event of EVENTS is a page fault; `lacking` are not counted."""
    events = {name: NOTHING if name in lacking else PAGE_FAULTS for name in counters.EVENTS}
    monkeypatch.setattr(counters, "EVENTS", events)


def test_what_the_littering_causes_is_no_event_of_the_program():
    launch = Launch(argv=[target()], program=target(), environment={"NAIVE": "1"})
    for name in ("adv0", "adv3"):
        how = litter_of(PROFILE, LEVELS[name])
        done = littering.run(launch, how, event=PAGE_FAULTS)
        # Those in the kernel, as when a program is loaded, are not counted.
        assert done.outcome.events == pytest.approx(done.outcome.minor_faults, abs=80)
        assert done.gross.events - done.outcome.events == done.litterings[0].events
        assert done.litterings[0].events == pytest.approx(done.litterings[0].minor_faults, abs=10)
        assert (done.litterings[0].events > 1000) == (name == "adv3")
    assert littering.run(launch, how).outcome.events is None, "nothing was to be counted"
    assert littering.run(launch, how, event=NOTHING).outcome.events is None, "it cannot be counted"


def test_events_of_threads_are_the_program_s_and_those_of_their_littering_are_not():
    threads = compile_c("matrix-threads", THREADS, ["-O1", "-fno-builtin", "-pthread"])
    how = litter_of(msgspec.structs.replace(PROFILE, threads=4), LEVELS["adv3"])
    done = littering.run(Launch(argv=[threads], program=threads), how, event=PAGE_FAULTS)
    assert len(done.litterings) == 4
    for one in done.litterings:
        assert one.events == pytest.approx(one.minor_faults, abs=10)
    assert done.outcome.events == pytest.approx(done.outcome.minor_faults, abs=120)


def test_misses_are_those_of_the_processor_where_it_counts_them(tmp_path, monkeypatch):
    only_page_faults(monkeypatch, lacking=["accesses"])
    how = fragmented("adv3", naive_environment={"NAIVE": "1"}, layouts=0, caches="counters")
    result = measured(tmp_path, allocators="glibc", how=how)
    for arm in result.arms:
        assert arm.misses.instructions == pytest.approx(arm.misses.last, abs=30)
        assert arm.misses.tlb is not None
        assert (arm.misses.accesses, arm.misses.caches, arm.rounds) == (None, [], 2)
    assert len([run for run in runs_of(tmp_path) if run.cell.counted]) == 4 * 4
    assert result.notes == []
    said = [each.statement for each in judge(result).evidence if "times the misses" in each.statement]
    assert len(said) == 2
    assert not any("simulated" in each for each in said)
    with Folder.resume(tmp_path / "e") as folder:
        assert matrix.run(folder) == result


@VALGRIND
def test_without_counters_of_the_processor_caches_are_simulated_and_that_is_said(monkeypatch):
    only_page_faults(monkeypatch, lacking=["last"])
    assert counters.here() == []
    spec = spec_of(how=fragmented(caches="counters"))
    assert spec.matrix.caches == "machine"
    assert any("shows no counters" in note for note in drawn(slow, spec=spec).notes)


def test_the_events_are_those_of_the_kernel_s_header():
    checks = {
        "instructions": "PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS",
        "first": "PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_RESULT_MISS << 16",
        "last": "PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_RESULT_MISS << 16",
        "accesses": "PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16",
        "tlb": "PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_RESULT_MISS << 16",
    }
    source = "#include <linux/perf_event.h>\n"
    for name, event in counters.EVENTS.items():
        kind, config = checks[name].split(", ")
        source += f'_Static_assert({kind} == {event.type} && ({config}) == {event.config}, "{name}");\n'
    compile_c("events", source + "int main(void) { return 0; }", [])


# Half a million small blocks; says on standard error how much of them lies on huge pages.
HUGE = r"""
    #include <stdio.h>
    #include <stdlib.h>
    int main(void) {
        for (int i = 0; i < 500000; i++) *(char *)malloc(60) = 1;
        char line[256];
        long size;
        FILE *map = fopen("/proc/self/smaps_rollup", "r");
        while (fgets(line, sizeof line, map))
            if (sscanf(line, "AnonHugePages: %ld", &size) == 1) fprintf(stderr, "%ld", size);
        return 0;
    }"""


@functools.cache
def large() -> str:
    return compile_c("large-heap", HUGE, ["-O1", "-fno-builtin"])


THP = machine.describe().huge_pages


@pytest.mark.skipif(THP not in ("always", "madvise"), reason="this kernel gives no huge pages")
@pytest.mark.parametrize("name", ["glibc", "jemalloc", "mimalloc"])
def test_huge_pages_come_where_they_should_and_nowhere_else(tmp_path, monkeypatch, name):
    chosen = catalog.parse(name)[0]
    for variable, value in huge_pages.switch(chosen, {}).items():
        monkeypatch.setenv(variable, value)  # "off" has to hold against what a user has set
    how = fragmented(huge_pages=True)
    spec = specify([large()], catalog.parse(f"glibc,{name}" if name != "glibc" else name), fragmented=how)
    with Folder.create(tmp_path / "e", spec) as folder:
        starter = Starter(folder, PROFILE)
        seen = {}
        for arm in arms.wanted(spec, spec.matrix):
            if (arm.allocator, arm.level) == (name, "adv3"):
                seen[arm.huge_pages] = int(starter.start(arm, probe=False).outcome.stderr_tail)
    assert seen["off"] == 0
    assert seen["on"] > 10_000


def test_huge_pages_are_an_axis_of_their_own():
    spec = spec_of(how=fragmented(huge_pages=True)) if THP in ("always", "madvise") else None
    if spec is None:
        with pytest.raises(ReapError, match="no transparent huge pages"):
            spec_of(how=fragmented(huge_pages=True))
        return
    every = arms.arms(spec)
    assert every[0].huge_pages == "off"
    assert len(arms.wanted(spec, spec.matrix)) == 4 * 2
    assert {arm.huge_pages for arm in arms.controls(spec, spec.matrix)} == {"off"}
    assert len({arm.arm() for arm in every}) == len(every)

    def cpu(cell):
        return 60 if cell.huge_pages == "on" else 100

    arm = drawn(cpu, spec=spec).arm("default", "glibc", "adv3", "on")
    assert arm.to_small["cpu"].ratio.value == pytest.approx(0.6, rel=0.01)
    assert arm.slowdown["cpu"].ratio.value == pytest.approx(1, rel=0.01), "to itself at adv0, with huge pages"


def test_an_allocator_without_a_switch_for_huge_pages_runs_without():
    spec = spec_of("glibc,tcmalloc", fragmented())
    matrix_on = msgspec.structs.replace(spec.matrix, huge_pages=["off", "on"])
    spec = msgspec.structs.replace(spec, matrix=matrix_on)
    on = {arm.allocator for arm in arms.wanted(spec, matrix_on) if arm.huge_pages == "on"}
    assert on == ({"glibc", "tcmalloc"} if THP == "always" else {"glibc"})
    notes = " ".join(drawn(lambda _: 100, spec=spec).notes)
    assert ("tcmalloc cannot be told" in notes) == (THP != "always")


# --- what is drawn ----------------------------------------------------------------------------------------


def drawn(cpu, resident=lambda _cell: 0, rounds=6, spec=None, dropped=None, change=lambda run: run, more=()):
    """The result of runs whose CPU time in milliseconds and litter in bytes are what the functions say.

    `change` makes of each run what it likes, and `more` are kinds of runs beyond the rounds, as `sampled`.
    """
    spec = spec or spec_of("glibc")
    runs = []
    for number in range(-1, rounds):
        cells = arms.arms(spec)
        beyond = [kind(arm) for kind in more for arm in arms.wanted(spec, spec.matrix)]
        control = msgspec.structs.replace(cells[0], control=True)
        for cell in [*cells, *([control] if number >= 0 else beyond)]:
            here = msgspec.structs.replace(cell, repeat=max(number, 0))
            added = resident(cell)
            outcome = Outcome(
                exit_code=0,
                user_ns=int(cpu(cell) * 1e6 * (1 + 0.001 * ((number * 7 + len(runs) * 3) % 5))),
                peak_resident=10_000_000 + added,
                stdout_digest="d",
            )
            laid = (
                None
                if cell.level == BARE
                else Laid(objects=1, kept_bytes=1, cpu_ns=1, wall_ns=1, resident=added, threads=1)
            )
            run = Run(
                cell=here,
                outcome=outcome,
                order=len(runs),
                started=0.0,
                warmup=number < 0 and cell not in beyond,
                laid=laid,
                samples=Samples(all=1000, inside=200, kernel=True) if cell.sampled else None,
            )
            runs.append(change(run))
    return matrix.draw(spec, PROFILE, runs, dropped or {})


def slow(cell):
    """Naive takes 20 % more, and at adv3 twice that; layouts do nothing."""
    if cell.variant == "custom":
        return 100
    return 240 if cell.level == "adv3" else 120


def test_ratios_are_to_what_they_say():
    result = drawn(slow)
    arm = result.arm("naive", "glibc", "adv3")
    assert arm.normalised["cpu"].ratio.value == pytest.approx(2.4, rel=0.01)
    assert arm.slowdown["cpu"].ratio.value == pytest.approx(2, rel=0.01)
    assert arm.to_custom["cpu"].ratio.value == pytest.approx(2.4, rel=0.01)
    assert arm.slowdown["cpu"].verdict == "worse"
    assert result.arm("custom", "glibc", "adv3").slowdown["cpu"].ratio.value == pytest.approx(1, rel=0.01)


def test_on_a_clean_heap_each_is_held_to_the_best_of_custom():
    def cpu(cell):
        return {"custom": 100, "naive": 180}[cell.variant] * (0.8 if cell.allocator == "jemalloc" else 1)

    result = drawn(cpu, spec=spec_of())
    seen = {
        (arm.variant, arm.allocator): arm.to_best["cpu"].ratio.value for arm in result.arms if arm.to_best
    }
    assert seen == pytest.approx(
        {
            ("custom", "glibc"): 1.25,
            ("custom", "jemalloc"): 1,
            ("naive", "glibc"): 2.25,
            ("naive", "jemalloc"): 1.8,
        },
        rel=0.01,
    )
    assert not any(arm.to_best for arm in result.arms if arm.level != "adv0")
    assert not any(arm.to_best for arm in drawn(lambda _: 100, spec=spec_of(how=fragmented())).arms)


def test_memory_is_what_comes_beyond_the_litter():
    result = drawn(slow, resident=lambda cell: 300_000_000 if cell.level == "adv3" else 0)
    assert result.arm("custom", "glibc", "adv3").normalised["peak_resident"].value == 10_000_000
    assert result.arm("custom", "glibc", "adv3").slowdown["peak_resident"].ratio.value == 1


def test_an_arm_whose_clean_heap_says_nothing_says_nothing():
    spec = spec_of("glibc")
    clean = next(arm for arm in arms.arms(spec) if (arm.variant, arm.level) == ("naive", "adv0"))
    result = drawn(slow, spec=spec, dropped={clean.arm(): "it died"})
    assert result.arm("naive", "glibc", "adv0").problem == "it died"
    assert result.arm("naive", "glibc", "adv3").problem == "at adv0, which it is held to: it died"
    assert "Without its own allocator" not in judge(result).paragraph


def test_too_few_rounds_say_nothing():
    result = drawn(slow, rounds=1)
    assert all("too few" in arm.problem for arm in result.arms)
    assert not matrix.differs(result)


def failing(where, failure="malloc returned null"):
    """A change of runs: the heap of those was not littered."""

    def change(run):
        if run.laid is None or not where(run.cell):
            return run
        laid = msgspec.structs.replace(run.laid, failure=failure, threads=bool(failure))
        return msgspec.structs.replace(run, laid=laid)

    return change


def ending(where, status=139, text="d"):
    """A change of runs: those end, or say, something else."""

    def change(run):
        if not where(run.cell):
            return run
        outcome = msgspec.structs.replace(run.outcome, exit_code=status, stdout_digest=text)
        return msgspec.structs.replace(run, outcome=outcome)

    return change


def test_a_control_that_ran_on_a_clean_heap_is_no_finding():
    def cpu(cell):
        return 143 if cell.level == "3x0" else 100

    spec = spec_of("glibc", fragmented())
    assert any("all litter was freed" in said for said in judge(drawn(cpu, spec=spec)).first)
    result = drawn(cpu, spec=spec, change=failing(lambda cell: cell.level == "3x0"))
    (control,) = result.controls
    assert control.emptied is None
    assert control.preload is not None
    assert judge(result).first == []
    said = "the control glibc, 3x0: it ran on a clean heap: malloc returned null"
    assert words.problems(result) == [said]
    assert matrix.differs(result)


def test_no_ratio_is_to_an_arm_that_says_nothing():
    spec = spec_of()
    result = drawn(slow, spec=spec, change=failing(lambda cell: cell.allocator == "glibc"))
    jemalloc = [arm for arm in result.arms if arm.allocator == "jemalloc"]
    assert not any(arm.to_allocator or arm.normalised or arm.sound for arm in jemalloc)
    assert all("the baseline, which it is held to: it ran on" in arm.problem for arm in jemalloc)
    result = drawn(
        slow, spec=spec, change=failing(lambda cell: cell.variant == "custom" and cell.level == "adv3")
    )
    arm = result.arm("naive", "glibc", "adv3")
    assert (arm.to_custom, arm.problem) == ({}, "")
    assert "its own allocator would take back" not in judge(result).paragraph


def test_a_control_that_crashes_is_said_and_counts():
    spec = spec_of("glibc", fragmented())
    moved = next(arm for arm in arms.arms(spec) if (arm.level, arm.layout) == ("adv0", 1))
    dropped = {moved.arm(): "the program was ended by SIGSEGV (in the warm-up)"}
    result = drawn(slow, spec=spec, dropped=dropped, change=ending(lambda cell: cell.arm() == moved.arm()))
    (failed,) = result.failed_controls
    assert (failed.level, failed.layout, failed.same_exit) == ("adv0", 1, False)
    assert [luck.ratios for luck in result.luck if luck.level == "adv0"] == [[]]
    said = "the control glibc, adv0 in layout 1: the program was ended by SIGSEGV (in the warm-up)"
    assert words.problems(result) == [said]
    assert matrix.differs(result)
    assert drawn(slow, spec=spec, rounds=1).failed_controls == [], "too few rounds are no fault of theirs"


def test_a_control_that_says_something_else_counts_but_where_it_may_print_its_layout():
    spec = spec_of("glibc", fragmented())
    other = ending(lambda cell: cell.level == BARE, status=0, text="other")
    result = drawn(slow, spec=spec, change=other)
    (failed,) = result.failed_controls
    assert (failed.level, failed.layout, failed.same_output) == (BARE, 0, False)
    assert "output differs from the baseline's" in failed.problem
    assert result.controls[0].preload is None
    assert matrix.differs(result)
    moved = drawn(slow, spec=spec, change=ending(lambda cell: cell.layout > 0, status=0, text="other"))
    assert moved.failed_controls == []
    assert not matrix.differs(moved)


# Dies where its stack is moved.
STAYS = r"""
    #include <stdlib.h>
    int main(void) {
        for (int i = 0; i < 1000; i++) if (!malloc(48)) return 1;
        if (getenv("REAP_LAYOUT")) abort();
        return 0;
    }"""


def test_a_program_that_crashes_in_another_layout_exits_with_1(tmp_path, profile):
    stays = compile_c("matrix-stays", STAYS, ["-O1", "-fno-builtin"])
    words = ["compare", "--levels", "adv1", "-a", "glibc", "-n", "2", "--layouts", "1", "--profile", profile]
    done = reap(*words, "-o", "x", "--", stays, cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED, done.stderr
    said = " ".join(done.stdout.split())
    for where in ("bare", "adv0"):
        assert f"the control glibc, {where} in layout 1: the program was ended by SIGABRT" in said


@pytest.mark.parametrize("failure", ["malloc returned null", ""])
def test_an_arm_that_could_not_be_littered_counts(failure):
    result = drawn(slow, change=failing(lambda cell: cell.level == "adv3", failure))
    assert matrix.differs(result)
    arm = result.arm("naive", "glibc", "adv3")
    assert not arm.littered
    assert ("clean heap: malloc" if failure else "nothing was littered") in arm.problem
    assert result.arm("naive", "glibc", "adv0").littered
    assert not matrix.differs(drawn(slow))


@pytest.mark.parametrize("wrong", [{"status": 139}, {"status": 0, "text": "other"}])
def test_a_sampled_run_that_fails_spoils_no_round(wrong):
    def this(cell):
        return cell.sampled and (cell.variant, cell.level) == ("naive", "adv3")

    result = drawn(slow, more=[sampled], change=ending(this, **wrong))
    arm = result.arm("naive", "glibc", "adv3")
    assert (arm.problem, arm.same_exit, arm.same_output, arm.split) == ("", True, True, None)
    assert arm.sound
    assert all(each.split for each in result.arms if each is not arm)
    (note,) = [note for note in result.notes if "time inside the allocator is unknown" in note]
    assert "naive, glibc, adv3" in note
    assert not matrix.differs(result)
    clean = drawn(slow, more=[sampled], change=failing(lambda cell: cell.sampled and cell.level == "adv3"))
    assert [arm.level for arm in clean.arms if arm.sound and not arm.split] == ["adv3"] * 2
    assert not matrix.differs(clean)
    whole = drawn(slow, more=[sampled], change=failing(lambda cell: cell.level == "adv3"))
    assert not any("time inside" in note for note in whole.notes), "that it says nothing is said already"


def test_the_page_says_which_litter_it_was():
    how = fragmented(seed=7, order="reversed", touch=False)
    result = drawn(slow, spec=spec_of("glibc", how))
    assert (result.seed, result.order, result.touch) == (7, "reversed", False)
    said = view(result, judge(result)).litter
    assert "freed by address, the highest first; never written to; seed 7" in said
    assert "in random order; written to; seed 1" in view(drawn(slow), judge(drawn(slow))).litter
    assert "own sizes (its allocations, 48.2 B" in said
    full = msgspec.structs.replace(PROFILE, counted="in use at the peak")
    whole = msgspec.structs.replace(result, profile=full)
    assert "own sizes (its blocks in use at the peak, 48.2 B" in view(whole, judge(whole)).litter


# --- the budget -------------------------------------------------------------------------------------------


class Clockwork(Starter):
    """Every run takes a tenth of a second on `clock`, and one in simulated caches fifty times that."""

    clock = 0.0

    def start(self, cell, *, probe):
        type(self).clock += 5.0 if cell.simulated else 0.1
        heap = {"x": {"malloc": "/lib/libc.so.6"}} if probe else {}
        laid = Laid(objects=1, kept_bytes=1, cpu_ns=1, wall_ns=1, resident=1, threads=1)
        return Started(
            outcome=Outcome(exit_code=0, user_ns=10**8, stdout_digest="d", heap=heap),
            laid=None if cell.level == BARE else laid,
        )


class Hears(Listener):
    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)


def budgeted(where, monkeypatch, budget, **options):
    """The runner, after it ran, and what it said, with one variant, one allocator, adv0 and adv3."""
    monkeypatch.setattr(once.time, "monotonic", lambda: Clockwork.clock)
    spec = spec_of("glibc", fragmented(layouts=0), runs=0, budget=budget)
    spec = msgspec.structs.replace(spec, matrix=msgspec.structs.replace(spec.matrix, **options))
    heard = Hears()
    with Folder.create(where / "e", spec) as folder:
        ran = runner.Runner(folder, heard, Clockwork(folder))
        ran.run()
    return ran, runs_of(where), heard.said


def kinds(runs):
    return [
        sum(bool(getattr(run.cell, kind)) for run in runs) for kind in ("sampled", "counted", "simulated")
    ]


def test_the_budget_bounds_what_comes_after_the_rounds(tmp_path, monkeypatch):
    # Four arms: warm-ups take 0.4 s, a round 0.5 s, two sampled runs 0.2 s, two simulated ones 10 s.
    ran, runs, said = budgeted(tmp_path, monkeypatch, 4.0, caches="machine")
    assert kinds(runs) == [2, 0, 0]
    assert sum(run.seconds for run in runs) <= 4.0
    assert ran.notes == ["the budget of 4 s left no time for 2 of 2 runs in simulated caches"]
    assert "then 2 sampled runs, then 2 runs in simulated caches, each some 50 times as long" in said[0]
    assert said[0].split()[2] == "33", "25 in rounds, 4 warm-ups, 2 sampled, 2 simulated"
    with Folder.resume(tmp_path / "e") as folder:
        again = runner.Runner(folder, Hears(), Clockwork(folder))
        again.run()
    assert again.notes == ran.notes
    assert runs_of(tmp_path) == runs, "nothing is run that there was no time for"


def test_rounds_leave_time_for_what_comes_after_them(tmp_path, monkeypatch):
    monkeypatch.setattr(counters, "here", lambda: list(counters.EVENTS))
    ran, runs, _ = budgeted(tmp_path, monkeypatch, 7.7, caches=COUNTERS)
    assert kinds(runs) == [2, 10, 0]
    assert max(run.cell.repeat for run in runs) == 11, "12 rounds: 0.4 + 12 * 0.5 + 1.2 s"
    assert sum(run.seconds for run in runs) <= 7.7
    assert (ran.notes, ran.stopped_early) == ([], False)


def test_what_fails_in_the_middle_says_how_to_go_on(tmp_path, monkeypatch):
    spec = spec_of("glibc", fragmented(layouts=0))
    refused = littering.require_memory

    def short(litter):
        if litter.objects:
            monkeypatch.setattr(littering.memory, "available", lambda: 1)
        refused(litter)

    with Folder.create(tmp_path / "e", spec) as folder:
        starter = Starter(folder, PROFILE)
        monkeypatch.setattr(littering, "require_memory", short)
        with pytest.raises(ReapError, match="adv3 needs about") as said:
            runner.Runner(folder, Hears(), starter).run()
    assert "choose a lower level" in said.value.hint
    assert f"go on with: reap compare --resume {tmp_path}/e" in said.value.hint
    assert said.value.code == ExitCode.FAILED
    assert [run.cell.level for run in runs_of(tmp_path)] == ["adv0"], "what was run is kept"


# --- the command ------------------------------------------------------------------------------------------


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "p.json"
    path.write_bytes(msgspec.json.encode(PROFILE))
    return str(path)


def test_the_command_runs_the_matrix_and_writes_it_down(tmp_path, profile):
    words = ["compare", "--levels", "adv0,adv1", "-a", "glibc", "-n", "2", "--layouts", "1"]
    words += ["--seed", "7", "--order", "reversed", "--no-touch"]
    files = ["--json", "m.json", "--html", "m.html", "-o", "x"]
    done = reap(*words, *files, "--naive-env", "NAIVE=1", "--profile", profile, "--", target(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "naive as a ratio to custom" in done.stdout
    assert "adv0 to bare" in done.stdout
    assert "next: reap fragment --profile" in done.stderr
    answer = json.loads((tmp_path / "m.json").read_text())["answers"][0]
    assert answer["fragmented"]["naive_environment"] == {"NAIVE": "1"}
    assert answer["resilience"]["headline"] == "inconclusive", "two rounds are too few"
    asked = json.loads((tmp_path / "x" / "experiment.json").read_text())["spec"]["matrix"]
    assert (asked["seed"], asked["order"], asked["touch"]) == (7, "reversed", False)
    held = answer["fragmented"]
    assert (held["seed"], held["order"], held["touch"]) == (7, "reversed", False)
    assert "freed by address, the highest first" in (tmp_path / "m.html").read_text()
    again = reap("compare", "--resume", "x", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout == done.stdout
    wrong = reap("run", "--resume", "x", cwd=tmp_path)
    assert wrong.returncode == ExitCode.USAGE
    assert "experiment on fragmented heaps" in wrong.stderr


def test_a_profile_that_was_given_is_there_before_the_folder_is_one(tmp_path, profile, monkeypatch):
    written = []
    real = folders._write_synced

    def write(path, data):
        written.append(path.name)
        if path.name == "experiment.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, data)

    words = [
        "compare",
        "--levels",
        "adv1",
        "-a",
        "glibc",
        "-n",
        "2",
        "--profile",
        profile,
        "-o",
        str(tmp_path / "x"),
    ]
    words += ["--", target()]
    monkeypatch.setattr(folders, "_write_synced", write)
    with pytest.raises(ReapError, match="No space left on device") as said:
        compare.main(words[1:], standalone_mode=False)
    assert written == ["profile.json", "experiment.json"]
    assert "nothing was run yet" in said.value.hint
    assert not (tmp_path / "x").exists(), "so that nothing can be resumed with another profile"
    monkeypatch.setattr(folders, "_write_synced", real)
    compare.main(words[1:], standalone_mode=False)
    assert (tmp_path / "x" / "profile.json").stat().st_mode & 0o777 == 0o600
    assert load_profile(tmp_path / "x" / "profile.json", cut_off=4096) == PROFILE


BAD = {
    "an option without levels": (["--children"], 2, "--children requires --levels"),
    "no level but adv0": (["--levels", "adv0"], 2, "no level litters the heap"),
    "an unknown level": (["--levels", "adv2"], 2, "no level is called 'adv2'"),
    "a variable without value": (["--levels", "adv1", "--naive-env", "A"], 2, "--naive-env A sets no"),
    "an open quote": (["--levels", "adv1", "--naive", "a 'b"], 2, "--naive cannot be split"),
    "no naive program": (["--levels", "adv1", "--naive", "no-such-program"], 127, "no such command"),
    "no profile": (["--levels", "adv1", "--profile", "/nowhere"], 125, "/nowhere cannot be read"),
    "a multiplier beyond all memory": (["--levels", "1e305x0.5"], 2, "littered with 1e+305 times"),
    "an impossible occupancy": (["--levels", "3x1.5"], 2, "occupancy of 1.5 is impossible"),
    "an empty profile": (["--levels", "adv1", "--profile", "EMPTY"], 125, "allocates nothing of less than"),
    "an allocator that lacks a call": (["--levels", "adv1", "-a", "lacks=LACKS"], 2, "lacks posix_memalign"),
    "levels for a resumed one": (["--levels", "adv1", "--resume", "x"], 2, "it takes no --levels"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_in_a_sentence(what, tmp_path, tmp_path_factory):
    words, code, message = BAD[what]
    empty = tmp_path_factory.mktemp("profile") / "p.json"
    empty.write_bytes(msgspec.json.encode(msgspec.structs.replace(PROFILE, sizes=[])))
    for word, path in (("EMPTY", empty), ("LACKS", library("lacks_aligned") if "LACKS" in words[-1] else "")):
        words = [each.replace(word, str(path)) for each in words]
    done = reap("compare", *words, "--", "/bin/true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_static_program_is_refused_before_anything_is_made(tmp_path):
    done = reap("compare", "--levels", "adv1", "--", program("peak_static"), "1", cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_EXECUTABLE
    assert "statically linked" in done.stderr
    naive = shlex.join([program("peak_static"), "1"])
    done = reap("compare", "--levels", "adv1", "--naive", naive, "--", "/bin/true", cwd=tmp_path)
    assert "statically linked" in done.stderr, "nor as the naive variant"
    assert list(tmp_path.iterdir()) == []


DEEPBIND = r"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdio.h>
    int main(int count, char **words) { puts(dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND) ? "m" : "?"); }"""


def test_a_program_with_deepbind_is_explained_and_a_profile_of_another_program_pointed_out(tmp_path):
    deepbind = compile_c("matrix-deepbind", DEEPBIND, ["-O1"])
    profile = msgspec.structs.replace(PROFILE, program="/usr/bin/perl")
    spec = specify(
        [deepbind], catalog.parse("glibc"), conditions=Conditions(runs=2), fragmented=fragmented(layouts=0)
    )
    with Folder.create(tmp_path / "e", spec) as folder:
        matrix.keep_profile(folder, profile)
        notes = " ".join(matrix.run(folder).notes)
    assert "opens extensions with RTLD_DEEPBIND" in notes
    assert "they were opened without it" in notes
    assert "the sizes are those of /usr/bin/perl" in notes


def test_a_program_that_overwrites_its_litter_s_report_is_not_measured(tmp_path):
    spec = specify(
        [program("scribbles")],
        catalog.parse("glibc"),
        conditions=Conditions(runs=2),
        fragmented=fragmented(layouts=0),
    )
    with Folder.create(tmp_path / "e", spec) as folder:
        matrix.keep_profile(folder, PROFILE)
        result = matrix.run(folder)
    assert all("overwrote what its littering reported" in arm.problem for arm in result.arms)
