"""Suspicions: facts made by hand for each cause, what is missing, and what must never happen."""

import math

import msgspec
import pytest
from any_records import ANY
from hypothesis import given
from lab.test.evidence.any_walls import walls
from samples import MIB, profile_of, share_of
from walls import QUIET, WALLS, calls, counted, hot, wall_of

from reap.answer.words import place
from reap.evidence.analyse.suspicions.records import BY_SAMPLES, OF_MEMORY, Cause, Remedy, Suspicion
from reap.evidence.analyse.suspicions.suspect import suspect, to_try
from reap.evidence.judge.findings import judged
from reap.evidence.records import CallCount, Collector, Faults, KernelTime, Linked, Resident, Waiting, Wall
from reap.recording.analyse.growth import Growth

changed = msgspec.structs.replace


def first(wall: Wall) -> Suspicion:
    """The heaviest suspicion; fails where there is none."""
    return suspect(wall)[0]


def causes(wall: Wall) -> list[Cause]:
    """All suspected causes, heaviest first."""
    return [each.cause for each in suspect(wall)]


def remedies(wall: Wall) -> list[Remedy]:
    """What is advised against the heaviest suspicion."""
    return first(wall).remedies


def said(wall: Wall) -> str:
    """All statements of all suspicions."""
    return " ".join(each.statement for held in suspect(wall) for each in held.statements)


@pytest.mark.parametrize("cause", sorted(WALLS.keys() - QUIET))
def test_each_cause_is_suspected(cause: str) -> None:
    found = first(WALLS[cause])
    assert found.cause == cause
    assert found.statements
    assert found.remedies


@pytest.mark.parametrize("name", sorted(QUIET))
def test_what_points_to_no_cause_raises_no_suspicion(name: str) -> None:
    assert suspect(WALLS[name]) == []


def test_the_name_of_the_program_says_nothing() -> None:
    for wall in WALLS.values():
        assert suspect(wall) == suspect(changed(wall, command=["tcache-overflow-and-locks"], pid=7))


def test_suspicions_promise_nothing() -> None:
    """A gain is measured or not said: neither statements nor notes of remedies forecast one."""
    for wall in WALLS.values():
        for held in suspect(wall):
            notes = " ".join(each.note for each in held.remedies)
            assert "%" not in notes
            assert "up to" not in f"{notes} {said(wall)}".replace("up to 192 MiB", "")


def test_names_of_functions_say_more_than_nanoseconds() -> None:
    """A slow machine's fast path may cost as much as a fast one's slow path."""
    fast = [hot("malloc", 700, "allocator"), hot("_int_free", 500, "allocator")]
    slow = [*fast, hot("_int_malloc", 200, "allocator"), hot("unlink_chunk.constprop.0", 9, "allocator")]
    assert first(wall_of(0.6, counted=counted(30_000_000), hot=fast)).cause == "many allocations"
    assert first(wall_of(0.6, counted=counted(90_000_000), hot=slow)).cause == "tcache overflow"


def test_a_larger_cache_is_no_remedy_for_blocks_that_no_cache_keeps() -> None:
    def tunables(size: int) -> bool:
        held = remedies(wall_of(0.6, counted=counted(20_000_000, size)))
        return any("tcache_count" in str(each.environment) for each in held)

    assert tunables(64)
    assert not tunables(4096)


def test_who_waits_for_a_lock_is_judged_by_time_that_passes() -> None:
    small = changed(WALLS["arena lock"], counted=counted(8_000_000))
    assert first(small).cause == "arena lock"
    assert {each.metric for each in remedies(small) if each.can_be_tried} == {"wall"}


def test_tunables_of_glibc_are_for_glibc() -> None:
    for cause in ("page faults", "brk thrash", "mmap thrash", "arena lock"):
        found = first(changed(WALLS[cause], allocator="jemalloc"))
        assert found.cause == cause
        assert not any("GLIBC_TUNABLES" in each.environment for each in found.remedies)


def test_growth_is_no_thrash() -> None:
    """A heap that grows calls brk for every 132 KiB, and has each page once."""
    grown = wall_of(
        0.05,
        kernel=0.5,
        faults=Faults(minor=250_000, samples=100, by_cause={"heap": 100}),
        calls=calls(brk=8000),
        resident=Resident(peak=1000 * MIB, end=1000 * MIB),
    )
    assert first(grown).cause == "page faults"
    assert "it grows" in said(grown)
    assert not any("trim_threshold" in str(each.environment) for each in remedies(grown))


