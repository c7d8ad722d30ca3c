"""Scenarios: the troubles are there by construction, and what is said of them is judged by the runs."""

import json
import os
import shutil
import statistics

import pytest
from lab.test.cli.schemas import assert_valid
from lab.test.rss.test_residence import MB, kernel_of, residence_of, taken_of
from programs import reap

from reap.base.errors import ReapError
from reap.launch.host.machine import describe
from reap.rss.records import Parts, Pin, Taken
from reap_studies.scenario import judge as judging
from reap_studies.scenario import page as pages
from reap_studies.scenario import run as scenario
from reap_studies.scenario import table
from reap_studies.scenario.records import Played, Remedied, Requests, Scenario, Tried

CLAIMS = {name: len(rules) for name, rules in judging._RULES.items()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Programs of scenarios, compiled once."""
    folder = tmp_path_factory.mktemp("scenarios")
    return lambda name: scenario.build(name, folder)


def memory_of(*ends):
    """What was resident at the most, and at the end."""
    return residence_of(*(taken_of(kernel_of(heap=size * MB)) for size in ends))


def requests_of(rate, p99, before=1000, before_p99=1e3):
    return Requests(
        requests=rate,
        seconds=1,
        p50_ns=p99 / 2,
        p99_ns=p99,
        p999_ns=p99 * 2,
        before=before,
        before_p99_ns=before_p99,
    )


def played(name, **tried):
    """A scenario where all arms came to the same end, but for those that are given."""
    whole = scenario.named(name)
    usual = (
        {"residence": memory_of(200, 10)}
        if whole.kind == "memory"
        else {"runs": [requests_of(1000, 1e3)] * 5}
    )
    arms = [Tried(arm=arm, **tried.get(arm.name, usual)) for arm in whole.arms]
    return Played(scenario=whole, tried=arms)


def standings(result):
    return {each.claim: each.standing for each in judging.judge(result)}


def test_every_scenario_has_its_program_and_its_claims():
    assert set(scenario.scenarios()) == set(CLAIMS) == {"midnight-climb", "retry-storm", "lying-rss"}
    for name, claims in CLAIMS.items():
        said = judging.judge(played(name))
        assert len(said) == claims
        assert not [each.claim for each in said if each.answer.startswith("not run")], (
            "an arm of another name"
        )


def test_the_climb_is_judged_by_what_is_left():
    pin = Taken(
        seconds=1,
        resident=200 * MB,
        parts=Parts(pinned=190 * MB),
        pin=Pin(blocks=1, bytes=2048, stretch=190 * MB),
    )
    stays = {"residence": residence_of(pin)}
    said = standings(played("midnight-climb", **{"glibc as it is": stays, "trim threshold of 64 KB": stays}))
    assert said["One small block at the top of the heap holds all that was freed below it"] == "holds"
    assert said["M_TRIM_THRESHOLD of 64 KB gives it back"] == "does not hold"
    assert said["malloc_trim(0) gives it back"] == "holds"


def test_an_allocator_that_is_not_here_decides_nothing():
    said = standings(played("midnight-climb", **{"jemalloc, idle": {"skipped": "not installed"}}))
    assert said["jemalloc gives it back within seconds"] == "inconclusive"


def test_lazy_pages_are_judged_where_there_were_most():
    lazy = residence_of(
        taken_of(kernel_of(lazy_free=60 * MB, heap=12 * MB)), taken_of(kernel_of(heap=12 * MB))
    )
    said = standings(played("lying-rss", **{"jemalloc, freed lazily": {"residence": lazy}}))
    assert said["it is, where muzzy pages are kept for a minute"] == "holds"
    assert said["jemalloc's resident memory is mostly LazyFree, as it is installed"] == "does not hold"


RATES = (100, 110, 90, 105, 95)


def test_requests_are_judged_by_their_interval():
    few = {"runs": [requests_of(rate, 1e6) for rate in RATES]}
    said = standings(played("retry-storm", **{"twice the workers": few}))
    assert said["more workers make it worse"] == "holds"
    assert said["larger thread caches in glibc do as much"] == "holds", "the same is no less"
    many = {"runs": [requests_of(20 * rate, 1e3) for rate in RATES]}
    said = standings(played("retry-storm", jemalloc=many))
    assert said["an allocator with caches of each thread mends it"] == "holds"
    assert said["so does mimalloc"] == "does not hold", "the same is no more"
    assert said["larger thread caches in glibc do as much"] == "does not hold", "as jemalloc does"
    wild = {"runs": [requests_of(rate, 1e3) for rate in (100, 4000, 900, 2000, 300)]}
    said = standings(played("retry-storm", **{"twice the workers": wild}))
    assert said["more workers make it worse"] == "inconclusive"


def test_an_interval_that_is_too_wide_to_print_decides_nothing():
    """Found by review: `retry-storm` printed "holds: 4.62 (unknown: too few rounds)"."""
    worse = (3e6, 3e8, 3e7, 1e9, 5e6)
    surged = {"runs": [requests_of(1000, p99, before=1000, before_p99=1e5) for p99 in worse]}
    said = standings(played("retry-storm", **{"glibc as it is": surged}))
    assert said["P99 climbs"] == "inconclusive"


def test_a_surge_is_held_to_what_was_before_it():
    def said(rate, p99):
        surged = {"runs": [requests_of(rate + step, p99, before=1000, before_p99=1e5) for step in range(5)]}
        found = standings(played("retry-storm", **{"glibc as it is": surged}))
        return [found["throughput barely moves in a surge of half as many more"], found["P99 climbs"]]

    assert said(1010, 4e5) == ["holds", "holds"]
    assert said(1480, 1.1e5) == ["does not hold", "does not hold"]


def test_callers_time_out_and_ask_again(built):
    """Far more come than can be served: with retries fewer are answered, and every one is asked again."""
    arms = [
        Remedied(name="as it is", words=["0.3", "{workers}", "100", "{rate}", "3"]),
        Remedied(name="few", words=["0.9", "{workers}", "10", "2000", "3"]),
        Remedied(name="overloaded", words=["0.3", "{workers}", "200", "300000", "3"]),
        Remedied(name="overloaded, no retries", words=["0.3", "{workers}", "200", "300000", "0"]),
    ]
    told = []
    short = Scenario(name="retry-storm", title="t", story="s", kind="requests", arms=arms, rounds=2)
    result = scenario.play(short, built("retry-storm"), lambda *words: told.append(words))
    assert [name for _, _, name in told] == 2 * [arm.name for arm in arms]
    usual, few, storm, once = result.tried
    assert all(0 <= run.p50_ns <= run.p99_ns <= run.p999_ns <= 40e6 for run in usual.runs)
    for run in few.runs:
        assert run.requests > 0
        assert 0 < run.p50_ns <= run.p99_ns <= run.p999_ns <= 40e6
        assert run.before > 0
    assert all(run.retries > 10_000 for run in storm.runs)
    assert all(run.retries == 0 for run in once.runs)
    headings, rows = table.table(result)
    assert {len(row) for row in rows} == {len(headings)}
    page = pages.page(result, [], ["reap", "<b>"], describe())
    assert "&lt;b&gt;" in page
    assert "<b>'" not in page


def test_memory_is_watched_in_a_scenario(built):
    arms = [Remedied(name="glibc <as it is>", words=["0.5"])]
    short = Scenario(name="midnight-climb", title="t", story="s", kind="memory", arms=arms)
    result = scenario.play(short, built("midnight-climb"), lambda *_: None)
    seen = result.tried[0].residence
    assert seen is not None
    assert seen.largest.resident > 200 * MB
    assert seen.last.resident > 190 * MB
    page = pages.page(result, [], ["reap"], describe())
    assert "glibc &lt;as it is&gt;" in page
    assert "<svg" in page


def test_what_fails_is_said(built):
    broken = Scenario(
        name="retry-storm", title="t", story="s", kind="requests", arms=[Remedied(name="bad", words=["1"])]
    )
    with pytest.raises(ReapError, match="ended with status 2 under 'bad'"):
        scenario.play(broken, built("retry-storm"), lambda *_: None)


def test_an_unknown_scenario_is_refused():
    done = reap("workloads", "scenario", "noon")
    assert done.returncode == 2
    assert "known are lying-rss, midnight-climb, retry-storm" in done.stderr


def test_without_a_compiler_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReapError, match="there is no gcc"):
        scenario.build("lying-rss", tmp_path / "cache")


@pytest.mark.verdict
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.settled] if scenario.named(name).kind == "memory" else [])
        for name in sorted(CLAIMS)
    ],
)
def test_a_scenario_from_its_begin_to_its_end(name, tmp_path):
    results = tmp_path / "results.json"
    cached = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = reap("workloads", "scenario", name, "--json", results, env=cached)
    assert done.returncode == 0, done.stderr
    written = json.loads(results.read_text())
    assert_valid("scenario", written)
    said = {each["claim"]: each["standing"] for each in written["judged"]}
    sure = {
        "midnight-climb": {
            "One small block at the top of the heap holds all that was freed below it": "holds",
            "M_TRIM_THRESHOLD of 64 KB gives it back": "does not hold",
            "malloc_trim(0) gives it back": "holds",
        },
        "lying-rss": {"jemalloc's resident memory is mostly LazyFree, as it is installed": "does not hold"},
        "retry-storm": {},  # how much a lock costs depends on how many processors there are, and how busy
    }
    assert sure[name].items() <= said.items()
    if name == "retry-storm":
        rates = {
            each["arm"]["name"]: statistics.median(run["requests"] / run["seconds"] for run in each["runs"])
            for each in written["played"]["tried"]
            if each["runs"]
        }
        usual, fewer = rates["glibc as it is"], rates["a tenth of the allocations"]
        # Where another program has a core, no threads meet in malloc, and all callers are answered anyway.
        overloaded = usual < 0.9 * max(rates.values())
        assert fewer > (1.1 if overloaded else 0.9) * usual
