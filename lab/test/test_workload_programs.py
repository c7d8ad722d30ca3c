"""Our own workloads: each variant prints the same, and the naive one is the one that calls malloc."""

import pytest
from programs import reap
from recorded import recorded

from reap.errors import ReapError
from reap.experiment import card, workload

OURS = [name for name in card.names() if card.load(name).build is not None]


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


@pytest.mark.parametrize("name", OURS)
def test_both_variants_print_the_same(name, cache):
    quick = card.load(name).quick_scale
    custom, naive = workload.try_variants(name, scale=quick, cache=cache)
    assert (custom.variant, naive.variant) == ("custom", "naive")
    assert custom.outcome.stdout_digest == naive.outcome.stdout_digest
    assert custom.outcome.stderr_bytes == naive.outcome.stderr_bytes == 0
    # It did something, and another scale is another answer.
    assert custom.outcome.stdout_bytes > 30
    (more,) = workload.try_variants(name, ["custom"], scale=quick + 1, cache=cache)
    assert more.outcome.stdout_digest != custom.outcome.stdout_digest


@pytest.mark.parametrize("name", OURS)
def test_the_naive_variant_is_the_one_that_calls_malloc(name, cache, tmp_path):
    objects = {}
    for variant in ("custom", "naive"):
        ready = card.prepare(name, variant, scale=card.load(name).quick_scale, cache=cache)
        done = recorded(tmp_path, "triage", *ready.argv, directory=ready.directory)
        assert done.outcome.status == 0, done.outcome.stderr_tail
        objects[variant] = done.objects
    # A freelist of a class only saves what was made before; all others take chunks.
    least = 4 if card.load(name).allocator.startswith("PerClass") else 50
    assert objects["naive"] > least * objects["custom"]
    assert objects["naive"] > 20_000


def test_the_command_line_of_a_program_is_checked(cache):
    ready = card.prepare(OURS[0], "custom", scale=1, cache=cache)
    for words in (["--scale"], ["--scale", "0"], ["--scale", "9x"], ["--fast"]):
        done = workload.spawn.run(workload.Launch(argv=[ready.argv[0], *words], program=ready.argv[0]))
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
    with pytest.raises(ReapError, match="mine: naive prints something else than custom"):
        workload.try_variants("mine")
    (home / "card.toml").write_text(text.replace("NAIVE", "one"))
    assert len(workload.try_variants("mine")) == 2
    (home / "card.toml").write_text(text.replace('"echo", "NAIVE"', '"false"'))
    with pytest.raises(ReapError, match="mine, naive: ended with 1"):
        workload.try_variants("mine")


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
    assert "all print the same" in ran.stderr
    assert "no workload called 'nothing'" in reap("workloads", "run", "nothing").stderr
    assert reap("workloads", "run", "sed", "--quick", "--scale", "3").returncode == 2