def test_what_the_allocator_waits_for_fresh_pages_is_part_of_the_thrash() -> None:
    """Its own code takes a tenth of the time: 250 ns a block, or 25 ns, as without thrash."""
    dear, usual = (
        first(changed(WALLS["brk thrash"], counted=counted(blocks, 8192))) for blocks in (800_000, 8_000_000)
    )
    assert dear.cause == usual.cause == "brk thrash"
    assert dear.weight - usual.weight == pytest.approx(0.1 * (250 - 28) / 250, abs=0.005)


def test_without_calls_thrash_is_seen_by_its_faults() -> None:
    assert first(changed(WALLS["brk thrash"], calls=None)).cause == "page faults"


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
    assert first(blind).cause == "page faults"
    assert "About 40 % of CPU time" in said(blind)
    assert "--calls" in said(blind)


def test_faults_on_files_are_not_the_allocators() -> None:
    by_cause = {"file": 98, "heap": 2}
    mapped = wall_of(0.01, kernel=0.8, faults=Faults(minor=500_000, samples=100, by_cause=by_cause))
    assert suspect(mapped) == []


@pytest.mark.parametrize("futex", [None, CallCount(by_others=40)])
def test_threads_that_idle_or_join_wait_for_no_lock(futex: CallCount | None) -> None:
    """Ten threads in a pool without work wait in futex calls, all the time and few of them."""
    held = None if futex is None else {**calls(), "futex": futex}
    idle = wall_of(0.6, counted=counted(30_000_000), calls=held, waiting=Waiting(lock=20.0, polls=1000))
    assert causes(idle) == ["tcache overflow"]


def test_a_lock_that_nobody_saw_is_not_blamed_on_the_allocator() -> None:
    unseen = changed(WALLS["a lock of its own"], waiting=Waiting(lock=5.0, polls=1000), calls=calls(futex=0))
    assert "arena lock" not in causes(unseen)


def test_a_virtual_machine_hands_over_by_itself() -> None:
    """Its collector's threads wait for each other; the same waits without a collector are a lock."""
    waits = {"calls": calls(others_futex=30_000), "waiting": Waiting(lock=2.0, allocator_lock=0.0, polls=900)}
    collected = [Collector(kind="jvm", count=90, pause_seconds=0.7, cpu_seconds=0.9)]
    assert causes(wall_of(0.01, collections=collected, **waits)) == ["garbage collection"]
    assert causes(wall_of(0.01, **waits)) == ["a lock of its own"]


def test_a_thread_that_listens_while_others_work_waits_for_nothing() -> None:
    listening = Waiting(network=1.9, disk=1.0, allocator_lock=0.0, polls=900)
    assert suspect(wall_of(0.01, waiting=listening)) == []
    assert first(wall_of(0.01, cpu_seconds=0.4, samples=400, waiting=listening)).cause == "network"


def test_f_fresh_without_frees_no_cache_overflows() -> None:
    slow = [hot("_int_malloc", 1000, "allocator"), hot("malloc", 200, "allocator")]
    keeps = changed(counted(30_000_000), frees=0)
    assert first(wall_of(0.6, counted=keeps, hot=slow)).cause == "many allocations"


def test_blocks_that_are_the_first_at_their_place_overflow_no_cache() -> None:
    """Of 12 million blocks 600,000 stay, and take the slow path, since no cache has any of theirs."""
    slow = [hot("_int_malloc", 150, "allocator"), hot("malloc", 900, "allocator")]
    leaks = changed(counted(12_000_000), frees=11_400_000, peak_bytes=1_200_000 * 64.0)
    assert first(wall_of(0.6, counted=leaks, hot=slow)).cause == "many allocations"
    assert first(wall_of(0.6, counted=changed(leaks, peak_bytes=1e6), hot=slow)).cause == "tcache overflow"


def test_d_arena_no_cache_overflows_of_blocks_that_it_never_keeps() -> None:
    assert first(wall_of(0.6, counted=counted(30_000_000, size=4096))).cause == "large blocks"


def test_what_a_block_costs_is_not_the_time_of_another_allocator() -> None:
    """CPython's own serves many small objects for each call of malloc."""
    text = said(wall_of(0.6, counted=counted(100_000), allocator="cpython"))
    assert "A block costs" not in text
    assert "CPython's own allocator" in text


