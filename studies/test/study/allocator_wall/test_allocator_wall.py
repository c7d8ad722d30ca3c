"""The study of the allocator wall: claims follow from figures, samples are kept."""

import dataclasses
import io
import math
import shutil
import struct

import msgspec
import pytest
from rich.console import Console
from samples import machine

from reap.allocators.records import Allocator
from reap.base.errors import ReapError
from reap.base.records import Estimate
from reap.experiment.runner import InterruptedRunError, Listener
from reap.launch.records import Launch
from reap_studies.study import page as reporter
from reap_studies.study.allocator_wall import asks, go, latency, python
from reap_studies.study.allocator_wall import rounds as running
from reap_studies.study.allocator_wall import run as studying
from reap_studies.study.allocator_wall.analyse import At, Figures
from reap_studies.study.allocator_wall.asks import COUNTS, LOADS, loaded, loaded_point, point
from reap_studies.study.allocator_wall.judge.claims import judge, judging
from reap_studies.study.allocator_wall.records import Place, Sample, Wall
from reap_studies.study.allocator_wall.words import answers
from reap_studies.study.drawing import curves
from reap_studies.study.folder import begin
from reap_studies.study.judging.bounds import within
from reap_studies.study.records import Plan, Study
from reap_studies.workloads import card

ALLOCATORS = [Allocator(name="glibc"), *(Allocator(name=name, library=f"/{name}") for name in
                                        ("jemalloc", "tcmalloc", "mimalloc"))]  # fmt: skip
KNEE = {
    "glibc": (7, 10, 13, 28, 41, 49),
    "glibc, tcache_count=64": (6, 10, 10, 10, 13, 31),
    "glibc, tcache_count=1000": (7, 10, 10, 10, 12, 13),
    "jemalloc": (13, 10, 7, 8, 9, 14),
    "tcmalloc": (24, 12, 8, 8, 9, 7),
    "mimalloc": (22, 17, 14, 12, 10, 8),
    "region": (11, 4, 2, 1.5, 1, 1.2),
}
"""Nanoseconds an allocation, of 3 to 1000 in a request, as they were found on one machine."""


def sampled(part, arm, setting, rounds=5, **values):
    """The same figures in each round, but for a few tenths of a percent."""
    return [
        Sample(
            part=part,
            arm=arm,
            setting=setting,
            round=number,
            values={name: value * (1 + 0.001 * (number - 2)) for name, value in values.items()},
        )
        for number in range(rounds)
    ]


MANY = 8  # cores, as claims about contention take


def wall(*samples, nodes=1, cores=2):
    return Wall(samples=[each for some in samples for each in some], rounds=5, cores=cores, nodes=nodes,
                python="3.11", parsers={"json": "1", "orjson": "2"})  # fmt: skip


def standing(words, *samples, cores=2):
    (found,) = [one for one in judge(wall(*samples, cores=cores), ALLOCATORS) if words in one.claim]
    return found.standing


def knee(costs, threads=2):
    return [
        each
        for arm, values in costs.items()
        for count, value in zip(COUNTS[1:], values, strict=True)
        for each in sampled("knee", arm, point(count, threads), excess_ns=value, own_ns=500 + count * value)
    ]


def test_the_knee_that_was_found_is_judged_as_it_was():
    found = [*knee(KNEE, 1), *knee(KNEE, 2)]
    assert standing("has a knee", found) == "holds"
    assert standing("What makes the knee", found) == "not measurable here", "on two cores"
    both = [*knee(KNEE, 1), *knee(KNEE, MANY)]  # it is there on one thread
    assert standing("What makes the knee", both, cores=MANY) == "does not hold"
    assert standing("but a bandage", found) == "does not hold"
    assert standing("200 ns", found) == "does not hold"
    assert standing("5 to 10 times", found) == "does not hold"
    assert standing("From 30 allocations", found) == "holds"
    assert standing("Left of the knee", found) == "does not hold"


def test_the_knee_is_found_and_what_helps_is_said():
    pooled = [sampled("knee", each.name, f"{asks.POOL}, {point(100, 2)}", own_ns=700) for each in ALLOCATORS]
    measured = wall(knee(KNEE, 1), knee(KNEE, 2), *pooled)
    where, converge, remedies = answers(judging(measured, ALLOCATORS))
    assert "glibc, one thread: at 100." in where.words
    assert "glibc, tcache_count=1000, one thread: nowhere up to 1000." in where.words
    assert "glibc, tcache_count=64, 2 threads: at 1000." in where.words
    assert all("pooled: the gap was the allocator's" in said for said in converge.words)
    assert len(converge.words) == 3
    assert any(said.startswith("a region: 0.197") for said in remedies.words), remedies.words
    assert answers(judging(wall(), [])) == []


