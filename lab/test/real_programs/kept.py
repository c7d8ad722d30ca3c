"""Results on the disk, a line each, so that a run that was ended goes on where it was."""

import contextlib
import dataclasses
import json
from pathlib import Path

from entries import Entry
from judging import Result

RESULTS = Path(__file__).resolve().parents[3] / "build" / "real-programs.jsonl"


class Results:
    """The latest result of each entry and way in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[tuple[str, str], Result] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            # One may be cut short where a run was ended.
            with contextlib.suppress(json.JSONDecodeError):
                result = Result(**json.loads(line))
                self._known[result.name, result.way] = result

    def of(self, entry: Entry, way: str) -> Result | None:
        """The result, if it is of the entry as it is now."""
        result = self._known.get((entry.name, way))
        return result if result and result.key == entry.key else None

    def append(self, result: Result) -> None:
        self._known[result.name, result.way] = result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        whole = not self._path.exists() or self._path.read_bytes()[-1:] in {b"", b"\n"}
        with self._path.open("a") as file:
            file.write(("" if whole else "\n") + json.dumps(dataclasses.asdict(result)) + "\n")
