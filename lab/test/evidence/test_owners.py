"""Whose CPU time a sample is, and how it is named."""

import re

import pytest

from reap.draw import flame
from reap.evidence.analyse.owners import Sample, label, owner


def sample(function="f", *, kernel=False, call=None, inside=False, path="/usr/bin/x"):
    return Sample(path, function, "", kernel, call, inside, False, 1)


@pytest.mark.parametrize(
    ("seen", "whose"),
    [
        (sample(inside=True), "allocator"),
        (sample(inside=True, kernel=True, call=202), "allocator"),
        (sample(kernel=True, call=202), "lock"),
        (sample(kernel=True, call=0), "kernel_io"),
        (sample(kernel=True), "kernel_fault"),
        (sample(kernel=True, call=35), "other"),
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


def test_a_function_in_the_kernel_is_called_by_its_system_call():
    assert label(sample("__read", kernel=True, call=0)) == "read [kernel]"
    assert label(sample("grow", kernel=True, call=12)) == "grow [brk]"


def test_a_flame_graph_is_as_wide_as_its_samples_and_holds_no_markup():
    drawn = flame.draw("<t>", ["main;a<b>;malloc_[a] 30", "main;c 70", "no number"])
    widths = [float(each) for each in re.findall(r'<rect x="[\d.]+" y="\d+" width="([\d.]+)"', drawn)]
    assert widths[0] == pytest.approx(899.5)
    assert sorted(widths[1:4]) == pytest.approx([269.5, 269.5, 629.5])
    assert "a<b>" not in drawn
    assert "a&lt;b&gt;: 30 %" in drawn
    assert flame.draw("t", []) == ""