def test_another_machine_is_judged_by_its_own_figures():
    flat = dict.fromkeys(KNEE, (10,) * 6)
    assert standing("has a knee", knee(flat, 1), knee(flat, 2)) == "does not hold"
    assert standing("but a bandage", knee(flat, 1)) == "holds"
    steep = KNEE | {"glibc": (20, 20, 60, 150, 200, 300)}
    assert standing("5 to 10 times", knee(steep)) == "holds"
    assert standing("What makes the knee", knee(KNEE, MANY), knee(flat, 1), cores=MANY) == "holds"
    assert standing("200 ns", knee(KNEE | {"glibc": (200,) * 6})) == "holds"


CASES = [
    ("8 arenas", "structure", "glibc", "arenas", {"arenas": 16}, "holds"),
    ("8 arenas", "structure", "glibc", "arenas", {"arenas": 4}, "does not hold"),
    ("two modes", "structure", "glibc", "100 to 200 KB", {"slow_share": 0.01}, "outdated"),
    ("two modes", "structure", "glibc", "100 to 200 KB", {"slow_share": 0.5}, "holds"),
    ("1 MB keeps", "structure", "glibc, mmap at 1 MB", "100 to 200 KB", {"slow_share": 0.5}, "does not hold"),
    ("1 MB keeps", "structure", "glibc, mmap at 1 MB", "100 to 200 KB", {"slow_share": 0.01}, "holds"),
    ("An arena's free", "knee", "region", point(1000, 1), {"own_ns": 1100, "floor_ns": 1000}, "holds"),
    ("An arena's free", "knee", "region", point(1000, 1), {"own_ns": 9000, "floor_ns": 1000},
     "does not hold"),
    ("raised beside", "structure", asks.WIDE, "100 to 200 KB", {"slow_share": 0.01}, "holds"),
    ("tens of times", "structure", "glibc, mmap at 128 KB", "100 to 200 KB",
     {"slow_ns": 8000, "quick_ns": 90}, "holds"),
    ("million page faults", "structure", "glibc, mmap at 128 KB", "100 to 200 KB, touched",
     {"faults_per_second": 300_000}, "does not hold"),
    ("232 size", "structure", "jemalloc", "of itself", {"small_classes": 36, "large_classes": 196}, "holds"),
    ("88 size", "structure", "tcmalloc", "classes", {"classes": 85}, "holds"),
    ("88 size", "structure", "tcmalloc", "classes", {"classes": 150}, "does not hold"),
    ("has an arena for each processor", "structure", "jemalloc", "of itself", {"by_processor": 0},
     "does not hold"),
    ("midnight", "memory", "glibc", "pinned", {"kept_share": 0.99}, "holds"),
    ("midnight", "memory", "glibc", "pinned", {"kept_share": 0.02}, "does not hold"),
    ("64 KB mends", "memory", "glibc, trim at 64 KB", "pinned", {"kept_share": 0.99}, "does not hold"),
    ("only from the top", "memory", "glibc", "pinned, then malloc_trim(0)", {"trimmed_share": 0.02},
     "does not hold"),
    ("within seconds", "memory", "jemalloc, idle", "12 s later", {"waited_share": 0.8}, "does not hold"),
    ("within seconds", "memory", "jemalloc, some work", "12 s later", {"waited_share": 0.1}, "holds"),
    ("MADV_FREE", "memory", "jemalloc, some work", "12 s later", {"lazy_share": 0}, "outdated"),
    ("opt.muzzy", "memory", "jemalloc, some work, muzzy_decay_ms=60000", "12 s later", {"lazy_share": 0.6},
     "holds"),
    ("serialises", "threads", "glibc", point(100, MANY), {"sleeps_per_1000": 0.2}, "does not hold"),
    ("serialises", "threads", "glibc", point(100, MANY), {"sleeps_per_1000": 90}, "holds"),
    ("__lll_lock_wait", "threads", "glibc", point(100, MANY), {"on_cpu_share": 0.0}, "does not hold"),
    ("__lll_lock_wait", "threads", asks.NO_CACHE, point(100, MANY), {"on_cpu_share": 0.4}, "holds"),
    ("has 2 KB", "counts", "glibc", "of CPython", {"document": 434}, "does not hold"),
    ("larger than 512", "counts", "glibc", "of CPython", {"largest_small": 508}, "holds"),
    ("off the processor", "counts", "glibc", "of CPython", {"gc_on_cpu_share": 0.98}, "does not hold"),
    ("dozens of allocations", "counts", "one field read", "pymalloc, json, small document",
     {"allocations": 1}, "does not hold"),
    ("calls the allocator twice", "counts", "region", "100 objects", {"allocations": 0.5}, "holds"),
    ("two nodes", "counts", "region", "100 objects", {}, "not measurable here"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "part", "arm", "setting", "values", "expected"), CASES)
