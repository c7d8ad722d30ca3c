"""Findings: what a trial says of each suspicion, in a status, a sentence and what was measured."""

from typing import Any

import msgspec
import pytest
from any_records import ANY, comparisons
from hypothesis import given
from hypothesis import strategies as st
from lab.test.evidence.suspected import CACHE, PURGING, TRIMMED, of, price, resident, setting
from samples import comparison_of, ratio_of, side_of
from walls import QUIET, WALLS

from reap.compare import judge
from reap.evidence.analyse.suspicions.records import NO_TIME, Cause, Suspicion
from reap.evidence.analyse.suspicions.suspect import suspect
from reap.evidence.judge import commands
from reap.evidence.judge.findings import WORDS, judged, trials_of
from reap.evidence.judge.records import Diagnosis, Finding
from reap.experiment.records import Comparison, Side

OVERFLOW = of("tcache overflow")
PIN = of("pin at the top")
BY_HAND = ["a region for each request", "materialise less"]


def found(
    suspicion: Suspicion, *sides: Side, missing: dict[str, str] | None = None, **changes: Any
) -> Finding:
    """The only finding."""
    comparison = comparison_of(sides, **changes)
    (only,) = judged([suspicion], trials_of([comparison]), missing or {})
    return only


def test_a_cause_that_was_taken_away_with_a_gain_is_proven() -> None:
    held = found(OVERFLOW, price("cache", 0.7))
    assert (held.cause, held.status, held.trial) == ("tcache overflow", "proven", "price: cache")
    assert held.gain == price("cache", 0.7).ratios["cpu"]
    assert held.sentence == (
        "Proven: the per-thread cache of freed blocks overflows, so malloc takes its slow path. "
        "With a thread cache that never overflows it takes 30 % less CPU time (95 % CI 29.0 to 31.0 % less)."
    )
    assert held.weight == OVERFLOW.weight
    assert held.statements == OVERFLOW.statements
    assert [each.name for each in held.by_hand] == BY_HAND


def test_the_largest_gain_is_told() -> None:
    held = found(OVERFLOW, price("cache", 0.8), setting(CACHE, 0.6))
    assert (held.status, held.trial) == ("proven", CACHE)
    assert f'"{CACHE}"' in held.sentence
    assert "40 % less CPU time" in held.sentence


def test_one_gain_of_two_trials_proves() -> None:
    held = found(OVERFLOW, price("cache", 0.8), setting(CACHE, 1.0))
    assert (held.status, held.trial) == ("proven", "price: cache")


def test_a_cause_that_was_taken_away_without_a_gain_is_refuted() -> None:
    held = found(OVERFLOW, price("cache", 0.99), setting(CACHE, 1.02))
    assert (held.status, held.trial) == ("refuted", "price: cache")
    assert held.sentence.startswith("Refuted: the per-thread cache")
    assert "1.0 % less CPU time" in held.sentence
    assert [each.name for each in held.by_hand] == BY_HAND


@pytest.mark.parametrize(
    ("half", "changes", "noise"),
    [
        pytest.param(0.2, {}, 0.006, id="a wide interval"),
        pytest.param(0.01, {"rounds": 3}, 0.006, id="few rounds"),
        pytest.param(0.02, {}, 0.3, id="within the noise"),
    ],
)
def test_a_trial_that_does_not_decide_says_so(half: float, changes: dict[str, Any], noise: float) -> None:
    held = found(OVERFLOW, setting(CACHE, 0.9, half, **changes), noise=noise)
    assert (held.status, held.trial) == ("inconclusive", CACHE)
    assert held.sentence.startswith("Not decided: ")
    assert "So far, " in held.sentence


def test_one_trial_that_is_not_decided_refutes_nothing() -> None:
    held = found(OVERFLOW, price("cache", 1.0), setting(CACHE, 0.97, 0.2))
    assert held.status == "inconclusive"


@pytest.mark.parametrize(
    ("side", "why"),
    [
        (setting(CACHE, 0.5, problem="It crashed."), f"{CACHE}: It crashed."),
        (setting(CACHE, 0.5, same_output=False), f"{CACHE}: the program's output was different under it."),
        (setting(CACHE, 0.5, same_exit=False), "the program exited with a different status"),
        (setting(CACHE, 0.5, verified=False), "malloc did not come from it"),
    ],
    ids=["a problem", "other output", "other status", "not verified"],
)
def test_figures_that_cannot_be_trusted_are_no_trial(side: Side, why: str) -> None:
    held = found(OVERFLOW, side)
    assert (held.status, held.trial, held.gain) == ("not tried", "", None)
    assert why in held.sentence
    assert "50 %" not in held.sentence


