"""The verdict on the wall: facts made by hand for each cause, what is missing, and what must never happen."""

import math
from typing import Any

import msgspec
import pytest
from any_records import ANY, any_number, estimates
from hypothesis import given
from hypothesis import strategies as st
from reap.evidence.analyse.suspicions.verdict import judge
from samples import MIB, share_of
from walls import WALLS, calls, counted, hot, wall_of

from reap.evidence.analyse.suspicions import thresholds as at
from reap.evidence.analyse.suspicions.records import OF_MEMORY, OF_THE_ALLOCATOR, WallVerdict
from reap.evidence.records import (
    CALLS,
    OWNERS,
    CallCount,
    Collector,
    Faults,
    Requests,
    Resident,
    Waiting,
    Wall,
)
from reap.recording.records import SizeBin

changed = msgspec.structs.replace


@pytest.mark.parametrize("cause", WALLS)
def test_each_cause_is_named(cause: str) -> None:
    verdict = judge(WALLS[cause])
    assert verdict.cause == cause, verdict.paragraph
    assert verdict.paragraph
    assert bool(verdict.remedies) == (cause not in {"nothing", "inconclusive"})


def test_the_sides_of_the_knee() -> None:
    sides = {cause: judge(wall).regime for cause, wall in WALLS.items()}
    assert sides.pop("many allocations") == "left of the knee"
    assert sides.pop("inconclusive") == "inconclusive"
    for cause, side in sides.items():
        assert side == ("right of the knee" if cause in OF_THE_ALLOCATOR else "not the wall"), cause


def test_the_name_of_the_program_says_nothing() -> None:
    for wall in WALLS.values():
        assert judge(wall) == judge(changed(wall, command=["tcache-overflow-and-locks"], pid=7))


def test_what_to_expect_follows_from_the_cost_of_a_block() -> None:
    """The dearer a block is, the more is to be saved; on the fast path it is next to nothing."""
    expected = []
    for blocks in (60_000_000, 30_000_000, 10_000_000):
        saves = judge(wall_of(0.6, counted=counted(blocks))).expect
        assert saves is not None
        expected.append(saves.high)
        assert 0 <= saves.low <= saves.high <= 0.62 + at.SHARE_BIAS
    assert expected == sorted(expected)
    fast = judge(wall_of(0.3, counted=counted(85_000_000))).expect
    assert fast is not None
    assert 0.05 < fast.high < 0.1  # what sampling may have missed is in it


def test_names_of_functions_say_more_than_nanoseconds() -> None:
    """A slow machine's fast path may cost as much as a fast one's slow path."""
    fast = [hot("malloc", 700, "allocator"), hot("_int_free", 500, "allocator")]
    slow = [*fast, hot("_int_malloc", 200, "allocator"), hot("unlink_chunk.constprop.0", 9, "allocator")]
    assert judge(wall_of(0.6, counted=counted(30_000_000), hot=fast)).cause == "many allocations"
    assert judge(wall_of(0.6, counted=counted(90_000_000), hot=slow)).cause == "tcache overflow"


def test_a_larger_cache_is_no_remedy_for_blocks_that_no_cache_keeps() -> None:
    def tunables(size: int) -> bool:
        remedies = judge(wall_of(0.6, counted=counted(20_000_000, size))).remedies
        return any("tcache_count" in str(each.environment) for each in remedies)

    assert tunables(64)
    assert not tunables(4096)


def test_who_waits_for_a_lock_takes_less_time_without_and_not_less_of_the_processor() -> None:
    verdict = judge(WALLS["arena lock"])
    tried = [each for each in verdict.remedies if each.can_be_tried]
    assert tried
    assert {each.metric for each in tried} == {"wall"}
    assert "with the right remedy it takes up to" in verdict.paragraph
    assert "less time" in verdict.paragraph
    assert "less CPU time" not in str([each.expect for each in verdict.remedies])


def test_tunables_of_glibc_are_for_glibc() -> None:
    for cause in ("page faults", "brk thrash", "mmap thrash", "arena lock"):
        verdict = judge(changed(WALLS[cause], allocator="jemalloc"))
        assert verdict.cause == cause
        assert not any("GLIBC_TUNABLES" in each.environment for each in verdict.remedies)


def test_growth_is_no_thrash() -> None:
    """A heap that grows calls brk for every 132 KiB, and has each page once."""
    grown = wall_of(
        0.05,
        kernel=0.5,
        faults=Faults(minor=250_000, samples=100, by_cause={"heap": 100}),
        calls=calls(brk=8000),
        resident=Resident(peak=1000 * MIB, end=1000 * MIB),
    )
    verdict = judge(grown)
    assert verdict.cause == "page faults"
    assert "it grows" in " ".join(each.statement for each in verdict.evidence)
    assert not any("trim_threshold" in str(each.environment) for each in verdict.remedies)


