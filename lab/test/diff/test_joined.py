"""Matching the stacks of two recordings, and what a change means, without recordings."""

import dataclasses
import json
import random

import msgspec
import pytest
from samples import report_of

from reap.answer.html import render
from reap.answer.json import decoded, encode
from reap.answer.records import Answer
from reap.base.records import Estimate, exactly
from reap.diff import words
from reap.diff.analyse.difference import MOST_PLACES, change, flame, functions, stacks, thinned
from reap.diff.analyse.joined import NO_SYMBOL, Stacks, join, name_of
from reap.diff.judge import judged, understood
from reap.diff.part import DifferencePart
from reap.diff.records import Change, Difference, Recorded
from reap.draw.html import MOST_BYTES
from reap.recording.analyse.calls import MEASURES, Tree
from reap.recording.analyse.estimates import difference, from_samples
from reap.run.parts import KINDS

HOSTILE = "a;b 7\n\x1b[31m</script><img src=x onerror=alert(1)>\u202e"
PROGRAM = "/opt/bin/program"


def side(
    counts: dict[tuple[str, ...], int], *, program: str = PROGRAM, base: int = 0, sampled: float = 0.0
) -> Stacks:
    """A recording of one process: blocks of 10 bytes by stack, outermost first; `sampled` is the scale."""
    frames = [(program, 0, "", "", 0, False)]
    parents, at, own, nodes = [-1], [0], [0.0], {}
    for stack, count in counts.items():
        parent = 0
        for depth, function in enumerate(stack):
            key = stack[: depth + 1]
            if key not in nodes:
                frames.append((program, base + 16 * len(frames), function, "", 0, False))
                nodes[key] = len(parents)
                parents.append(parent)
                at.append(len(frames) - 1)
                own.append(0.0)
            parent = nodes[key]
        own[parent] += count
    unit = {"allocations": 1.0, "bytes": 10.0, "peak": 10.0, "temporary": 0.0, "live-at-exit": 0.0}
    tree = Tree(parents, at, {measure: [unit[measure] * value for value in own] for measure in MEASURES})
    return Stacks(
        frames=frames,
        processes=[True] + [False] * (len(frames) - 1),
        tree=tree,
        program=program,
        variance={
            "count": [value * sampled for value in own],
            "bytes": [100 * value * sampled for value in own],
        },
        scale={"count": sampled, "bytes": 10 * sampled},
        most={"count": 1e9, "bytes": 1e9},
    )


def whole(before: dict, after: dict, **options: float) -> Difference:
    joined = join(side(before, **options), side(after, base=4096, **options))
    recorded = Recorded(
        file="a.reap", program="program", command=["program"], depth="full", seconds=1.0,
        allocations=1, complete=True,
    )  # fmt: skip
    return Difference(
        before=recorded,
        after=recorded,
        by="bytes",
        totals={measure: change(exactly(10), exactly(12)) for measure in MEASURES},
        functions=functions(joined, "bytes"),
        stacks=stacks(joined, "bytes"),
        flame=flame(joined),
    )


def page_of(held: Difference) -> str:
    return render(report_of(Answer(title="x", command=["x"], parts=[DifferencePart(difference=held)])))


def test_addresses_are_nothing_to_match_by():
    stack = {("main", "parse"): 5}
    held = whole(stack, stack)
    assert held.functions == held.stacks == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("parse.constprop.0", "parse"),
        ("parse.isra.0.cold", "parse.part.3"),
        ("parse(int) [clone .constprop.0]", "parse(int)"),
        ("serde::parse::h0123456789abcdef", "serde::parse::hfedcba9876543210"),
    ],
)
def test_variants_of_a_function_that_compilers_make_are_the_same_function(old, new):
    assert whole({("main", old): 5}, {("main", new): 5}).stacks == []


def test_a_function_that_only_resembles_another_is_another():
    held = whole({("main", "parse"): 5}, {("main", "parse2"): 5})
    assert {each.function: each.changes["bytes"].verdict for each in held.stacks} == {
        "parse": "shrank",
        "parse2": "grew",
    }


def test_modules_are_told_apart_and_the_program_goes_by_its_new_name():
    frame = ("/lib/liba.so", 1, "parse", "", 0, False)
    assert name_of(frame, process=False, program=PROGRAM, called="new").line == "parse (liba.so)"
    mine = (PROGRAM, 1, "parse", "", 0, False)
    assert name_of(mine, process=False, program=PROGRAM, called="new").line == "parse (new)"
    bare = ("/lib/liba.so (deleted)", 1, "", "", 0, False)
    assert name_of(bare, process=False, program=PROGRAM, called="new").line == f"{NO_SYMBOL} (liba.so)"


def test_wrappers_of_malloc_are_not_who_allocates():
    held = whole({("main", "parse", "xmalloc"): 5}, {("main", "parse", "xmalloc"): 9})
    assert [each.function for each in held.functions] == ["parse"]
    assert held.stacks[0].stack == ["xmalloc (program)", "parse (program)", "main (program)"]


def test_sums_are_those_of_both_recordings():
    chance = random.Random(24)
    names = [f"f{i}" for i in range(12)]
    some = [
        {tuple(chance.choices(names, k=chance.randint(1, 5))): chance.randint(1, 9) for _ in range(300)}
        for _ in range(2)
    ]
    joined = join(side(some[0]), side(some[1], base=999))
    for tree, held in ((joined.before, some[0]), (joined.after, some[1])):
        found = {
            tuple(joined.names[place].function for place in joined.stack(node)): value
            for node, value in enumerate(tree.own["allocations"])
            if value
        }
        assert found == held
        assert all(parent < node for node, parent in enumerate(tree.parents))


