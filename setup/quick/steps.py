"""Runs commands within a budget of seconds."""

import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from durations import Durations

sys.path.append(str(Path(__file__).resolve().parents[1] / "stages"))
from session import kill

GRACE = 15
"""Seconds after the end of the budget at which what still runs is killed."""


@dataclass(frozen=True)
class Step:
    """A command that passes or fails."""

    name: str
    command: str
    """For bash, in the repository's root."""

    guess: float
    """Seconds that it is taken to need before it has ever run."""

    rank: float = 0
    reason: str = ""
    alone: bool = False
    """Uses all processors, so nothing runs beside it."""

    needs: str = ""
    """The step that must have passed before."""

    needed: bool = False
    """Others need it, so it starts as long as any time is left."""


@dataclass(frozen=True)
class Outcome:
    """How a step ended."""

    step: Step
    verdict: str
    """passed, FAILED, empty (no test was selected), stopped (killed when late), not run (no time), blocked"""

    seconds: float = 0
    """What it took; what it is taken to need where it did not run."""


@dataclass
class Running:
    """A step that has started."""

    step: Step
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    start: float


@dataclass
class Runner:
    """Runs steps until the budget is spent."""

    root: Path
    budget: float
    jobs: int
    begin: float = field(default_factory=time.monotonic)
    """When the budget began, by the monotonic clock."""

    outcomes: list[Outcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the folder of the logs, and read what earlier runs took."""
        self.logs = self.root / "build" / "quick-logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.durations = Durations(self.root / "build" / "quick.json")

    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begin

    def expected(self, step: Step) -> float:
        """Seconds that a step is taken to need."""
        return self.durations.expected(step.name, step.guess)

    def run(self, steps: list[Step]) -> bool:
        """Run steps in their order, several at once, while the budget lasts; whether all of them passed."""
        waiting = list(steps)
        running: list[Running] = []
        first = len(self.outcomes)
        try:
            while waiting or running:
                while (step := self.next_of(waiting, running)) is not None:
                    waiting.remove(step)
                    running.append(self.start(step))
                if not running:
                    break
                running = [each for each in running if not self.ended(each)]
                time.sleep(0.02)
        finally:
            for each in running:
                kill(each.process)
                each.process.wait()
            self.durations.write()
        failed = {outcome.step.name for outcome in self.outcomes if outcome.verdict == "FAILED"}
        for step in waiting:
            verdict = "blocked" if step.needs in failed else "not run"
            self.outcomes.append(Outcome(step, verdict, self.expected(step)))
            self.durations.not_run(step.name)
        self.durations.write()
        return all(outcome.verdict in ("passed", "empty") for outcome in self.outcomes[first:])

    def next_of(self, waiting: list[Step], running: list[Running]) -> Step | None:
        """The first step that can start now and would end in time."""
        if len(running) >= self.jobs or any(each.step.alone for each in running):
            return None
        passed = {outcome.step.name for outcome in self.outcomes if outcome.verdict == "passed"}
        for step in waiting:
            ready = not step.needs or step.needs in passed
            if ready and self.spent() + (0 if step.needed else self.expected(step)) <= self.budget:
                return None if step.alone and running else step
        return None

    def start(self, step: Step) -> Running:
        """Start a step in a session of its own, so that it can be killed with all that it started."""
        log = (self.logs / (re.sub(r"[^\w.-]+", "-", step.name) + ".log")).open("wb+")
        process = subprocess.Popen(
            ["bash", "-c", step.command],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return Running(step, process, log, time.monotonic())

    def ended(self, each: Running) -> bool:
        """Whether a step is over; if so it is noted and shown. What overruns is killed."""
        late = self.spent() > self.budget + GRACE
        if each.process.poll() is None and not late:
            return False
        seconds = time.monotonic() - each.start
        if each.process.poll() is None:
            kill(each.process)
            each.process.wait()
            verdict = "stopped"
        else:
            # pytest ends with 5 where it selected no test.
            words = {0: "passed", 5: "empty"} if " -m pytest " in each.step.command else {0: "passed"}
            verdict = words.get(each.process.returncode, "FAILED")
        with each.log:
            each.log.seek(0)
            printed = each.log.read().decode(errors="replace")
        note = self.durations.stopped if verdict == "stopped" else self.durations.ended
        note(each.step.name, seconds)
        self.outcomes.append(Outcome(each.step, verdict, seconds))
        self.show(self.outcomes[-1], printed)
        return True

    def show(self, outcome: Outcome, printed: str) -> None:
        """Print a line for an ended step, and what a failed one printed."""
        step = outcome.step
        counted = r"^(\d+ (?:passed|failed|skipped|error|deselected).*?) in [\d.]+s"
        pytest = re.findall(counted, printed, re.MULTILINE)
        google = re.findall(r"^\[  (PASSED|SKIPPED|FAILED)  ?\] (\d+) tests?", printed, re.MULTILINE)
        counts = ", ".join(pytest[-1:] or [f"{count} {word.lower()}" for word, count in google])
        about = "; ".join(part for part in (counts, step.reason) if part)
        print(
            f"{outcome.verdict:<8} {outcome.seconds:>6.1f} s  {step.name}{f'  ({about})' if about else ''}",
            flush=True,
        )
        if outcome.verdict == "FAILED":
            print("\n".join(f"    {line}" for line in printed.splitlines()[-40:]))
            print(f"    --- reproduce it: {step.command}", flush=True)
