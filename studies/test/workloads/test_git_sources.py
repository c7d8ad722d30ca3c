"""Cards whose source is a commit of a git repository: what is built is that commit, and no other.

The repositories are made here; nothing is fetched from the network.
"""

import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from reap.base.errors import ExitCode, ReapError
from reap_studies.cli.prepare import prepare
from reap_studies.study import measuring
from reap_studies.workloads import card, git, preparation, provision, run
from reap_studies.workloads.records import Git

ADDRESS = "https://example.invalid/someone/theirs"
CARD = """
name = "NAME"
title = "t"
description = "d"
kind = "region"
allocator = "a"
switch = "s"
packages = []
source = { git = "ADDRESS", commit = "COMMIT" }
expected_seconds = 1.0
origin = { package = "ADDRESS", licence = "l" }
build = { argv = ["cp", "{source}/words", "{built}/words"], makes = ["words"] }
[variants.default]
argv = ["cat", "{built}/words"]
"""
COMMITTER = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def in_git(folder, *words):
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        env={**os.environ, **COMMITTER},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def commit(folder, text):
    (folder / "words").write_text(text)
    in_git(folder, "add", "words")
    in_git(folder, "commit", "--quiet", "--message", text)
    return in_git(folder, "rev-parse", "HEAD")


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A repository of two commits in the folder of REAP_SOURCES, bare; and the name of the first commit."""
    work = tmp_path / "work"
    work.mkdir()
    in_git(work, "init", "--quiet")
    first = commit(work, "first\n")
    commit(work, "second\n")
    (tmp_path / "sources").mkdir()
    in_git(work, "clone", "--quiet", "--bare", ".", str(tmp_path / "sources" / "theirs.git"))
    monkeypatch.setenv(git.VARIABLE, str(tmp_path / "sources"))
    monkeypatch.setattr(card, "folders", lambda: [tmp_path / "workloads"])
    give(tmp_path, "theirs", first)
    return Git(git=ADDRESS, commit=first)


def give(tmp_path, name, commit, address=ADDRESS):
    home = tmp_path / "workloads" / name
    home.mkdir(parents=True)
    text = CARD.replace("NAME", name).replace("COMMIT", commit).replace("ADDRESS", address)
    (home / "card.toml").write_text(text)


def test_a_commit_is_fetched_and_built_once(theirs, tmp_path):
    cache, said = tmp_path / "cache", []
    with pytest.raises(ReapError, match=r"built from the source of theirs \(.* at .*, which was not fetched"):
        preparation.prepare("theirs", cache=cache)
    wanted = provision.plan(["theirs"], cache=cache)
    assert wanted.lacks[0].source == git.named(theirs)
    assert not cache.exists()
    assert provision.carry_out(wanted, said.append, cache=cache) == []
    assert said == [f"theirs: fetching {git.named(theirs)}", "theirs: making its program"]
    # The card's commit, not the newest.
    assert Path(preparation.prepare("theirs", cache=cache).argv[1]).read_text() == "first\n"
    assert provision.plan(["theirs"], cache=cache).lacks[0].nothing
    assert sorted(path.name for path in cache.iterdir() if path.name.startswith(".")) == []


def test_another_commit_is_another_source_and_another_program(theirs, tmp_path):
    one = preparation.places("theirs", cache=tmp_path)
    newest = in_git(tmp_path / "work", "rev-parse", "HEAD")
    text = (tmp_path / "workloads/theirs/card.toml").read_text()
    (tmp_path / "workloads/theirs/card.toml").write_text(text.replace(theirs.commit, newest))
    two = preparation.places("theirs", cache=tmp_path)
    assert one.source != two.source
    assert one.built != two.built


def test_a_repository_is_found_by_its_name_with_and_without_git(theirs, tmp_path, monkeypatch):
    assert git.repository(theirs) == str(tmp_path / "sources/theirs.git")
    assert git.repository(Git(git=f"{ADDRESS}.git/", commit=theirs.commit)) == str(
        tmp_path / "sources/theirs.git"
    )
    (tmp_path / "sources" / "theirs").mkdir()
    assert git.repository(theirs) == str(tmp_path / "sources/theirs")
    monkeypatch.setenv(git.VARIABLE, str(tmp_path / "elsewhere"))
    assert git.repository(theirs) == ADDRESS
    monkeypatch.delenv(git.VARIABLE)
    assert git.repository(theirs) == ADDRESS


def test_no_git(theirs, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(git.UnreachableError, match="fetched by git, which is not installed") as caught:
        git.fetch(theirs, tmp_path / "cache")
    assert caught.value.hint == "apt-get install git"
    assert caught.value.code == ExitCode.NOT_FOUND


def test_no_way_to_the_repository(theirs, tmp_path, monkeypatch):
    monkeypatch.delenv(git.VARIABLE)
    nowhere = Git(git="file:///no/such/theirs", commit=theirs.commit)
    with pytest.raises(
        git.UnreachableError, match="theirs cannot be fetched from file:///no/such/theirs"
    ) as caught:
        git.fetch(nowhere, tmp_path / "cache")
    assert "set REAP_SOURCES=FOLDER" in caught.value.hint
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_commit_that_the_repository_lacks(theirs, tmp_path):  # noqa: ARG001 - the repository is needed
    missing = Git(git=ADDRESS, commit="1234567890" * 4)
    with pytest.raises(ReapError, match=f"theirs.git does not have commit {missing.commit}") as caught:
        git.fetch(missing, tmp_path / "cache")
    assert not isinstance(caught.value, git.UnreachableError)
    assert caught.value.hint.startswith("update that repository")


def test_a_repository_that_serves_another_content_for_a_hash(theirs, tmp_path):
    """Its object of the first commit is replaced by that of the second, which is whole but for its name."""
    bare = tmp_path / "sources" / "theirs.git"
    objects = tmp_path / "loose"
    objects.mkdir()
    for pack in (bare / "objects" / "pack").glob("*.pack"):
        pack.rename(objects / pack.name)
        unpack = ["git", "-C", str(bare), "unpack-objects", "-q"]
        subprocess.run(unpack, input=(objects / pack.name).read_bytes(), check=True)

    def loose(name):
        return bare / "objects" / name[:2] / name[2:]

    content = loose(in_git(bare, "rev-parse", "HEAD")).read_bytes()
    loose(theirs.commit).chmod(0o644)
    loose(theirs.commit).write_bytes(content)
    with pytest.raises(ReapError, match=f"is not commit {theirs.commit}: its hash differs") as caught:
        git.fetch(theirs, tmp_path / "cache")
    assert "rm " not in caught.value.hint, "the repository is the user's"
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("change", ["changed", "added", "removed", "committed"])
def test_a_source_that_was_changed_in_the_cache_is_not_built(theirs, tmp_path, change):
    cache = tmp_path / "cache"
    folder = git.fetch(theirs, cache)
    if change == "removed":
        (folder / "words").unlink()
    else:
        (folder / ("more" if change == "added" else "words")).write_text("mine\n")
    if change == "committed":
        in_git(folder, "commit", "--quiet", "--all", "--message", "mine")
    expected = "its hash differs" if change == "committed" else "was changed after it was fetched"
    for act in (lambda: preparation.prepare("theirs", cache=cache), lambda: git.fetch(theirs, cache)):
        with pytest.raises(ReapError, match=expected) as caught:
            act()
        assert caught.value.hint.startswith(f"rm -r {folder}")


def test_repositories_that_cannot_be_reached_are_listed_and_the_others_prepared(theirs, tmp_path):
    give(tmp_path, "absent", theirs.commit, address="file:///no/such/absent")
    give(tmp_path, "lacking", "0" * 40)
    cache, said = tmp_path / "cache", []
    names = ["absent", "theirs"]
    assert provision.carry_out(
        provision.plan(names, cache=cache), said.append, cache=cache, optional=True
    ) == ["absent"]
    assert any(line.startswith("absent is not prepared: the source of absent") for line in said)
    assert provision.plan(["theirs"], cache=cache).lacks[0].nothing
    with pytest.raises(ReapError, match="absent cannot be fetched"):
        provision.carry_out(provision.plan(["absent"], cache=cache), print, cache=cache)
    # What is wrong with a source is an error in any case.
    with pytest.raises(ReapError, match="does not have commit"):
        provision.carry_out(provision.plan(["lacking"], cache=cache), print, cache=cache, optional=True)


PEER = """
[peers.other]
title = "another"
frees = ["bulk"]
source = { git = "ADDRESS", commit = "COMMIT" }
argv = ["cat", "{built}/words", "{peer}/library"]
[peers.other.build]
argv = ["cp", "{source}/words", "{peer}/library"]
makes = ["library"]
"""


def test_a_peer_has_a_source_and_a_library_of_its_own(theirs, tmp_path):
    """Another commit than the program's: each is built from its own."""
    newest = in_git(tmp_path / "work", "rev-parse", "HEAD")
    assert newest != theirs.commit
    file = tmp_path / "workloads/theirs/card.toml"
    file.write_text(file.read_text() + PEER.replace("ADDRESS", ADDRESS).replace("COMMIT", newest))
    described, cache, said = card.load("theirs"), tmp_path / "cache", []
    fetched = git.named(described.peers["other"].source)
    assert preparation.absent(described, cache=cache) == {"other": [fetched]}
    wanted = provision.plan(["theirs"], cache=cache)
    assert wanted.lacks[0].peers == {"other": fetched}
    provision.carry_out(wanted, said.append, cache=cache)
    assert said[-2:] == [f"theirs, other: fetching {fetched}", "theirs, other: making its library"]
    assert preparation.absent(described, cache=cache) == {}
    assert provision.plan(["theirs"], cache=cache).lacks[0].nothing
    _, program, library = preparation.prepare("theirs", "other", cache=cache).argv
    assert (Path(program).read_text(), Path(library).read_text()) == ("first\n", "second\n")


