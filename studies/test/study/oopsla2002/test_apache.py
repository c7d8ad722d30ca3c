"""Section 7.5 of OOPSLA 2002: what the module says becomes figures, and no server stays behind."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest
from studies.test.study.oopsla2002.test_oopsla2002 import study_of
from studies.test.workloads.test_programs import need

from reap.launch import spawn
from reap.launch.records import Outcome
from reap_studies.study import measuring
from reap_studies.study import page as reporter
from reap_studies.study.oopsla2002 import run
from reap_studies.study.oopsla2002.apache import run as oopsla2002_apache
from reap_studies.study.oopsla2002.apache.run import WAYS, judge, take
from reap_studies.study.records import Apache, Pooled
from reap_studies.workloads import card, preparation
from reap_studies.workloads.records import Ready


def pooled(way, held, peak):
    peaks = [peak, peak + 1, peak + 2]
    return Pooled(way=way, objects=9, asked=900, freed=3, held=held, resident=peaks, peak_resident=peaks)


def excluded(why):
    return Apache(card=card.load("mod-bc"), scale=10, excluded=why)


def measured(kept=8_000_000, freed=200_000, lines=8000, memory=20, other=30):
    sizes = {"APR's own pools": (0, kept), "reaps, nothing freed": (kept, kept)}
    ways = [pooled(way, *sizes.get(way, (freed, freed))) for way in WAYS]
    found = excluded("")
    return msgspec.structs.replace(found, pooled=ways, lines=lines, memory_lines=memory, other_lines=other)


def standings(apache):
    return [each.standing for each in judge(apache)]


def test_memory_is_saved_where_the_pool_and_the_server_take_less():
    assert standings(measured())[0] == "holds"
    assert standings(measured(freed=8_000_000))[0] == "does not hold"
    assert standings(None) == standings(excluded("no httpd")) == ["inconclusive", "inconclusive"]


def test_changes_are_minor_up_to_one_line_in_a_hundred():
    assert standings(measured(memory=80, other=80))[1] == "holds"
    assert standings(measured(memory=20, other=81))[1] == "holds partly"
    assert standings(measured(memory=81, other=81))[1] == "does not hold"


def test_the_page_shows_each_way_beside_the_paper():
    page = reporter.page(msgspec.structs.replace(study_of([], []), apache=measured()))
    assert "the 1000th prime" in page
    for way in WAYS:
        assert way.replace("'", "&#39;") in page
    assert "7.4 MB" in page
    assert "7.63 MiB" in page
    left_out = msgspec.structs.replace(study_of([], []), apache=excluded("no httpd here"))
    assert "not measured: no httpd here" in reporter.page(left_out)
    assert "Section 7.5" not in reporter.page(study_of([], []))


def test_without_httpd_it_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "lacking", lambda _: "apache2-bin is not installed here")
    kept = tmp_path / "kept.json"
    assert take(kept).excluded == "apache2-bin is not installed here"
    assert not kept.exists()


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome(exit_code=0, stderr_tail="[crit] no"), "did not say what it took"),
        (Outcome(exit_code=0, signal=9), "ended with 137"),
        (Outcome(exit_code=0, signal=15, timed_out=True), "did not end in 60 s"),
    ],
)
def test_a_server_that_fails_is_the_reason(outcome, said, tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "lacking", lambda _: "")
    monkeypatch.setattr(preparation, "prepare", lambda *_: Ready(
        card=card.load("mod-bc"), variant="custom", argv=["sh"], environment={}, directory=str(tmp_path)
    ))  # fmt: skip
    monkeypatch.setattr(spawn, "run", lambda _: outcome)
    assert said in take(tmp_path / "kept.json").excluded


def test_it_is_part_of_the_study():
    assert oopsla2002_apache.WORKLOAD in run.plan("quick", [], []).workloads


@pytest.mark.workloads
def test_freed_objects_are_used_again(tmp_path, monkeypatch):
    need("mod-bc")
    monkeypatch.setattr(oopsla2002_apache, "ROUNDS", 2)
    taken = take(tmp_path / "kept.json")
    assert taken.excluded == ""
    own, kept, freed, malloc = taken.pooled
    assert own.objects == kept.objects == freed.objects == malloc.objects > 100_000
    assert own.freed == kept.freed == 0
    assert freed.freed == malloc.freed > 100_000
    assert kept.held > kept.asked > 20 * freed.held
    assert min(own.resident) > own.asked > 20 * max(freed.resident)
    assert 10 < taken.memory_lines < taken.lines / 50
    monkeypatch.setattr(oopsla2002_apache, "_measured", None)  # what was measured is not measured again
    assert take(tmp_path / "kept.json") == taken
    (tmp_path / "kept.json").write_text("{")
    with pytest.raises(TypeError):
        take(tmp_path / "kept.json")


def served(site, *client):
    script = card.find("apache").parent / "common" / "serve.sh"
    return subprocess.run(
        ["sh", script, site, *client], capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/bin", "TMPDIR": str(site.parent / "made")},
    )  # fmt: skip


@pytest.fixture
def site():
    """One that an unprivileged user may enter."""
    if shutil.which("apache2") is None:
        pytest.skip("reap workloads prepare --yes apache")
    with tempfile.TemporaryDirectory(prefix="reap-test-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "made").mkdir(mode=0o755)
        subprocess.run([sys.executable, card.find("apache") / "prepare.py", place / "site", "1"], check=True)
        yield place / "site"
        assert list((place / "made").iterdir()) == []


@pytest.mark.workloads
def test_a_server_ends_with_its_client(site):
    done = served(
        site, sys.executable, card.find("apache").parent / "common" / "load.py", site / "requests.txt"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("43 requests, ")


@pytest.mark.workloads
def test_a_client_that_fails_ends_the_server_by_a_signal(site):
    assert served(site, "false").returncode == -9


@pytest.mark.workloads
def test_a_server_that_cannot_start_says_so(site):
    (site / "httpd.conf").write_text("Nonsense\n")
    done = served(site, "sh", "-c", "sleep 1")
    assert done.returncode == 1
    assert "No MPM loaded" in done.stderr
