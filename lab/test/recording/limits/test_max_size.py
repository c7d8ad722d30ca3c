"""At --max-size events end and counters go on: totals are exact to the end, and a note says from when on."""

import pytest
from programs import reap
from recorded import recorded, target

from reap.launch.records import Launch
from reap.recording import read, record
from reap.recording.analyse.profile import profile

LIMIT = 1 << 20


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """A run with threads recorded whole, and again up to a limit in both depths."""
    folder = tmp_path_factory.mktemp("limit")
    words = [target("threads"), "exchange", "4", "100000"]
    launch = Launch(argv=words, program=words[0])
    for depth in ("full", "triage"):
        assert record.record(launch, folder / f"{depth}-limit.reap", depth, max_bytes=LIMIT).status == 0
    whole = recorded(folder, "full", *words)
    return whole, folder / "full-limit.reap", folder / "triage-limit.reap"


def test_the_file_stays_about_as_long(three):
    whole, limited, _ = three
    assert whole.path.stat().st_size > 2 * LIMIT
    # Each thread ends its block; counters, names and resident memory go on.
    assert LIMIT <= limited.stat().st_size < 1.6 * LIMIT


def test_totals_are_exact_to_the_end(three):
    whole, limited, _ = three
    found = read.read(limited)
    of_all = [
        sum(getattr(image, name) for image in whole.recording.images())
        for name in ("objects", "bytes", "frees")
    ]
    counted = [
        sum(getattr(image, name) for image in found.images()) for name in ("objects", "bytes", "frees")
    ]
    assert counted == of_all
    assert found.sizes() == whole.recording.sizes()
    assert list(found.totals().calls) == list(whole.totals.calls)
    assert found.totals().events < whole.totals.events / 2


def test_the_note_says_from_when_on(three):
    _, limited, _ = three
    found = read.read(limited)
    assert 0 < found.header().stop_seconds < found.header().seconds
    said = profile(found, [])
    assert any(note.startswith("From ") and "--max-size" in note for note in said.notes), said.notes


def test_triage_needs_no_limit_as_long_as_its_samples_are_few(three):
    _, _, triage = three
    assert read.read(triage).header().stop_reason == 0


def test_the_option_takes_units_and_refuses_what_is_no_size(tmp_path):
    command = ["--", target("threads"), "exchange", "4", "100000"]
    words = ["record", "-d", "full", "-o", "k.reap", "--max-size"]
    assert reap(*words, "1M", *command, cwd=tmp_path).returncode == 0
    assert "--max-size" in " ".join(reap("show", "k.reap", cwd=tmp_path).stdout.split())
    for wrong in ("much", "0", "-1", "1X", ""):
        refused = reap(*words, wrong, *command, cwd=tmp_path)
        assert refused.returncode == 2
        assert "is not a size: give a number of bytes" in " ".join(refused.stderr.split())
