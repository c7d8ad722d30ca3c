"""`reap workloads prepare`: the plan does nothing; with --yes it does what the plan says, and no more.

apt and dpkg are scripts that note how they are called, so that no test installs anything.
"""

import hashlib
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from reap.base.errors import ReapError
from reap_studies.workloads import card, debian, preparation, provision

CARD = """
name = "NAME"
title = "t"
description = "d"
kind = "region"
allocator = "a"
switch = "s"
packages = ["installed-one", "lacking-one"]
expected_seconds = 1.0
origin = { package = "p", licence = "l" }
prepare = { argv = ["sh", "-c", "echo ready > made"], makes = ["made"] }
[variants.default]
argv = ["cat", "{inputs}/made"]
"""

APT = """#!/bin/sh
echo "apt-get $*" >> "$LOG"
case "$*" in
    *--simulate*)
        printf 'Inst lacking-one (1)\\nInst what-it-needs (2)\\n'
        [ -z "$REMOVES" ] || echo "Remv $REMOVES [1]" ;;
    *install*) touch "$STATE/lacking-one" ;;
    *indextargets*) echo "http://archive/debian stable main" ;;
    *source*) cp "$TAR" . ;;
esac
"""
DPKG = """#!/bin/sh
for name; do :; done
case "$name" in installed-one) echo installed ;; *) [ -e "$STATE/$name" ] && echo installed ;; esac
exit 0
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Where apt-get notes what it is asked for; one card, called mine, is there."""
    tools, log = tmp_path / "bin", tmp_path / "log"
    tools.mkdir()
    for name, text in (("apt-get", APT), ("dpkg-query", DPKG), ("sudo", "#!/bin/sh\nexit 1\n")):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    log.write_text("")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("LOG", str(log))
    monkeypatch.setenv("STATE", str(tmp_path))
    monkeypatch.setenv("REMOVES", "")
    monkeypatch.setattr(card, "folders", lambda: [tmp_path / "workloads"])
    give(tmp_path, "mine", CARD)
    return log


def give(tmp_path, name, text):
    home = tmp_path / "workloads" / name
    home.mkdir(parents=True)
    (home / "card.toml").write_text(text.replace("NAME", name))


def calls(log):
    return [line for line in log.read_text().splitlines() if "--simulate" not in line]


def test_a_plan_does_nothing(machine, tmp_path):
    wanted = provision.plan(["mine"], cache=tmp_path / "cache")
    assert wanted.packages == ["lacking-one"]
    assert wanted.brings == ["lacking-one", "what-it-needs"]
    (lack,) = wanted.lacks
    assert (lack.inputs, lack.program, lack.source) == (True, False, "")
    assert calls(machine) == []
    assert not (tmp_path / "cache").exists()


