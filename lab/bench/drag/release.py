"""Drag of programs that know what their accesses are for: true, and with and without release by both engines.

Usage: lab/bench/drag/release.py
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from lab.test.drag.recompiled import recompiled
from lab.test.drag.test_drag import drag
from lab.test.drag.test_release import ALL, areas, built


def main() -> None:
    """Prints a row of a table for each program, and for its twin."""
    print("| program | true | exact: all accesses | without release | recompiled: all | without release |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as folder:
        for program, name in ALL:
            for words in ([], ["twin"]):
                print(row(Path(folder), program, name, words), flush=True)


def row(folder: Path, program: str, name: str, words: list[str]) -> str:
    """One program: LIVE and TRUE are what it prints itself."""
    figures = []
    for engine, run in (("exact", drag), ("recompiled", recompiled)):
        path = built(engine, program)
        result, done = run(folder, path, name, *words)
        live, true, *_ = map(int, done.stdout.split())
        level = result.processes[0].levels[0]
        for each in (level, level.before_free or level):
            in_use, needed = areas(each, Path(path).name)
            figures.append(f"{in_use / needed:.3f}")
    return f"| {' '.join([name, *words])} | {live / true:.3f} | {' | '.join(figures)} |"


if __name__ == "__main__":
    main()