def test_what_the_allocator_waits_for_fresh_pages_is_part_of_the_thrash() -> None:
    """Its own code takes a tenth of the time: 250 ns a block, or 25 ns, as without thrash."""
    dear, usual = (
        judge(changed(WALLS["brk thrash"], counted=counted(blocks, 8192))) for blocks in (800_000, 8_000_000)
    )
    assert dear.cause == usual.cause == "brk thrash"
    assert dear.weight - usual.weight == pytest.approx(0.1 * (250 - 28) / 250, abs=0.005)


def test_without_calls_thrash_is_seen_by_its_faults() -> None:
    verdict = judge(changed(WALLS["brk thrash"], calls=None))
    assert verdict.cause == "page faults"
    assert verdict.regime == "right of the knee"


def test_without_permission_the_kernel_s_part_is_known_by_its_faults() -> None:
    """Samples of the program alone say that its own part is the allocator's; it is a fifth of all."""
    blind = changed(
        wall_of(0.26),
        user_seconds=0.4,
        system_seconds=1.6,
        share=share_of(0.26, kernel_inside=0, sees_kernel=False),
        counted=counted(400_000, 8192),
        faults=Faults(minor=800_000),
        calls=None,
        resident=Resident(peak=3 * MIB, end=3 * MIB),
    )
    verdict = judge(blind)
    assert verdict.cause == "page faults"
    said = " ".join(each.statement for each in verdict.evidence)
    assert "About 40 % of CPU time" in said
    assert "--calls" in said


def test_faults_on_files_are_not_the_allocators() -> None:
    mapped = wall_of(
        0.01, kernel=0.8, faults=Faults(minor=500_000, samples=100, by_cause={"file": 98, "heap": 2})
    )
    assert judge(mapped).cause == "nothing"


@pytest.mark.parametrize("futex", [None, CallCount(by_others=40)])
def test_threads_that_idle_or_join_wait_for_no_lock(futex: CallCount | None) -> None:
    """Ten threads in a pool without work wait in futex calls, all the time and few of them."""
    held = None if futex is None else {**calls(), "futex": futex}
    idle = wall_of(0.6, counted=counted(30_000_000), calls=held, waiting=Waiting(lock=20.0, polls=1000))
    assert judge(idle).cause == "tcache overflow"


def test_a_lock_that_nobody_saw_is_not_blamed_on_the_allocator() -> None:
    unseen = changed(WALLS["a lock of its own"], waiting=Waiting(lock=5.0, polls=1000), calls=calls(futex=0))
    assert judge(unseen).cause != "arena lock"


def test_a_virtual_machine_hands_over_by_itself() -> None:
    """Its collector's threads wait for each other; the same waits without a collector are a lock."""
    waits = {"calls": calls(others_futex=30_000), "waiting": Waiting(lock=2.0, allocator_lock=0.0, polls=900)}
    collected = [Collector(kind="jvm", count=90, pause_seconds=0.7, cpu_seconds=0.9)]
    assert judge(wall_of(0.01, collections=collected, **waits)).cause == "garbage collection"
    assert judge(wall_of(0.01, **waits)).cause == "a lock of its own"


def test_a_thread_that_listens_while_others_work_waits_for_nothing() -> None:
    listening = Waiting(network=1.9, disk=1.0, allocator_lock=0.0, polls=900)
    assert judge(wall_of(0.01, waiting=listening)).cause == "nothing"
    assert judge(wall_of(0.01, cpu_seconds=0.4, samples=400, waiting=listening)).cause == "network"


def test_f_fresh_without_frees_no_cache_overflows() -> None:
    slow = [hot("_int_malloc", 1000, "allocator"), hot("malloc", 200, "allocator")]
    keeps = changed(counted(30_000_000), frees=0)
    assert judge(wall_of(0.6, counted=keeps, hot=slow)).cause == "many allocations"


def test_blocks_that_are_the_first_at_their_place_overflow_no_cache() -> None:
    """Of 12 million blocks 600,000 stay, and take the slow path, since no cache has any of theirs."""
    slow = [hot("_int_malloc", 150, "allocator"), hot("malloc", 900, "allocator")]
    leaks = changed(counted(12_000_000), frees=11_400_000, peak_bytes=1_200_000 * 64.0)
    assert judge(wall_of(0.6, counted=leaks, hot=slow)).cause == "many allocations"
    assert judge(wall_of(0.6, counted=changed(leaks, peak_bytes=1e6), hot=slow)).cause == "tcache overflow"


