"""Programs on fragmented heaps with huge pages and without."""

import functools

import msgspec
import pytest
from lab.test.compare.levels.experiments import PROFILE, drawn, fragmented, spec_of
from programs import compile_c

from reap.allocators import catalog, settings
from reap.base.errors import ReapError
from reap.experiment import arms
from reap.experiment.folder import Folder
from reap.experiment.specify import specify
from reap.experiment.starter import Starter
from reap.launch.host import machine

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
    for variable, value in settings.huge_pages(chosen, {}).items():
        monkeypatch.setenv(variable, value)  # "off" has to hold against what a user has set
    how = fragmented(huge_pages=True)
    spec = specify([large()], catalog.parse(f"glibc,{name}" if name != "glibc" else name), fragmented=how)
    with Folder.create(tmp_path / "e", spec) as folder:
        starter = Starter(folder, PROFILE)
        seen = {}
        for arm in arms.wanted(spec, spec.fragment):
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
    assert len(arms.wanted(spec, spec.fragment)) == 4 * 2
    assert {arm.huge_pages for arm in arms.controls(spec, spec.fragment)} == {"off"}
    assert len({arm.arm() for arm in every}) == len(every)

    def cpu(cell):
        return 60 if cell.huge_pages == "on" else 100

    arm = drawn(cpu, spec=spec).arm("default", "glibc", "adv3", "on")
    assert arm.to_small["cpu"].ratio.value == pytest.approx(0.6, rel=0.01)
    assert arm.slowdown["cpu"].ratio.value == pytest.approx(1, rel=0.01), "to itself at adv0, with huge pages"


def test_an_allocator_without_a_switch_for_huge_pages_runs_without():
    spec = spec_of("glibc,tcmalloc", fragmented())
    fragment_on = msgspec.structs.replace(spec.fragment, huge_pages=["off", "on"])
    spec = msgspec.structs.replace(spec, fragment=fragment_on)
    on = {arm.allocator for arm in arms.wanted(spec, fragment_on) if arm.huge_pages == "on"}
    assert on == ({"glibc", "tcmalloc"} if THP == "always" else {"glibc"})
    notes = " ".join(drawn(lambda _: 100, spec=spec).notes)
    assert ("tcmalloc cannot be told" in notes) == (THP != "always")
