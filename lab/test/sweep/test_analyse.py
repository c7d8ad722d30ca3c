"""The statistics over machines: against published software, against the truth, and whatever runs where."""

import math
import random

import pytest
from lab.test.sweep import fakes

from reap.sweep import analyse, judge, page
from reap.sweep.records import Block, SweepResult

# tau, mean, CI: statsmodels 0.14.5, combine_effects(method_re="iterated", use_t=True) of the means of
# logarithms with pooled variances; F and its p: scipy.stats.f_oneway.
MACHINES = [
    [0.90, 0.94, 0.92, 0.88],
    [1.01, 1.05, 0.97, 0.99, 1.02],
    [0.80, 0.78, 0.83],
    [0.95, 0.93, 0.97, 0.96, 0.94, 0.98],
    [1.10, 1.02],
]


def test_random_effects_are_those_of_statsmodels():
    found, heterogeneity = analyse.combined(MACHINES)
    assert found.value == pytest.approx(0.9425567, abs=2e-7)
    assert (found.low, found.high) == pytest.approx((0.8263847, 1.0750602), abs=2e-6)
    assert heterogeneity.between == pytest.approx(0.1047693, abs=1e-6)
    assert heterogeneity.share == pytest.approx(1 - 1 / 38.9653999, abs=1e-7)
    assert heterogeneity.p == pytest.approx(9.338e-8, rel=1e-3)


def test_the_overall_interval_holds_the_truth_as_often_as_it_says():
    """With the same and with unlike numbers of rounds, and machines that differ much, a little and not."""
    chance = random.Random(20260101)
    for counts, between in (([4] * 6, 0.05), ([2, 3, 16, 9, 4, 4], 0.02), ([6] * 8, 0.0)):
        held = 0
        for _ in range(600):
            of = []
            for count in counts:
                middle = math.log(0.9) + chance.gauss(0, between)
                of.append([math.exp(middle + chance.gauss(0, 0.04)) for _ in range(count)])
            found, _ = analyse.combined(of)
            held += found.low <= 0.9 <= found.high
        assert 0.92 <= held / 600 <= 0.985, (counts, between)


def test_rounds_that_are_all_alike_and_single_rounds_give_an_interval():
    found, heterogeneity = analyse.combined([[0.9, 0.9], [0.9, 0.9]])
    assert found.low == found.value == found.high == pytest.approx(0.9)
    assert heterogeneity.between == 0
    found, _ = analyse.combined([[0.9], [0.95], [0.85], [0.91]])
    assert found.low < 0.9 < found.high
    with pytest.raises(ValueError, match="one machine"):
        analyse.combined([[0.9, 0.8]])


CELL = fakes.a_cell(rounds=16, allocators=("glibc", "jemalloc", "mimalloc"))


def swept(effect_of, hosts, rounds=16, between=0.0, cell=CELL):
    """The blocks of some hosts, each of a kind; `effect_of` says what an allocator does on a kind."""
    pairs = analyse.Pairs()
    for host, kind in hosts.items():
        for number in range(rounds):
            block = Block(cell=cell.name, kind=kind, round=number)
            facts = fakes.facts_of(host=host)
            # The rounds of each host have a chance of their own.
            own = fakes.a_done(
                cell,
                Block(cell=f"{cell.name}", kind=f"{kind}{host}", round=number),
                facts,
                effect_of(kind),
                between=between,
            )
            pairs.add(fakes.of_block(own, block))
    return pairs


def result_of(pairs, cell=CELL):
    return SweepResult(
        cells=[cell.name],
        baseline="glibc",
        blocks=pairs.blocks,
        planned=pairs.blocks,
        hosts=len(pairs.facts),
        kinds=list(dict.fromkeys(kind for kind, _ in pairs.facts)),
        machines=list(pairs.facts.values()),
        effects=analyse.effects(pairs.of, [cell]),
        worth=0.03,
        dropped=list(pairs.dropped),
    )


def answers(pairs, cell=CELL):
    return {each.allocator: each for each in judge.judge(result_of(pairs, cell))}


