"""What a program's files say is parsed by a process without privileges, whose end costs names alone."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab.test.recording.names.builds import FIRST, build, functions
from programs import as_nobody

from reap import native
from reap.allocators import elf
from reap.launch.records import Launch
from reap.recording import read, record
from reap.recording.analyse.notes import notes

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"


def sandboxes() -> list[Path]:
    """Folders in /proc of the sandboxes that this process has."""
    mine = Path("/proc/self/task").glob("*/children")
    folders = [Path("/proc") / child for each in mine for child in each.read_text().split()]
    return [folder for folder in folders if (folder / "comm").read_text() == "reap-sandbox\n"]


def status(folder: Path) -> dict[str, list[str]]:
    lines = (folder / "status").read_text().splitlines()
    return {name: value.split() for name, _, value in (line.partition(":") for line in lines)}


KILLER = """
import os, signal, sys
from contextlib import suppress
from pathlib import Path
print(flush=True)
while True:
    for each in Path(f"/proc/{os.getppid()}/task").glob("*/children"):
        with suppress(OSError):
            for child in each.read_text().split():
                if Path(f"/proc/{child}/comm").read_text() == "reap-sandbox\\n":
                    os.kill(int(child), signal.SIGKILL)
"""


@contextmanager
def dying() -> Iterator[None]:
    """Kills each sandbox of this process as soon as it is seen."""
    with subprocess.Popen([sys.executable, "-c", KILLER], stdout=subprocess.PIPE) as killer:
        assert killer.stdout is not None
        killer.stdout.readline()
        yield
        killer.kill()


def others_program(folder: Path) -> str:
    """A program that others than root may have written."""
    file = Path(build(folder / "prog"))
    file.chmod(0o775)
    return str(file)


@pytest.mark.parametrize(
    "parse", [lambda file: native.frames_at(file, 0x1000), elf.build_id], ids=["names", "headers"]
)
def test_a_parser_has_no_privileges(tmp_path, parse):
    parse(others_program(tmp_path))
    found = [status(folder) for folder in sandboxes()]
    assert found
    for each in found:
        assert each["NoNewPrivs"] == ["1"]
        assert each["Seccomp"] == ["2"]
        assert each["CapEff"] == each["CapPrm"] == ["0000000000000000"]
        if os.geteuid() == 0:
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
    assert as_nobody(lambda: repr(native.confinement())) == "(True, True)"


def test_a_parser_that_dies_costs_names_alone(tmp_path):
    file = build(tmp_path / "prog")
    whole, nameless = tmp_path / "whole.reap", tmp_path / "nameless.reap"
    record.record(Launch(argv=[file], program=file), whole, "full")
    record.record(Launch(argv=[file], program=file), nameless, "full", names=False)
    with dying():
        record.finish(nameless)
        found = read.read(nameless)
        said = [note for note in notes(found, "full") if "names" in note]
    assert functions(found) <= {"prog+0x"}
    assert "prog (reading its names failed, or took too long)" in said[0]
    assert found.totals().frees == read.read(whole).totals().frees
    record.finish(nameless)
    assert functions(read.read(nameless)) <= FIRST


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
    assert native.frames_at(LIBC, 0x28000)[0]
