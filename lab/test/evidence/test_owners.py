"""Whose CPU time a sample is, and how it is named."""

import pytest

from reap.evidence.analyse import facts
from reap.evidence.analyse.coverage import unsampled
from reap.evidence.analyse.kernel import kernel_time
from reap.evidence.analyse.owners import Sample, label, owner
from reap.evidence.records import OWNERS
from reap.wall import words


def sample(function="f", *, kernel=False, call=None, inside=False, path="/usr/bin/x", within="", count=1):
    return Sample(path, function, within, kernel, call, inside, False, count)


@pytest.mark.parametrize(
    ("seen", "whose"),
    [
        (sample(inside=True), "allocator"),
        (sample(inside=True, kernel=True, call=202), "allocator"),
        (sample(kernel=True, call=202), "lock"),
        (sample(kernel=True, call=0), "kernel_io"),
        (sample(kernel=True), "kernel_fault"),
        (sample(kernel=True, call=35), "kernel_other"),
        (sample(kernel=True, call=262), "kernel_path"),
        (sample(kernel=True, call=262, within="link_path_walk"), "kernel_path"),
        (sample(kernel=True, call=262, within="kmem_cache_alloc_lru"), "kernel_slab"),
        (sample(kernel=True, within="allocate_slab"), "kernel_fault"),
        (sample(kernel=True, call=11), "kernel_memory"),
        (sample(kernel=True, call=11, inside=True), "allocator"),
        (sample("pthread_mutex_lock"), "lock"),
        (sample("runtime.gcDrain"), "collector"),
        (sample("gc_collect_main"), "collector"),
        (sample("v8::internal::Scavenger::ScavengePage(v8::internal::MemoryChunk*)"), "collector"),
        (sample("void v8::internal::MarkingVisitorBase<v8::internal::X>::Visit()"), "collector"),
        (sample("cppgc::internal::Sweeper::Finish()"), "collector"),
        (sample("v8::internal::FactoryBase<v8::internal::Factory>::NewFixedArray(int)"), "other"),
        (sample("v8::internal::compiler::MarkingThing::Run(v8::internal::Heap*)"), "other"),
        (sample("main.main"), "other"),
        (sample("internal/runtime/syscall.Syscall6", kernel=True, call=-1), "kernel_io"),
    ],
)
def test_whose_a_sample_is(seen, whose):
    assert owner(seen) == whose


def test_every_owner_has_a_name_and_its_samples():
    rows = [sample(kernel=True, call=262, count=4), sample(kernel=True, call=0, count=3), sample(count=2)]
    assert facts.owners(rows) == {**dict.fromkeys(OWNERS, 0), "kernel_path": 4, "kernel_io": 3, "other": 2}
    assert set(words.OWNERS) == set(OWNERS)


def test_time_in_the_kernel_is_by_call_and_by_function():
    rows = [
        sample(kernel=True, call=262, within="d_lookup", count=4),
        sample(kernel=True, call=262, within="link_path_walk", count=5),
        sample(kernel=True, call=451, count=2),
        sample(kernel=True, count=3),
        sample(kernel=True, call=-1),
        sample(count=90),
    ]
    seen = kernel_time(rows)
    assert list(seen.calls.items()) == [("newfstatat", 9), ("fault", 3), ("call 451", 2), ("unknown", 1)]
    assert list(seen.functions.items()) == [("link_path_walk", 5), ("d_lookup", 4)]


def test_samples_are_compared_with_cpu_time():
    rows = [sample(count=600)]
    assert unsampled(rows, 150, 1.0, 1e-3) == pytest.approx(0.25)
    assert unsampled(rows, 0, 0.5, 1e-3) == 0.0
    assert unsampled([], 0, 11.0, 1e-3) == 1.0
    assert unsampled(rows, 0, 0.0, 1e-3) is None


def test_a_function_in_the_kernel_is_called_by_its_system_call():
    assert label(sample("__read", kernel=True, call=0)) == "read [kernel]"
    assert label(sample("grow", kernel=True, call=12)) == "grow [brk]"
    assert label(sample("", kernel=True, path="")) == "(no symbol) [fault or interrupt]"