def test_d_arena_no_cache_overflows_of_blocks_that_it_never_keeps() -> None:
    assert judge(wall_of(0.6, counted=counted(30_000_000, size=4096))).cause == "large blocks"


def test_what_a_block_costs_is_not_the_time_of_another_allocator() -> None:
    """CPython's own serves many small objects for each call of malloc."""
    verdict = judge(wall_of(0.6, counted=counted(100_000), allocator="cpython"))
    assert not any("A block costs" in said.statement for said in verdict.evidence)
    assert any("CPython's own allocator" in said.statement for said in verdict.evidence)


def test_a_program_that_shares_its_processor_waits_for_nothing() -> None:
    """Its child waits for the network all the time, and itself has something to do all the time."""
    shares = Waiting(network=1.9, allocator_lock=0.0, polls=900, idle=0.1)
    alone = Waiting(network=1.9, allocator_lock=0.0, polls=900, idle=1.5)
    assert judge(wall_of(0.01, cpu_seconds=0.4, samples=400, waiting=shares)).cause == "nothing"
    assert judge(wall_of(0.01, cpu_seconds=0.4, samples=400, waiting=alone)).cause == "network"


def test_a_collector_s_part_is_of_the_run_in_which_it_was_heard() -> None:
    """The sampled run may have had half of the CPU time, beside other programs."""
    heard = Collector(kind="cpython", cpu_seconds=1.0, pause_seconds=1.0, of_cpu_seconds=4.0, of_seconds=8.0)
    verdict = judge(wall_of(0.01, collections=[heard]))
    assert verdict.cause == "garbage collection"
    assert verdict.weight == pytest.approx(0.25)


def test_a_collector_beside_an_allocator() -> None:
    """Both are told; the larger is the cause."""
    both = wall_of(
        0.4, counted=counted(20_000_000), collections=[Collector(kind="go", count=9, cpu_seconds=0.5)]
    )
    verdict = judge(both)
    assert verdict.cause == "tcache overflow"
    assert [each.cause for each in verdict.others] == ["garbage collection"]
    assert "Go's collector" in str(verdict.others[0].statements)


def test_pages_that_malloc_never_handed_out_are_no_allocators() -> None:
    """A runtime's heap: nothing that is set of malloc is advised for it, and it is not the wall."""
    faults = Faults(minor=140_000, samples=1000, by_cause={"heap": 1000})
    runtime = wall_of(0.03, kernel=0.3, faults=faults, counted=counted(500_000, 200))
    verdict = judge(runtime)
    assert (verdict.cause, verdict.regime) == ("page faults", "not the wall")
    assert not any(each.can_be_tried for each in verdict.remedies)
    assert "not malloc's" in verdict.paragraph
    own = judge(changed(runtime, counted=counted(500_000, 2000)))
    assert (own.cause, own.regime) == ("page faults", "right of the knee")


def test_a_collector_before_the_allocator_does_not_make_it_the_wall_s() -> None:
    """The first sentence says what holds it back, and not on which side of the knee it is besides."""
    both = wall_of(
        0.3, counted=counted(15_000_000), collections=[Collector(kind="v8", count=9, pause_seconds=1.2)]
    )
    verdict = judge(both)
    assert (verdict.cause, verdict.regime) == ("garbage collection", "right of the knee")
    assert verdict.paragraph.startswith("Garbage collection takes time. ")
    assert "It is also right of the knee" in verdict.paragraph
    assert verdict.remedies[0].environment == {"NODE_OPTIONS": "--max-semi-space-size=64"}


def test_a_short_pause_is_no_cause() -> None:
    assert judge(wall_of(collections=[Collector(kind="jvm", count=3, pause_seconds=0.01)])).cause == "nothing"


def test_parsing_is_told_by_names_and_says_so() -> None:
    verdict = judge(WALLS["parsing"])
    assert "by their names" in " ".join(each.statement for each in verdict.evidence)
    assert judge(wall_of(0.01, hot=[hot("compute", 1500)])).cause == "nothing"


def test_what_is_no_cause_is_told_if_it_is_some_part() -> None:
    def said(kernel: float) -> str:
        return " ".join(each.statement for each in judge(wall_of(0.001, kernel=kernel)).evidence)

    assert "fresh from the kernel" in said(0.07)
    assert "fresh from the kernel" not in said(0.01)


