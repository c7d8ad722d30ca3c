"""Run the stages of a test suite, as many side by side as there are cores, and say what each one took.

    python3 setup/stages test|more|ci|long [STAGE ...]

What a stage prints is kept in build/test-logs/STAGE.log, and its end is shown when it fails; the others go
on. Each stage has a line in build/test-logs/stages.jsonl. The last line counts stages.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from account import count
from schedule import startable
from session import kill
from stage import Ended, Stage
from table import SUITES

ROOT = Path(__file__).resolve().parents[2]
SHOWN = 150
"""Lines of a failed stage's log that are shown."""


@dataclass
class Running:
    """A stage's process, and where it writes."""

    stage: Stage
    cores: int
    process: "subprocess.Popen[bytes]"
    start: float
    log: Path
    reports: Path
    cache_log: Path


def start(stage: Stage, cores: int, logs: Path) -> Running:
    """Starts a stage in a session of its own, so that it can be killed with all that it started."""
    log, reports, cache_log = (logs / f"{stage.name}{end}" for end in (".log", ".reports", ".ccache"))
    reports.mkdir(exist_ok=True)
    for stale in [*reports.iterdir(), *([cache_log] if cache_log.exists() else [])]:
        stale.unlink()
    environment = {
        **os.environ,
        "JOBS": str(max(1, cores)),
        "CMAKE_BUILD_PARALLEL_LEVEL": str(max(1, cores)),
        "STAGE": stage.name,
        "REPORTS": str(reports),
        "CCACHE_STATSLOG": str(cache_log),
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-c", "set -e -o pipefail -x\n" + stage.commands],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Running(stage, cores, process, time.monotonic(), log, reports, cache_log)


def ended(running: Running) -> Ended | None:
    """What became of a stage; None while it runs. One that is over its limit is killed."""
    wall = time.monotonic() - running.start
    late = wall > running.stage.limit
    if late:
        kill(running.process)
    # Popen.wait does not say what the process and its children took.
    pid, status, usage = os.wait4(running.process.pid, 0 if late else os.WNOHANG)
    if pid == 0:
        return None
    running.process.returncode = os.waitstatus_to_exitcode(status)
    reason = f"exit status {running.process.returncode}" if running.process.returncode else ""
    counts = count(running.log, running.reports, running.cache_log)
    if counts.empty and not reason:
        reason = f"no case was run by {', '.join(counts.empty)}"
    return Ended(
        running.stage.name,
        passed=not reason,
        reason=f"killed after {running.stage.limit} s" if late else reason,
        wall=wall,
        cpu=usage.ru_utime + usage.ru_stime,
        counts=counts,
    )


def show(done: Ended, log: Path) -> None:
    """Prints a stage's line, and the end of its log if it failed."""
    if not done.passed:
        lines = log.read_text(errors="replace").splitlines()
        print(f"\n--- {done.name} failed ({done.reason}); the end of {log.relative_to(ROOT)}:\n")
        print("\n".join(lines[-SHOWN:]) + "\n")
    print(row(done), flush=True)


HEADER = (
    f"{'stage':<14} {'wall s':>8} {'CPU s':>8} {'compiled':>9} {'cached':>7} {'tests':>6} {'skipped':>8}"
    f" {'again':>6}"
)


def row(done: Ended) -> str:
    """A stage's line of the table."""
    counts = done.counts
    return (
        f"{done.name:<14} {done.wall:>8.1f} {done.cpu:>8.1f} {counts.compiled:>9} {counts.cached:>7}"
        f" {counts.tests:>6} {counts.skipped:>8} {counts.again:>6}  {'passed' if done.passed else 'FAILED'}"
    )


def run(stages: Sequence[Stage], cores: int, logs: Path) -> list[Ended]:
    """Runs all stages, and returns them in the order in which they ended."""
    logs.mkdir(parents=True, exist_ok=True)
    waiting, running, done = list(stages), list[Running](), list[Ended]()
    try:
        while waiting or running:
            while found := startable(waiting, [(each.stage, each.cores) for each in running], cores):
                stage, given = found
                waiting.remove(stage)
                running.append(start(stage, given, logs))
            for each in list(running):
                if (end := ended(each)) is not None:
                    running.remove(each)
                    done.append(end)
                    show(end, each.log)
                    with (logs / "stages.jsonl").open("a") as record:
                        record.write(json.dumps(asdict(end)) + "\n")
            time.sleep(0.05)
    finally:
        for each in running:
            kill(each.process)
            each.process.wait()
    return done


def chosen(words: Sequence[str]) -> list[Stage]:
    """The stages that the command line names. Exits with 2 if one is unknown."""
    parser = argparse.ArgumentParser(prog="setup/stages", description="Run the stages of a test suite.")
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument(
        "stages", nargs="*", metavar="STAGE", help="run these alone, without those they wait for"
    )
    asked = parser.parse_args(words)
    suite = {stage.name: stage for stage in SUITES[asked.suite]}
    if unknown := [name for name in asked.stages if name not in suite]:
        parser.error(f"no stage {', '.join(unknown)} in {asked.suite}; it has {', '.join(suite)}")
    return [suite[name] for name in asked.stages or suite]


def main() -> int:
    """Runs what the command line names; 1 if a stage failed."""
    # A shell's background job ignores these, and all that it starts would inherit that.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begin = time.monotonic()
    print(HEADER, flush=True)
    done = run(chosen(sys.argv[1:]), len(os.sched_getaffinity(0)), ROOT / "build" / "test-logs")
    tests, skipped = sum(each.counts.tests for each in done), sum(each.counts.skipped for each in done)
    again = sum(each.counts.again for each in done)
    print(
        f"{'all':<14} {time.monotonic() - begin:>8.1f} {sum(each.cpu for each in done):>8.1f}"
        f" {sum(each.counts.compiled for each in done):>9} {sum(each.counts.cached for each in done):>7}"
        f" {tests:>6} {skipped:>8} {again:>6}"
    )
    failed = sum(not each.passed for each in done)
    print(f"\n{len(done) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
