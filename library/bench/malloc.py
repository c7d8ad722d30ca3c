"""libreap-malloc beside other general allocators, on programs of others: CPU time and peak memory.

    .venv/bin/python library/bench/malloc.py [--rounds N] [--only PROGRAM] [--allocators NAMES]

Each program is given to `reap compare`: rounds in which every allocator has its turn, ratios to glibc's
malloc with 95 % CIs, and the proof that each served the program. Those of mimalloc-bench (suite.py) run
under all allocators at the same time: with a fixed work on one core, or on all cores for as long as they are
told, where the cost is CPU time an operation. Their ratios are medians over the rounds, and between brackets
the minimum and the maximum. Allocators that are not on this machine are left out. Takes some twenty minutes
with seven rounds; nothing else should run meanwhile, and the load that there was is printed. The exit code
says whether every bar was held.
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

import suite

from reap.allocators import catalog
from reap.allocators.records import Allocator

ROOT = Path(__file__).resolve().parents[2]
WANTED = (
    "mimalloc",
    "mimalloc-v2",
    "mimalloc-v3",
    "jemalloc",
    "jemalloc-5.3.1",
    "tcmalloc",
    "rpmalloc",
    "reap",
)
METRICS = ("cpu", "peak_resident")
OURS = "reap"
FASTEST = "mimalloc"
COST_BAR = 1.05
"""Of what mimalloc, as Debian has it, costs on the programs of mimalloc-bench."""
PEAK_BAR = 1.10
"""Of glibc's peak memory, on every program."""
PEERS = ("jemalloc", "mimalloc", "tcmalloc")
"""Ours never takes more memory than each of these."""


SQL = """
create table t(a integer primary key, b text, c text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
    insert into t select i, printf('%x', i * 2654435761) || substr('abcdefghijklmnopqrstuvwxyz', 1, i % 26),
                         printf('%.*c', i % 200, 'x') || i from n;
create index of_b on t(b);
create index of_c on t(c);
delete from t where a % 3 = 0;
update t set b = b || c where a % 5 = 0;
select count(*), sum(length(b)) from t;
create table u as select b, c, a from t order by c;
select count(*) from u join t using (b);
"""

LISP = """
(dotimes (turn 3)
  (with-temp-buffer
    (dotimes (i 60000) (insert (format "(defun f%d (x) (list x %d \\"str%d\\"))\\n" i i i)))
    (emacs-lisp-mode)
    (goto-char (point-min))
    (let ((forms nil))
      (condition-case nil (while t (push (read (current-buffer)) forms)) (error nil))
      (princ (length forms)))))
"""


@dataclass(frozen=True)
class Program:
    """What is run, and in which environment."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


def programs(folder: Path) -> dict[str, Program]:
    """The programs, their inputs made in a folder. The compilers themselves, without their drivers."""
    for card, scale in (("perl", "8"), ("gcc", "")):
        prepare = [sys.executable, str(ROOT / "studies" / "workloads" / card / "prepare.py"), str(folder)]
        subprocess.run([*prepare, scale or _default_scale(card)], check=True)
    source = folder / "regex.cpp"
    source.write_text(
        "#include <regex>\n#include <map>\n#include <functional>\n#include <iostream>\n"
        'int main() { std::regex r("a*b"); std::map<std::string, std::function<int(int)>> m;\n'
        'std::cout << std::regex_match("aab", r) << m.size(); }\n'
    )
    preprocessed = folder / "regex.ii"
    subprocess.run(["g++", "-std=c++20", "-E", str(source), "-o", str(preprocessed)], check=True)
    sql = folder / "rows.sql"
    sql.write_text(SQL)
    lisp = folder / "forms.el"
    lisp.write_text(LISP)
    varying = folder / "varying"
    subprocess.run(["g++", "-O2", str(ROOT / "library/bench/varying.cpp"), "-o", str(varying)], check=True)
    python = ["/usr/bin/python3", str(ROOT / "library" / "bench" / "records.py")]
    fixed = {"PYTHONHASHSEED": "0"}
    return {
        "perl": Program(
            ["perl", str(ROOT / "studies" / "workloads" / "perl" / "words.pl"), str(folder / "text.txt")],
            {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"},
        ),
        "python": Program(python, fixed),
        "python, PYTHONMALLOC=malloc": Program(python, {**fixed, "PYTHONMALLOC": "malloc"}),
        "clang++": Program(
            ["clang++-19", "-std=c++20", "-O2", "-c", str(source), "-o", str(folder / "regex.o")]
        ),
        "sqlite": Program(["sqlite3", ":memory:", f".read {sql}"]),
        "emacs": Program(["emacs", "--batch", "-Q", "-l", str(lisp)]),
        "8 to 1000 B": Program([str(varying), "8", "1000", "20000000", "3000000"]),
        "2 to 250 KB": Program([str(varying), "2000", "250000", "100000000", "60000"]),
        "2 to 250 KB, rising": Program([str(varying), "2000", "250000", "100000000", "60000", "rising"]),
        "2 to 4 KB": Program([str(varying), "2000", "4000", "50000000", "1000000"]),
        "cc1 -O2": Program([_part("cc1"), "-quiet", "-O2", str(folder / "program.c"), "-o", "/dev/null"]),
        "cc1plus -O1": Program(
            [_part("cc1plus"), "-quiet", "-w", "-std=gnu++20", "-O1", str(preprocessed), "-o", "/dev/null"]
        ),
    }


def _default_scale(card: str) -> str:
    for line in (ROOT / "studies" / "workloads" / card / "card.toml").read_text().splitlines():
        if line.startswith("default_scale"):
            return line.partition("=")[2].strip()
    raise ValueError(f"studies/workloads/{card}/card.toml has no default_scale")


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


def peak_ratios(comparison: dict[str, Any]) -> dict[str, float]:
    """The peak memory under each allocator, by glibc's."""
    return {
        side["allocator"]: side["ratios"]["peak_resident"]["ratio"]["value"] for side in comparison["sides"]
    }