def test_what_was_not_tried_says_why() -> None:
    missing = {"price: cache": NO_TIME, CACHE: NO_TIME}
    said = found(OVERFLOW, missing=missing).sentence
    assert said.startswith("Suspected, not tried: the per-thread cache")
    assert "(60 % of its time)" in said
    assert f"Not run: price: cache ({NO_TIME}); {CACHE} ({NO_TIME})." in said, "no name begins a sentence"
    assert (
        "not installed: install jemalloc"
        in found(PIN, missing={PURGING: "not installed: install jemalloc"}).sentence
    )
    assert "(97 % of its memory)" in found(PIN).sentence
    assert found(OVERFLOW).sentence.endswith("No trial was run.")
    assert found(of("disk")).sentence.endswith("No change from outside takes it away.")


@pytest.mark.parametrize("cause", sorted(WALLS.keys() - QUIET))
def test_what_no_trial_proves_is_said_in_words_of_its_own(cause: Cause) -> None:
    held = found(of(cause))
    assert held.status == "not tried"
    assert WORDS[cause] in held.sentence
    assert "Proven" not in held.sentence


def test_memory_is_judged_by_memory() -> None:
    """What a remedy costs in time is told elsewhere; less time is no proof of a cause of memory."""
    won = found(PIN, resident(setting(PURGING, 1.2), 0.4), resident(setting(TRIMMED), 1.0))
    assert (won.status, won.trial) == ("proven", PURGING)
    assert "60 % less settled memory" in won.sentence
    faster = found(PIN, resident(setting(PURGING, 0.5), 1.0), resident(setting(TRIMMED), 0.95))
    assert faster.status == "refuted"
    assert "settled memory" in faster.sentence
    assert found(PIN, resident(setting(TRIMMED), 0.8, 0.3)).status == "inconclusive"
    unseen = found(PIN, setting(TRIMMED, 0.5))
    assert unseen.status == "not tried"


def test_memory_within_the_noise_is_not_decided() -> None:
    """It is less, and no less than the program by itself at times."""
    sides = [resident(setting(PURGING), 1.0), resident(setting(TRIMMED), 0.7)]
    strays = {metric: ratio_of(metric, 1.0, 0.9) for metric in judge.RESIDENT}
    noisy = msgspec.structs.replace(comparison_of(sides), noise=strays)
    (held,) = judged([PIN], trials_of([noisy]), {})
    assert held.status == "inconclusive"


@pytest.mark.parametrize(("arm", "cause"), [("placed", "placement"), ("cache", "tcache overflow")])
def test_a_preload_proves_what_nothing_pointed_to(arm: str, cause: Cause) -> None:
    def shown(cpu: float, **changes: Any) -> list[Finding]:
        return judged([], trials_of([comparison_of([price(arm, cpu, **changes)])]), {})

    (held,) = shown(0.8)
    assert (held.cause, held.status, held.trial) == (cause, "proven", f"price: {arm}")
    assert held.weight == pytest.approx(0.2)
    assert "20 % less CPU time" in held.sentence
    assert shown(0.93) == [], "each preload differs a little from glibc in what it costs"
    assert shown(0.8, half=0.5) == []
    assert shown(0.8, same_output=False) == []


@pytest.mark.parametrize("arm", ["placed", "cache"])
def test_a_preload_in_the_place_of_a_linked_allocator_proves_no_cause(arm: str) -> None:
    """A Rust program with jemalloc had "tcache overflow" proven: the two allocators differ in much else."""
    ran = trials_of([comparison_of([price(arm, 0.7)])])
    assert judged([], ran, {}) != []
    assert judged([], ran, {}, aside=True) == []


def test_a_malloc_in_the_place_of_a_linked_one_proves_no_more_than_samples_saw() -> None:
    """What is left of its gain is due to where the two place blocks, or to whatever else they differ in."""
    suspicion = of("many allocations", weight=0.3)
    for cpu, status in ((0.72, "proven"), (0.5, "inconclusive")):
        ran = trials_of([comparison_of([price("recycle", cpu)])])
        assert [each.status for each in judged([suspicion], ran, {}, aside=True)] == [status]
        assert [each.status for each in judged([suspicion], ran, {})] == ["proven"]


