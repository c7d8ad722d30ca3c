"""Workload cards: each is whole, and gives the same inputs and output every time."""

import json
import re
import subprocess
from pathlib import Path

import msgspec
import pytest
from programs import reap

from reap.base.errors import ExitCode, ReapError
from reap.launch import spawn
from reap_studies.study import measuring
from reap_studies.study.ismm2026 import run as ismm2026
from reap_studies.study.oopsla2002 import run as oopsla2002
from reap_studies.workloads import card, preparation
from reap_studies.workloads import run as workload
from reap_studies.workloads.records import Card

LISTS = Path(__file__).resolve().parents[3] / "setup" / "apt"
SMALL = {"perl": 1, "gcc": 1, "sed": 1}


def run(ready):
    return spawn.run(workload.launch_of(ready))


def test_the_demos_programs_have_cards():
    assert set(card.names()) >= {"perl", "gcc", "sed"}


@pytest.mark.parametrize("name", card.names())
def test_a_card_is_whole(name):
    read = card.load(name)
    assert read.title
    assert read.description
    assert read.origin.licence
    assert read.packages or read.brought
    assert 0.1 < read.expected_seconds < 60
    assert read.variants.keys() <= {"default", "custom", "naive", "reap"}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_two_preparations_give_the_same_output(name, tmp_path):
    one, two = (preparation.prepare(name, scale=1, cache=tmp_path / which) for which in ("one", "two"))
    first, second = run(one), run(two)
    assert first.exit_code == second.exit_code == 0, first.stderr_tail
    assert first.stdout_bytes > 100
    if name != "gcc":  # which writes the name of its input's folder
        assert first.stdout_digest == second.stdout_digest
    assert first.stdout_digest == run(one).stdout_digest


