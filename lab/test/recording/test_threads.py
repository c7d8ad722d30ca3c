"""Threads: blocks that pass between them, addresses used again, ends and what comes after them."""

import pytest
from recorded import recorded, target

DEPTHS = ("triage", "full")


def threads(folder, depth, *words, **options):
    done = recorded(folder, depth, target("threads"), *map(str, words), **options)
    assert done.outcome.status == 0, done.outcome
    assert done.totals.unmatched_frees == 0
    return done


def objects_of(done, size):
    return sum(objects for low, _, objects, _ in done.recording.sizes() if low == size)


@pytest.mark.parametrize("depth", DEPTHS)
def test_blocks_that_pass_between_threads(tmp_path, depth):
    done = threads(tmp_path, depth, "exchange", 8, 5000)
    assert objects_of(done, 3001) == 40000
    if depth == "full":
        freed = done.objects - done.totals.immortal_objects
        assert freed == done.totals.frees >= 40000
        # 64 slots, and at most one block on its way in each thread.
        assert 64 <= done.totals.in_use.max_objects <= 64 + 2 * 8 + 20
        assert done.totals.temporary < 40000


@pytest.mark.parametrize("depth", DEPTHS)
def test_thousands_of_short_lived_threads_do_not_fill_the_disk(tmp_path, depth):
    done = threads(tmp_path, depth, "short", 3000)
    assert objects_of(done, 3002) == 30000
    assert done.totals.frees >= 30000
    # Full depth: 12 bytes an event. Else nothing for a thread that is gone.
    growing = 12 * done.totals.events if depth == "full" else 0
    assert done.path.stat().st_size < growing + 24 * 65536


def test_threads_that_allocate_little_take_no_counters_of_their_own(tmp_path):
    """All are there at once. Some are sampled and have their own: at most two of five."""
    done = recorded(tmp_path, "triage", target("processes"), "beside", "600")
    assert objects_of(done, 2009) == 600
    assert done.totals.frees >= 600
    assert done.path.stat().st_size < 300 * 65536


@pytest.mark.parametrize("depth", DEPTHS)
def test_what_destructors_and_exit_handlers_allocate(tmp_path, depth):
    done = threads(tmp_path, depth, "late", 50)
    truth = int(done.outcome.stderr_tail)
    assert truth > 50 * 4  # rounds of destructors came after the recorder's own
    assert objects_of(done, 3003) == truth
    assert objects_of(done, 3004) == 1
    if depth == "full":
        assert done.objects - done.totals.immortal_objects == done.totals.frees


def test_the_first_allocation_of_a_thread_is_a_sample_like_any_other(tmp_path):
    done = threads(tmp_path, "triage", "once", 40)
    seen = sum(stack[2] for stack in done.recording.stacks(1000) if stack[3] / max(stack[2], 1) > 500000)
    assert 39 <= seen <= 42