def test_what_was_suspected_is_not_found_twice() -> None:
    for cause in ("tcache overflow", "large blocks"):
        held = found(of(cause), price("cache", 0.7))
        assert (held.cause, held.status) == (cause, "proven")


def test_the_price_of_allocation_shows_no_cause_by_itself() -> None:
    """That malloc takes time is the conclusion of the verdict, with a bound; a cause is more than that."""
    assert judged([], trials_of([comparison_of([price("recycle", 0.5), price("bump", 0.6)])]), {}) == []


def test_proven_causes_come_first_then_open_ones() -> None:
    first = comparison_of([price("recycle", 1.0), price("bump", 1.0)])
    second = comparison_of([setting("huge pages", 0.97, 0.2), setting(CACHE, 0.5), price("placed", 0.6)])
    suspicions = [of(cause) for cause in ("many allocations", "disk", "tcache overflow")]
    suspicions.append(of("page faults", 0.15))
    held = judged(suspicions, trials_of([first, None, second]), {})
    assert [(each.cause, each.status) for each in held] == [
        ("tcache overflow", "proven"),
        ("placement", "proven"),
        ("page faults", "inconclusive"),
        ("disk", "not tried"),
        ("many allocations", "refuted"),
    ]
    told = Diagnosis(
        headline="inconclusive", paragraph="x", findings=held, evidence=[], next_step="x", next_command=""
    ).told
    assert [each.cause for each in told] == ["tcache overflow", "placement", "page faults"]


@pytest.mark.parametrize(
    ("cpu", "half", "status"),
    [
        (0.5, 0.01, "proven"),
        (0.5, 0.09, "proven"),
        (0.5, 0.1, "inconclusive"),
        (0.58, 0.01, "inconclusive"),
        (0.7, 0.01, "inconclusive"),
    ],
)
def test_what_placement_alone_explains_proves_no_other_cause(cpu: float, half: float, status: str) -> None:
    """A cache that never overflows places blocks elsewhere, too."""
    held = comparison_of([price("cache", cpu, half), price("placed", 0.6, 0.005)])
    (overflow,) = (each for each in judged([OVERFLOW], trials_of([held]), {}) if each.cause == OVERFLOW.cause)
    assert overflow.status == status
    unsuspected = [each.cause for each in judged([], trials_of([held]), {})]
    assert ("tcache overflow" in unsuspected) == (status == "proven")


@pytest.mark.parametrize(
    ("recycled", "status"),
    [(0.5, "proven"), (0.595, "inconclusive"), (0.3, "inconclusive")],
    ids=["as much as malloc takes", "hardly more", "more than malloc takes"],
)
def test_beside_placement_malloc_is_told_with_what_it_takes_itself(recycled: float, status: str) -> None:
    """Both preloads place blocks alike, and one pays for glibc's calls."""
    many = of("many allocations", 0.12)
    held = comparison_of([price("recycle", recycled), price("bump", 0.2), price("placed", 0.6)])
    (found,) = (each for each in judged([many], trials_of([held]), {}) if each.cause == "many allocations")
    assert found.status == status
    if status == "proven":
        assert "it takes 16.7 % less CPU time (95 % CI" in found.sentence
        assert "than with blocks packed by size, at glibc's cost, which places them alike" in found.sentence
        assert found.gain is not None
        assert found.gain.ratio.low < 0.5 / 0.6 < found.gain.ratio.high


def test_huge_pages_prove_no_page_faults_where_placement_matters() -> None:
    faults = of("page faults", 0.1)
    held = comparison_of([setting("huge pages", 0.93), price("placed", 0.5)])
    named = {each.cause: each.status for each in judged([faults], trials_of([held]), {})}
    assert named == {"placement": "proven", "page faults": "inconclusive"}


@pytest.mark.parametrize(
    ("half", "status"), [(0.01, "proven"), (0.2, "inconclusive")], ids=["no gain", "not decided"]
)
def test_what_placement_may_explain_proves_no_other_cause(half: float, status: str) -> None:
    """Beside busy cores *page faults* and *many allocations* were said of programs whose blocks lie badly."""
    faults, many = of("page faults", 0.12), of("many allocations", 0.2)
    held = comparison_of([setting("huge pages", 0.9), price("recycle", 0.85), price("placed", 1.0, half)])
    named = {each.cause: each.status for each in judged([faults, many], trials_of([held]), {})}
    assert named == {"page faults": status, "many allocations": status}


