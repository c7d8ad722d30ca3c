"""Resident memory: what the kernel says, what allocators say, and how the two are taken apart."""

from pathlib import Path

from lab.test.rss.moments import around_of, kernel_of, residence_of, taken_of, walk_of
from msgspec.structs import replace

from reap.allocators.remedies import table
from reap.launch.host.machine import describe
from reap.launch.process import smaps
from reap.launch.process.records import Kernel, Linked, Said
from reap.recording.records import Point
from reap.rss import analyse
from reap.rss import page as pages
from reap.rss.commands import after
from reap.rss.judge import judge
from reap.rss.records import NAMES, Heaps, Parts
from reap.rss.verdict.cases import Remedy
from reap.rss.watch import without_late_values

MB = 1 << 20

SMAPS = """\
5555-5556 r-xp 00000000 fe:00 1 /usr/bin/my program
Size:                 64 kB
Rss:                  64 kB
Anonymous:             8 kB
LazyFree:              0 kB
VmFlags: rd ex mr mw me
6000-7000 rw-p 00000000 00:00 0                          [heap]
Rss:                 100 kB
Anonymous:           100 kB
LazyFree:             10 kB
7000-8000 rw-p 00000000 00:00 0
Rss:                  40 kB
Anonymous:            40 kB
LazyFree:             30 kB
AnonHugePages:        16 kB
Swap:                  4 kB
8000-9000 rw-s 00000000 00:01 7 /dev/shm/a
Rss:                  12 kB
Anonymous:             0 kB
9000-a000 rw-p 00000000 00:00 0 [stack]
Rss:                  20 kB
Anonymous:            20 kB
"""


def test_each_mapping_counts_as_what_it_is():
    kb = 1024
    assert smaps.parse(SMAPS) == Kernel(
        resident=236 * kb,
        heap=90 * kb,
        anonymous=10 * kb,
        stack=20 * kb,
        files=56 * kb,
        written=8 * kb,
        shared=12 * kb,
        lazy_free=40 * kb,
        swap=4 * kb,
        huge=16 * kb,
        private=236 * kb,
    )


def test_a_mapping_that_grows_while_it_is_read_is_counted_once():
    head, size = (
        "6000-{end:x} rw-p 00000000 00:00 0                          [heap]\n",
        "Rss:                 {kb} kB\n",
    )
    grown = "".join(head.format(end=end) + size.format(kb=kb) for end, kb in ((0x7000, 60), (0x7800, 90)))
    before, behind = SMAPS.split("6000-7000")
    behind = behind[behind.index("7000-8000") :]
    assert smaps.parse(before + grown + behind).heap == 90 << 10


def test_a_process_that_ends_while_its_threads_are_listed_has_no_children(monkeypatch):
    monkeypatch.setattr(Path, "is_dir", lambda _: True)  # it was there when it was asked
    assert smaps.children(1 << 30) == []
    assert smaps.descendants(1 << 30) == []
    assert smaps.executable(1 << 30) == ""


