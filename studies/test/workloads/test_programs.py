"""Workloads: each variant prints the same, and the naive one is the one that calls malloc.

Our own programs are built here. Debian's, and the allocators of other libraries, need the packages of
setup/apt/workloads.txt and what `reap workloads prepare` makes; what is missing is skipped.
"""

import msgspec
import pytest
from programs import reap
from recorded import Recorded, recorded

from reap.base.errors import ReapError
from reap.launch.records import Outcome
from reap.recording import read, record
from reap_studies.workloads import brought, card, preparation, provision, run

OURS = [
    name
    for name in card.names()
    if card.load(name).origin.package == "reap" and card.load(name).kind != "ordinary"
]
THEIRS = [name for name in card.names() if name not in OURS and len(card.load(name).variants) > 1]
PLAIN = [name for name in card.names() if name not in OURS and name not in THEIRS]


BROUGHT = [name for name in card.names() if brought.lacking(card.load(name))]
"""Programs that users bring, which are not here."""
PREPARED = [name for name in card.names() if name not in BROUGHT]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Each program is built once."""
    return tmp_path_factory.mktemp("workloads")


def test_there_is_one_for_each_seed_program_that_nobody_can_get():
    stand_for = " ".join(card.load(name).origin.note for name in OURS)
    for model in (
        "boxed-sim", "176.gcc", "197.parser", "175.vpr", "sculpt", "geometry_nodes", "C-Breeze", "Apache"
    ):  # fmt: skip
        assert model in stand_for


ONE_OF_A_KIND = ["freelist", "geometry-pass", "chart-parser"]
"""The others are tried in the stage `workloads` alone."""
OURS_BY_STAGE = [
    pytest.param(name, marks=[] if name in ONE_OF_A_KIND else pytest.mark.workloads) for name in OURS
]


@pytest.mark.parametrize("name", OURS_BY_STAGE)
def test_all_variants_print_the_same(name, cache):
    quick = card.load(name).quick_scale
    custom, *others = run.try_variants(name, scale=quick, cache=cache)
    assert custom.variant == "custom"
    assert "naive" in {each.variant for each in others}
    for other in others:
        assert custom.outcome.stdout_digest == other.outcome.stdout_digest
        assert custom.outcome.stderr_bytes == other.outcome.stderr_bytes == 0
    # It did something, and another scale is another answer.
    assert custom.outcome.stdout_bytes > 30
    (more,) = run.try_variants(name, ["custom"], scale=quick + 1, cache=cache)
    assert more.outcome.stdout_digest != custom.outcome.stdout_digest


@pytest.mark.parametrize("name", OURS_BY_STAGE)
def test_the_naive_variant_is_the_one_that_calls_malloc(name, cache, tmp_path):
    objects = {}
    for variant in ("custom", "naive"):
        ready = preparation.prepare(name, variant, scale=card.load(name).quick_scale, cache=cache)
        done = recorded(tmp_path, "triage", *ready.argv, directory=ready.directory)
        assert done.outcome.status == 0, done.outcome.stderr_tail
        objects[variant] = done.objects
    # A freelist of a class only saves what was made before; all others take chunks.
    least = 4 if card.load(name).allocator.startswith("PerClass") else 50
    assert objects["naive"] > least * objects["custom"]
    assert objects["naive"] > 20_000


def need(name):
    """Skips what was not installed: tests install nothing."""
    lack = provision.plan([name]).lacks[0]
    if lack.packages or lack.source:
        pytest.skip(f"reap workloads prepare --yes {name}")


def test_there_is_one_for_each_kind_and_enough_of_them():
    assert len(OURS) + len(THEIRS) >= 12
    kinds = [card.load(name).kind for name in THEIRS]
    assert {"per-class", "region", "hybrid"} <= set(kinds)
    assert sum(card.load(name).kind == "ordinary" for name in PLAIN) >= 6
    assert sum("reap" in card.load(name).variants for name in THEIRS) >= 3


@pytest.mark.workloads
def test_every_workload_is_prepared_but_those_that_users_bring(record_testsuite_property):
    """After `reap workloads prepare --yes`."""
    lacks = {each.workload: each for each in provision.plan(card.names()).lacks if not each.nothing}
    record_testsuite_property("not_brought", ", ".join(BROUGHT))
    assert not lacks


@pytest.mark.workloads
@pytest.mark.parametrize("name", PREPARED)
def test_every_variant_and_peer_runs_and_prints_the_same(name):
    need(name)
    described = card.load(name)
    tried = run.try_variants(name, scale=described.quick_scale)
    assert [each.variant for each in tried] == [*described.variants, *described.peers]
    assert tried[0].outcome.stdout_bytes > 10


@pytest.mark.workloads
def test_what_shows_drag_prints_what_the_program_does():
    """Of lcc, where REAP_PROGRAMS has it."""
    for name in (name for name in PREPARED if card.load(name).emulated is not None):
        quick = card.load(name).quick_scale
        (custom,) = run.try_variants(name, ["custom"], scale=quick)
        ready = preparation.prepare(name, preparation.EMULATED, scale=quick)
        assert ready.argv[0] != "sh", "drag is measured of a single program"
        shown = run.spawn.run(run.launch_of(ready))
        assert shown.stdout_digest == custom.outcome.stdout_digest


@pytest.mark.workloads
@pytest.mark.parametrize("name", [name for name in THEIRS if name in PREPARED])
def test_the_naive_variant_of_debian_s_programs_is_the_one_that_calls_malloc(name, tmp_path):
    need(name)
    objects, outputs = {}, set()
    for variant in card.load(name).variants:
        ready = preparation.prepare(name, variant, scale=card.load(name).quick_scale)
        path = tmp_path / f"{variant}.reap"
        outcome = record.record(run.launch_of(ready), path, "triage")
        assert outcome.status == 0, outcome.stderr_tail
        assert outcome.stdout_bytes > 10
        outputs.add(outcome.stdout_digest)
        objects[variant] = Recorded(outcome, read.read(path), path).objects
    assert len(outputs) == 1
    # Clang's pools serve a quarter of its objects: of that one the bound is what its card says.
    assert objects["custom"] < max(1 / 1.5, 1 - card.load(name).custom_share) * objects["naive"]
    if "reap" in objects:  # ours takes chunks, as theirs does
        assert objects["naive"] > 4 * objects["reap"]


def test_the_command_line_of_a_program_is_checked(cache):
    ready = preparation.prepare(OURS[0], "custom", scale=1, cache=cache)
    for words in (["--scale"], ["--scale", "0"], ["--scale", "9x"], ["--fast"]):
        done = run.spawn.run(run.Launch(argv=[ready.argv[0], *words], program=ready.argv[0]))
        assert done.exit_code == 2
        assert "usage:" in done.stderr_tail


def test_variants_that_differ_are_found(tmp_path, monkeypatch):
    home = tmp_path / "workloads" / "mine"
    home.mkdir(parents=True)
    text = """
        name = "mine"
        title = "t"
        description = "d"
        kind = "region"
        allocator = "a"
        switch = "s"
        packages = ["coreutils"]
        expected_seconds = 1.0
        origin = { package = "p", licence = "l" }
        [variants.custom]
        argv = ["echo", "one"]
        [variants.naive]
        argv = ["echo", "NAIVE"]
        """
    monkeypatch.setattr(card, "folders", lambda: [tmp_path / "workloads"])
    (home / "card.toml").write_text(text.replace("NAIVE", "two"))
    with pytest.raises(ReapError, match="mine: naive prints other output than custom"):
        run.try_variants("mine")
    (home / "card.toml").write_text(text.replace("NAIVE", "one"))
    assert len(run.try_variants("mine")) == 2
    (home / "card.toml").write_text(text.replace('"echo", "NAIVE"', '"false"'))
    with pytest.raises(ReapError, match="mine, naive: ended with 1"):
        run.try_variants("mine")


def test_what_is_printed_is_held_to_the_card():
    def tried(digest):
        return [run.Tried(variant="custom", outcome=Outcome(exit_code=0, stdout_digest=digest))]

    ours = msgspec.structs.replace(card.load("freelist"), output="ab")
    assert run.as_the_card_says(ours, tried("ab")) is True
    with pytest.raises(ReapError, match=r"freelist printed other output than its card states \(cd\)"):
        run.as_the_card_says(ours, tried("cd"))
    theirs = msgspec.structs.replace(card.load("perl"), output="ab")
    assert run.as_the_card_says(theirs, tried("cd")) is False
    assert run.as_the_card_says(card.load("clang"), tried("cd")) is None


def test_the_verbs(tmp_path):
    listed = reap("workloads", "list", "--json", str(tmp_path / "cards.json"))
    assert listed.returncode == 0, listed.stderr
    for name in card.names():
        assert name in listed.stdout
    assert "quick_scale" in (tmp_path / "cards.json").read_text()

    ran = reap("workloads", "run", "geometry-pass", "--quick")
    assert ran.returncode == 0, ran.stderr
    assert "custom" in ran.stdout
    assert "naive" in ran.stdout
    assert "page faults" in ran.stdout
    assert "all variants print the same output" in ran.stderr
    assert "next: reap study ismm2026 --quick --workloads geometry-pass" in ran.stderr
    ran = reap("workloads", "run", "sed")
    assert "its output is as its card states" in ran.stderr
    assert "next: reap study oopsla2002 --quick --workloads sed" in ran.stderr
    assert "no workload called 'nothing'" in reap("workloads", "run", "nothing").stderr
    assert reap("workloads", "run", "sed", "--quick", "--scale", "3").returncode == 2
