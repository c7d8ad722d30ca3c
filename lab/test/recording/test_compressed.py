"""A compressed recording says what it said before, and opens wherever another does."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from programs import reap
from recorded import recorded, target

import reap as package
from reap import native
from reap.base.errors import ReapError
from reap.recording import read


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The same recording as it was written and compressed; several threads, some 40 blocks."""
    folder = tmp_path_factory.mktemp("pair")
    plain = recorded(folder, "full", target("threads"), "exchange", "4", "100000").path
    packed = folder / "packed.reap"
    shutil.copy(plain, packed)
    native.compress_file(str(packed))
    return plain, packed


def test_it_says_the_same(pair):
    plain, packed = map(package.open, pair)
    for mine, theirs in ((plain.events(), packed.events()), (plain.stacks(), packed.stacks())):
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
    assert len(plain.events()["size"]) > 100_000


def test_commands_read_it_as_any_other(pair, tmp_path):
    shown = [json.loads(reap("show", "--json", "-", str(path), cwd=tmp_path).stdout) for path in pair]
    assert shown[0]["answers"][0]["profile"] == shown[1]["answers"][0]["profile"]
    exported = [reap("export", str(path), "--to", "collapsed", "-o", "-", cwd=tmp_path) for path in pair]
    assert exported[0].stdout == exported[1].stdout != ""


def test_its_parts_are_whole_and_smaller_than_by_zstd_alone(tmp_path):
    """Each part is a frame of zstd, with a checksum."""
    program = "my %h; $h{'x' . $_ * 7919 % 10007} .= $_ for 1 .. 40000; my @s = sort { $a cmp $b } keys %h;"
    path = recorded(tmp_path, "full", "/usr/bin/perl", "-e", program).path
    by_zstd = subprocess.run(["zstd", "-6", "-cq", path], capture_output=True, check=True).stdout
    native.compress_file(str(path))
    subprocess.run(["zstd", "-tq", path], check=True)
    assert path.stat().st_size < len(by_zstd) * 0.85


def test_record_compresses_and_leaves_nothing_else(tmp_path):
    words = ["record", "-d", "full", "--compress", "-o", "k.reap", "--", target("killed"), "exit"]
    assert reap(*words, cwd=tmp_path).returncode == 3
    assert [file.name for file in tmp_path.iterdir()] == ["k.reap"]
    assert (tmp_path / "k.reap").read_bytes()[:4] == b"\x5d\x2a\x4d\x18"
    assert (tmp_path / "k.reap").stat().st_mode & 0o777 == 0o600
    recording = read.read(tmp_path / "k.reap")
    assert recording.header().finished
    assert not recording.damage()
    # Finishing it once more, as after a kill, leaves it alone.
    before = (tmp_path / "k.reap").read_bytes()
    assert native.finish_trace(str(tmp_path / "k.reap")) == 0
    assert native.keep_perf_maps(str(tmp_path / "k.reap")) == 0
    assert (tmp_path / "k.reap").read_bytes() == before


def test_without_room_the_plain_recording_stays(tmp_path):
    (tmp_path / "k.reap.part").mkdir()
    words = ["record", "--compress", "-o", "k.reap", "--", target("killed"), "exit"]
    done = reap(*words, cwd=tmp_path)
    assert done.returncode == 3
    assert "could not be compressed: File exists" in " ".join(done.stderr.split())
    assert read.read(tmp_path / "k.reap").header().finished


def test_damage_is_found_and_never_fatal(pair, tmp_path):
    packed = bytearray(pair[1].read_bytes())
    path = tmp_path / "x.reap"
    middle = len(packed) // 2
    path.write_bytes(packed[:middle] + bytes([packed[middle] ^ 1]) + packed[middle + 1 :])
    recording = read.read(path)
    assert recording.damage()
    assert sum(image.objects for image in recording.images()) > 0
    for wrong in (packed[:-1], packed[:middle], packed[:4], packed[:-9] + b"\xff" * 4 + packed[-5:]):
        path.write_bytes(wrong)
        with pytest.raises(ReapError, match=r"no index|index is damaged"):
            read.read(path)
