"""The stub of reap.native is the one that the compiled module gives, and its records are what it promises."""

import difflib
import gc
import re
import subprocess
import sys
from pathlib import Path

from reap import native

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "lab" / "reap" / "native.pyi"


def test_the_stub_is_the_one_that_the_module_gives():
    made = subprocess.run([ROOT / "setup" / "stub", "--print"], capture_output=True, text=True, check=True)
    kept = STUB.read_text()
    difference = difflib.unified_diff(kept.splitlines(), made.stdout.splitlines(), "native.pyi", "the module")
    assert kept == made.stdout, "\n".join(["run setup/stub:", *difference])


def test_every_type_in_the_stub_says_what_it_is_made_of():
    assert re.findall(r"\b(?:object|Any|(?:list|dict|tuple)(?![\[(]))\b", STUB.read_text()) == []


def recording(folder):
    path = folder / "x.reap"
    native.create_trace(str(path), native.FULL, native.MONOTONIC_NS, native.SAMPLER_NONE, 0)
    native.finish_trace(str(path))
    return native.Recording(str(path), "")


def test_damage_is_false_where_there_is_none(tmp_path):
    damage = recording(tmp_path).damage()
    assert not damage
    assert repr(damage) == "Damage(empty=0, foreign=0, corrupt=0, truncated=0, malformed=0)"


def test_a_record_keeps_alive_the_recording_that_it_is_part_of(tmp_path):
    made = recording(tmp_path)
    totals = made.totals()
    use, calls = totals.in_use, totals.calls
    before = sys.getrefcount(made)
    del totals, use
    gc.collect()
    assert sys.getrefcount(made) == before - 1
    assert sum(calls) == 0
