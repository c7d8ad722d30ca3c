"""The library's layers, built with REAP_MARK_POOLS=1, tell the exact engine of the objects they allocate."""

import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from building import workload_cache
from lab.test.drag.test_drag import SEED, drag, own_sites, said
from recorded import drag_compiled, target

from reap.base.errors import ReapError
from reap.drag.exact.records import DragLevel, DragProcess, DragSite
from reap_studies.workloads import card, preparation
from reap_studies.workloads.preparation import can_be_marked, places, prepare

HEADERS = Path(__file__).resolve().parents[3] / "library" / "include"
LAYERS = [
    "fixed-block",
    "size-classes",
    "per-class",
    "mempool",
    "stack-like",
    "best-fit",
    "quicklists",
    "region",
    "region-of-malloc",
    "region-in-a-reap",
    "obstack",
    "reap",
    "reap-with-marks",
    "sized-reap",
    "owned-reap",
    "per-thread-reap",
    "per-thread-classes",
    "buffer",
]
MARKED = ["-std=c++20", f"-I{HEADERS}", "-DREAP_MARK_POOLS=1"]
BIN = Path(sys.executable).parent


class Ran(NamedTuple):
    """What each layer's process says itself, and what the engine says of it."""

    told: dict[str, list[str]]
    processes: dict[int, DragProcess]

    def levels(self, layer: str) -> list[DragLevel]:
        return self.processes[int(self.told[layer][0])].levels


def ran(folder: Path, program: str, *words: str) -> Ran:
    result, done = drag(folder, program, SEED, words=list(words))
    told = {name: rest for name, *rest in (line.split() for line in done.stdout.splitlines())}
    assert sorted(told) == sorted(LAYERS)
    return Ran(told, {each.pid: each for each in result.processes})


@pytest.fixture(scope="module")
def exact(tmp_path_factory) -> Ran:
    return ran(tmp_path_factory.mktemp("exact"), target("layers", *MARKED, "-DREAP_MARK_VALGRIND=1"))


@pytest.fixture(scope="module")
def recompiled(tmp_path_factory) -> Ran:
    folder = tmp_path_factory.mktemp("recompiled")
    # Unoptimized, unlike the other: layers are called here and inlined there, and it compiles sooner.
    options = [*MARKED, "-O0", "-w", "-pthread", "-fno-builtin"]
    return ran(folder, drag_compiled("layers", *options), "--engine", "recompiled")


def sites(levels: list[DragLevel]) -> list[DragSite]:
    (module,) = {site.module for site in levels[0].sites if "layers" in site.module}
    return own_sites(levels[0], module)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["exact", "recompiled"])
@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_s_objects_are_seen_with_their_drag(engine, layer, request):
    """Each object once, with the size that was asked for: not what a layer within it allocates, no chunk."""
    seen: Ran = request.getfixturevalue(engine)
    own = sites(seen.levels(layer))
    found = [
        sum(int(site.live_area) for site in own),
        sum(int(site.needed_area) for site in own),
        sum(site.objects for site in own),
        sum(site.bytes for site in own),
    ]
    assert [str(each) for each in found] == seen.told[layer][1:]
    # It is who asks the layer that is named, and not the layer.
    assert {site.location.partition(":")[0] for site in own} == {"targets/layers.cpp"}


@pytest.mark.parametrize("layer", LAYERS)
def test_the_engines_agree_on_what_is_never_read(layer, exact, recompiled):
    one, other = (sites(each.levels(layer)) for each in (exact, recompiled))
    for unread in ("never", "write_only"):
        counts = [sum(getattr(site, unread).objects for site in own) for own in (one, other)]
        assert counts[0] == counts[1] > 0


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["per-class", "region-of-malloc"])
def test_the_blocks_that_objects_are_in_are_chunks(layer, exact, recompiled):
    objects, chunks = exact.levels(layer)
    assert (objects.name, chunks.name) == ("objects", "chunks")
    assert chunks.total.objects < objects.total.objects
    assert recompiled.levels(layer)[1].total == chunks.total


@pytest.mark.slow
def test_a_workload_s_objects_drag_the_same_whichever_way_they_are_allocated(tmp_path):
    """With its obstacks, and with an allocation for each object: one program, one set of objects."""
    levels = {}
    for variant in ("custom", "naive"):
        ready = prepare("expression-compiler", variant, scale=1, cache=workload_cache(), marked=True)
        assert "-marked-" in ready.argv[0]
        result, done = drag(tmp_path, *ready.argv, cwd=ready.directory)
        assert done.returncode == 0
        levels[variant] = result.processes[0].levels
    custom, naive = (levels[variant][0] for variant in ("custom", "naive"))
    assert said(custom) == said(naive)
    assert custom.drag > 1.05
    assert levels["custom"][1].total.objects < 100 < levels["naive"][1].total.objects


def test_where_valgrind_has_no_header_its_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(preparation, "_VALGRIND_HEADERS", (str(tmp_path),))
    with pytest.raises(ReapError, match=r"valgrind/valgrind\.h is not there") as caught:
        prepare("expression-compiler", "custom", scale=1, cache=tmp_path, marked=True)
    assert caught.value.hint == "apt-get install valgrind"
    assert not list(tmp_path.iterdir())


def test_what_a_script_builds_is_not_marked(tmp_path):
    scripted = card.load("protobuf")
    assert not can_be_marked(scripted)
    assert places("protobuf", cache=tmp_path, marked=True) == places("protobuf", cache=tmp_path)


def test_what_was_marked_otherwise_is_not_used(tmp_path, monkeypatch):
    before = [places("expression-compiler", cache=tmp_path, marked=how).built for how in (True, False)]
    monkeypatch.setattr(preparation, "MARKED", ("-DREAP_MARK_POOLS=2",))
    after = [places("expression-compiler", cache=tmp_path, marked=how).built for how in (True, False)]
    assert before[0] != after[0]
    assert before[1] == after[1]