def test_a_claim_stands_as_its_figure_does(words, part, arm, setting, values, expected):
    if words == "two nodes":
        (found,) = [one for one in judge(wall(), ALLOCATORS) if one.question == "NUMA"]
        assert (found.standing, words in found.rule) == (expected, True)
    else:
        cores = MANY if part == "threads" else 2
        assert standing(words, sampled(part, arm, setting, **values), cores=cores) == expected


PAIRS = [
    ("1.3 to 1.5 times faster", "python", "pymalloc, orjson, small document", "per_request_ns", 0.98,
     "does not hold"),
    ("1.3 to 1.5 times faster", "python", "pymalloc, orjson, small document", "per_request_ns", 0.7, "holds"),
    ("allocators converge", "python", "pymalloc, orjson, small document", "pooled_ns", 0.99, "holds"),
    ("allocators converge", "python", "pymalloc, orjson, small document", "pooled_ns", 0.8, "does not hold"),
    ("P99.9 1.5", "python", "per_request, pymalloc, orjson, small document", "p999_ns", 0.5, "holds"),
    ("halves P99.9", "latency", loaded(LOADS[0]), "p999_ns", 0.9, "does not hold"),
    ("agree (C++)", "knee", f"{asks.POOL}, {point(100, 2)}", "own_ns", 1.01, "holds"),
    ("agree (C++)", "knee", f"{asks.POOL}, {point(100, 2)}", "own_ns", 0.6, "does not hold"),
    ("more memory at steady", "memory", "steady", "resident", 1.07, "holds"),
    ("more memory at steady", "memory", "steady", "resident", 1.4, "does not hold"),
    ("picture for Go", "go", "100 objects a request", "cpu_ns", 1.01, "holds"),
    ("picture for Go", "go", "100 objects a request", "cpu_ns", 0.6, "does not hold"),
    ("very large blocks", "structure", "1 to 16 MB", "pair_ns", 3, "holds"),
    ("not the wall", "knee", asks.loaded_point(3), "own_ns", 1.01, "holds"),
    ("not the wall", "knee", asks.loaded_point(3), "own_ns", 1.6, "does not hold"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "part", "setting", "field", "ratio", "expected"), PAIRS)
def test_a_claim_stands_as_allocators_do_beside_glibc(words, part, setting, field, ratio, expected):
    base = sampled(part, "glibc", setting, **{field: 1000})
    others = [sampled(part, each.name, setting, **{field: 1000 * ratio}) for each in ALLOCATORS[1:]]
    assert standing(words, base, *others) == expected


def test_what_shares_a_pool_and_what_hides_a_stall_are_seen():
    own = sampled("knee", "glibc", f"{asks.POOL}, {point(100, MANY)}", rate=1000)
    shared = sampled("knee", "glibc", f"{asks.SHARED}, {point(100, MANY)}", rate=400)
    assert standing("A pool that threads", own, shared, cores=MANY) == "holds"
    closed = sampled("latency", "glibc", "closed", p99_ns=5000)
    late = sampled("latency", "glibc", loaded(LOADS[-1]), p99_ns=40_000)
    assert standing("coordinated omission", closed, late) == "does not hold"
    same = sampled("latency", "glibc", loaded(LOADS[-1]), p99_ns=5000)
    assert standing("coordinated omission", closed, same) == "holds"


def test_nothing_is_said_of_what_was_not_measured():
    found = judge(wall(nodes=2, cores=MANY), [])
    assert {each.standing for each in found} == {"inconclusive"}
    assert len(found) > 40
    assert len({each.claim for each in found}) == len(found)