def test_a_program_that_shares_its_processor_waits_for_nothing() -> None:
    """Its child waits for the network all the time, and itself has something to do all the time."""
    shares = Waiting(network=1.9, allocator_lock=0.0, polls=900, idle=0.1)
    alone = Waiting(network=1.9, allocator_lock=0.0, polls=900, idle=1.5)
    assert suspect(wall_of(0.01, cpu_seconds=0.4, samples=400, waiting=shares)) == []
    assert first(wall_of(0.01, cpu_seconds=0.4, samples=400, waiting=alone)).cause == "network"


def test_a_collector_s_part_is_of_the_run_in_which_it_was_heard() -> None:
    """The sampled run may have had half of the CPU time, beside other programs."""
    heard = Collector(kind="cpython", cpu_seconds=1.0, pause_seconds=1.0, of_cpu_seconds=4.0, of_seconds=8.0)
    found = first(wall_of(0.01, collections=[heard]))
    assert found.cause == "garbage collection"
    assert found.weight == pytest.approx(0.25)


def test_a_collector_beside_an_allocator() -> None:
    """Both are told, the heavier one first."""
    both = wall_of(
        0.4, counted=counted(20_000_000), collections=[Collector(kind="go", count=9, cpu_seconds=0.5)]
    )
    assert causes(both) == ["tcache overflow", "garbage collection"]
    assert "Go's collector" in said(both)
    heavier = changed(both, collections=[Collector(kind="v8", count=9, pause_seconds=1.2)])
    assert causes(heavier) == ["garbage collection", "tcache overflow"]
    assert remedies(heavier)[0].environment == {"NODE_OPTIONS": "--max-semi-space-size=64"}


def test_pages_that_malloc_never_handed_out_are_no_allocators() -> None:
    """A runtime's heap: nothing that is set of malloc is advised for it."""
    faults = Faults(minor=140_000, samples=1000, by_cause={"heap": 1000})
    runtime = wall_of(0.03, kernel=0.3, faults=faults, counted=counted(500_000, 200))
    assert first(runtime).cause == "page faults"
    assert first(runtime).arms == []
    assert "which no malloc affects" in said(runtime)
    own = changed(runtime, counted=counted(500_000, 2000))
    assert first(own).cause == "page faults"
    assert first(own).arms


def test_a_short_pause_is_no_cause() -> None:
    assert suspect(wall_of(collections=[Collector(kind="jvm", count=3, pause_seconds=0.01)])) == []


def test_functions_that_parse_are_no_cause() -> None:
    """What no trial can prove is not suspected: a profile says which functions take the time."""
    assert suspect(wall_of(0.01, hot=[hot("parse_string", 1500)])) == []


def test_system_calls_of_the_program_are_told_with_the_tool_that_counts_them() -> None:
    busy = WALLS["kernel input and output"]
    assert "60 % of CPU time was in the kernel, in system calls of the program." in said(busy)
    named = changed(busy, kernel_time=KernelTime(calls={"futex": 900, "read": 600, "stat": 400, "x": 1}))
    assert "most of it in read 30 %, stat 20 %, x " in said(named)
    assert first(busy).arms == []
    assert any("strace" in each.note for each in first(busy).remedies)
    little = changed(busy, owners={**busy.owners, "kernel_io": 400, "other": 1600})
    assert suspect(little) == []


def test_a_few_percent_are_no_cause() -> None:
    """Nobody would act on it, and no trial would find a gain above what is worth it."""
    assert causes(wall_of(0.001, kernel=0.12)) == ["page faults"]
    assert suspect(wall_of(0.001, kernel=0.07)) == []


def test_a_share_that_may_be_worth_a_trial_is_one_to_try() -> None:
    """Of one program two looks saw 2 and 5 % in page faults, and two verbs gave two answers."""
    few, many = (wall_of(0.001, kernel=0.02, samples=samples) for samples in (300, 20_000))
    assert "page faults" in {each.cause for each in to_try(few)}
    assert "page faults" not in {each.cause for each in to_try(many)}


def test_causes_of_memory_cost_no_time() -> None:
    for cause in OF_MEMORY:
        found = first(WALLS[cause])
        assert not {each.metric for each in found.remedies} & {"cpu", "wall"}
        assert found.probes == []


def test_little_free_memory_is_no_cause() -> None:
    small = wall_of(resident=Resident(peak=20 * MIB, end=20 * MIB, trimmable=19 * MIB))
    assert suspect(small) == []


