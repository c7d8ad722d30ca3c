"""Files of a folder that a command of setup/ generates: written, or compared with what they should be."""

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def keep(folder: Path, ending: str, wanted: Mapping[str, str], *, check: bool, stale: str) -> int:
    """Makes the files of `folder` that end so those of `wanted`, texts by name; others are removed.

    With `check` nothing is written: each file that differs is named, followed by `stale`. Returns the exit
    code, 1 if one does.
    """
    old = {path.name: path.read_text() for path in folder.glob(f"*{ending}")}
    differ = sorted(name for name in {*wanted, *old} if wanted.get(name) != old.get(name))
    if check:
        for name in differ:
            print(f"{folder.relative_to(ROOT)}/{name} {stale}")
        return 1 if differ else 0
    folder.mkdir(exist_ok=True)
    for name in differ:
        if name in wanted:
            (folder / name).write_text(wanted[name])
        else:
            (folder / name).unlink()
    return 0