def test_causes_of_memory_cost_no_time() -> None:
    for cause in OF_MEMORY:
        verdict = judge(WALLS[cause])
        assert "of its memory" in verdict.paragraph
        assert not {each.metric for each in verdict.remedies} & {"cpu", "wall"}
        assert "the right remedy" not in verdict.paragraph


def test_little_free_memory_is_no_cause() -> None:
    small = wall_of(resident=Resident(peak=20 * MIB, end=20 * MIB, trimmable=19 * MIB))
    assert judge(small).cause == "nothing"


def test_no_allocator_is_advised_where_none_can_be_preloaded() -> None:
    for name, wall in WALLS.items():
        advised = [each.allocator for each in judge(wall).remedies if each.metric != "resident"]
        static = judge(changed(wall, irreplaceable="it is statically linked"))
        assert not any(each.allocator for each in static.remedies if each.metric != "resident"), name
        if any(advised):
            assert static.remedies, "what changes the program is advised still"


def test_nothing_measured() -> None:
    verdict = judge(Wall(command=["x"]))
    assert (verdict.cause, verdict.regime) == ("inconclusive", "inconclusive")
    assert "too short" in verdict.paragraph
    unsampled = judge(Wall(command=["x"], wall_seconds=2, cpu_seconds=2))
    assert unsampled.cause == "inconclusive"
    assert "reap doctor" in unsampled.paragraph


def test_a_program_that_idles_is_not_at_the_wall() -> None:
    idle = Wall(command=["x"], wall_seconds=2, cpu_seconds=0.01, waiting=Waiting(other=1.99, polls=900))
    verdict = judge(idle)
    assert (verdict.cause, verdict.regime) == ("nothing", "not the wall")


part = st.floats(0, 1)
count = st.one_of(st.integers(0, 5000), st.integers(0, 10**15))
shares = st.one_of(
    st.none(),
    st.builds(share_of, part, st.floats(0, 0.5), st.integers(0, 9999)),
    st.builds(lambda e: changed(share_of(0.1), share=e), estimates),
)


@st.composite
def walls(draw: Any) -> Wall:
    base = draw(st.sampled_from(list(WALLS.values())))
    waiting = st.builds(
        Waiting,
        lock=any_number,
        disk=any_number,
        network=any_number,
        allocator_lock=st.one_of(st.none(), any_number),
    )
    collector = st.builds(
        Collector,
        kind=st.sampled_from(["cpython", "go", "jvm"]),
        count=st.one_of(st.none(), count),
        pause_seconds=st.one_of(st.none(), any_number),
        cpu_seconds=st.one_of(st.none(), any_number),
    )
    bins = st.builds(SizeBin, low=count, high=count, objects=count, bytes=count)
    choices = {
        "share": shares,
        "owners": st.dictionaries(st.sampled_from(OWNERS), count),
        "cpu_seconds": any_number,
        "wall_seconds": any_number,
        "allocator": st.sampled_from(["", "glibc", "jemalloc", "/x/libc.so.6"]),
        "faults": st.builds(
            Faults,
            minor=count,
            major=count,
            by_cause=st.dictionaries(st.sampled_from(["heap", "file"]), count),
        ),
        "calls": st.one_of(
            st.none(),
            st.dictionaries(
                st.sampled_from(CALLS), st.builds(CallCount, by_allocator=count, by_others=count)
            ),
        ),
        "waiting": st.one_of(st.none(), waiting),
        "resident": st.builds(
            Resident, peak=count, end=count, trimmable=st.one_of(st.none(), count), lazy_free=count
        ),
        "counted": st.one_of(
            st.none(),
            st.builds(lambda n, sizes: changed(counted(n), sizes=sizes), count, st.lists(bins, max_size=3)),
        ),
        "requests": st.builds(Requests, unit=st.just("read"), count=count, per_request=any_number),
        "collections": st.lists(collector, max_size=2),
        "hot": st.lists(st.builds(hot, st.sampled_from(["parse", "", "\x1b"]), count), max_size=3),
    }
    taken = draw(st.lists(st.sampled_from(sorted(choices)), unique=True))
    return changed(base, **{name: draw(choices[name]) for name in taken})


@ANY
@given(walls())
def test_any_facts_have_a_verdict(wall: Wall) -> None:
    verdict = judge(wall)
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=WallVerdict) == verdict
    for held in (verdict.expect, *(each.saves for each in verdict.others)):
        if held is not None:
            assert 0 <= held.low <= held.high <= 1
            assert math.isfinite(held.value)
    assert all(0 <= each.weight <= 1 for each in verdict.others)
    assert verdict.cause not in {each.cause for each in verdict.others}
    assert "nan" not in verdict.paragraph
