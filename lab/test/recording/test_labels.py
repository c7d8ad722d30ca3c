"""Labels are kept in a recording, compressed or not, and damage to them costs nothing else."""

import json
import struct

import pytest
from programs import program, reap

from reap import native
from reap.base.errors import ExitCode
from reap.recording import read

BYTES = 148
"""Where the header has their length."""


def recorded(folder, *options):
    done = reap("record", "-o", "x.reap", *options, "--", program("busy"), cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "x.reap"


@pytest.mark.parametrize("compress", [[], ["--compress"]])
def test_labels_are_kept(tmp_path, compress):
    words = ["--label", "service=shop", "--label", "path=/a=b c", "--label", "größe=1"]
    done = reap("record", "-o", "y.reap", *words, "--", program("busy"), cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE, "a key is a plain word"
    path = recorded(tmp_path, *compress, *words[:4], "--label", "version=größer", "--label", "service=last")
    labels = {"service": "last", "path": "/a=b c", "version": "größer"}
    assert dict(read.read(path).labels()) == labels
    shown = json.loads(reap("show", "x.reap", "--json", "-", cwd=tmp_path).stdout)
    assert shown["answers"][0]["profile"]["labels"] == labels


def test_a_recording_without_labels_has_none(tmp_path):
    assert read.read(recorded(tmp_path)).labels() == []


@pytest.mark.parametrize(("length", "left"), [(0xFFFFFFFF, {"service": "shop"}), (10, {}), (3, {})])
def test_a_damaged_length_of_labels_is_harmless(tmp_path, length, left):
    path = recorded(tmp_path, "--label", "service=shop")
    data = bytearray(path.read_bytes())
    assert struct.unpack_from("<I", data, BYTES) == (13,)
    struct.pack_into("<I", data, BYTES, length)
    path.write_bytes(data)
    found = read.read(path)
    assert {key: value for key, value in found.labels() if key} == left
    assert sum(image.objects for image in found.images()) > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--label", "service"], "'service' is not KEY=VALUE"),
        (["--label", "service="], "is not KEY=VALUE"),
        (["--label", "a b=c"], "is not KEY=VALUE"),
        (["--label", "service=a\nb"], "the value of service is not one line"),
        (["--label", "service=" + "x" * 300], "the value of service is not one line of at most 256 bytes"),
        (["--label", "k=v"] * 101, "at most 100 labels"),
        (["--max-cpu", "2%"], "--max-cpu requires --pid"),
        (["--max-cpu", "2"], "'2' is no share"),
        (["--max-cpu", "0%"], "'0%' is no share"),
    ],
)
def test_bad_labels_and_limits_have_one_message(tmp_path, words, message):
    done = reap("record", "-o", "x.reap", *words, "--", program("busy"), cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert message in done.stderr
    assert not (tmp_path / "x.reap").exists()


def test_the_most_labels_fit_and_more_are_refused(tmp_path):
    labels = [(f"{number:064}", "x" * 256) for number in range(100)]
    native.create_trace(
        str(tmp_path / "x.reap"), native.FULL, native.MONOTONIC_NS, native.SAMPLER_NONE, 0, labels=labels
    )
    assert read.read(tmp_path / "x.reap").labels() == labels
    with pytest.raises(ValueError, match="labels"):
        native.create_trace(
            str(tmp_path / "y.reap"),
            native.FULL,
            native.MONOTONIC_NS,
            native.SAMPLER_NONE,
            0,
            labels=labels * 2,
        )
    assert not (tmp_path / "y.reap").exists()
