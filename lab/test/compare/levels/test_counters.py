"""Programs on fragmented heaps: samples, simulated caches and events, without those of the littering."""

import shutil

import msgspec
import pytest
import recorded
from lab.test.compare.levels.experiments import (
    PROFILE,
    THREADS,
    drawn,
    fragmented,
    measured,
    runs_of,
    slow,
    spec_of,
    target,
)
from programs import compile_c, linked_library, program

from reap.base.errors import ReapError
from reap.base.records import exactly
from reap.compare.levels import run as levels_run
from reap.compare.levels.judge import judge
from reap.experiment.folder import Folder
from reap.experiment.littering import litter_of
from reap.launch.host import sampling
from reap.launch.litter import run as littering
from reap.launch.litter.level import LEVELS
from reap.launch.litter.records import Event
from reap.launch.records import Launch
from reap.launch.tools import callgrind, counters, valgrind
from reap.recording import sample


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
    assert run.seen.all < (net + 30) / every


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
        assert seen.all > 10
        shares.append(seen.inside / seen.all)
    assert shares[0] > 0.15 > shares[1]


def test_an_allocator_behind_a_link_has_its_time(tmp_path):
    words, linked = [recorded.target("share"), "with", "20", "20000"], linked_library(tmp_path)
    launch = Launch(argv=words, program=words[0], allocator=linked)
    seen = sample.sample(launch, litter_of(PROFILE, LEVELS["adv1"]), providers=[linked]).seen
    assert seen.inside > 0.05 * seen.all


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
        assert levels_run.run(folder) == result


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
    threads = compile_c("levels-threads", THREADS, ["-O1", "-fno-builtin", "-pthread"])
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
        assert levels_run.run(folder) == result


def test_the_processor_s_own_counters_see_what_a_littered_heap_costs(tmp_path):
    """Nowhere where this project is built so far: its machines are virtual, and show none."""
    if not counters.here():
        pytest.skip("the processor shows no counters of cache misses here")
    how = fragmented("adv3", naive_environment={"NAIVE": "1"}, layouts=0, caches="counters")
    result = measured(tmp_path, allocators="glibc", how=how)
    clean, apart = (result.arm("naive", "glibc", level).misses for level in ("adv0", "adv3"))
    assert apart.instructions == pytest.approx(clean.instructions, rel=0.2)
    assert apart.first > clean.first > 0
    assert not apart.caches, "they are not simulated"


@VALGRIND
def test_without_counters_of_the_processor_caches_are_simulated_and_that_is_said(monkeypatch):
    only_page_faults(monkeypatch, lacking=["last"])
    assert counters.here() == []
    spec = spec_of(how=fragmented(caches="counters"))
    assert spec.fragment.caches == "machine"
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
