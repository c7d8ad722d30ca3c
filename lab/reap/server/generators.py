"""Requests of a load generator and their latency, by its own words. Pure functions."""

import re
from collections.abc import Callable, Sequence

import msgspec

from reap.base.records import Record
from reap.launch import wrappers
from reap.launch.records import LoadLatency


class Counted(Record):
    """The requests of a load."""

    requests: int
    failed: int = 0
    """Those of them that were answered with an error."""
    latency: LoadLatency | None = None
    """Of an open loop at a fixed rate alone. A closed loop waits for an answer before it asks again, so that
    it leaves out the requests that a slow answer would have delayed (coordinated omission)."""


def counted(command: Sequence[str], said: str) -> Counted | None:
    """Counts that the load of this command printed; None where it does not, or is not known."""
    read = GENERATORS.get(wrappers.name(command))
    found = read(wrappers.inner(command), said) if read else None
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


def _oha(command: Sequence[str], said: str) -> Counted | None:
    answers = re.findall(r"^\s*\[(\d{3})\] (\d+) responses", said, re.MULTILINE)
    good = sum(int(number) for status, number in answers if int(status) < _ERRORS)
    every = sum(int(number) for _, number in answers)
    if not answers:
        return None
    rate = _number(command, "-q")
    # Without the correction its latency counts from when a request was sent.
    latency = _oha_latency(said, rate, every) if rate and "--latency-correction" in command else None
    return Counted(requests=every, failed=every - good, latency=latency)


def _oha_latency(said: str, rate: float, requests: int) -> LoadLatency | None:
    found = re.search(r"^\s*Requests/sec:\s+([\d.]+)", said, re.MULTILINE)
    mean = _time(r"^\s*Average:\s+", said)
    if found is None or mean is None:
        return None
    latency = LoadLatency(due_per_second=rate, per_second=float(found[1]), mean_ns=mean)
    return _with_percentiles(latency, r"^\s*{}0*% in ", ("50.0", "99.0", "99.9"), said, requests)


def _pgbench(command: Sequence[str], said: str) -> Counted | None:
    done, failed = (
        r"number of transactions actually processed: (\d+)",
        r"number of failed transactions: (\d+)",
    )
    found = _counted(said, done, failed)
    rate = _number(command, "-R", "--rate")
    answered = re.search(r"^tps = ([\d.]+)", said, re.MULTILINE)
    mean = _time(r"^latency average = ", said)
    if found is None or not rate or answered is None or mean is None:
        return found
    # It counts from when a transaction was due, and reports no percentiles.
    latency = LoadLatency(due_per_second=rate, per_second=float(answered[1]), mean_ns=mean)
    return msgspec.structs.replace(found, latency=latency)


def _reap(command: Sequence[str], said: str) -> Counted | None:
    if "load" not in command:
        return None
    rates = re.search(r"([\d.]+)/s answered of ([\d.]+)/s due", said)
    found = _counted(said, r"^(\d+) requests, ", r"^\d+ requests, (\d+) failed")
    if found is None or rates is None:
        return None
    latency = LoadLatency(
        due_per_second=float(rates[2]),
        per_second=float(rates[1]),
        mean_ns=_time(r"^latency .* mean ", said) or 0.0,
        late_ns=_time(r"^sent late .* P99 ", said) or 0.0,
    )
    latency = _with_percentiles(latency, r"^latency .* {} ", ("P50", "P99", "P99.9"), said, found.requests)
    return msgspec.structs.replace(found, latency=latency)


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
    "reap": _reap,
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


_UNITS = {"ns": 1.0, "us": 1e3, "\N{MICRO SIGN}s": 1e3, "ms": 1e6, "s": 1e9, "secs": 1e9, "sec": 1e9}
"""In nanoseconds."""


def _time(before: str, said: str) -> float | None:
    """The time behind that, in nanoseconds; None where it is not said."""
    found = re.search(rf"{before}([\d.]+) ?(\w+)", said, re.MULTILINE)
    return float(found[1]) * _UNITS[found[2]] if found and found[2] in _UNITS else None


def _with_percentiles(
    latency: LoadLatency, before: str, names: Sequence[str], said: str, requests: int
) -> LoadLatency:
    """With P50, P99 and P99.9, as far as so many requests have them; `{}` in `before` is one of the names."""
    p50, p99, p999 = (
        _time(before.format(re.escape(name)), said) if requests >= least else None
        for name, least in zip(names, (2, 100, 1000), strict=True)
    )
    return msgspec.structs.replace(latency, p50_ns=p50, p99_ns=p99, p999_ns=p999)


def _number(command: Sequence[str], short: str, long: str = "") -> float:
    """As `_option`, with a fraction; 0 where it is not given."""
    try:
        return float(_written(command, short, "0", long))
    except ValueError:
        return 0.0


def _option(command: Sequence[str], short: str, usual: int, long: str = "") -> int:
    """The last value of an option: `-n 5`, `-n5`, `--requests 5`, `--requests=5`; 0 where it is no number."""
    value = _written(command, short, str(usual), long)
    return int(value) if value.isdecimal() else 0


def _written(command: Sequence[str], short: str, usual: str, long: str) -> str:
    value = usual
    for word, after in zip(command, [*command[1:], ""], strict=True):
        if word in (short, long):
            value = after
        elif long and word.startswith(f"{long}="):
            value = word.partition("=")[2]
        elif word.startswith(short) and word[len(short) :].replace(".", "", 1).isdecimal():
            value = word[len(short) :]
    return value
