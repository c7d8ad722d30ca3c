"""Claims as data: every claim has its rule, every rule its claim, and the bound of the file is used."""

import msgspec
import pytest

from reap.base.errors import ReapError
from reap.base.records import Estimate, exactly
from reap_studies.study import claims
from reap_studies.study.allocator_wall.judge import claims as allocator_wall
from reap_studies.study.allocator_wall.records import Wall
from reap_studies.study.allocators.judge import conclusions as allocators
from reap_studies.study.claims import Claims, Setting
from reap_studies.study.ismm2026 import judge as ismm2026
from reap_studies.study.judging.standing import Extent
from reap_studies.study.oopsla2002 import judge as oopsla2002
from reap_studies.study.oopsla2002.apache import run as apache
from reap_studies.study.oopsla2002.drag import judge as drag
from reap_studies.study.oopsla2002.regions import buffers, peers
from reap_studies.study.records import Evaluated, Finding

WALL = Wall(samples=[], rounds=5, cores=2, nodes=1, python="3.11", parsers={"json": "1"})


def judged(study):
    return {
        "ismm2026": lambda: ismm2026.judge([], []),
        "oopsla2002": lambda: [
            *buffers.judge(None),
            *oopsla2002.judge([], []),
            *drag.judge([]),
            *peers.judge([]),
            *apache.judge(None),
        ],
        "allocators": lambda: allocators.judge(Evaluated(threads=4, timed=[])),
        "allocator_wall": lambda: allocator_wall.judge(WALL, []),
    }[study]()


@pytest.mark.parametrize("study", ["ismm2026", "oopsla2002", "allocators", "allocator_wall"])
def test_every_claim_is_judged_once(study):
    every = claims.of(study)
    found = judged(study)
    assert sorted(each.id for each in found) == sorted(every)
    for each in found:
        assert each.claim == every[each.id].says
        assert "{" not in each.rule, "a word of the rule was not filled in"
        assert each.standing in ("inconclusive", "not measurable here"), "nothing was measured"


@pytest.mark.parametrize("study", ["ismm2026", "oopsla2002", "allocators", "allocator_wall"])
def test_a_claim_has_one_bound_at_most_and_an_id_of_its_own(study):
    data = (claims.FOLDER / study / "claims.toml").read_text()
    assert data.count("[[claim]]") == len(claims.of(study)), "two claims have one id"
    for each in claims.of(study).values():
        assert sum(bound is not None for bound in each.every_bound) <= 1, each.id


CLAIM = claims.Claim(
    id="faster",
    source="1",
    says="It is faster.",
    published="twice",
    rule="its ratio {where}: above {bound} is for it",
    refuted="outdated",
    extent=Extent.MOST,
    at_least=1.5,
)


def faster(ratio, **changed):
    told = msgspec.structs.replace(CLAIM, **changed)

    def rule(it):
        return [Finding(workload="one", figure="ratio", ratio=ratio, side=it.judged(ratio))]

    (found,) = Claims({"faster": told}).judge({"faster": rule}, (), Setting(words={"where": "here"}))
    return found


def test_the_bound_of_the_file_is_the_rule_s():
    assert faster(exactly(2.0)).standing == "holds"
    assert faster(exactly(2.0), at_least=2.5).standing == "outdated"
    assert faster(exactly(2.0)).rule.startswith("its ratio here: above 1.5 is for it; holds with 50 %")
    assert faster(exactly(2.0), at_least=2.5).rule.startswith("its ratio here: above 2.5 is")


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        ({"at_most": 0.9}, Estimate(value=0.8, low=0.7, high=0.9), Estimate(value=1.0, low=0.95, high=1.1)),
        ({"within": (2.0, 4.0)}, exactly(3.0), exactly(5.0)),
        ({"within_times": 2.0}, exactly(0.6), exactly(0.4)),
    ],
)
def test_each_kind_of_bound_decides(bound, inside, outside):
    plain = {"at_least": None, "rule": "said", **bound}
    assert faster(inside, **plain).standing == "holds"
    assert faster(outside, **plain).standing == "outdated"


def test_a_claim_without_a_bound_says_so():
    with pytest.raises(ReapError, match="faster has no bound"):
        faster(exactly(2.0), at_least=None, rule="said")
