"""Hypothesis strategy: any facts of the wall that are valid, the odd ones more often than life has them."""

from typing import Any

from any_records import any_number, estimates
from hypothesis import strategies as st
from msgspec.structs import replace as changed
from samples import share_of
from walls import WALLS, counted, hot

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
