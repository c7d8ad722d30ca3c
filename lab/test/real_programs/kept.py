"""Results on the disk, a line each, so that a run that was ended goes on where it was."""

import contextlib
import dataclasses
import json
from pathlib import Path

from entries import Entry
from judging import Result

RESULTS = Path(__file__).resolve().parents[3] / "build" / "real-programs.jsonl"


class Results:
    """The latest result of each entry, way and number in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[tuple[str, str], dict[int, Result]] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            # One may be cut short where a run was ended.
            with contextlib.suppress(json.JSONDecodeError):
                self._put(Result(**json.loads(line)))

    def _put(self, result: Result) -> None:
        self._known.setdefault((result.name, result.way), {})[result.number] = result

    def all_of(self, entry: Entry, way: str) -> dict[int, Result]:
        """The results that are of the entry as it is now, by number."""
        known = self._known.get((entry.name, way), {})
        return {number: result for number, result in known.items() if result.key == entry.key}

    def of(self, entry: Entry, way: str, number: int = 1) -> Result | None:
        """One of them."""
        return self.all_of(entry, way).get(number)

    def append(self, result: Result) -> None:
        self._put(result)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        whole = not self._path.exists() or self._path.read_bytes()[-1:] in {b"", b"\n"}
        with self._path.open("a") as file:
            file.write(("" if whole else "\n") + json.dumps(dataclasses.asdict(result)) + "\n")