@pytest.mark.parametrize(
    ("kernel", "own", "said"), [(0.67, 0.05, False), (0.67, 0.7, True), (0.1, 0.05, True)]
)
def test_what_the_kernel_takes_for_fresh_memory_proves_no_other_cause(
    kernel: float, own: float, said: bool
) -> None:
    """glibc trims the arena of a thread: *placement* and *many allocations* were said of its page faults."""
    faults, many = of("page faults", kernel), of("many allocations", own)
    moved = comparison_of([price("placed", 0.36)])
    proven = {each.cause for each in judged([faults], trials_of([moved]), {}) if each.status == "proven"}
    assert proven == ({"placement"} if kernel < 0.3 else set())
    cheap = comparison_of([price("recycle", 0.22)])
    proven = {
        each.cause for each in judged([faults, many], trials_of([cheap]), {}) if each.status == "proven"
    }
    assert proven == ({"many allocations"} if said else set())


def test_one_trial_proves_page_faults_and_no_small_pages_besides() -> None:
    faults = of("page faults", 0.06)
    small = msgspec.structs.replace(faults, cause="small pages", weight=0.03)
    held = judged([faults, small], trials_of([comparison_of([setting("huge pages", 0.94)])]), {})
    assert [(each.cause, each.status) for each in held] == [("page faults", "proven")]


def test_a_gain_too_small_to_matter_is_not_refuted() -> None:
    held = found(OVERFLOW, price("cache", 0.98, 0.005))
    assert (held.status, held.trial) == ("minor", "price: cache")
    assert held.sentence.startswith("Proven, but minor: the per-thread cache")
    diagnosis = Diagnosis(
        headline="inconclusive", paragraph="x", findings=[held], evidence=[], next_step="x", next_command=""
    )
    assert diagnosis.told == []


@pytest.mark.parametrize(("gains", "told"), [(0.9, True), (1.0, False)])
def test_what_was_tried_for_little_is_told_only_where_it_gained(gains: float, told: bool) -> None:
    small = msgspec.structs.replace(of("page faults"), cause="small pages", weight=0.03)
    (arm,) = (each.name for each in small.remedies if each.name == "huge pages")
    held = judged([small], trials_of([comparison_of([setting(arm, gains)])]), {})
    assert [each.cause for each in held] == (["small pages"] if told else [])


@pytest.mark.parametrize(("cpu", "status"), [(0.9, "proven"), (0.7, "inconclusive")])
def test_no_more_than_page_faults_take_is_gained_by_sparing_them(cpu: float, status: str) -> None:
    """Huge pages spare misses of the TLB as well, which are no page faults."""
    faults = msgspec.structs.replace(of("page faults"), weight=0.15)
    assert found(faults, setting("huge pages", cpu)).status == status
    kept = next(name for name in faults.arms if name != "huge pages")
    assert found(faults, setting(kept, cpu)).status == "proven"
    both = found(faults, setting("huge pages", 0.7), setting(kept, 0.9))
    assert (both.status, both.trial) == ("proven", kept)


def test_time_per_request_is_a_server_s_time() -> None:
    side = setting(CACHE, 1.0)
    asked = {**side.ratios, "cpu_per_request": ratio_of("cpu_per_request", 0.7)}
    held = found(OVERFLOW, msgspec.structs.replace(side, ratios=asked))
    assert held.status == "proven"
    assert "30 % less CPU time per request" in held.sentence


ARMS = sorted({arm for wall in WALLS.values() for each in suspect(wall) for arm in each.arms})