def test_what_helps_on_one_kind_and_harms_on_another_is_an_answer():
    pairs = swept(
        lambda kind: 0.85 if kind == "zen" else 1.2, {"a": "zen", "b": "zen", "c": "arm", "d": "arm"}
    )
    found = answers(pairs)["jemalloc"]
    assert found.standing == "helps here, harms there"
    assert "helps on zen (1" in found.sentence
    assert "and harms on arm (" in found.sentence
    assert "no single answer holds" in found.sentence


def test_the_page_begins_with_one_sentence_and_has_the_others_in_a_table():
    pairs = swept(
        lambda kind: 0.85 if kind == "zen" else 1.2, {"a": "zen", "b": "zen", "c": "arm", "d": "arm"}
    )
    result = result_of(pairs)
    text = page.page(result, judge.judge(result), ["reap"])
    card = text.partition('<div class="verdict">')[2].partition("</div>")[0]
    assert card.count("<p") == 1
    assert "jemalloc depends on the machine; mimalloc depends on the machine." in card.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    table = text.partition('aria-label="Answers"')[2].partition("</table>")[0]
    assert table.count("helps here, harms there") == 2
    assert table.count("helps on zen (1") == table.count("harms on arm (") == 2


def test_many_answers_are_counted_by_what_they_say():
    one = next(iter(answers(swept(lambda _: 0.85, {"a": "zen"})).values()))
    assert judge.headline([one]) == one.sentence
    many = [fakes.standing(one, each) for each in ("inconclusive", "helps", "equivalent", "helps", "harms")]
    said = "jemalloc helps 2 of 5 programs (1 slower, 1 equivalent and 1 inconclusive)."
    assert judge.headline(many) == said


def test_what_helps_everywhere_helps():
    found = answers(swept(lambda _: 0.85, dict.fromkeys("abcd", "zen")))["jemalloc"]
    assert found.standing == "helps"
    assert "% less CPU time (95 % CI" in found.sentence


def test_one_machine_speaks_for_itself_alone():
    found = answers(swept(lambda _: 0.85, {"a": "zen"}))["jemalloc"]
    assert found.standing == "helps"
    assert "on the one machine that it was run on" in found.sentence


def test_no_effect_is_equivalent_where_it_is_known_well():
    found = answers(swept(lambda _: 1.0, dict.fromkeys("abcd", "zen"), rounds=40))["jemalloc"]
    assert found.standing == "equivalent"


def test_machines_that_differ_are_called_so():
    pairs = swept(lambda _: 0.9, dict.fromkeys("abcdefgh", "zen"), between=0.1)
    effect = next(each for each in result_of(pairs).effects if each.allocator == "jemalloc")
    assert effect.heterogeneity.p < 1e-6
    assert effect.heterogeneity.between == pytest.approx(0.1, rel=0.6)
    assert "Machines differ: the standard deviation" in answers(pairs)["jemalloc"].sentence


def test_kinds_that_do_not_differ_rarely_seem_to():
    """Of twenty kinds on which nothing changes, one helps or harms in at most 5 % of sweeps."""
    claimed = 0
    for repeat in range(40):
        cell = fakes.a_cell(f"cell{repeat}", 8)
        pairs = swept(lambda _: 1.0, {f"h{n}": f"k{n}" for n in range(20)}, rounds=8, cell=cell)
        effect = next(
            each for each in analyse.effects(pairs.of, [cell]) if each.metric == "cpu" and not each.noise
        )
        claimed += bool(effect.helps or effect.harms)
    assert claimed <= 7  # P(more) < 1e-3 at 5 %


def test_runs_that_ended_otherwise_are_not_compared():
    block = Block(cell=CELL.name, kind="zen", round=0)
    done = fakes.a_done(CELL, block, fakes.facts_of())
    pairs = analyse.Pairs()
    pairs.add(fakes.with_outcome(done, "jemalloc", exit_code=3))
    pairs.add(fakes.with_outcome(done, "mimalloc", stdout_digest="other"))
    said = list(pairs.dropped)
    assert said[0] == "jemalloc in cell sort on alpha: exit status 3 instead of 0"
    assert said[1] == "mimalloc in cell sort on alpha: the program's output differs from the baseline's"
    counts = {key[2]: len(next(iter(of.values()))) for key, of in pairs.of.items() if key[3] == "cpu"}
    assert counts == {"glibc": 2, "jemalloc": 1, "mimalloc": 1}