def pinned():
    """200 MB free below one block of 2 KB, in a heap of glibc's."""
    values = {"arena": 201 * MB, "mapped": 0, "used": 3000, "free": 200 * MB, "fastbins": 0, "top": MB // 2}
    walk = walk_of(
        bytes=201 * MB,
        resident=200 * MB + 8192,
        live=3000,
        whole_resident=200 * MB,
        largest=200 * MB,
        above_blocks=1,
        above_bytes=2064,
        used=3000,
        arena=201 * MB,
    )
    said = Said(kind="glibc", provider="/libc.so.6", stamp=1, values=values, walk=walk)
    return taken_of(kernel_of(heap=200 * MB + 8192, files=2 * MB), said)


def test_a_pin_is_named_with_what_it_holds():
    moment = pinned()
    assert moment.parts == Parts(pinned=200 * MB, live=3000, inside=8192 - 3000, files=2 * MB)
    verdict = judge(residence_of(moment))
    assert verdict.cause == "pinned"
    assert "1 live block, 2.02 KiB in all, lies above the largest stretch" in verdict.sentences[0]
    assert "malloc_trim(0)" in verdict.remedies[0].what
    assert after(residence_of(moment), verdict, ["server"]) == ["reap", "rss", "--try", "--", "server"]


def test_rss_remedy_false_no_allocator_is_advised_for_scattered_survivors():
    """Each slab of another allocator would keep a survivor, too."""
    values = {"arena": 201 * MB, "mapped": 0, "used": MB, "free": 200 * MB, "fastbins": 0, "top": 4096}
    walk = walk_of(
        bytes=201 * MB,
        resident=201 * MB,
        live=MB,
        whole_resident=120 * MB,
        largest=64 << 10,
        above_blocks=50_000,
        above_bytes=10 * MB,
        used=MB,
        arena=201 * MB,
    )
    said = Said(kind="glibc", provider="", stamp=1, values=values, walk=walk)
    moment = taken_of(kernel_of(heap=201 * MB), said)
    verdict = judge(residence_of(moment))
    assert verdict.cause == "pinned"
    assert not any(each.allocator for each in verdict.remedies)
    assert "scattered" in " ".join(verdict.sentences)
    assert after(residence_of(moment), verdict, ["server"]) == ["reap", "rss", "--try", "--", "server"]


def test_a_walk_of_yesterday_is_not_believed():
    """The heap was walked while all was live, and everything was freed since."""
    values = {"arena": 201 * MB, "mapped": 0, "used": 3000, "free": 200 * MB, "fastbins": 0, "top": 4096}
    walk = walk_of(bytes=201 * MB, live=200 * MB, used=200 * MB, arena=201 * MB)
    said = Said(kind="glibc", provider="", stamp=1, values=values, walk=walk)
    parts = taken_of(kernel_of(heap=200 * MB), said).parts
    assert parts == Parts(live=3000, heap=200 * MB - 3000)


def test_what_lies_in_fastbins_is_not_called_live():
    """The walk takes it for blocks in use, and mallinfo2 does not."""
    values = {"arena": 64 * MB, "mapped": 0, "used": 40 * MB, "free": 24 * MB, "fastbins": 20 * MB, "top": MB}
    walk = walk_of(
        bytes=64 * MB, resident=64 * MB, live=60 * MB, whole_resident=4 * MB, used=40 * MB, arena=64 * MB
    )
    said = Said(kind="glibc", provider="", stamp=1, values=values, walk=walk)
    moment = taken_of(kernel_of(heap=64 * MB), said)
    assert moment.parts == Parts(live=40 * MB, pinned=4 * MB, heap=20 * MB)
    verdict = judge(residence_of(moment))
    assert verdict.cause == "heap"
    assert "fastbins" in verdict.sentences[0]


def test_a_page_draws_the_largest_of_many_processes():
    seen = [(f"job {number}", residence_of(pinned())) for number in range(40)]
    text = pages.page("title", seen, ["reap"], describe())
    assert text.count('data-figure="owners"') == 12
    assert "28 smaller ones" in text


def test_a_page_names_a_process_once_and_lists_the_parts_that_it_has():
    text = pages.page("title", [("a long command", residence_of(pinned()))], ["reap"], describe())
    assert text.count("a long command") == 3, "the contents, the heading, the label of the table"
    assert ">Resident memory over time</h4>" in text
    assert NAMES["pinned"] in text
    assert NAMES["shared"] not in text


def test_no_allocator_is_compared_for_memory_that_none_changes():
    moment = taken_of(kernel_of(files=100 * MB))
    verdict = judge(residence_of(moment))
    assert verdict.sentences == ["100 MiB of 100 MiB resident are files. No allocator changes that."]
    assert after(residence_of(moment), verdict, ["server"]) == ["reap", "run", "--", "server"]


def test_what_grew_since_the_walk_is_not_called_fragmentation():
    values = {"arena": 20 * MB, "mapped": 0, "used": 19 * MB, "free": MB, "fastbins": 0, "top": MB}
    walk = walk_of(bytes=20 * MB, resident=20 * MB, live=19 * MB, used=19 * MB, arena=20 * MB)
    said = Said(kind="glibc", provider="", stamp=1, values=values, walk=walk)
    parts = taken_of(kernel_of(heap=100 * MB), said).parts
    assert parts == Parts(live=(19 + 80) * MB, inside=MB)


def test_i_leak_what_grew_since_glibc_was_asked_is_not_called_free():
    """A heap without a walk, or with one of yesterday: glibc said 1 MB free, and it grew by 100 MB since."""
    values = {"arena": 200 * MB, "mapped": 0, "used": 199 * MB, "free": MB, "fastbins": 0, "top": MB}
    said = Said(kind="glibc", provider="", stamp=1, values=values, walk=None)
    assert taken_of(kernel_of(heap=300 * MB), said).parts == Parts(live=299 * MB, heap=MB)


def of_threads(cached=0, unread=0):
    """Heaps of threads, 40 MB: 10 live, 2 of these untouched, 15 of whole pages, 5 at the tops."""
    values = {"arena": 42 * MB, "mapped": 8 * MB, "used": 12 * MB, "free": 30 * MB, "fastbins": 0, "top": 0}
    walk = walk_of(bytes=2 * MB, resident=2 * MB, live=MB, top_resident=MB // 2, used=12 * MB, arena=42 * MB)
    others = walk_of(
        bytes=40 * MB,
        resident=38 * MB,
        live=10 * MB,
        untouched=2 * MB,
        whole_resident=15 * MB,
        top_resident=5 * MB,
    )
    around = around_of(heaps=4, caches=4, cached=cached, unread_resident=unread)
    said = Said(kind="glibc", provider="", stamp=1, values=values, walk=walk, others=others, around=around)
    return taken_of(kernel_of(heap=2 * MB, anonymous=60 * MB), said)


def test_heaps_of_threads_are_broken_down_as_the_main_one():
    moment = of_threads(unread=MB)
    assert moment.parts == Parts(
        live=(1 + 8 + 8) * MB, inside=MB // 2 + 10 * MB, top=MB // 2, held=20 * MB, heap=MB, other=13 * MB
    )
    assert moment.heaps == Heaps(number=4, whole=15 * MB, top=5 * MB, caches=4, trim=15 * MB + MB // 2)
    verdict = judge(residence_of(moment))
    assert verdict.cause == "held"
    first, second = verdict.sentences
    assert first.startswith("20.0 MiB of 62.0 MiB resident are free pages in 4 heaps that glibc makes")
    assert first.endswith(": 15.0 MiB between live blocks, 5.00 MiB at the top.")
    assert second == ("malloc_trim(0) would return 15.5 MiB of all heaps; it leaves the tops of these.")


def test_blocks_in_thread_caches_are_not_live():
    parts = of_threads(cached=7 * MB).parts
    assert (parts.live, parts.cached) == (10 * MB, 7 * MB)
    values = {"arena": 40 * MB, "mapped": 0, "used": 39 * MB, "free": MB, "fastbins": 0, "top": 0}
    walk = walk_of(bytes=40 * MB, resident=40 * MB, live=39 * MB, used=39 * MB, arena=40 * MB)
    around = around_of(caches=200, cached=30 * MB)
    others = walk_of()
    said = Said(kind="glibc", provider="", stamp=1, values=values, walk=walk, others=others, around=around)
    moment = taken_of(kernel_of(heap=40 * MB), said)
    assert moment.parts == Parts(live=9 * MB, cached=30 * MB, inside=MB)
    verdict = judge(residence_of(moment))
    assert verdict.cause == "cached"
    assert "30.0 MiB of 40.0 MiB resident are free in the caches of 200 threads" in verdict.sentences[0]


def test_blocks_with_a_mapping_and_other_arenas_are_found_in_anonymous_memory():
    """Where the arenas are not found it is known how much of them is free, and not where."""
    values = {"arena": 40 * MB, "mapped": 16 * MB, "used": 12 * MB, "free": 28 * MB, "fastbins": 0, "top": 0}
    walk = walk_of(bytes=10 * MB, resident=10 * MB, live=10 * MB, used=12 * MB, arena=40 * MB)
    said = Said(kind="glibc", provider="", stamp=1, values=values, walk=walk)
    parts = taken_of(kernel_of(heap=10 * MB, anonymous=60 * MB), said).parts
    assert parts == Parts(live=(10 + 16 + 2) * MB, heap=28 * MB, other=14 * MB)
    verdict = judge(residence_of(taken_of(kernel_of(heap=10 * MB, anonymous=60 * MB), said)))
    assert verdict.cause == "heap"


def test_jemalloc_s_dirty_pages_and_those_given_back():
    values = {"allocated": 5 * MB, "active": 7 * MB, "metadata": MB, "dirty": 30 * MB, "background_thread": 0}
    said = Said(kind="jemalloc", provider="", stamp=1, values=values)
    dirty = taken_of(kernel_of(anonymous=44 * MB), said)
    assert dirty.parts == Parts(live=5 * MB, inside=3 * MB, held=30 * MB, other=6 * MB)
    verdict = judge(residence_of(dirty, allocator="jemalloc", background=False))
    assert verdict.cause == "held"
    assert "background thread is off" in verdict.sentences[0]
    lazy = taken_of(kernel_of(anonymous=10 * MB, lazy_free=60 * MB), said)
    verdict = judge(residence_of(lazy, allocator="jemalloc"))
    assert verdict.cause == "lazy_free"
    assert verdict.remedies[-1].environment == {"MALLOC_CONF": "muzzy_decay_ms:0"}


def test_tcmalloc_s_caches_and_spans():
    values = {"allocated": 5 * MB, "heap": 40 * MB, "free": 20 * MB, "unmapped": 10 * MB}
    said = Said(kind="tcmalloc", provider="", stamp=1, values=values)
    parts = taken_of(kernel_of(anonymous=31 * MB), said).parts
    assert parts == Parts(live=5 * MB, inside=5 * MB, held=20 * MB, other=MB)


def test_what_lies_in_thread_caches_is_free():
    values = {"allocated": 60 * MB, "active": 70 * MB, "thread_caches": 46 * MB}
    said = Said(kind="jemalloc", provider="", stamp=1, values=values)
    parts = taken_of(kernel_of(anonymous=80 * MB), said).parts
    assert (parts.live, parts.inside, parts.other) == (14 * MB, 56 * MB, 10 * MB)


def test_a_jemalloc_without_statistics_is_not_broken_down():
    said = Said(kind="jemalloc", provider="", stamp=1, values={"active": 60 * MB, "dirty": 5 * MB})
    taken = taken_of(kernel_of(anonymous=80 * MB), said)
    assert (taken.parts.heap, taken.parts.held, taken.parts.other) == (60 * MB, 5 * MB, 15 * MB)
    verdict = judge(residence_of(taken, allocator="jemalloc"))
    assert verdict.cause == "heap"
    assert "built without statistics" in verdict.sentences[0]


GLIBC = Said(
    kind="glibc", provider="libc.so.6", stamp=1, values={"arena": 2 * MB, "mapped": 0, "used": MB, "free": MB}
)


def linked_jemalloc(function="je_arrow_mallctl", **values):
    return Linked(allocator="jemalloc", file="/lib/libarrow.so", function=function, values=values)


def test_two_allocators_at_once_both_have_their_part():
    jemalloc = linked_jemalloc(allocated=10 * MB, active=12 * MB, dirty=60 * MB, background_thread=0)
    mimalloc = Linked(
        allocator="mimalloc", file="/bin/x", function="mi_process_info", values={"committed": 9 * MB}
    )
    taken = taken_of(kernel_of(heap=2 * MB, anonymous=100 * MB), GLIBC, linked=[jemalloc, mimalloc])
    parts = taken.parts
    assert (parts.live, parts.inside, parts.held) == (11 * MB, 2 * MB, 60 * MB)
    assert (parts.heap, parts.other) == (10 * MB, 19 * MB)
    verdict = judge(residence_of(taken))
    assert verdict.cause == "held"
    assert "jemalloc (linked into libarrow.so) keeps" in verdict.sentences[0]
    background = table.named("purging in the background").environment["MALLOC_CONF"]
    assert verdict.remedies[0].environment == {"JE_ARROW_MALLOC_CONF": background}


def test_a_jemalloc_without_background_threads_is_not_advised_to_have_one():
    taken = taken_of(
        kernel_of(heap=2 * MB, anonymous=100 * MB), GLIBC, linked=[linked_jemalloc(dirty=60 * MB)]
    )
    assert judge(residence_of(taken)).remedies[0].environment == {"JE_ARROW_MALLOC_CONF": "dirty_decay_ms:0"}


def test_what_a_linked_tcmalloc_has_of_the_heap_is_not_glibc_s():
    tcmalloc = Linked(
        allocator="tcmalloc", file="/lib/t.so", function="f", values={"allocated": 60 * MB, "heap": 61 * MB}
    )
    parts = taken_of(kernel_of(heap=63 * MB), GLIBC, linked=[tcmalloc]).parts
    assert (parts.live, parts.inside, parts.heap, parts.other) == (61 * MB, MB, MB, 0)


def test_an_allocator_that_cannot_be_asked_is_named():
    jemalloc = linked_jemalloc(function="")
    verdict = judge(
        residence_of(taken_of(kernel_of(heap=2 * MB, anonymous=100 * MB), GLIBC, linked=[jemalloc]))
    )
    assert verdict.cause == "other"
    assert (
        "jemalloc (linked into libarrow.so, stripped of its names) may hold a part: it cannot be asked"
        in verdict.sentences[0]
    )


def test_zero_pages_inside_huge_pages_are_a_finding_of_their_own():
    kernel = kernel_of(anonymous=200 * MB, huge=200 * MB)
    kernel = replace(kernel, anonymous_zeros=199 * MB)
    said = Said(kind="jemalloc", provider="", stamp=1, values={"allocated": 200 * MB, "active": 200 * MB})
    taken = taken_of(kernel, said)
    assert (taken.parts.zeros, taken.parts.live) == (199 * MB, MB)
    verdict = judge(residence_of(taken, allocator="jemalloc"))
    assert verdict.cause == "zeros"
    assert verdict.remedies[0].environment == {"MALLOC_CONF": "thp:never"}
    assert "huge pages" in verdict.sentences[0]


def test_of_heaps_that_cannot_be_walked_nothing_is_said_of_live_bytes():
    moment = taken_of(kernel_of(heap=50 * MB, anonymous=10 * MB))
    assert moment.parts == Parts(heap=50 * MB, other=10 * MB)
    verdict = judge(residence_of(moment, allocator=""))
    assert "cannot be told from" in verdict.sentences[0]
    assert after(residence_of(moment, allocator=""), verdict, []) == ["reap", "rss", "--", "server"]
    walked = residence_of(replace(moment, said=True))
    remedied = replace(verdict, cause="pinned", remedies=[Remedy(what="trim")])
    assert after(walked, remedied, []) == ["reap", "rss", "--try", "--", "server"]
    assert after(walked, replace(verdict, cause="live"), []) == ["reap", "record", "--pid", "1"]


def test_a_recording_says_what_an_allocator_does_not():
    """Live from its first second, freed at its third; nobody knows what the rest is."""
    moments = [taken_of(kernel_of(heap=100 * MB), seconds=at) for at in (0.5, 1.5, 4)]
    live = [Point(seconds=1, bytes=60 * MB), Point(seconds=3, bytes=0)]
    taken = analyse.with_recorded(moments, live)
    assert [each.parts.live for each in taken] == [0, 60 * MB, 0]
    assert [each.parts.heap for each in taken] == [100 * MB, 40 * MB, 100 * MB]
    assert all(each.resident == 100 * MB for each in taken)
    verdict = judge(residence_of(*taken, allocator="mimalloc", recorded=0.0))
    assert "by the recording, not live" in verdict.sentences[0]


def test_what_was_given_back_before_the_end_is_told():
    most, last = (
        taken_of(kernel_of(heap=100 * MB), seconds=1.5),
        taken_of(kernel_of(files=10 * MB), seconds=2),
    )
    later = replace(last, seconds=9)
    sentences = judge(residence_of(most, last, later)).sentences
    assert sentences[1].startswith(
        "At peak it was 100 MiB, 1.50 s after the start; the largest part, 100 MiB, was the allocator's"
    )
    assert len(judge(residence_of(last, last)).sentences) == 1


def test_what_was_never_seen_is_not_said_to_be_what_was():
    """php ended after 60 ms with a peak of 45 MiB; a snapshot at 15 ms had 10 MiB of files."""
    early = taken_of(kernel_of(files=10 * MB, heap=2 * MB))
    verdict = judge(residence_of(early, peak=45 * MB))
    assert verdict.cause == "nothing"
    (sentence,) = verdict.sentences
    assert sentence.startswith(
        "Its peak was 45.0 MiB, and the largest snapshot has 12.0 MiB: what the rest was"
    )
    most = judge(residence_of(early, peak=18 * MB))
    assert most.cause == "files"
    assert most.sentences[-1].startswith("Its peak was 18.0 MiB")
    assert judge(residence_of(early, peak=14 * MB)) == judge(residence_of(early))


def test_a_burst_between_snapshots_does_not_hide_what_settled():
    """idle_purge: 240 MB are freed within 90 ms, and jemalloc keeps 88 of them."""
    kept = Said(kind="jemalloc", provider="", values={"allocated": MB, "active": MB, "dirty": 88 * MB})
    idle = [taken_of(kernel_of(anonymous=90 * MB), kept, at / 10) for at in range(1, 9)]
    seen = residence_of(live(MB, 0.0), *idle, allocator="jemalloc", peak=240 * MB)
    verdict = judge(seen)
    assert verdict.cause == "held"
    assert verdict.sentences[-1].startswith("Its peak was 240 MiB, and the largest snapshot has 90.0 MiB")
    assert judge(residence_of(*seen.moments[:2], allocator="jemalloc", peak=240 * MB)).cause == "nothing"


def live(size, seconds):
    values = {"allocated": size, "active": size}
    return taken_of(kernel_of(anonymous=size), Said(kind="jemalloc", provider="", values=values), seconds)


def test_growth_of_live_bytes_is_said():
    verdict = judge(residence_of(*(live((20 + at) * MB, at * 0.1) for at in range(60))))
    assert verdict.cause == "live"
    assert list(verdict.growth) == ["live"]
    assert 9.5 * MB < verdict.growth["live"].low <= 10 * MB <= verdict.growth["live"].high < 10.5 * MB
    assert "Live bytes grew by 10.0 MiB a second [" in verdict.sentences[1]
    assert verdict.sentences[1].endswith("] until the end: a cache, or a leak.")


def test_what_fills_up_to_its_size_does_not_grow():
    """It is built in three fifths of the time, and then used."""
    verdict = judge(residence_of(*(live(min(20 + at, 56) * MB, at * 0.1) for at in range(60))))
    assert verdict.cause == "live"
    assert verdict.growth == {}


def test_rss_settled_not_the_last_instant():
    """What is pinned for most of the time and freed at the exit, after a burst and a snapshot of the exit."""
    pin = [replace(pinned(), seconds=float(at)) for at in range(1, 20)]
    burst, exit_ = live(900 * MB, 12.5), live(15 * MB, 20.0)
    seen = residence_of(live(2 * MB, 0.0), *pin[:12], burst, *pin[12:], exit_)
    verdict = judge(seen)
    assert (seen.settled, seen.last, seen.largest) == (pin[-1], exit_, burst)
    assert verdict.cause == "pinned"
    assert verdict.sentences[0].startswith("200 MiB of 202 MiB resident are free pages")
    assert any(each.startswith("At peak it was 900 MiB") for each in verdict.sentences)
    assert "At the end, as it exits, it is 15.0 MiB; what is freed then does not count." in verdict.sentences


def test_a_snapshot_of_which_more_is_known_stands_for_settled_memory():
    """The latest one was taken before the allocator had answered."""
    known, unknown = live(50 * MB, 9.0), taken_of(kernel_of(anonymous=50 * MB), None, 10.0)
    assert residence_of(live(50 * MB, 0.0), live(50 * MB, 5.0), known, unknown).settled == known


def test_every_part_has_a_name():
    assert list(NAMES) == list(Parts.__struct_fields__)


def test_thinning_keeps_the_ends_and_the_largest():
    moments = [taken_of(kernel_of(heap=1000 + (77 if at == 1234 else 0)), seconds=at) for at in range(5000)]
    thin = analyse.thinned(moments, 100)
    assert len(thin) <= 100
    assert [thin[0].seconds, thin[-1].seconds] == [0, 4999]
    assert 1234 in [each.seconds for each in thin]
    assert analyse.thinned(moments[:100], 100) == moments[:100]


def test_an_answer_of_long_ago_is_not_taken_for_one_of_now():
    said = Said(kind="glibc", provider="", stamp=10 * 10**9, values={"used": 1})
    assert without_late_values(said, 0.1, now=14.9) == said
    assert without_late_values(said, 60.0, now=100.0) == said
    late = without_late_values(said, 0.1, now=15.1)
    assert (late.values, late.kind) == ({}, "glibc")
    assert without_late_values(None, 0.1, now=1.0) is None
