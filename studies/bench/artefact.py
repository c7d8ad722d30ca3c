"""Write what the authors of ISMM 2026 published of their runs, from a git directory of their artefact.

    .venv/bin/python studies/bench/artefact.py [--check] GITDIR

Writes artefact.toml, second_machine.toml and counters.toml beside the study that reads them. With --check
nothing is written; exits with 1 where a file is not what GITDIR gives.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "reap_studies" / "study" / "ismm2026"
REPOSITORY = "https://github.com/nicovank/litterer"
COMMIT = "776dd5826095f7ec6fd5553f94e4392350b26777"
SOURCE = f'repository = "{REPOSITORY}"\ncommit = "{COMMIT}"\nlicence = "Apache-2.0"\n'
FIRST = {
    "boxed-sim": "boxed-sim",
    "mudlle": "mudlle",
    "175.vpr": "175.vpr",
    "176.gcc": "176.gcc",
    "197.parser": "197.parser",
    "Clang": "llvm",
    "geometry_nodes": "blender.geometry_nodes",
    "sculpt": "blender.sculpt",
}
"""Each program of the first machine, and its file."""
SECOND = {name: FIRST[name] for name in ("175.vpr", "176.gcc", "197.parser", "Clang")}
COUNTED = {"197.parser": "cycle.197.parser", "Clang": "cycle.llvm"}
ALLOCATORS = {"pt": "glibc", "je": "jemalloc", "mi": "mimalloc"}
VARIANTS = {"arena": "custom", "malloc": "naive"}
LEVELS = {f"{times}litter": f"adv{times}" for times in (0, 1, 3, 10)}
COUNTERS = ("elapsed", "L1-dcache-load-misses", "LLC-load-misses", "dTLB-load-misses")

TIMES = """\
# The times that the authors of ISMM 2026 published in their artefact: each run of each arm, in milliseconds
# of elapsed time, as its {folder}/*.json have them. Facts; nothing here is measured by Reap, and nothing is
# adjusted. Written by studies/bench/artefact.py.
"""
COUNTS = """\
# The counters that the authors of ISMM 2026 published in their artefact (Figure 3): each run at each
# occupancy of the heap at multiplier 10, as its graphs/data/cycle.*.json have them. Facts; nothing here is
# measured by Reap. Written by studies/bench/artefact.py.
"""


def _read(repository: Path, file: str) -> Any:  # noqa: ANN401 - JSON is
    command = ["git", f"--git-dir={repository}", "show", f"{COMMIT}:{file}"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _times(repository: Path, folder: str, programs: dict[str, str]) -> Iterator[str]:
    for program, name in programs.items():
        file = f"{folder}/{name}.json"
        runs = _read(repository, file)
        yield f'\n[[program]]\nprogram = "{program}"\nfile = "{file}"\n'
        for theirs, variant in VARIANTS.items():
            for short, allocator in ALLOCATORS.items():
                yield f"\n[program.{variant}.{allocator}]\n"
                for litter, level in LEVELS.items():
                    if values := runs[short].get(f"{theirs}.{litter}"):
                        yield f"{level} = {values}\n"


def _counters(repository: Path) -> Iterator[str]:
    for program, name in COUNTED.items():
        file = f"graphs/data/{name}.json"
        runs = _read(repository, file)
        yield f'\n[[program]]\nprogram = "{program}"\nfile = "{file}"\n'
        for short, allocator in ALLOCATORS.items():
            for occupancy in sorted(runs[short], key=float):
                yield f'\n[program.occupancy.{allocator}."{occupancy}"]\n'
                for counter in COUNTERS:
                    yield f"{counter} = {[run[counter] for run in runs[short][occupancy]]}\n"


def files(repository: Path) -> dict[str, str]:
    """Each file, by name."""
    first, second = "graphs/data", "graphs/data-nuc"
    machine = 'machine = "two Intel Xeon Gold 6430, 128 GB of memory, Linux 6.8"\n'
    allocators = 'allocators = "glibc 2.39, jemalloc 5.3.0, mimalloc 2.2.5"\n'
    smaller = 'machine = "Intel Core i7-8559U"\nallocators = "glibc, jemalloc, mimalloc"\n'
    return {
        "artefact.toml": "".join(
            [TIMES.format(folder=first), SOURCE, machine, allocators, *_times(repository, first, FIRST)]
        ),
        "second_machine.toml": "".join(
            [TIMES.format(folder=second), SOURCE, smaller, *_times(repository, second, SECOND)]
        ),
        "counters.toml": "".join([COUNTS, SOURCE, machine, allocators, *_counters(repository)]),
    }


def main() -> int:
    """Write or check the files; 1 where a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("repository", metavar="GITDIR", type=Path)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    status = 0
    for name, text in files(asked.repository).items():
        path = FOLDER / name
        if not asked.check:
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            print(f"{path} is not what {asked.repository} gives", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