def test_noise_decides_nothing():
    """An interval over the bound, and a cost that no one can tell from 0."""
    spread = [
        Sample(part="memory", arm="glibc", setting="pinned", round=n, values={"kept_share": value})
        for n, value in enumerate((0.1, 0.9, 0.4, 0.7, 0.5))
    ]
    assert standing("midnight", spread) == "inconclusive"
    below = sampled("knee", "glibc", point(10, 2), excess_ns=-0.1)
    above = sampled("knee", "jemalloc", point(10, 2), excess_ns=9)
    upper, lower = (At("knee", arm, point(10, 2), "excess_ns") for arm in ("glibc", "jemalloc"))
    assert Figures([*below, *above]).ratio(upper, lower) is None


def test_ratios_are_of_one_round():
    """Rounds that only one has are left out, and drift cancels out."""
    drifting = [10, 20, 40, 80, 160]
    one = [Sample(part="p", arm="a", setting="s", round=n, values={"x": v}) for n, v in enumerate(drifting)]
    two = [
        Sample(part="p", arm="b", setting="s", round=n, values={"x": 2.0 * v}) for n, v in enumerate(drifting)
    ]
    ratio = Figures([*one, *two[:4]]).ratio(At("p", "b", "s", "x"), At("p", "a", "s", "x"))
    assert ratio is not None
    assert (ratio.low, ratio.value, ratio.high) == (2, 2, 2)


def test_growth_is_of_one_round_too():
    """A round that one pair has and the other has not shifts nothing."""

    def at(arm, values):
        return [Sample(part="p", arm=arm, setting="s", round=n, values={"x": v}) for n, v in values.items()]

    figures = Figures([*at("a", {0: 9.0, 1: 4.0, 2: 8.0}), *at("b", {0: 1.0, 1: 1.0, 2: 1.0}),
                       *at("c", {1: 2.0, 2: 4.0})])  # fmt: skip
    a, b, c = (At("p", arm, "s", "x") for arm in "abc")
    grown = figures.grown((a, b), (c, b))
    assert grown is not None
    assert (grown.low, grown.value, grown.high) == (2, 2, 2)


def written(tmp_path, values):
    path = tmp_path / "raw"
    path.write_bytes(struct.pack(f"<{len(values)}Q", *values))
    return path


def test_latencies_become_an_hdr_histogram(tmp_path):
    from hdrh.histogram import HdrHistogram

    said, encoded = latency.read(written(tmp_path, [1000] * 980 + [50_000] * 15 + [9_000_000] * 5))
    for name, expected in {
        "p50_ns": 1000,
        "p99_ns": 50_000,
        "p999_ns": 9_000_000,
        "max_ns": 9_000_000,
    }.items():
        assert said[name] == pytest.approx(expected, rel=0.002), name
    assert said["mean_ns"] == pytest.approx((980 * 1000 + 15 * 50_000 + 5 * 9_000_000) / 1000)
    assert HdrHistogram.decode(encoded).get_total_count() == 1000
    with pytest.raises(ReapError, match="wrote no latencies"):
        latency.read(written(tmp_path, []))
    with pytest.raises(ReapError, match="cannot be read"):
        latency.read(tmp_path / "none")


def asked(arm="a", rounds=0):
    return asks.Ask(Place(part="p", arm=arm, setting="s"), Launch(argv=[], program=""), rounds=rounds)


def test_samples_are_kept_and_what_failed_is_tried_again(tmp_path, monkeypatch):
    made = []

    def take(ask, number):
        made.append((ask.place.arm, number))
        fails = ask.place.arm == "b" and len(made) < 5
        values = {} if fails else {"x": 1.0}
        return Sample(part="p", arm=ask.place.arm, setting="s", round=number, values=values,
                      problem="no" if fails else "")  # fmt: skip

    monkeypatch.setattr(running, "take", take)

    def go():
        bank = running.Bank(tmp_path)
        running.rounds(bank, [asked("a"), asked("b"), asked("c", rounds=1)], 2, math.inf, "p", Listener())
        bank.close()
        return bank.samples

    first = go()
    assert len(first) == 5
    assert {each.arm for each in first if each.problem} == {"b"}
    with (tmp_path / running.LOG).open("ab") as log:
        log.write(b'{"part": "p", "ar')  # a kill
    made += [("", 0)] * 5
    last = go()
    assert made[10:] == sorted(made[10:])
    assert {arm for arm, _ in made[10:]} == {"b"}
    assert not any(each.problem for each in last)
    assert (tmp_path / running.LOG).stat().st_mode & 0o777 == 0o600
    made.clear()
    go()
    assert made == []


