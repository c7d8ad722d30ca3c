"""Parts of resident memory add up, whatever the kernel and the allocators say."""

from hypothesis import given, settings
from hypothesis import strategies as st
from lab.test.rss.moments import AREAS, residence_of, taken_of
from msgspec.structs import replace

from reap.launch.process.records import Around, Kernel, Linked, Moment, Said, Walk
from reap.rss import analyse, tree
from reap.rss.judge import judge
from reap.rss.records import NAMES, Owner, Parts, Taken

SIZES = st.integers(0, 1 << 50)
WALKS = st.none() | st.builds(Walk, **dict.fromkeys(Walk.__struct_fields__, SIZES))

SAID = {
    "": (),
    "glibc": ("arena", "mapped", "used", "free", "fastbins", "top"),
    "jemalloc": ("allocated", "active", "metadata", "resident", "mapped", "retained", "dirty", "muzzy",
                 "thread_caches", "background_thread"),
    "tcmalloc": ("allocated", "heap", "free", "unmapped", "thread_caches", "central_cache", "transfer_cache"),
    "mimalloc": ("committed", "most_committed"),
}  # fmt: skip
"""What each kind of allocator says of itself."""


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(sorted(SAID)),
    kernel=st.builds(Kernel, **dict.fromkeys(Kernel.__struct_fields__, SIZES)),
    values=st.lists(SIZES, min_size=10, max_size=10),
    walk=WALKS,
    others=WALKS,
    around=st.none() | st.builds(Around, **dict.fromkeys(Around.__struct_fields__, SIZES)),
    more=st.lists(st.sampled_from(sorted(SAID)[1:]), max_size=2),
)
def test_parts_add_up_whatever_is_said(kind, kernel, values, walk, others, around, more):
    named = dict(zip(SAID[kind], values, strict=False))
    said = Said(kind=kind, provider="", stamp=1, values=named, walk=walk, others=others, around=around)
    linked = [
        Linked(allocator=each, file="/lib/other.so", values=dict(zip(SAID[each], values, strict=False)))
        for each in more
    ]
    taken = taken_of(kernel, said, linked=linked)
    assert taken.resident == sum(getattr(kernel, name) for name in AREAS)
    assert all(getattr(taken.parts, name) >= 0 for name in Parts.__struct_fields__)
    assert judge(residence_of(taken, allocator=kind)).sentences


@settings(max_examples=60, deadline=None)
@given(
    kernel=st.builds(Kernel, **dict.fromkeys(Kernel.__struct_fields__, SIZES)),
    shares=st.builds(Kernel, **dict.fromkeys(Kernel.__struct_fields__, SIZES)),
    sizes=st.lists(SIZES, min_size=len(NAMES), max_size=len(NAMES)),
    held=st.lists(SIZES, min_size=4, max_size=4),
)
def test_parts_of_a_forked_process_and_of_a_tree_add_up(kernel, shares, sizes, held):
    """Whatever its parent had; no linked allocator holds more than it held of what is left."""
    whole = replace(shares, resident=sum(getattr(shares, name) for name in AREAS))
    owner = Owner(
        allocator="jemalloc",
        file="/lib/other.so",
        asked=True,
        **dict(zip(("live", "inside", "held", "heap"), held, strict=True)),
    )
    parent = Taken(
        seconds=0,
        resident=sum(sizes),
        parts=Parts(**dict(zip(NAMES, sizes, strict=True))),
        said=True,
        linked=[owner],
    )
    moment = Moment(pid=2, seconds=1, kernel=kernel, shares=whole, forked_from=1)
    taken = analyse.take_apart(moment, parent)
    assert taken.resident == sum(getattr(kernel, name) for name in AREAS)
    assert all(getattr(taken.parts, name) >= 0 for name in Parts.__struct_fields__)
    mine = tree.share(moment, taken)
    assert sum(getattr(mine.parts, name) for name in Parts.__struct_fields__) == whole.resident
    both = tree.together([mine, mine])
    assert both.resident == 2 * whole.resident
    assert [each.live for each in both.linked] == [2 * mine.linked[0].live]
    assert judge(residence_of(both, processes=2)).sentences