@ANY
@given(
    comparisons(),
    st.lists(st.sampled_from([*ARMS, "price: placed", "price: arenas"]), min_size=4, max_size=4),
    st.lists(st.sampled_from(sorted(WALLS.keys() - QUIET)), unique=True, max_size=5),
)
def test_any_trials_are_judged(comparison: Comparison, arms: list[str], suspects: list[str]) -> None:
    renamed = [
        msgspec.structs.replace(side, allocator=arm)
        for side, arm in zip(comparison.sides, arms, strict=False)
    ]
    held = msgspec.structs.replace(comparison, sides=renamed)
    suspicions = [of(cause) for cause in suspects]
    found_all = judged(suspicions, trials_of([held]), {})
    assert {each.cause for each in suspicions} <= {each.cause for each in found_all}
    assert len({each.cause for each in found_all}) == len(found_all)
    trials = trials_of([held])
    for each in found_all:
        assert each.sentence
        assert (each.status == "not tried") == (each.gain is None) == (each.trial == "")
        if each.status == "proven":
            side, within = trials[each.trial]
            assert each.gain is not None
            beside = each.cause == "many allocations" and "placement" in {other.cause for other in found_all}
            assert beside or each.gain in side.ratios.values()
            assert each.gain.ratio.high < 1
            assert judge.standing(side, within) is not judge.Standing.UNTRUSTED


def test_an_allocator_that_is_the_baseline_again_refutes_nothing_new() -> None:
    itself = side_of(CACHE, 0.5, itself=True)
    assert found(OVERFLOW, itself).status == "refuted"


@pytest.mark.parametrize(
    ("again", "command"),
    [
        (["--", "x", "a b"], "reap rss --try -- x 'a b'"),
        (
            ["--server", "x {port}", "--ready", "tcp", "--load", "y", "--loads", "2"],
            "reap rss --try --server 'x {port}' --ready tcp --load y",
        ),
        (["--server", "x", "--ready", "tcp", "--load", "y", "--prepare", "z"], ""),
    ],
)
def test_memory_that_was_not_tried_names_the_command_that_tries_remedies(
    again: list[str], command: str
) -> None:
    assert commands.remedies(again) == command
    (held,) = judged([PIN], {}, {PIN.arms[0]: NO_TIME}, remedies=command)
    said = f" `{command}` measures what each remedy gives."
    assert held.sentence.endswith(said) if command else "reap rss" not in held.sentence


@pytest.mark.parametrize(
    ("above", "gains", "half", "named", "status"),
    [
        (0.02, 1.0, 0.01, "tcache overflow", "proven"),
        (0.45, 0.8, 0.01, "tcache overflow", "proven"),
        (0.45, 1.0, 0.01, "large blocks", "proven"),
        (0.45, 0.95, 0.2, "many allocations", "proven"),
        (0.55, 0.95, 0.2, "large blocks", "proven"),
    ],
    ids=["none large", "more blocks gain", "more gain nothing", "not decided", "most large, not decided"],
)
def test_larger_caches_tell_too_many_blocks_from_too_large_ones(
    above: float, gains: float, half: float, named: Cause, status: str
) -> None:
    """A cache that never overflows keeps both."""
    held = comparison_of([price("cache", 0.5), setting(CACHE, gains, half)])
    (only,) = judged([OVERFLOW], trials_of([held]), {}, above_cache=above)
    assert (only.cause, only.status) == (named, status)


@pytest.mark.parametrize(
    ("above", "named"), [(0.02, "tcache overflow"), (0.45, "many allocations"), (0.55, "large blocks")]
)
def test_nothing_tells_them_where_larger_caches_were_not_tried(above: float, named: Cause) -> None:
    held = comparison_of([price("cache", 0.5)])
    (only,) = judged([OVERFLOW], trials_of([held]), {}, above_cache=above)
    assert (only.cause, only.status) == (named, "proven")


def test_a_suspicion_of_which_nothing_was_tried_keeps_its_name() -> None:
    (only,) = judged([OVERFLOW], {}, {}, above_cache=0.45)
    assert only.cause == "tcache overflow"
    assert only.status != "proven"


@pytest.mark.parametrize(
    ("above", "named"), [(0.02, ["tcache overflow"]), (0.3, []), (0.8, ["large blocks"])]
)
def test_a_cache_that_gains_unasked_is_named_by_the_blocks_that_it_keeps(
    above: float, named: list[str]
) -> None:
    held = judged([], trials_of([comparison_of([price("cache", 0.5)])]), {}, above_cache=above)
    assert [each.cause for each in held] == named


def test_a_cache_that_gains_unasked_names_no_overflow_where_the_fast_path_takes_the_time() -> None:
    comparison = comparison_of([price("cache", 0.85), price("recycle", 0.8)])
    held = judged([of("many allocations")], trials_of([comparison]), {}, above_cache=0.02)
    assert [each.cause for each in held] == ["many allocations"]
