"""Puts a case to a verb, as its command does."""

import io
import json
import os
import resource
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from cases import Case, command
from programs import reap_command

from reap.evidence import run as wall
from reap.evidence.analyse.suspicions.records import Suspicion
from reap.evidence.analyse.suspicions.suspect import suspect
from reap.evidence.judge.records import Diagnosis
from reap.launch import program as programs
from reap.launch.records import Launch
from reap.rss import run
from reap.rss.judge import ResidenceVerdict
from reap.rss.judge import judge as judge_residence
from reap.tune.records import Conclusion, Tuned

TRACEPOINTS = os.access("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", os.R_OK)
INTERVAL = 0.05
"""Seconds between two looks at resident memory."""
QUICK = ("--allocators", "glibc,jemalloc", "--runs", "5", "--budget", "34")
"""How CI has `run` compare."""
FULL = ("--allocators", "glibc,jemalloc,tcmalloc", "--runs", "6", "--budget", "50")


def _launch(case: Case, scale: float, *, cured: bool) -> tuple[programs.Program, Launch]:
    words, environment = command(case, scale, cured=cured)
    found = programs.resolve(words, environment={**os.environ, **environment})
    return found, Launch(argv=words, program=found.path, environment=environment)


def of_wall(case: Case, scale: float, folder: Path, *, cured: bool = False) -> list[Suspicion]:
    """What `reap wall` suspects before it tries anything."""
    found, launch = _launch(case, scale, cured=cured)
    return suspect(wall.measure(launch, found, folder, lambda _: None, by_strace=not TRACEPOINTS).wall)


def of_rss(case: Case, scale: float, *, cured: bool = False) -> ResidenceVerdict:
    """The verdict of `reap rss`; programs that hold memory for it hold it longer, for a busy machine."""
    found, launch = _launch(case, scale, cured=cured)
    launch = msgspec.structs.replace(launch, environment={**launch.environment, "STAY": "1500"})
    observed = run.command(found, launch, INTERVAL, io.StringIO(), ask=True)
    return judge_residence(observed.tree or observed.processes[0])


def of_run(
    case: Case, scale: float, folder: Path, options: tuple[str, ...], *, cured: bool = False
) -> Diagnosis:
    """The diagnosis of `reap run`."""
    words, environment = command(case, scale, cured=cured)
    return diagnosis("run", words, environment, folder, options)


def diagnosis(
    verb: str, words: Sequence[str], environment: Mapping[str, str], folder: Path, options: Sequence[str]
) -> Diagnosis:
    """What `reap run` or `reap wall` says of a command."""
    return msgspec.convert(_answer(verb, words, environment, folder, options)["diagnosis"], Diagnosis)


def settings(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> Conclusion:
    """What `reap tune` concludes of a command's CPU time."""
    answer = _answer("tune", words, environment, folder, ("--for", "cpu"))
    return msgspec.convert(answer["tuned"], Tuned).conclusion


def _answer(
    verb: str, words: Sequence[str], environment: Mapping[str, str], folder: Path, options: Sequence[str]
) -> Mapping[str, Any]:
    done = subprocess.run(
        [*reap_command(), verb, *options, "-f", "-o", verb, "--json", f"{verb}.json", "--", *words],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads((folder / f"{verb}.json").read_text())["answers"]
    return cast("Mapping[str, Any]", answer)


def true_share(case: Case, scale: float, pairs: int) -> float:
    """The part of CPU time that the program takes and its twin does not: the median of pairs."""

    def seconds(*, cured: bool) -> float:
        words, environment = command(case, scale, cured=cured)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return statistics.median(1 - seconds(cured=True) / seconds(cured=False) for _ in range(pairs))
