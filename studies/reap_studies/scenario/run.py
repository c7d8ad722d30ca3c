"""Plays a scenario: builds its program, and runs it with each remedy in turn.

The programs and their remedies are data, `NAME.c` and `NAME.toml`, in the folder `scenarios` beside this
file.
"""

import os
import subprocess
import tempfile
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from reap.api import (
    Allocator,
    ExitCode,
    Launch,
    Outcome,
    ReapError,
    Residence,
    catalog,
    did_you_mean,
    digest_of,
    machine,
    spawn,
    units,
)
from reap.api import ResidenceLog as Log
from reap.api import residence_watch as watch
from reap_studies.scenario.records import Played, Remedied, Requests, Scenario, Tried

_FOLDER = Path(str(files("reap_studies.scenario"))) / "programs"
_PATIENCE = 60.0
"""Seconds for one run."""
_INTERVAL = 0.05
_RATE = "{rate}"
_LOAD = 0.75
"""Of the most requests there can be: half again as many are more than that."""

Tell = Callable[[int, int, str], None]
"""How many runs are done, of how many, and which is next."""


@cache
def scenarios() -> dict[str, Scenario]:
    """All of them by name."""
    found = sorted(_FOLDER.glob("*.toml"))
    return {
        path.stem: msgspec.convert({**tomllib.loads(path.read_text()), "name": path.stem}, Scenario)
        for path in found
    }


def named(name: str) -> Scenario:
    """The scenario of that name. Throws ReapError."""
    if name not in scenarios():
        raise ReapError(
            f"there is no scenario called '{name}'",
            f"{did_you_mean(name, scenarios())}known are {', '.join(scenarios())}",
            ExitCode.USAGE,
        )
    return scenarios()[name]


def build(name: str, cache_folder: Path) -> str:
    """The program of a scenario, compiled into the cache unless it is there. Throws ReapError."""
    source = _FOLDER / f"{name}.c"
    digest = digest_of(source)[:12]
    target = cache_folder / f"{name}-{digest}"
    if target.is_file():
        return str(target)
    with _made_here(cache_folder) as folder:
        part = Path(folder) / name
        command = ["gcc", "-O2", "-g", "-pthread", str(source), "-o", str(part)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
            )
        except FileNotFoundError:
            raise ReapError(
                "a scenario's program is compiled here, and there is no gcc",
                "sudo apt-get install --no-install-recommends gcc libc6-dev",
                ExitCode.NOT_FOUND,
            ) from None
        if done.returncode != 0:
            raise ReapError(
                f"{source} cannot be compiled: {done.stderr.strip()[-500:]}", "mend what it names"
            )
        part.replace(target)  # another reap may have been faster, with the same
    return str(target)


def _made_here(folder: Path) -> "tempfile.TemporaryDirectory[str]":
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=".building-", dir=folder)
    except OSError as error:
        raise ReapError(
            f"{folder} cannot be written: {error.strerror}", "set XDG_CACHE_HOME to a folder that can be"
        ) from error


def default_cache() -> Path:
    """Where the programs are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reap" / "scenarios"


def play(scenario: Scenario, program: str, tell: Tell) -> Played:
    """Runs all of it, round by round, and in each round one remedy after the other.

    An allocator that is not installed is left out, and named. Throws ReapError where a run fails.
    """
    tried = {arm.name: Tried(arm=arm, skipped=_lacking(arm)) for arm in scenario.arms}
    here = [each.arm for each in tried.values() if not each.skipped]
    rate = _bearable(here[0], program) if any(_RATE in arm.words for arm in here) else 0.0
    total = scenario.rounds * len(here)
    for number in range(total):
        arm = here[number % len(here)]
        tell(number, total, arm.name)
        so_far = tried[arm.name]
        if scenario.kind == "memory":
            seen = _watch(arm, program)
            tried[arm.name] = msgspec.structs.replace(so_far, residence=seen)
        else:
            run = _requests(arm, program, rate)
            tried[arm.name] = msgspec.structs.replace(so_far, runs=[*so_far.runs, run])
    return Played(scenario=scenario, tried=list(tried.values()))


def _lacking(arm: Remedied) -> str:
    found = catalog.find(arm.allocator)
    return "" if isinstance(found, Allocator) else f"not installed ({found.install})"


def arguments(arm: Remedied, rate: float = 0.0) -> list[str]:
    """The program's arguments on this machine: one worker more than one and a half a processor."""
    workers = machine.describe().cores * 3 // 2 + 1
    counts = {"{workers}": str(workers), "{twice}": str(2 * workers), _RATE: str(round(rate))}
    return [counts.get(word, word) for word in arm.words]


def _bearable(arm: Remedied, program: str) -> float:
    """Of the requests that it answers in a second at most, those that it can go on with."""
    return _LOAD * _requests(arm, program, 0.0).rate


def _launch(arm: Remedied, program: str, rate: float = 0.0) -> Launch:
    return Launch(
        argv=[Path(program).name, *arguments(arm, rate)],
        program=program,
        allocator=catalog.parse(arm.allocator)[0].library,
        environment=arm.environment,
        remove=["LD_PRELOAD", "MALLOC_CONF", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_"],
        timeout=_PATIENCE,
    )


def _watch(arm: Remedied, program: str) -> Residence:
    log = Log(_INTERVAL)
    outcome = watch.run(_launch(arm, program), _INTERVAL, log.add, ask=True)
    _require_success(arm, outcome)
    return max((log.residence(pid) for pid in log.moments), key=lambda each: each.largest.resident)


def _requests(arm: Remedied, program: str, rate: float) -> Requests:
    outcome = spawn.run(_launch(arm, program, rate))
    _require_success(arm, outcome)
    return msgspec.json.decode(outcome.stderr_tail, type=Requests)


def _require_success(arm: Remedied, outcome: Outcome) -> None:
    if outcome.timed_out or outcome.status != 0:
        how = f"after {units.about(_PATIENCE)}" if outcome.timed_out else f"with status {outcome.status}"
        said = outcome.stderr_tail.strip()[-300:]
        raise ReapError(f"the scenario's program ended {how} under '{arm.name}': {said}", "run `reap doctor`")
