"""The library's layers, built with REAP_MARK_POOLS=1, tell the exact engine of the objects they hand out."""

from pathlib import Path

import pytest
from recorded import target
from test_drag import SEED, drag

from reap.analysis.drag_records import DragProcess

HEADERS = Path(__file__).resolve().parents[2] / "library" / "include"
LAYERS = [
    "fixed-block",
    "size-classes",
    "per-class",
    "mempool",
    "stack-like",
    "best-fit",
    "quicklists",
    "region",
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


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> tuple[dict[str, list[str]], dict[int, DragProcess]]:
    """What each layer's process says itself, and what the engine says of each process."""
    program = target("layers", *MARKED, "-DREAP_MARK_VALGRIND=1")
    result, done = drag(tmp_path_factory.mktemp("layers"), program, SEED)
    said = {name: words for name, *words in (line.split() for line in done.stdout.splitlines())}
    assert sorted(said) == sorted(LAYERS)
    return said, {each.pid: each for each in result.processes}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_s_objects_are_seen_with_their_drag(layer, ran):
    """Each object once, with the size that was asked for: not what a layer within it hands out, no chunk."""
    pid, *truth = ran[0][layer]
    objects = ran[1][int(pid)].levels[0]
    own = [site for site in objects.sites if "layers" in site.module]
    found = [
        sum(int(site.live_area) for site in own),
        sum(int(site.needed_area) for site in own),
        sum(site.objects for site in own),
        sum(site.bytes for site in own),
    ]
    assert [str(each) for each in found] == truth
