"""What a program's files say is parsed by a process without privileges, whose end costs names alone."""

import os
import random
import subprocess
from pathlib import Path

import pytest
from lab.test.recording.names.builds import FIRST, address_of, build, functions
from lab.test.recording.names.refused import dying_parsers, needs_confinement
from programs import as_nobody, reap_command

from reap import native
from reap.allocators import elf
from reap.recording import read


def sandboxes() -> list[Path]:
    """Folders in /proc of the sandboxes that this process has."""
    mine = Path("/proc/self/task").glob("*/children")
    folders = [Path("/proc") / child for each in mine for child in each.read_text().split()]
    return [folder for folder in folders if (folder / "comm").read_text() == "reap-sandbox\n"]


def status(folder: Path) -> dict[str, list[str]]:
    lines = (folder / "status").read_text().splitlines()
    return {name: value.split() for name, _, value in (line.partition(":") for line in lines)}


def others_program(folder: Path) -> str:
    """A program that others than root may have written."""
    file = Path(build(folder / "prog"))
    file.chmod(0o775)
    return str(file)


@pytest.mark.parametrize(
    "parse", [lambda file: native.frames_at(file, 0x1000), elf.build_id], ids=["names", "headers"]
)
def test_a_parser_has_no_privileges(tmp_path, parse):
    unprivileged, filtered = native.confinement()
    parse(others_program(tmp_path))
    found = [status(folder) for folder in sandboxes()]
    assert found
    for each in found:
        assert each["NoNewPrivs"] == ["1"]
        if filtered:
            assert each["Seccomp"] == ["2"]
        assert each["CapEff"] == each["CapPrm"] == ["0000000000000000"]
        if os.geteuid() == 0 and unprivileged:
            assert each["Uid"] == each["Gid"] == ["65534"] * 4
            assert each["Groups"] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="others' descriptors are root's to see")
def test_a_parser_holds_its_own_files_alone(tmp_path):
    file = others_program(tmp_path)
    with (tmp_path / "secret").open("w"):
        elf.build_id(file)
        opened = [str(file.readlink()) for folder in sandboxes() for file in (folder / "fd").iterdir()]
    assert opened
    assert not [name for name in opened if "secret" in name or "perf" in name or "bpf" in name]


def test_a_user_without_privileges_parses_as_well():
    needs_confinement(unprivileged=os.geteuid() == 0)
    assert as_nobody(lambda: repr(native.confinement())) == "(True, True)"


@pytest.mark.skipif(os.geteuid() != 0, reason="the parser of another user changes no user")
def test_a_parser_that_dies_costs_names_alone(tmp_path):
    needs_confinement()
    file = build(tmp_path / "prog")
    words = [dying_parsers(), *reap_command()]
    made = [*words, "record", "--depth", "full", "-o", "x.reap", "--", file]
    subprocess.run(made, cwd=tmp_path, check=True, timeout=60)
    shown = subprocess.check_output([*words, "show", "x.reap"], cwd=tmp_path, text=True, timeout=60)
    assert "prog (reading its names failed, or took too long)" in shown
    assert "read_body" not in shown
    found = read.read(tmp_path / "x.reap")
    assert functions(found) <= FIRST
    assert found.totals().frees >= 200


def test_a_damaged_program_costs_names_alone(tmp_path):
    file = Path(build(tmp_path / "prog"))
    whole = file.read_bytes()
    draw = random.Random(7)
    for number in range(150):
        damaged = bytearray(whole)
        for _ in range(draw.randrange(1, 40)):
            damaged[draw.randrange(64, len(damaged))] = draw.randrange(256)
        path = tmp_path / f"damaged{number}"
        path.write_bytes(damaged)
        for address in range(0x1100, 0x1300, 0x20):
            assert native.frames_at(str(path), address)
    assert native.frames_at(str(file), address_of(str(file), "read_body"))[-1][2] == "read_body"
