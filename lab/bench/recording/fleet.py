"""Totals of 10,000 recordings: how long `reap fleet` takes, and how much memory.

    .venv/bin/python lab/bench/recording/fleet.py [RECORDINGS] [--keep FOLDER]

Programs of this machine are recorded, in full depth, so that no site is missing, and exported. Their rows are
then written again and again, each time as another recording: of one of 500 hosts, of one of 3 versions, at
another time, with its figures multiplied by a random factor. The table has the wall and CPU time and the peak
of resident memory of `reap fleet`, over the folder of small files and over one compacted file.
"""

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

ROOT = Path(__file__).parents[3]
REAP = str(Path(sys.executable).with_name("reap"))
PROGRAMS = {
    "perl": ["perl", "-e", "my %h; $h{$_ % 5000} .= $_ for 1..200000; print scalar %h"],
    "gcc": ["g++", "-O1", "-x", "c++", "-S", "-o", "/dev/null", "-include", "regex", "/dev/null"],
    "git": ["git", "-C", str(ROOT), "-c", "safe.directory=*", "log", "--stat", "-n", "50"],
    "python": [
        "/usr/bin/python3",
        "-c",
        "import json; json.loads(json.dumps([[i, str(i)] for i in range(100000)]))",
    ],
}
HOSTS = 500
VERSIONS = ("1.4", "1.5", "1.6")
FIGURES = ("allocations", "bytes", "peak_bytes", "temporary")


def recorded(folder: Path) -> list[Any]:
    """The rows of each program."""
    found = []
    for name, command in PROGRAMS.items():
        file, rows = folder / f"{name}.reap", folder / f"{name}.parquet"
        told = [
            REAP,
            "record",
            "--depth",
            "full",
            "-o",
            str(file),
            "--label",
            f"service={name}",
            "--",
            *command,
        ]
        subprocess.run(told, check=True, capture_output=True)
        subprocess.run(
            [REAP, "export", "--to", "fleet", str(file), "-o", str(rows)], check=True, capture_output=True
        )
        found.append(parquet.read_table(rows))
    return found


def another(rows: Any, number: int, chance: random.Random) -> Any:  # noqa: ANN401 - of a package without types
    """The same as another recording."""
    host, count = f"host{chance.randrange(HOSTS):03}", rows.num_rows
    factor = chance.lognormvariate(0, 0.2)
    began = rows["time"][0].as_py() + timedelta(seconds=60 * number)
    new: dict[str, list[object]] = {
        "recording": [f"{host}-{number}"] * count,
        "host": [host] * count,
        "version": [chance.choice(VERSIONS)] * count,
        "time": [began] * count,
    }
    for name in FIGURES:
        new[name] = [None if value is None else value * factor for value in rows[name].to_pylist()]
    columns = [pa.array(new[f.name], f.type) if f.name in new else rows[f.name] for f in rows.schema]
    return pa.table(columns, schema=rows.schema)


def made(folder: Path, count: int) -> tuple[int, int]:
    """Writes as many recordings; returns their rows and bytes."""
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as scratch:
        found = recorded(Path(scratch))
    rows = size = 0
    for number in range(count):
        table = another(found[number % len(found)], number, chance)
        path = folder / f"{number:06}.parquet"
        parquet.write_table(table, path, compression="zstd", write_page_checksum=True)
        rows += table.num_rows
        size += path.stat().st_size
    return rows, size


def timed(*words: str) -> tuple[float, float, float]:
    """Seconds, those of CPU time, and the peak of resident memory in MiB of a call."""
    began = time.monotonic()
    child = subprocess.Popen([REAP, "fleet", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        raise SystemExit(f"reap fleet {' '.join(words)} failed: run it by hand")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Prints the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("recordings", nargs="?", type=int, default=10_000)
    asked.add_argument("--keep", type=Path, help="a new folder for the files, which stay")
    given = asked.parse_args()
    with contextlib.ExitStack() as stack:
        folder = given.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        small, one = folder / "small", str(folder / "one.parquet")
        small.mkdir(parents=True)
        rows, size = made(small, given.recordings)
        print(f"{given.recordings} recordings, {rows} rows, {size / 2**20:.1f} MiB")
        print(f"{'reap fleet':45}  {'seconds':>7}  {'CPU s':>6}  {'peak MiB':>8}")
        for words in (
            (str(small),),
            (str(small), "--by", "site"),
            (str(small), "--compare", "1.4", "1.5", "--where", "service=gcc"),
            (str(small), "--compact", one),
            (one, "--by", "site"),
        ):
            seconds, cpu, peak = timed(*words)
            said = " ".join(Path(word).name if "/" in word else word for word in words)
            print(f"{said:45}  {seconds:7.1f}  {cpu:6.1f}  {peak:8.0f}")


if __name__ == "__main__":
    main()
