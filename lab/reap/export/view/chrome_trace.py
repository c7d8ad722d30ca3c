"""The trace event format of Chrome, for Perfetto and about:tracing: memory as counters over time."""

import msgspec

from reap import __version__
from reap.base.text import printable
from reap.recording.records import Point, Profile


def render(profile: Profile) -> bytes:
    """Counters of the whole tree of processes, and a mark where it used most."""
    pid = profile.processes[0].pid if profile.processes else 0
    name = printable(" ".join(profile.command)) or "program"
    events: list[dict[str, object]] = [
        {"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "ts": 0, "args": {"name": name}}
    ]
    for counter, key, points in (
        ("live bytes", "bytes", profile.live),
        ("resident bytes", "bytes", profile.resident),
        ("allocations per second", "allocations", profile.rates),
    ):
        events += [_counter(counter, key, point, pid) for point in points]
    if profile.live:
        most = max(profile.live, key=lambda point: point.bytes)
        mark = {"name": "most bytes in use", "ph": "i", "s": "p", "pid": pid, "tid": 0}
        events.append({**mark, "ts": _micros(most.seconds), "args": {"bytes": round(most.bytes)}})
    return msgspec.json.encode(
        {
            "traceEvents": events,
            "displayTimeUnit": "ms",
            "otherData": {"exporter": f"reap {__version__}", "depth": profile.depth},
        }
    )


def _counter(name: str, key: str, point: Point, pid: int) -> dict[str, object]:
    at = {"name": name, "ph": "C", "pid": pid, "tid": 0, "ts": _micros(point.seconds)}
    return {**at, "args": {key: round(point.bytes)}}


def _micros(seconds: float) -> float:
    return round(seconds * 1e6, 3)
