"""What a search concludes contradicts no `reap run`, and what it prints is what it ran with."""

import msgspec
import pytest
from lab.test.tune.machine import finding, search
from samples import comparison_of, side_of

from reap.allocators.records import Allocator
from reap.compare import judge
from reap.tune import standing, words


@pytest.mark.parametrize(
    ("cpu", "memory", "standing"),
    [(0.9, 1.0, "gain"), (0.975, 1.0, "none"), (0.93, 2.0, "costly"), (0.8, 2.0, "gain")],
)
def test_a_setting_wins_where_run_would_advise_it(tmp_path, cpu, memory, standing):
    """A gain of 3 %, and one of 10 % where it takes much memory: `reap run` has the same thresholds."""
    tuned = search(
        tmp_path, cpu={"mxfast=0": cpu}, memory={"mxfast=0": memory}, noise=0.001, objectives=["cpu"]
    )
    assert finding(tuned, "cpu").standing == standing
    assert tuned.conclusion == ("a setting helps" if standing == "gain" else "leave the settings alone")
    ratios = {"cpu": finding(tuned, "cpu").ratio, **finding(tuned, "cpu").beside}
    side = side_of("no fastbins", cpu, rounds=len(ratios["cpu"].pairs))
    side = msgspec.structs.replace(side, ratios=ratios)
    comparison = msgspec.structs.replace(comparison_of([side]), noise=tuned.noise)
    assert (judge.pick([side], comparison) is not None) == (standing == "gain")


@pytest.mark.parametrize(
    ("cpu", "memory", "said"),
    [(0.965, 1.0, "little"), (0.975, 1.0, "little"), (0.965, 2.0, "costly"), (0.955, 1.0, "gain")],
)
def test_a_gain_at_the_line_is_neither_had_nor_denied(cpu, memory, said):
    """Of two searches one said that a setting helps, and one to leave the settings alone."""
    side = side_of("", cpu, half=0.01, memory=memory)
    noise = comparison_of([side]).noise
    held = standing.of("cpu", "cpu", side.ratios, noise, short=False, widening=1.0, worth=0.03)
    assert held == said


def test_a_search_with_a_gain_at_the_line_says_so(tmp_path):
    tuned = search(tmp_path, cpu={"mxfast=0": 0.965}, noise=0.008, objectives=["cpu"], seed=2)
    assert finding(tuned, "cpu").standing == "little"
    assert words.headline(tuned) == "little to gain: no fastbins hardly pays"
    assert "no fastbins hardly pays: " in words.verdict(finding(tuned, "cpu"))


def test_what_is_to_be_pasted_keeps_what_is_preloaded_anyway(tmp_path, monkeypatch):
    library = tmp_path / "libjemalloc.so"
    library.write_bytes(b"\0narenas\0")
    monkeypatch.setenv("LD_PRELOAD", "/opt/guard.so")
    chosen = Allocator(name="jemalloc", library=str(library))
    tuned = search(tmp_path, allocator=chosen, memory={"narenas:1": 0.5})
    said = words.command(tuned, finding(tuned, "memory"))
    assert said == f"LD_PRELOAD={library}:/opt/guard.so MALLOC_CONF=narenas:1 /bin/true"
