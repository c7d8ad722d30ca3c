"""Rounds of a study's experiments on workers: they come into the experiment's folder, whole and once."""

import msgspec
import pytest

from reap.allocators.records import Allocator
from reap.experiment.folder import read_runs
from reap.experiment.runner import Listener
from reap.experiment.specify import AskedFragment
from reap.launch.litter.level import LEVELS
from reap.sweep.folder import blocks
from reap.sweep.places import Places
from reap_studies.study import elsewhere, measuring
from reap_studies.study.elsewhere import Elsewhere, settle
from reap_studies.study.measuring import Work
from reap_studies.workloads import card

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
NAME = "expression-compiler"
ROUNDS = 4


class Heard(Listener):
    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)


def rounds_of(work):
    runs, _ = read_runs(work.place / "runs.jsonl")
    found = {}
    for run in runs:
        if not run.warmup and not run.cell.sampled:
            found.setdefault(run.cell.repeat, []).append(run.cell.key())
    return found


@pytest.mark.slow
def test_rounds_that_workers_ran_are_the_experiment_s_own(tmp_path, monkeypatch):
    described = card.load(NAME)
    monkeypatch.setattr(measuring, "scale_of", lambda *_: described.quick_scale)
    monkeypatch.setitem(measuring.ROUNDS, "full", ROUNDS)
    heaps = AskedFragment(levels=[LEVELS["adv0"], LEVELS["adv1"]], layouts=0, controls=False)
    work = Work(tmp_path / NAME, described, "full", [Allocator(name="glibc")], heaps)
    heard = Heard()
    Elsewhere(tmp_path, Places("local:2"), heard).run({NAME: work}, ROUNDS)
    assert not [text for text in heard.said if "run here" in text], heard.said

    done = list(blocks(tmp_path / f"elsewhere-{ROUNDS}"))
    assert {each.facts.worker for each in done} <= {"worker 0", "worker 1"}
    found = rounds_of(work)
    assert sorted(found) == list(range(ROUNDS))
    assert len({len(keys) for keys in found.values()}) == 1
    assert len(set(found[0])) == len(found[0]) >= 5  # custom and naive at two levels, and the baseline again
    measured = measuring.measure(work, ROUNDS, Listener())
    assert measured.excluded == ""
    assert measured.result.rounds == ROUNDS
    assert rounds_of(work) == found  # none was run here

    settle([work], heard)
    assert rounds_of(work) == found  # none is taken twice
    torn = (work.place / "runs.jsonl").read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(torn) if b'"repeat":3' in line)
    (work.place / "runs.jsonl").write_bytes(b"".join(torn[:last] + torn[last + 1 :]))
    settle([work], heard)
    assert {number: set(keys) for number, keys in rounds_of(work).items()} == {
        number: set(keys) for number, keys in found.items()
    }

    fewer = msgspec.structs.replace(
        done[0], block=msgspec.structs.replace(done[0].block, round=9), runs=done[0].runs[1:]
    )
    (tmp_path / "elsewhere-10").mkdir()
    (tmp_path / "elsewhere-10/blocks.jsonl").write_bytes(msgspec.json.encode(fewer) + b"\n")
    settle([work], heard)
    assert 9 not in rounds_of(work)
    assert heard.said[-1].startswith(f"{NAME}: 1 round from other machines had not all")


def test_what_a_worker_is_told_makes_the_same_experiment():
    """Heaps with all their options go through JSON and come out as they were."""
    heaps = AskedFragment(
        levels=list(LEVELS.values()),
        layouts=1,
        peers={"apr": (["prog"], {"K": "V"})},
        replaced_over=["glibc"],
    )
    part = elsewhere.Part(
        card=NAME, mode="full", scale=3, fragment=heaps, alone="", peers=["apr"], profile="{}"
    )
    again = msgspec.json.decode(msgspec.json.encode(part), type=elsewhere.Part)
    assert again.fragment.levels == heaps.levels
    assert {name: list(each[0]) for name, each in again.fragment.peers.items()} == {"apr": ["prog"]}
    assert list(again.fragment.replaced_over) == ["glibc"]