def test_a_peer_whose_repository_cannot_be_reached_is_left_out_and_the_program_runs(theirs, tmp_path):
    nowhere = PEER.replace("ADDRESS", "file:///no/such/absent").replace("COMMIT", theirs.commit)
    file = tmp_path / "workloads/theirs/card.toml"
    file.write_text(file.read_text() + nowhere)
    cache, said = tmp_path / "cache", []
    wanted = provision.plan(["theirs"], cache=cache)
    assert provision.carry_out(wanted, said.append, cache=cache, optional=True) == []
    assert said[-1].startswith("theirs is prepared without its peer other: the source of absent cannot be")
    tried = run.try_variants("theirs", cache=cache)
    assert [each.variant for each in tried] == ["default"]
    with pytest.raises(ReapError, match=r"theirs is built from the source of absent \(.*not fetched"):
        preparation.prepare("theirs", "other", cache=cache)


def test_the_command_goes_on_unless_the_workload_is_named(theirs, tmp_path, monkeypatch):
    give(tmp_path, "absent", theirs.commit, address="file:///no/such/absent")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = CliRunner()
    planned = command.invoke(prepare, ["absent"], standalone_mode=False)
    assert "the source of absent (file:///no/such/absent" in " ".join(planned.output.split())
    named = command.invoke(prepare, ["--yes", "absent"], standalone_mode=False)
    assert isinstance(named.exception, git.UnreachableError)
    every = command.invoke(prepare, ["--yes"], standalone_mode=False)
    assert every.return_value == ExitCode.OK
    assert "absent is not prepared: the source of absent cannot be fetched" in every.output
    assert "next: reap workloads run theirs" in every.output
    assert preparation.prepare("theirs").variant == "default"


def test_a_commit_is_its_version_and_needs_its_full_name(theirs, tmp_path):
    assert measuring.version_of(card.load("theirs")) == theirs.commit[:12]
    assert "the source of theirs" in measuring.lacking(card.load("theirs"))
    file = tmp_path / "workloads/theirs/card.toml"
    file.write_text(file.read_text().replace(theirs.commit, theirs.commit[:12]))
    with pytest.raises(ReapError, match=r"is not a card: .*commit"):
        card.load("theirs")
