"""What the repository keeps of full studies: studies/bench/keep.py."""

import csv
import sys
from pathlib import Path

import msgspec
import pytest
from studies.test.study.ismm2026.test_ismm2026 import measured, study_of

from reap_studies.study import page

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import keep


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The folder of a small study."""
    place = tmp_path / "study"
    place.mkdir()
    page.write(study_of(measured()), place)
    return place


def test_conclusions_and_drawn_values_are_kept(study: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(keep, "RESULTS", tmp_path / "kept")
    monkeypatch.setattr(sys, "argv", ["keep.py", str(study)])
    assert keep.main() == 0
    kept = tmp_path / "kept" / "ismm2026"
    whole = msgspec.json.decode((study / "study.json").read_bytes(), type=keep.Study)
    conclusions = msgspec.json.decode((kept / "conclusions.json").read_bytes(), type=keep.Kept).conclusions
    assert [(each.claim, each.standing) for each in conclusions] == [
        (each.claim, each.standing) for each in whole.conclusions
    ]
    with (kept / "figures.csv").open(newline="") as file:
        assert {line["part"] for line in csv.DictReader(file)} == {"workloads", "artefact"}
    assert keep.problems(study, tmp_path / "kept") == []


def test_what_differs_is_named(study: Path, tmp_path: Path) -> None:
    results = tmp_path / "kept"
    (place := results / "ismm2026").mkdir(parents=True)
    _, made = keep.files(study)
    for name, data in made.items():
        (place / name).write_bytes(data)
    other = msgspec.json.decode((study / "study.json").read_bytes(), type=keep.Study)
    other.conclusions.pop()
    (study / "study.json").write_bytes(msgspec.json.encode(other))
    found = keep.problems(study, results)
    assert any("conclusions.json is not what" in each for each in found)
    assert any("was judged by other rules: rejudge.py" in each for each in found)


def test_a_study_whose_cards_name_commits_is_read(study: Path) -> None:
    """As those that were published before: nothing fetches them now."""
    data = msgspec.json.decode((study / "study.json").read_bytes())
    data["measured"][0]["card"]["source"] = {"git": "https://example.org/theirs", "commit": "1" * 40}
    (study / "study.json").write_bytes(msgspec.json.encode(data))
    assert keep.read(study).measured[0].card.source == ""