def test_inputs_are_made_once(tmp_path):
    first = preparation.prepare("sed", scale=1, cache=tmp_path)
    (made,) = tmp_path.iterdir()
    stamp = (made / "text.txt").stat().st_mtime_ns
    assert preparation.prepare("sed", scale=1, cache=tmp_path) == first
    assert (made / "text.txt").stat().st_mtime_ns == stamp
    preparation.prepare("sed", scale=2, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def folder_with(tmp_path, monkeypatch, text, script="import sys\n"):
    home = tmp_path / "workloads" / "mine"
    home.mkdir(parents=True)
    (home / "card.toml").write_text(text)
    (home / "prepare.py").write_text(script)
    monkeypatch.setattr(card, "folders", lambda: [tmp_path / "workloads"])


MINE = """
name = "mine"
title = "t"
description = "d"
kind = "ordinary"
allocator = "none"
switch = "no"
packages = ["nothing"]
expected_seconds = 1.0
origin = { package = "p", licence = "l" }
prepare = { argv = ["{python}", "{card}/prepare.py", "{inputs}"], makes = ["made"] }
[variants.default]
argv = ["cat", "{inputs}/made"]
"""


def test_a_variant_for_drag_alone_is_prepared_and_not_run_beside_the_others(tmp_path, monkeypatch):
    own = MINE + '[emulated]\nargv = ["wc", "{inputs}/made"]\n'
    folder_with(tmp_path, monkeypatch, own, "open('made', 'w').write('one')")
    ready = preparation.prepare("mine", preparation.EMULATED, cache=tmp_path / "cache")
    assert ready.argv[0] == "wc"
    assert list(card.load("mine").variants) == ["default"]
    assert [each.variant for each in workload.try_variants("mine", cache=tmp_path / "cache")] == ["default"]
    folder_with(tmp_path / "other", monkeypatch, MINE)
    with pytest.raises(ReapError, match="no variant 'emulated'"):
        preparation.prepare("mine", preparation.EMULATED, cache=tmp_path / "cache")


def test_a_failing_preparation_leaves_nothing(tmp_path, monkeypatch):
    folder_with(tmp_path, monkeypatch, MINE, "open('made', 'w'); raise SystemExit('out of luck')")
    with pytest.raises(ReapError, match="failed with 1") as caught:
        preparation.prepare("mine", cache=tmp_path / "cache")
    assert "out of luck" in caught.value.hint
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_preparation_that_makes_something_else(tmp_path, monkeypatch):
    folder_with(tmp_path, monkeypatch, MINE)
    with pytest.raises(ReapError, match="did not make made"):
        preparation.prepare("mine", cache=tmp_path / "cache")


def test_a_changed_command_makes_new_inputs_and_another_title_does_not(tmp_path, monkeypatch):
    folder_with(tmp_path, monkeypatch, MINE, "open('made', 'w').write('one')")
    first = preparation.places("mine", cache=tmp_path / "cache").inputs
    (tmp_path / "workloads/mine/card.toml").write_text(MINE.replace('title = "t"', 'title = "another"'))
    assert preparation.places("mine", cache=tmp_path / "cache").inputs == first
    (tmp_path / "workloads/mine/card.toml").write_text(MINE.replace('"{inputs}"]', '"{inputs}", "9"]'))
    assert preparation.places("mine", cache=tmp_path / "cache").inputs != first


def test_a_changed_script_makes_new_inputs(tmp_path, monkeypatch):
    folder_with(tmp_path, monkeypatch, MINE, "open('made', 'w').write('one')")
    preparation.prepare("mine", cache=tmp_path / "cache")
    (tmp_path / "workloads/mine/prepare.py").write_text("open('made', 'w').write('three')")
    assert run(preparation.prepare("mine", cache=tmp_path / "cache")).stdout_bytes == 5


def test_mistakes_are_named(tmp_path, monkeypatch):
    with pytest.raises(ReapError, match="no workload called 'nothing'") as caught:
        card.load("nothing")
    assert caught.value.code == ExitCode.USAGE
    with pytest.raises(ReapError) as caught:
        card.load("perll")
    assert caught.value.hint.startswith("did you mean perl? known are: ")
    with pytest.raises(ReapError, match="no variant 'naive'"):
        preparation.prepare("perl", "naive", cache=tmp_path)
    with pytest.raises(ReapError, match="did you mean default"):
        preparation.prepare("perl", "defualt", cache=tmp_path)
    folder_with(tmp_path, monkeypatch, MINE.replace('kind = "ordinary"', 'kind = "odd"'))
    with pytest.raises(ReapError, match=r"is not a card: .*kind"):
        card.load("mine")
    (tmp_path / "workloads/mine/card.toml").write_text(MINE.replace('"cat"', '"no-such-program"'))
    with pytest.raises(ReapError, match="needs no-such-program") as caught:
        preparation.prepare("mine", cache=tmp_path)
    assert caught.value.hint == "reap workloads prepare --yes mine"


@pytest.fixture
def own_cards(tmp_path, monkeypatch):
    """A folder of the user's own: one card with both variants, and one that is none."""
    for name, text in (("words", WORDS), ("bad", 'name = "bad"')):
        (tmp_path / "cards" / name).mkdir(parents=True)
        (tmp_path / "cards" / name / "card.toml").write_text(text)
    monkeypatch.setenv(card.VARIABLE, str(tmp_path / "cards"))


WORDS = """
name = "words"
title = "Counts words"
description = "A script of the user's."
kind = "hybrid"
allocator = "pymalloc"
switch = "PYTHONMALLOC=malloc"
packages = []
expected_seconds = 0.5
origin = { package = "mine", licence = "MIT" }
scale = "rounds"
[variants.custom]
argv = ["{python}", "-c", "print(len({str(n) for n in range({scale} * 1000)}))"]
[variants.naive]
argv = ["{python}", "-c", "print(len({str(n) for n in range({scale} * 1000)}))"]
environment = { PYTHONMALLOC = "malloc" }
"""


@pytest.mark.usefixtures("own_cards")
def test_a_folder_of_the_users_own_cards(tmp_path, monkeypatch):
    assert {"words", "perl"} <= set(card.names())
    assert card.own_names() == ["bad", "words"]
    assert card.load("words").variants.keys() == {"custom", "naive"}
    monkeypatch.delenv(card.VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "reap").mkdir()
    (tmp_path / "cards").rename(tmp_path / "reap" / "workloads")
    assert card.own_names() == ["bad", "words"]


@pytest.mark.usefixtures("own_cards")
def test_a_bad_card_stops_none_but_itself(tmp_path):
    done = reap("workloads", "list", "--json", "list.json", cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED
    assert "left out" in done.stderr
    assert "bad/card.toml is not a card: Object missing required field" in done.stderr
    assert "required are name, title, description, kind" in done.stderr
    assert {"words", "perl"} <= {
        each["name"] for each in json.loads((tmp_path / "list.json").read_text())["workloads"]
    }
    done = reap("workloads", "run", "words", "--scale", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "all variants print the same output" in done.stderr
    assert "reap study ismm2026 --quick --workloads words" in done.stderr


def test_required_fields_are_documented():
    page = (Path(__file__).parents[3] / "docs" / "workload-cards.md").read_text()
    said = re.search(r"Required fields are (.*?)\.", page, re.DOTALL)
    required = {field.name for field in msgspec.structs.fields(Card) if field.required}
    assert set(re.findall(r"`(\w+)`", said[1])) == required


@pytest.mark.usefixtures("own_cards")
@pytest.mark.parametrize("studying", [ismm2026, oopsla2002])
def test_a_study_takes_a_card_of_the_users_own(studying):
    assert studying.plan("quick", ["words"], ["glibc"]).workloads == ["words"]
    assert "words" not in studying.plan("quick", [], ["glibc"]).workloads
    assert measuring.version_of(card.load("words")) == ""


BUILT = MINE.replace('["cat", "{inputs}/made"]', '["sh", "{built}/made"]').replace("prepare =", "build =")
BUILT = BUILT.replace('"{inputs}"]', '"{built}"]')
MAKES = "import sys, pathlib; (pathlib.Path(sys.argv[1]) / 'made').write_text('echo WORD')"


def test_a_program_is_built_once_for_all_scales_and_again_when_its_source_changes(tmp_path, monkeypatch):
    folder_with(tmp_path, monkeypatch, BUILT, MAKES.replace("WORD", "one"))
    cache = tmp_path / "cache"
    assert run(preparation.prepare("mine", scale=1, cache=cache)).stdout_bytes == len("one\n")
    preparation.prepare("mine", scale=2, cache=cache)
    assert len(list(cache.iterdir())) == 1
    (tmp_path / "workloads/mine/prepare.py").write_text(MAKES.replace("WORD", "three"))
    assert run(preparation.prepare("mine", cache=cache)).stdout_bytes == len("three\n")
    # What programs share is part of all of them.
    common = tmp_path / "workloads" / "common"
    common.mkdir()
    (common / "shared.h").write_text("")
    preparation.prepare("mine", cache=cache)
    assert len(list(cache.iterdir())) == 3


def test_a_failing_build_leaves_nothing(tmp_path, monkeypatch):
    folder_with(tmp_path, monkeypatch, BUILT, "raise SystemExit('no such header')")
    with pytest.raises(ReapError, match=r"the program cannot be made: .* failed with 1") as caught:
        preparation.prepare("mine", cache=tmp_path / "cache")
    assert "no such header" in caught.value.hint
    assert list((tmp_path / "cache").iterdir()) == []
    (tmp_path / "workloads/mine/card.toml").write_text(
        BUILT.replace('build = { argv = ["{python}"', 'build = { argv = ["no-such-compiler"')
    )
    with pytest.raises(ReapError, match="needs no-such-compiler"):
        preparation.prepare("mine", cache=tmp_path / "cache")


def every_package(described):
    return [*described.packages, *(each for peer in described.peers.values() for each in peer.packages)]


def test_the_list_of_packages_is_that_of_the_cards():
    text = (LISTS / "workloads.txt").read_text()
    listed = [line for line in text.splitlines() if not line.startswith("#")]
    assert listed == sorted({package for name in card.names() for package in every_package(card.load(name))})


@pytest.mark.workloads
def test_all_packages_can_be_installed_on_one_machine():
    """Where two lists name different versions of Boost, apt refuses whichever list comes second."""
    lines = "\n".join(path.read_text() for path in LISTS.glob("*.txt")).splitlines()
    names = {line.partition("#")[0].partition("|")[0].strip() for line in lines} - {""}
    apt = ["apt-get", "--simulate", "--no-install-recommends", "install", *sorted(names)]
    answer = subprocess.run(apt, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_the_page_names_the_licence_of_each_program_that_is_installed():
    page = (Path(__file__).resolve().parents[3] / "docs" / "workloads.md").read_text()
    section = page.partition("\n## Licences\n")[2].partition("\n## ")[0]
    told = {}
    for source, licence, names in re.findall(r"^\| (.+) \| (.+) \| (`.+`) \|$", section, re.MULTILINE):
        told |= dict.fromkeys(re.findall(r"`([^`]+)`", names), (source, licence))
    origins = {name: card.load(name).origin for name in card.names()}
    assert told == {
        name: (origin.package.removeprefix("https://"), origin.licence)
        for name, origin in origins.items()
        if origin.package != "reap" and card.load(name).brought is None
    }