def test_no_round_begins_after_its_time_and_ctrl_c_keeps_all(tmp_path, monkeypatch):
    monkeypatch.setattr(
        running, "take", lambda _, number: Sample(part="p", arm="a", setting="s", round=number)
    )
    bank = running.Bank(tmp_path)
    running.rounds(bank, [asked()], 9, 0.0, "p", Listener())
    assert len(bank.samples) == running.LEAST_ROUNDS

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "take", interrupt)
    with pytest.raises(InterruptedRunError):
        running.rounds(bank, [asked()], 9, math.inf, "p", Listener())
    bank.close()


def test_a_full_study_says_after_a_round_how_long_the_others_take(tmp_path, monkeypatch):
    monkeypatch.setattr(
        running,
        "take",
        lambda _, number: Sample(part="p", arm="a", setting="s", round=number, values={"x": 1}),
    )

    class Heard(Listener):
        said: list[str] = []

        def say(self, text):
            self.said.append(text)

    def go(asks, until):
        bank = running.Bank(tmp_path)
        running.rounds(bank, asks, 9, until, "p", Heard())
        bank.close()
        (tmp_path / running.LOG).unlink()

    go([asked()], math.inf)
    assert Heard.said == ["p: a round took a second; 8 more rounds in about a second"]
    go([asked(rounds=1)], math.inf)
    go([asked()], 1e12)
    assert len(Heard.said) == 1


def test_a_program_that_fails_is_a_sample_with_its_reason():
    ask = asks.Ask(Place(part="p", arm="a", setting="s"), Launch(argv=["false"], program="/bin/false"))
    sample = running.take(ask, 0)
    assert "ended with 1" in sample.problem
    assert sample.values == {}


def test_without_go_a_study_says_so_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(ReapError, match="is not installed") as caught:
        go.build(tmp_path / "requests.go", tmp_path / "program")
    assert "golang-go" in caught.value.hint
    bench = asks.Bench(Launch(argv=[], program=""), ALLOCATORS, "quick", 2)
    assert go.asks(bench) == []
    ready = dataclasses.replace(bench, go=Launch(argv=["x"], program="x"))
    assert [each.place.arm for each in go.asks(ready)] == [each.name for each in ALLOCATORS]


SMALL = {
    "structure": lambda bench: [
        each for each in asks.structure(bench) if each.place.setting in ("arenas", "batches of 100, 256 B")
    ],
    "latency": lambda bench: [
        bench.ask("latency", "glibc", memory, f"latency objects 20 threads 1 requests 500 memory {memory}",
                  reading="tail")
        for memory in ("malloc", "region", "pool", "shared", "fixed")
    ],
    "open": lambda bench: [
        bench.ask("open", "glibc", "open", "latency objects 1 requests 200 rate 2000", reading="tail")
    ],
    "counts": lambda bench: [
        each
        for each in python.counts(bench)
        if each.place.setting in ("100 objects", "of CPython")
        or (each.place.setting, each.place.arm) == ("pymalloc, json, small document", "one field read")
    ],
    "knee": lambda bench: [bench.ask("knee", "glibc", point(100, 2), "cost objects 100 threads 2 blocks 3")],
}  # fmt: skip


@pytest.mark.slow
def test_a_small_study_runs_and_goes_on(tmp_path, monkeypatch):
    """Its programs say what is known: arenas, the share past the cache, one sum in each memory."""
    monkeypatch.setattr(studying, "PARTS", SMALL)
    monkeypatch.setattr(studying, "ROUNDS", {"quick": 1, "full": 1})
    plan = studying.plan("quick", [], ["glibc"])
    assert plan.workloads == list(SMALL)
    place = tmp_path / "study"
    begin(place, plan)
    study = studying.run(place, plan, [Allocator(name="glibc")], Listener())
    assert study.wall is not None
    assert [each.problem for each in study.wall.samples if each.problem] == []
    figures = Figures(study.wall.samples)
    assert figures.median("structure", "glibc", "arenas", "arenas") == 8 * study.wall.cores
    assert figures.median("structure", "glibc", "batches of 100, 256 B", "made_past") == pytest.approx(0.93)
    memories = figures.settings("latency")
    assert len(memories) == 5
    assert len({figures.median("latency", "glibc", memory, "sum") for memory in memories}) == 1
    opened = figures.median("open", "glibc", "open", "rate")
    assert opened is not None
    assert opened < 2600, "no faster than its schedule"
    for arm, expected in {"malloc": 100, "region": 0, "pool": 0}.items():
        assert figures.median("counts", arm, "100 objects", "allocations") == expected
    assert figures.median("counts", "glibc", "of CPython", "largest_small") == 512
    assert figures.median("counts", "glibc", "of CPython", "document") == 434
    parsed = figures.median("counts", "one field read", "pymalloc, json, small document", "allocations")
    assert parsed is not None
    assert 1 <= parsed < 12  # pymalloc serves the rest
    cost = figures.median("knee", "glibc", point(100, 2), "excess_ns")
    assert cost is not None
    assert 0 < cost < 10_000
    lines = (place / running.LOG).read_text()
    again = studying.run(place, plan, [Allocator(name="glibc")], Listener())
    assert (place / running.LOG).read_text() == lines
    assert again.wall == study.wall


