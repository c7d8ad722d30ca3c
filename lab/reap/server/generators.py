"""How many requests a load generator made, by its own words. Pure functions."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from reap.base.records import Record

_WRAPPERS = {"env", "exec", "nice", "taskset", "timeout"}
"""Commands before a load generator's own name."""


class Counted(Record):
    """The requests of a load."""

    requests: int
    failed: int = 0
    """Those of them that were answered with an error."""


def counted(command: Sequence[str], said: str) -> Counted | None:
    """What the load of this command said that it did; None where it does not say, or is not known."""
    name = next((name for word in command if (name := Path(word).name) in GENERATORS), "")
    first = Path(command[0]).name if command else ""
    if not name or (name != first and first not in _WRAPPERS):
        return None
    found = GENERATORS[name](command, said)
    return found if found is not None and found.requests > 0 else None


def _redis_benchmark(command: Sequence[str], said: str) -> Counted | None:
    # Each test makes as many; `-q` names rates alone, and progress is written over with carriage returns.
    whole = [int(number) for number in re.findall(r"^\s*(\d+) requests completed in", said, re.MULTILINE)]
    if whole:
        return Counted(requests=sum(whole))
    tests = len(re.findall(r"[\d.]+ requests per second", said))
    each = _option(command, "-n", 100_000)
    return Counted(requests=tests * each) if tests and each else None


def _ab(_: Sequence[str], said: str) -> Counted | None:
    return _counted(said, r"^Complete requests:\s+(\d+)", r"^Non-2xx responses:\s+(\d+)")


def _wrk(_: Sequence[str], said: str) -> Counted | None:
    return _counted(said, r"^\s*(\d+) requests in ", r"^\s*Non-2xx or 3xx responses: (\d+)")


def _oha(_: Sequence[str], said: str) -> Counted | None:
    answers = re.findall(r"^\s*\[(\d{3})\] (\d+) responses", said, re.MULTILINE)
    good = sum(int(number) for status, number in answers if int(status) < _ERRORS)
    every = sum(int(number) for _, number in answers)
    return Counted(requests=every, failed=every - good) if answers else None


def _pgbench(_: Sequence[str], said: str) -> Counted | None:
    done, failed = (
        r"number of transactions actually processed: (\d+)",
        r"number of failed transactions: (\d+)",
    )
    return _counted(said, done, failed)


def _memcslap(_: Sequence[str], said: str) -> Counted | None:
    return _counted(said, r"^Time to (?:set|get|mget)\s+(\d+) keys by")


def _memtier(command: Sequence[str], _: str) -> Counted | None:
    # It prints rates; the number is one of clients, threads and what each client asks for.
    each = _option(command, "-n", 10_000, "--requests")
    clients = _option(command, "-c", 50, "--clients")
    threads = _option(command, "-t", 4, "--threads")
    timed = any(word.startswith("--test-time") for word in command)
    return None if timed else Counted(requests=each * clients * threads)


GENERATORS: dict[str, Callable[[Sequence[str], str], Counted | None]] = {
    "ab": _ab,
    "memcslap": _memcslap,
    "memtier_benchmark": _memtier,
    "oha": _oha,
    "pgbench": _pgbench,
    "redis-benchmark": _redis_benchmark,
    "wrk": _wrk,
}
"""By the name of its file."""

_ERRORS = 400
"""The first status of HTTP that is an error."""


def _counted(said: str, requests: str, failed: str = "") -> Counted | None:
    found = re.search(requests, said, re.MULTILINE)
    errors = re.search(failed, said, re.MULTILINE) if failed else None
    return Counted(requests=int(found[1]), failed=int(errors[1]) if errors else 0) if found else None


def _option(command: Sequence[str], short: str, usual: int, long: str = "") -> int:
    """The last value of an option: `-n 5`, `-n5`, `--requests 5`, `--requests=5`; 0 where it is no number."""
    value = str(usual)
    for word, after in zip(command, [*command[1:], ""], strict=True):
        if word in (short, long):
            value = after
        elif long and word.startswith(f"{long}="):
            value = word.partition("=")[2]
        elif word.startswith(short) and word[len(short) :].isdecimal():
            value = word[len(short) :]
    return int(value) if value.isdecimal() else 0
