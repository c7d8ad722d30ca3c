"""Programs that users bring: a card says which, where from and how it runs, and has no way of building it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from reap.base.errors import ExitCode, ReapError
from reap_studies.cli.prepare import prepare
from reap_studies.cli.run import run as verb
from reap_studies.study import measuring
from reap_studies.study.records import Plan
from reap_studies.workloads import brought, card, preparation, provision, run

BROUGHT = [name for name in card.names() if card.load(name).brought is not None]
CARD = """
name = "theirs"
title = "t"
description = "d"
kind = "region"
allocator = "a"
switch = "s"
packages = []
expected_seconds = 1.0
origin = { package = "https://example.org/theirs", licence = "l" }
[brought]
home = "https://example.org/theirs"
version = "1.2"
files = ["custom", "naive", "words"]
profile = "Table 3: 10 objects"
[prepare]
argv = ["cp", "{program}/words", "{inputs}/words"]
makes = ["words"]
[variants.custom]
argv = ["{program}/custom", "words"]
[variants.naive]
argv = ["{program}/naive", "words"]
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A card of such a program, and the folder that has it."""
    (home := tmp_path / "workloads" / "theirs").mkdir(parents=True)
    (home / "card.toml").write_text(CARD)
    (folder := tmp_path / "program").mkdir()
    (folder / "words").write_text("said\n")
    for variant in ("custom", "naive"):
        (folder / variant).symlink_to("/bin/cat")
    monkeypatch.setattr(card, "folders", lambda: [tmp_path / "workloads"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(brought.VARIABLE, "")
    return folder


def test_the_papers_programs_without_a_package_are_brought_and_nothing_builds_them():
    assert BROUGHT == ["artefact-freelist", "espresso", "lcc", "link-grammar", "mudlle"]
    for name in BROUGHT:
        described = card.load(name)
        assert described.build is None
        assert (described.source, described.peers) == ("", {})
        assert described.brought.home.startswith("https://")
        assert not list(card.find(name).glob("build*")), name
        assert f"--program {name}=FOLDER" in measuring.lacking(described) or measuring.packages.lacking(
            described.packages
        )


@pytest.mark.usefixtures("theirs")
def test_a_program_that_was_not_brought_says_what_it_is():
    with pytest.raises(ReapError, match=r"is a program that you bring: 1\.2, https://example\.org") as caught:
        preparation.prepare("theirs", "custom")
    assert caught.value.hint == "build it, and add --program theirs=FOLDER"
    assert provision.plan(["theirs"]).lacks[0].nothing, "there is nothing to install"
    said = CliRunner().invoke(prepare, ["theirs"], standalone_mode=False)
    assert said.output == (
        "theirs: you bring it: --program theirs=FOLDER (1.2, https://example.org/theirs)\n"
    )


def test_a_program_that_was_brought_runs(theirs):
    assert brought.take([f"theirs={theirs}"]) == [f"theirs={theirs}"]
    described = card.load("theirs")
    assert measuring.lacking(described) == ""
    assert measuring.version_of(described) == "1.2"
    custom, naive = run.try_variants("theirs")
    assert custom.outcome.stdout_digest == naive.outcome.stdout_digest
    first = preparation.prepare("theirs", "naive").directory
    (theirs / "words").write_text("another\n")
    again = preparation.prepare("theirs", "naive").directory
    assert (Path(again) / "words").read_text() == "another\n", "inputs are made from what was brought"
    assert again != first


def test_the_option_is_checked(theirs):
    (theirs / "words").unlink()
    for given, words in (
        ("theirs", "names no folder"),
        (f"theirs={theirs}", "does not have words, which the workload theirs takes"),
        (f"nothing={theirs}", "no workload called 'nothing'"),
    ):
        with pytest.raises(ReapError, match=words):
            brought.take([given])
    (theirs / "words").write_text("said\n")
    said = CliRunner().invoke(verb, ["theirs", "--program", f"theirs={theirs}"], standalone_mode=False)
    assert said.return_value == ExitCode.OK
    assert "how it allocates, to compare: Table 3: 10 objects" in said.output


def test_a_study_names_the_programs_that_were_brought():
    plan = Plan(study="ismm2026", mode="quick", workloads=[], allocators=[], programs=["lcc=/opt/lcc"])
    assert plan.command[-2:] == ["--program", "lcc=/opt/lcc"]