def test_a_static_program_without_names_is_tried_with_a_setting_and_blamed_for_nothing() -> None:
    """By hand larger thread caches gave one a third, of which `cannot be tried from outside` was said."""
    unseen = Linked(module="/p", allocator="glibc", how="static", seen=False, samples=900)
    wall = changed(WALLS["nothing"], irreplaceable="it is static", linked=[unseen], allocator="")
    assert suspect(wall) == []
    (held,) = (each for each in to_try(wall) if each.cause == "tcache overflow")
    assert held.arms == ["larger thread caches"]
    assert not [each for each in to_try(changed(wall, linked=[])) if each.cause == "tcache overflow"]


def test_growing_memory_has_its_line_and_no_remedy_to_measure() -> None:
    site = profile_of().sites[0]
    grown = Growth(half=50.0 * MIB, end=160.0 * MIB, site=site, part=0.97)
    found = suspect(changed(WALLS["growing memory"], growth=grown))
    (held,) = judged(found, {}, {}, remedies="reap rss --try -- x")
    assert f"97 % of it was allocated at {place(site)}." in held.sentence
    assert "reap rss" not in held.sentence


@pytest.mark.parametrize(
    ("size", "kept", "is_pool"), [(65536, 1.0, True), (65536, 0.5, False), (64, 1.0, False)]
)
def test_growth_in_large_blocks_that_stay_is_that_of_a_pool(size: int, kept: float, is_pool: bool) -> None:
    """Where a pool is all that allocates, what the program frees inside it was to be freed."""
    whole = 1600.0 * size
    site = changed(profile_of().sites[0], objects=1600.0, bytes=whole, live_at_peak=kept * whole)
    grown = Growth(half=50.0 * MIB, end=160.0 * MIB, site=site, part=0.97)
    (held,) = suspect(changed(WALLS["growing memory"], growth=grown))
    assert ("in blocks of 64.0 KiB that all stay, as a pool's do" in held.statements[0].statement) == is_pool
    assert ("reset the pool" in held.remedies[0].name) == is_pool


def test_memory_that_was_once_there_weighs_by_what_stayed() -> None:
    growing = changed(WALLS["growing memory"], growth=Growth(half=150.0 * MIB, end=160.0 * MIB))
    assert suspect(growing) == []
    assert suspect(changed(growing, growth=Growth(half=1.0, end=0.0))) == []


def test_nothing_is_preloaded_where_nothing_can_be() -> None:
    for name, wall in WALLS.items():
        for held in suspect(changed(wall, irreplaceable="it is statically linked")):
            assert held.probes == [], name
            assert not any(each.allocator for each in held.remedies if each.metric != "resident"), name
            assert held.remedies, "what changes the program is advised still"


def test_nothing_measured() -> None:
    assert suspect(Wall(command=["x"])) == []
    assert suspect(Wall(command=["x"], wall_seconds=2, cpu_seconds=2)) == []


@pytest.mark.parametrize("cause", BY_SAMPLES)
def test_few_samples_say_nothing_of_time(cause: str) -> None:
    for wall in WALLS.values():
        held = wall.share
        few = changed(wall, share=held and changed(held, samples=60), owners={"other": 60})
        assert cause not in causes(few)


def test_a_program_that_idles_is_not_at_the_wall() -> None:
    idle = Wall(command=["x"], wall_seconds=2, cpu_seconds=0.01, waiting=Waiting(other=1.99, polls=900))
    assert suspect(idle) == []


def test_arms_are_what_needs_no_change_of_the_program() -> None:
    """Preloads come before settings, and what a person does is no arm."""
    overflow = first(WALLS["tcache overflow"])
    assert overflow.arms == ["price: cache", "larger thread caches"]
    assert [each.name for each in overflow.remedies if not each.can_be_tried] == [
        "a region for each request",
        "materialise less",
    ]
    assert first(WALLS["many allocations"]).arms == ["price: recycle", "price: bump"]


@ANY
@given(walls())
def test_any_facts_have_suspicions_that_can_be_read(wall: Wall) -> None:
    found = suspect(wall)
    assert msgspec.json.decode(msgspec.json.encode(found), type=list[Suspicion]) == found
    weights = [each.weight for each in found]
    assert all(math.isfinite(weight) and 0 <= weight <= 1 for weight in weights)
    assert weights == sorted(weights, reverse=True)
    assert len({each.cause for each in found}) == len(found)
    for each in found:
        assert each.statements
        assert "nan" not in " ".join(said.statement for said in each.statements)
