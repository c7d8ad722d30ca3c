"""Output of a captured program that is kept in a file, too."""

from pathlib import Path

import pytest

from reap.base.errors import ReapError
from reap.launch import spawn
from reap.launch.records import Launch, Outcome


def shell(script: str, keep: Path | None = None) -> Outcome:
    return spawn.run(Launch(argv=["sh", "-c", script], program="/bin/sh", keep=str(keep or "")))


def test_both_streams_are_kept_and_counted_as_before(tmp_path: Path) -> None:
    script = "echo out; seq 1000 >&2"
    plain, kept = shell(script), shell(script, tmp_path / "kept")
    lines = (tmp_path / "kept").read_text().splitlines()
    assert sorted(lines) == sorted(["out", *map(str, range(1, 1001))])
    assert (kept.stdout_digest, kept.stderr_digest) == (plain.stdout_digest, plain.stderr_digest)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o600


def test_at_most_16_mb_of_a_stream_are_kept(tmp_path: Path) -> None:
    assert shell("head -c 20000000 /dev/zero", tmp_path / "kept").stdout_bytes == 20_000_000
    assert (tmp_path / "kept").stat().st_size == 16 << 20


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ReapError, match="failed at keep: No such file"):
        shell("true", tmp_path / "missing" / "kept")