def test_the_page_shows_all_of_it(tmp_path):
    samples = [*knee(KNEE, 1), *knee(KNEE, 2), *sampled("memory", "glibc", "pinned", kept_share=0.99)]
    for setting in ("closed", *(loaded(load) for load in LOADS)):
        samples += sampled("latency", "glibc", setting, p50_ns=2000, p99_ns=9000, p999_ns=50_000, rate=1e5)
    for each in ALLOCATORS:
        samples += sampled("knee", each.name, loaded_point(COUNTS[0]), own_ns=2000)
    samples.append(Sample(part="knee", arm="glibc", setting="N=9", round=0, problem="it <b>fell</b>"))
    measured = wall(samples)
    plan = Plan(study="allocator-wall", mode="quick", workloads=["knee"], allocators=["glibc", "jemalloc"])
    study = Study(plan=plan, reap_version="1", created="2026-01-01T00:00:00+00:00", machine=machine(),
                  measured=[], conclusions=judge(measured, ALLOCATORS), wall=measured)  # fmt: skip
    files = {path.name for path in reporter.write(study, tmp_path)}
    assert {"study.html", "study.json", "figures.csv", "figure-1-1.svg", "figure-4-3.svg"} <= files
    assert not any(name.startswith("figure-5") for name in files)  # nothing was measured for it
    drawn = (tmp_path / "figure-3-1.svg").read_text()
    assert [each.name for each in ALLOCATORS if each.name not in drawn] == []
    page = (tmp_path / "study.html").read_text()
    assert "<b>fell</b>" not in page
    assert "fell" in page
    assert "Something else ran" not in page
    busy = wall(samples, sampled("knee", "glibc", point(10, 1), rounds=9, off_cpu=0.4))
    assert "Something else ran: 40" in reporter.page(msgspec.structs.replace(study, wall=busy))
    for said in ("The midnight climb", "200 ns on average", "41.0", "Not judged", "Figure 6"):
        assert said in page, said
    assert msgspec.json.decode((tmp_path / "study.json").read_bytes(), type=Study) == study
    lines = (tmp_path / "figures.csv").read_text().splitlines()
    assert any(line.startswith("knee,") and ",excess_ns,ns,41" in line for line in lines)
    reporter.render(Console(file=(said := io.StringIO()), width=200), study)
    assert "does not hold" in said.getvalue()


def test_curves_have_the_words_that_they_are_given():
    line = curves.Line("a", [(1, 5), (2, 9)], 0)
    drawn = curves.draw(
        "t", "loads", [line], say=lambda value: f"{value:.0f} things", ticks=[(1, "x"), (2, "y")]
    )
    assert "9 things at the end" in drawn
    assert ">x<" in drawn
    assert ">y<" in drawn
    assert ">loads<" in drawn


def test_a_figure_across_a_bound_is_inconclusive():
    judged = within(1, 2)
    assert judged(Estimate(value=1.5, low=1.2, high=1.8)) == "for"
    assert judged(Estimate(value=1.5, low=0.9, high=1.8)) == "inconclusive"
    assert judged(Estimate(value=2.1, low=1.9, high=2.3)) == "inconclusive"
    assert judged(Estimate(value=3, low=2.5, high=4)) == "against"
    assert judged(Estimate(value=0.5, low=0.4, high=0.6)) == "against"


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
@pytest.mark.verdict
def test_go_knows_an_allocator_by_its_file_and_not_by_a_word_in_a_path(tmp_path):
    """The program's own path, which has the word, is in its maps, too."""
    folder = tmp_path / "malloc"
    folder.mkdir()
    launch = go.build(card.find(studying.WORKLOAD) / "requests.go", folder / "program")
    sample = running.take(asks.Ask(Place(part="go", arm="glibc", setting="s"), launch), 0)
    assert (sample.problem, sample.values["preloaded"]) == ("", 0)