def preload_of(name: str) -> str:
    """What LD_PRELOAD has to be for an allocator of the catalog; glibc's needs none."""
    if name == "glibc":
        return ""
    found = catalog.find(name)
    if not isinstance(found, Allocator):
        raise TypeError(f"{name} is not on this machine")
    return found.library


def of_suite(name: str, program: list[str], allocators: list[str], rounds: int) -> bool:
    """Prints a program's rows; whether its bars were held."""
    preloads = {each: preload_of(each) for each in ["glibc", *allocators]}
    costs = suite.costs(name, program, preloads, rounds)
    peaks = suite.peaks(program, preloads, rounds)
    for each in preloads:
        cells = [suite.ratio(figures[each], figures["glibc"]) for figures in (costs, peaks)]
        row = " | ".join(f"{middle:.3f} [{least:.3f}, {most:.3f}]" for middle, least, most in cells)
        print(f"| {name} | {each} | {row} |", flush=True)
    held = True
    if OURS in preloads and FASTEST in preloads:
        cost = suite.ratio(costs[OURS], costs[FASTEST])[0]
        held &= bar(f"{name}: cost, of {FASTEST}'s", cost, COST_BAR)
    return held & peak_bars(
        name, {each: suite.ratio(peaks[each], peaks["glibc"])[0] for each in preloads if each != "glibc"}
    )


def whole_suite(build: Path, only: str | None, allocators: list[str], rounds: int) -> bool:
    """Prints the rows of mimalloc-bench's programs, or of one; whether their bars were held."""
    try:
        bench = suite.fetch(build)
    except subprocess.CalledProcessError:
        print(
            f"\nNot measured: {', '.join(suite.PROGRAMS)}. {suite.ADDRESS} cannot be reached; "
            "set REAP_SOURCES to a folder that has the repository as mimalloc-bench.git, bare"
        )
        return True
    suite.compile_all(bench, build / "suite")
    print("\n| program | allocator | cost | peak memory |\n|---|---|---|---|", flush=True)
    held = True
    for name in suite.PROGRAMS:
        if only in (None, name):
            words = suite.command(name, bench, build / "suite")
            held &= of_suite(name, words, allocators, rounds)
    return held


def peak_bars(name: str, peaks: dict[str, float]) -> bool:
    """Whether our peak memory, by its ratio to that of glibc, is within the bars."""
    if OURS not in peaks:
        return True
    held = bar(f"{name}: peak memory, of glibc's", peaks[OURS], PEAK_BAR)
    worst = max((peaks[each] for each in PEERS if each in peaks), default=peaks[OURS])
    return held & bar(f"{name}: peak memory, of the worst peer's", peaks[OURS] / worst, 1)


def bar(what: str, value: float, most: float) -> bool:
    """Says of a figure whether it is held."""
    held = value <= most
    print(f"{what}: {value:.3f}, bar {most:.2f}: {'held' if held else 'MISSED'}", flush=True)
    return held


def main() -> int:
    """Prints the tables as Markdown; 1 where a bar was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", help="one program")
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build" / "bench", help="where programs are built"
    )
    parser.add_argument("--allocators", default=",".join(WANTED))
    parser.add_argument("--json", type=Path, help="a folder that keeps what reap compare says")
    options = parser.parse_args()
    wanted = options.allocators.split(",")
    allocators = [name for name in wanted if "=" in name or isinstance(catalog.find(name), Allocator)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        kept = options.json or folder
        kept.mkdir(parents=True, exist_ok=True)
        held = True
        print("| program | allocator | CPU time | peak memory |\n|---|---|---|---|", flush=True)
        for number, (name, program) in enumerate(programs(folder).items()):
            if options.only in (None, name):
                comparison = compare(program, allocators, options.rounds, kept / f"malloc-{number}.json")
                print("\n".join(table(name, comparison)), flush=True)
                held &= peak_bars(name, peak_ratios(comparison))
        if options.only is None or options.only in suite.PROGRAMS:
            held &= whole_suite(options.build, options.only, allocators, options.rounds)
    missing = [name for name in wanted if name not in allocators]
    print(f"\nload {os.getloadavg()[0]:.1f}" + (f"; not here: {', '.join(missing)}" if missing else ""))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
