"""libreap-malloc beside other general allocators, on programs of others: CPU time and peak memory.

    .venv/bin/python library/bench/malloc.py [--rounds N] [--only PROGRAM] [--allocators NAMES]

Each program is given to `reap compare`: rounds in which every allocator has its turn, ratios to glibc's
malloc with 95 % intervals, and the proof that each served the program. Allocators that are not on this
machine are left out. Takes some five minutes with seven rounds; nothing else should run meanwhile, and the
load that there was is printed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reap.allocators import catalog
from reap.allocators.records import Allocator

ROOT = Path(__file__).resolve().parents[2]
WANTED = ("mimalloc", "mimalloc-v2", "mimalloc-v3", "jemalloc-5.3.1", "rpmalloc", "reap")
METRICS = ("cpu", "peak_resident")


@dataclass(frozen=True)
class Program:
    """What is run, and in which environment."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


def programs(folder: Path) -> dict[str, Program]:
    """The programs, their inputs made in a folder. The compilers themselves, without their drivers."""
    for card, scale in (("perl", "8"), ("gcc", "")):
        prepare = [sys.executable, str(ROOT / "workloads" / card / "prepare.py"), str(folder)]
        subprocess.run([*prepare, scale or _default_scale(card)], check=True)
    source = folder / "regex.cpp"
    source.write_text(
        "#include <regex>\n#include <map>\n#include <functional>\n#include <iostream>\n"
        'int main() { std::regex r("a*b"); std::map<std::string, std::function<int(int)>> m;\n'
        'std::cout << std::regex_match("aab", r) << m.size(); }\n'
    )
    preprocessed = folder / "regex.ii"
    subprocess.run(["g++", "-std=c++20", "-E", str(source), "-o", str(preprocessed)], check=True)
    python = ["/usr/bin/python3", str(ROOT / "library" / "bench" / "records.py")]
    fixed = {"PYTHONHASHSEED": "0"}
    return {
        "perl": Program(
            ["perl", str(ROOT / "workloads" / "perl" / "words.pl"), str(folder / "text.txt")],
            {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"},
        ),
        "python": Program(python, fixed),
        "python, PYTHONMALLOC=malloc": Program(python, {**fixed, "PYTHONMALLOC": "malloc"}),
        "cc1 -O2": Program([_part("cc1"), "-quiet", "-O2", str(folder / "program.c"), "-o", "/dev/null"]),
        "cc1plus -O1": Program(
            [_part("cc1plus"), "-quiet", "-w", "-std=gnu++20", "-O1", str(preprocessed), "-o", "/dev/null"]
        ),
    }


def _default_scale(card: str) -> str:
    for line in (ROOT / "workloads" / card / "card.toml").read_text().splitlines():
        if line.startswith("default_scale"):
            return line.partition("=")[2].strip()
    raise ValueError(f"workloads/{card}/card.toml has no default_scale")


def _part(name: str) -> str:
    return subprocess.run(
        ["gcc", f"-print-prog-name={name}"], check=True, capture_output=True, text=True
    ).stdout.strip()


def compare(program: Program, allocators: list[str], rounds: int, result: Path) -> dict[str, Any]:
    """What `reap compare` says of one program."""
    reap = [sys.executable, "-c", "from reap.cli.main import main; main()"]
    command = [*reap, "compare", "--allocators", ",".join(["glibc", *allocators])]
    with tempfile.TemporaryDirectory() as runs:
        subprocess.run(
            [
                *command,
                "-n",
                str(rounds),
                "-f",
                "-o",
                f"{runs}/runs",
                "--json",
                str(result),
                "--",
                *program.command,
            ],
            check=True,
            env={**os.environ, "LC_ALL": "C", **program.environment},
            stdout=subprocess.DEVNULL,
        )
    answer: dict[str, Any] = json.loads(result.read_text())["answers"][0]["comparison"]
    return answer


def table(name: str, comparison: dict[str, Any]) -> list[str]:
    """Its rows: ratios to glibc with their intervals, and what they are of."""
    rows = []
    for side in comparison["sides"]:
        if not (side["verified"] and side["same_output"]):
            raise SystemExit(f"{name}: {side['allocator']} did not serve the program, or changed its output")
        cells = []
        for metric in METRICS:
            figure = side["ratios"][metric]
            ratio = figure["ratio"]
            cells.append(f"{ratio['value']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]")
        rows.append(f"| {name} | {side['allocator']} | {' | '.join(cells)} |")
    cpu = comparison["sides"][0]["ratios"]["cpu"]["baseline"]
    peak = comparison["sides"][0]["ratios"]["peak_resident"]["baseline"]
    return [f"| {name} | glibc | {cpu:.2f} s | {peak / 2**20:.1f} MB |", *rows]


def main() -> int:
    """Prints the table as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", help="one program")
    parser.add_argument("--allocators", default=",".join(WANTED))
    parser.add_argument("--json", type=Path, help="a folder that keeps what reap compare says")
    options = parser.parse_args()
    wanted = options.allocators.split(",")
    allocators = [name for name in wanted if "=" in name or isinstance(catalog.find(name), Allocator)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        kept = options.json or folder
        kept.mkdir(parents=True, exist_ok=True)
        print("| program | allocator | CPU time | peak memory |\n|---|---|---|---|", flush=True)
        for number, (name, program) in enumerate(programs(folder).items()):
            if options.only in (None, name):
                comparison = compare(program, allocators, options.rounds, kept / f"malloc-{number}.json")
                print("\n".join(table(name, comparison)), flush=True)
    missing = [name for name in wanted if name not in allocators]
    print(f"\nload {os.getloadavg()[0]:.1f}" + (f"; not here: {', '.join(missing)}" if missing else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
