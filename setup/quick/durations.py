"""How long steps took in earlier runs, kept in build/quick.json."""

import json
from pathlib import Path

KEPT = 3
"""Durations kept of each step. The longest counts: a build is long only if there is much to build."""


class Durations:
    """What is known of each step by its name, in seconds."""

    def __init__(self, path: Path) -> None:
        """Read the file; one that cannot be read is as none."""
        self.path = path
        self.took: dict[str, list[float]] = {}
        self.more_than: dict[str, float] = {}
        try:
            read = json.loads(path.read_text())
            took = {str(name): [float(each) for each in list(taken)] for name, taken in read["took"].items()}
            self.more_than = {str(name): float(each) for name, each in read["more than"].items()}
            self.took = took
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            return

    def expected(self, name: str, guess: float) -> float:
        """Seconds that a step is taken to need; the guess is for one that is not known."""
        return max(self.took.get(name, []), default=self.more_than.get(name, guess))

    def ended(self, name: str, seconds: float) -> None:
        """Note how long a step took."""
        self.took[name] = [*self.took.get(name, []), round(seconds, 2)][-KEPT:]

    def stopped(self, name: str, seconds: float) -> None:
        """Note that a step takes longer than this."""
        self.more_than[name] = round(seconds * 1.25, 2)

    def not_run(self, name: str) -> None:
        """Expect less of a step that was stopped, so that it is tried again on a better day."""
        if name in self.more_than:
            self.more_than[name] = round(self.more_than[name] * 0.8, 2)

    def write(self) -> None:
        """Write the file for the next run."""
        text = json.dumps({"took": self.took, "more than": self.more_than}, indent=1, sort_keys=True)
        self.path.write_text(text + "\n")
