"""The library's layers, built with REAP_MARK_POOLS=1, tell the exact engine of the objects they hand out."""

from pathlib import Path

import pytest
from recorded import target
from test_drag import SEED, drag, said

from reap.analysis.drag_records import DragProcess
from reap.errors import ReapError
from reap.experiment import card

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
    told = {name: words for name, *words in (line.split() for line in done.stdout.splitlines())}
    assert sorted(told) == sorted(LAYERS)
    return told, {each.pid: each for each in result.processes}


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


def test_a_workload_s_objects_drag_the_same_whichever_way_they_are_allocated(tmp_path):
    """With its obstacks, and with an allocation for each object: one program, one set of objects."""
    levels = {}
    for variant in ("custom", "naive"):
        ready = card.prepare("expression-compiler", variant, scale=1, cache=tmp_path, marked=True)
        assert "-marked-" in ready.argv[0]
        result, done = drag(tmp_path, *ready.argv, cwd=ready.directory)
        assert done.returncode == 0
        levels[variant] = result.processes[0].levels
    custom, naive = (levels[variant][0] for variant in ("custom", "naive"))
    assert said(custom) == said(naive)
    assert custom.drag > 1.05
    assert levels["custom"][1].total.objects < 100 < levels["naive"][1].total.objects


def test_where_valgrind_has_no_header_its_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(card, "_VALGRIND_HEADERS", (str(tmp_path),))
    with pytest.raises(ReapError, match=r"valgrind/valgrind\.h is not there") as caught:
        card.prepare("expression-compiler", "custom", scale=1, cache=tmp_path, marked=True)
    assert caught.value.hint == "apt-get install valgrind"
    assert not list(tmp_path.iterdir())


def test_what_a_script_builds_is_not_marked(tmp_path):
    scripted = card.load("protobuf")
    assert not card.can_be_marked(scripted)
    assert card.places("protobuf", cache=tmp_path, marked=True) == card.places("protobuf", cache=tmp_path)