def test_it_is_carried_out_once(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    cache, said = tmp_path / "cache", []
    provision.carry_out(provision.plan(["mine"], cache=cache), said.append, cache=cache)
    (call,) = calls(machine)
    assert call.startswith("apt-get install -y --no-install-recommends --no-remove")
    assert call.endswith(" lacking-one")
    assert said == ["installing lacking-one", "mine: making its inputs"]
    again = provision.plan(["mine"], cache=cache)
    assert again.lacks[0].nothing
    provision.carry_out(again, said.append, cache=cache)
    assert len(calls(machine)) == 1


def test_a_workload_that_cannot_be_prepared_does_not_stop_the_others(machine, tmp_path):  # noqa: ARG001
    for name in ("broken", "worse"):
        give(tmp_path, name, CARD.replace(', "lacking-one"', "").replace("echo ready", "false; exit 1"))
    give(tmp_path, "whole", CARD.replace(', "lacking-one"', ""))
    cache = tmp_path / "cache"
    with pytest.raises(ReapError, match="2 workloads are not prepared: broken, worse") as caught:
        provision.carry_out(provision.plan(["broken", "worse", "whole"], cache=cache), print, cache=cache)
    assert "worse: inputs cannot be made" in caught.value.hint
    assert provision.plan(["whole"], cache=cache).lacks[0].nothing
    with pytest.raises(ReapError, match="inputs cannot be made"):
        provision.carry_out(provision.plan(["broken"], cache=cache), print, cache=cache)


def test_workloads_are_made_at_the_same_time_and_share_a_source(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "hello").write_text("hello\n")
    with tarfile.open(tmp_path / "upstream_1.0.orig.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "tree", "tree")
    monkeypatch.setenv("TAR", str(tmp_path / "upstream_1.0.orig.tar.gz"))
    for own, other in (("one", "two"), ("two", "one")):
        met = (
            f"touch {tmp_path}/{own}; timeout 60 sh -c 'until test -e {tmp_path}/{other}; do sleep 0.1; done'"
        )
        give(tmp_path, own, BUILT.replace("cp {source}", f"{met} && cp {{source}}"))
    cache = tmp_path / "cache"
    provision.carry_out(provision.plan(["one", "two"], cache=cache), print, cache=cache)
    assert all(provision.plan([name], cache=cache).lacks[0].nothing for name in ("one", "two"))
    assert sum("--only-source" in call for call in calls(machine)) == 1


def test_who_is_not_root_is_told_the_line(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ReapError, match="nothing was done: only root may install lacking-one") as caught:
        provision.carry_out(provision.plan(["mine"], cache=tmp_path), print, cache=tmp_path)
    assert "sudo apt-get install --no-install-recommends lacking-one" in caught.value.hint
    assert calls(machine) == []


def test_nothing_is_removed(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("REMOVES", "precious")
    wanted = provision.plan(["mine"], cache=tmp_path)
    assert wanted.removes == ["precious"]
    with pytest.raises(ReapError, match="precious would have to be removed"):
        provision.carry_out(wanted, print, cache=tmp_path)
    assert calls(machine) == []


def test_packages_that_apt_has_not(machine, tmp_path, monkeypatch):  # noqa: ARG001 - its scripts are needed
    (tmp_path / "bin" / "apt-get").write_text("#!/bin/sh\necho 'E: Unable to locate it' >&2; exit 100\n")
    with pytest.raises(ReapError, match="apt cannot install lacking-one: Unable to locate it"):
        provision.plan(["mine"], cache=tmp_path)


BUILT = (
    CARD.replace('"lacking-one"', "")
    .replace('installed-one", ', 'installed-one"')
    .replace("prepare = {", 'source = "upstream"\nbuild = {')
)
BUILT = BUILT.replace("echo ready > made", "cp {source}/hello made").replace("{inputs}", "{built}")


def test_a_source_is_fetched_by_apt_and_built(machine, tmp_path, monkeypatch):
    (tmp_path / "tree-1.0").mkdir()
    (tmp_path / "tree-1.0" / "hello").write_text("hello\n")
    with tarfile.open(tmp_path / "upstream_1.0.orig.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "tree-1.0", "tree-1.0")
    monkeypatch.setenv("TAR", str(tmp_path / "upstream_1.0.orig.tar.gz"))
    give(tmp_path, "theirs", BUILT)
    cache = tmp_path / "cache"
    with pytest.raises(ReapError, match="Debian's source of upstream, which was not fetched") as caught:
        preparation.prepare("theirs", cache=cache)
    assert caught.value.hint == "reap workloads prepare --yes theirs"
    wanted = provision.plan(["theirs"], cache=cache)
    assert (wanted.packages, wanted.lacks[0].program) == ([], True)
    assert wanted.lacks[0].source == "Debian's source of upstream"
    provision.carry_out(wanted, print, cache=cache)
    ready = preparation.prepare("theirs", cache=cache)
    assert Path(ready.argv[1]).read_text() == "hello\n"
    # Its lists and its cache were its own; the lists stay, so that the next source needs only what changed.
    assert all("Dir::State::lists" in call for call in calls(machine) if "indextargets" not in call)
    assert sorted(path.name for path in cache.iterdir() if path.name.startswith(".")) == [".lists"]
    assert debian.fetch("upstream", cache) == cache / "upstream-source"


def test_a_source_that_apt_has_not(machine, tmp_path):  # noqa: ARG001 - its scripts are needed
    apt = tmp_path / "bin" / "apt-get"
    apt.write_text(APT.replace('cp "$TAR" .', "echo 'E: Unable to find a source package' >&2; exit 100"))
    with pytest.raises(
        ReapError, match=r"source of odd cannot be fetched: .*Unable to find a source package"
    ):
        debian.fetch("odd", tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [".lists"]


def test_a_failing_build_says_what_is_not_installed(machine, tmp_path):  # noqa: ARG001 - its scripts are needed
    give(tmp_path, "broken", CARD.replace("echo ready > made", "echo no such header >&2; exit 1"))
    with pytest.raises(ReapError, match="inputs cannot be made") as caught:
        preparation.prepare("broken", cache=tmp_path / "cache")
    assert "no such header" in caught.value.hint
    assert "not installed: lacking-one (reap workloads prepare --yes broken)" in caught.value.hint


def wheel(folder):
    """A package without anything but a name and a module."""
    folder.mkdir()
    path = folder / "tiny-1.0-py3-none-any.whl"
    about = "tiny-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("tiny.py", "said = 7\n")
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(
            f"{about}/RECORD", f"tiny.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n"
        )
    return path


def test_python_packages_are_installed_by_their_hashes(machine, tmp_path, monkeypatch):  # noqa: ARG001
    made = wheel(tmp_path / "wheels")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(made.parent))
    text = CARD.replace(', "lacking-one"', "").replace("[variants", 'requirements = "wants.txt"\n[variants')
    give(tmp_path, "script", text)
    wants, cache, said = tmp_path / "workloads/script/wants.txt", tmp_path / "cache", []
    wants.write_text(f"tiny==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(ReapError, match="Python packages of script cannot be installed") as caught:
        provision.carry_out(provision.plan(["script"], cache=cache), said.append, cache=cache)
    assert "Got" in caught.value.what
    assert [path for path in cache.iterdir() if "modules" in path.name] == []
    wants.write_text(f"tiny==1.0 --hash=sha256:{hashlib.sha256(made.read_bytes()).hexdigest()}\n")
    provision.carry_out(provision.plan(["script"], cache=cache), said.append, cache=cache)
    (modules,) = cache.glob("script-modules-*")
    assert (modules / "tiny.py").read_text() == "said = 7\n"
    assert provision.plan(["script"], cache=cache).lacks[0].nothing


def test_orjson_is_the_one_of_the_benchmarks():
    root = Path(__file__).resolve().parents[3]
    wanted = (root / "studies/workloads/request-driver/requirements.txt").read_text().partition("\n")[2]
    assert wanted.strip() in (root / "setup/python/bench.lock").read_text()
