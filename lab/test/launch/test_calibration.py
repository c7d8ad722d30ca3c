"""What a block and a page cost on this machine: measured, kept, measured again, or not to be measured."""

import json
import re
import stat
from pathlib import Path

import msgspec
import pytest

from reap.allocators import elf
from reap.base.errors import ReapError
from reap.launch import native_files
from reap.launch.host import calibration
from reap.launch.records import Calibration

ROOT = Path(__file__).resolve().parents[3]
FIGURES = '{"fast_pair":5e-9,"usual_pair":9e-9,"past_pair":2e-8,"page_fault":5e-7}'
THESE = Calibration(fast_pair=5e-9, usual_pair=9e-9, past_pair=2e-8, page_fault=5e-7, measured=True)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Has a script measure, which appends to `runs`."""
    path = tmp_path / "calibrate"

    def written(script: str) -> Path:
        path.write_text(f"#!/bin/sh\necho >>{tmp_path}/runs\n{script}\n")
        path.chmod(0o700)
        monkeypatch.setattr(native_files, "calibrator", lambda: path)
        return tmp_path / "runs"

    return written


def runs(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_this_machine_is_measured_and_kept():
    said: list[str] = []
    found = calibration.here(said.append)
    assert found.costs.measured
    assert found.costs.plausible
    assert found.costs.usual_pair < 1e-6
    assert not found.note
    assert len(said) == 1
    kept = Path(found.kept)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert calibration.here(said.append) == found
    assert len(said) == 1


def test_what_is_kept_is_not_measured_again(program):
    ran = program(f"echo '{FIGURES}' >&2")
    assert [calibration.here().costs for _ in range(3)] == [THESE] * 3
    assert runs(ran) == 1


@pytest.mark.parametrize("field", ["processor", "kernel", "libc", "reap"])
def test_what_is_of_another_machine_is_measured_again(program, field):
    ran = program(f"echo '{FIGURES}' >&2")
    kept = Path(calibration.here().kept)
    content = json.loads(kept.read_text())
    assert content[field]
    content["costs"]["usual_pair"] = 8e-9
    kept.write_text(json.dumps(content))
    assert calibration.here().costs.usual_pair == 8e-9
    kept.write_text(json.dumps({**content, field: "another"}))
    assert calibration.here().costs == THESE
    assert runs(ran) == 2
    assert json.loads(kept.read_text())[field] != "another"


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"costs": {}}',
        {"usual_pair": 1e-12},
        {"past_pair": "fast"},
        {"page_fault": -1},
        {"measured": False},
    ],
    ids=str,
)
def test_what_is_damaged_is_measured_again(program, damage):
    ran = program(f"echo '{FIGURES}' >&2")
    kept = Path(calibration.here().kept)
    whole = json.loads(kept.read_text())
    if isinstance(damage, dict):
        damage = json.dumps({**whole, "costs": whole["costs"] | damage}).encode()
    kept.write_bytes(damage)
    found = calibration.here()
    assert (found.costs, found.note) == (THESE, "")
    assert runs(ran) == 2
    assert json.loads(kept.read_text()) == whole


def test_where_nothing_can_be_kept_it_is_measured_and_said(program, monkeypatch):
    ran = program(f"echo '{FIGURES}' >&2")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    for _ in range(2):
        found = calibration.here()
        assert found.costs == THESE
        assert not found.kept
        assert "was not kept" in found.note
        assert "/dev/null" in found.note
    assert runs(ran) == 2


def test_a_file_that_cannot_be_replaced_is_said(program):
    program(f"echo '{FIGURES}' >&2")
    calibration.file().mkdir(parents=True)
    found = calibration.here()
    assert found.costs == THESE
    assert "is a folder" in found.note


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo refused >&2; exit 1", "failed with 1: refused"),
        ("kill -9 $$", "failed with 137"),
        ("echo hello >&2", "wrote no figures"),
        ("", "wrote no figures"),
        ("sleep 5", "did not end"),
        ('echo \'{"fast_pair":0,"usual_pair":0,"past_pair":0,"page_fault":0}\' >&2', "cannot be"),
        (f"echo '{FIGURES.replace('5e-7', '5')}' >&2", "cannot be"),
    ],
)
def test_where_it_cannot_be_measured_the_defaults_are_used_and_said(program, monkeypatch, script, why):
    monkeypatch.setattr(calibration, "_PATIENCE", 0.5)
    program(script)
    found = calibration.here()
    assert found.costs == Calibration()
    assert not found.costs.measured
    assert why in found.note
    assert "defaults" in found.note
    assert not calibration.file().exists()


def test_a_missing_program_is_said(monkeypatch):
    def missing():
        raise ReapError("a part of reap is missing: reap-calibrate")

    monkeypatch.setattr(native_files, "calibrator", missing)
    assert "reap-calibrate" in calibration.here().note


def test_noise_in_the_order_is_mended(program):
    program("""echo '{"fast_pair":9e-9,"usual_pair":8e-9,"past_pair":7e-9,"page_fault":5e-7}' >&2""")
    assert calibration.measure() == msgspec.structs.replace(
        THESE, fast_pair=8e-9, usual_pair=8e-9, past_pair=8e-9
    )


def test_it_is_malloc_as_it_is_that_is_measured(program, monkeypatch):
    names = ("LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "MALLOC_PERTURB_")
    for name in names:
        monkeypatch.setenv(name, "")
    tests = " && ".join(f'[ -z "${{{name}+set}}" ]' for name in names)
    program(f"{tests} && echo '{FIGURES}' >&2")
    assert calibration.measure() == THESE


def test_the_program_needs_the_c_library_alone():
    assert elf.opened(native_files.calibrator()).needed() == ["libc.so.6"]


def test_its_blocks_are_those_of_the_workload():
    def sizes(path: str, begin: str) -> list[str]:
        text = (ROOT / path).read_text()
        found = re.search(re.escape(begin) + r"([^}]*)\}", text)
        assert found is not None
        return re.findall(r"\d+", found[1])

    ours = sizes("lab/calibrate/main.c", "sizes[SIZES] = {")
    assert ours == sizes("studies/workloads/request-driver/requests.h", "sizes = {")
    assert len(ours) == 32