def test_only_the_largest_changes_are_kept_and_totals_stay_in_the_graph():
    many = {("main", f"f{i}"): i + 1 for i in range(3 * MOST_PLACES)}
    held = whole({}, many)
    assert len(held.functions) == len(held.stacks) == MOST_PLACES
    assert held.functions[0].function == f"f{3 * MOST_PLACES - 1}"
    assert held.flame is not None
    assert sum(held.flame.after["allocations"]) == sum(many.values())
    cut = thinned(held.flame, 20)
    assert len(cut.parents) <= 20
    assert sum(cut.after["bytes"]) == sum(held.flame.after["bytes"])


def test_what_only_one_recording_has_is_in_the_graph():
    held = whole({("main", "goes"): 50, ("main", "stays"): 50}, {("main", "stays"): 50}).flame
    assert held is not None
    at = held.at.index(held.functions.index("goes"))
    assert (held.before["bytes"][at], held.after["bytes"][at]) == (500, 0)


def test_of_samples_a_change_within_the_interval_is_inconclusive():
    held = whole({("main", "f"): 100}, {("main", "f"): 110}, sampled=5.0)
    assert held.functions[0].changes["bytes"].verdict == "inconclusive"
    assert words.row(held.functions[0].changes["bytes"], "bytes")[-1] == "inconclusive"
    far = whole({("main", "f"): 100}, {("main", "f"): 1000}, sampled=5.0)
    assert far.functions[0].changes["bytes"].verdict == "grew"
    rare = whole({}, {("main", "f"): 5}, sampled=5.0)
    assert rare.functions[0].changes["bytes"].verdict == "inconclusive", "one sample may be chance"


def test_too_few_samples_bound_nothing_but_the_total():
    held = side({("main", "f"): 3}, sampled=1.0)
    few = dataclasses.replace(held, few=True, most={"count": 60.0, "bytes": 600.0})
    assert few.estimate(3, 0, "count") == Estimate(value=3, low=0, high=60)
    joined = join(few, dataclasses.replace(side({}), few=True, most={"count": 90.0, "bytes": 900.0}))
    assert functions(joined, "bytes")[0].changes["bytes"].verdict == "inconclusive"
    assert joined.estimated


def test_the_interval_of_samples_covers_the_truth():
    """Of blocks each sampled with one chance in twenty, few or many; seeded."""
    chance = random.Random(7)
    weight = 20.0
    for truth in (10, 30, 100, 400):
        covered = 0
        for _ in range(2000):
            seen = sum(chance.random() < 1 / weight for _ in range(truth))
            held = from_samples(seen * weight, seen * weight * (weight - 1), weight)
            assert held.low <= held.value <= held.high
            covered += held.low <= truth <= held.high
        assert covered > 1860, truth  # 95 % of 2,000 are 1,900, with a standard deviation of 10


def test_a_difference_of_exact_values_is_exact():
    assert difference(exactly(3), exactly(5)) == exactly(2)
    found = difference(Estimate(value=10, low=7, high=14), Estimate(value=20, low=17, high=24))
    assert (found.value, found.low, found.high) == (10, 5, 15)


def estimated(before: float, after: float, half: float) -> Change:
    def near(value: float) -> Estimate:
        return Estimate(value=value, low=value - half, high=value + half)

    return change(near(before), near(after))


@pytest.mark.parametrize(
    ("after", "half", "verdict"),
    [(100, 1, "kept"), (106, 1, "inconclusive"), (107, 1, "inconclusive"), (108, 1, "exceeded")],
)
def test_an_estimate_exceeds_a_limit_only_by_more_than_noise(after, half, verdict):
    """The 95 % CI of what is beyond 105 has a half of 1.45, that of 99.9 % one of 2.43."""
    found = judged(understood("peak > +5 %"), estimated(100, after, half))
    assert found.limit == 5
    assert found.verdict == verdict


def test_noise_fails_less_than_one_check_in_a_thousand():
    chance = random.Random(1000)
    failed = 0
    for _ in range(20_000):
        before, after = (chance.gauss(100, 5) for _ in range(2))
        held = change(*(Estimate(value=v, low=v - 1.96 * 5, high=v + 1.96 * 5) for v in (before, after)))
        failed += judged(understood("peak > +0 %"), held).verdict == "exceeded"
    assert failed <= 20


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [(0, 0, "0 %"), (0, 5, "new"), (5, 0, "gone"), (100, 105, "+5.0 %"), (100, 50, "-50 %")],
)
def test_relative_changes(before, after, said):
    assert words.relative(change(exactly(before), exactly(after))) == said


def test_hostile_names_stay_data():
    held = whole({("main", HOSTILE): 1}, {("main", HOSTILE): 9})
    page = page_of(held)
    assert "<img src=x" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page.partition('id="report-data">')[0]
    text = page.partition('id="report-data">')[2].partition("</script>")[0]
    part = decoded(text, KINDS).answers[0].part(DifferencePart)
    assert part is not None
    assert part.difference.functions[0].function == HOSTILE
    assert "\x1b" not in words.place(held.functions[0])


def test_json_goes_there_and_back():
    held = whole({("main", "f"): 1}, {("main", "f"): 9})
    report = report_of(Answer(title="x", command=["x"], parts=[DifferencePart(difference=held)]))
    assert decoded(encode(report), KINDS) == report
    assert json.loads(encode(report))["answers"][0]["difference"]["by"] == "bytes"


def test_however_large_it_fits_on_a_page_that_says_what_it_leaves_out():
    many = {("main", f"f{i}_{'x' * 3000}", f"g{i}"): 1 for i in range(4000)}
    held = whole({}, many)
    page = page_of(held)
    assert len(page.encode()) <= MOST_BYTES
    short = msgspec.structs.replace(held, functions=held.functions * 3)
    assert "This page lists the first" in page_of(short)
