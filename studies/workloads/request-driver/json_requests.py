"""Requests that parse a document, in Python: for the study of the allocator wall.

    json_requests.py cost   KEY=VALUE ...   processor nanoseconds of a request, by the way it is answered
    json_requests.py tail   KEY=VALUE ...   how long each request took: nanoseconds, 8 bytes each, into `raw`
    json_requests.py count  KEY=VALUE ...   only answers, so that whoever watches can count allocations
    json_requests.py facts                  what CPython and the recipes of the text say

The answer is a line of JSON on standard error. Ways: per_request, pooled, batch, less, floor, empty; those
that parse take the parser `json` or `orjson`.
"""

import array
import ctypes
import gc
import json
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

Way = Callable[[bytes], int]
_POPS = ("BLR1", "BOM2", "DEL1", "HYD1", "MAA1", "CCU1")


def document(edges: int) -> bytes:
    """A manifest's record; with six edges it is that of the text, with 1000 it has 27 KB."""
    chance = random.Random(1)  # noqa: S311 - no secret
    made = {
        "stream_id": "a-final-of-cricket-2026",
        "segment_seq": 42891,
        "duration_ms": 4000,
        "bitrate_kbps": 4500,
        "codec": "h264-baseline",
        "drm": {"scheme": "widevine", "key_id": "k-9d3a"},
        "edges": [{"pop": _POPS[n % len(_POPS)], "lat_ms": chance.randint(2, 25)} for n in range(edges)],
        "tags": ["live", "p1", "catalog"] * 4,
    }
    return json.dumps(made, separators=(",", ":")).encode()


def ways(loads: Callable[[bytes], dict], batch_size: int = 64) -> dict[str, Way]:
    """How a request is answered: each as a function of the document that says a number."""
    slots = [{"edges": [None] * 16, "used": 0} for _ in range(64)]
    state = {"at": 0}
    kept: list[dict] = []

    def per_request(text: bytes) -> int:
        found = loads(text)
        found["edges"].append({"pop": "PNQ1", "lat_ms": 8})
        return len(found["edges"])

    def into_slot(edge: object) -> int:
        slot = slots[state["at"]]
        state["at"] = (state["at"] + 1) & 63
        slot["edges"][slot["used"] & 15] = edge
        slot["used"] += 1
        return slot["used"]

    def pooled(text: bytes) -> int:
        # As the text has it: the slot is reused, and the document is parsed anyway.
        return into_slot(loads(text)["edges"][0])

    def batch(text: bytes) -> int:
        # The nearest thing to an arena: what a few requests made goes at once.
        kept.append(loads(text))
        if len(kept) == batch_size:
            kept.clear()
        return len(kept)

    def less(text: bytes) -> int:
        # Only what is needed is made: the first edge's place.
        begin = text.index(b'"pop":"') + 7
        return len(text[begin : text.index(b'"', begin)])

    def floor(_text: bytes) -> int:
        return into_slot(None)

    def empty(_text: bytes) -> int:
        return 0

    every = (per_request, pooled, batch, less, floor, empty)
    return {way.__name__: way for way in every}


def cost(chosen: dict[str, Way], text: bytes, blocks: int, block_ms: int) -> dict[str, float]:
    """Processor nanoseconds of a request each way: the median of blocks that take turns."""
    counts = {}
    for name, way in chosen.items():
        begun = time.process_time_ns()
        for _ in range(200):
            way(text)
        each = max((time.process_time_ns() - begun) / 200, 50)
        counts[name] = max(20, round(block_ms * 1e6 / each))
    taken: dict[str, list[float]] = {name: [] for name in chosen}
    for _ in range(blocks):
        for name, way in chosen.items():
            count = counts[name]
            begun = time.process_time_ns()
            for _ in range(count):
                way(text)
            taken[name].append((time.process_time_ns() - begun) / count)
    return {f"{name}_ns": statistics.median(values) for name, values in taken.items()}


def tail(way: Way, text: bytes, requests: int, raw: str) -> dict[str, float]:
    """A closed loop, as the text has it, but with stamps of nanoseconds."""
    took = array.array("Q", bytes(8 * requests))
    for _ in range(2000):
        way(text)
    begun = time.perf_counter_ns()
    for number in range(requests):
        start = time.perf_counter_ns()
        way(text)
        took[number] = time.perf_counter_ns() - start
    rate = requests * 1e9 / (time.perf_counter_ns() - begun)
    if raw:
        with Path(raw).open("wb") as file:
            took.tofile(file)
    return {"rate": rate}


def recipe(way: Way, text: bytes) -> float:
    """What the text's own recipe says: `tracemalloc`, snapshots before and after a request."""
    said = []
    way(text)
    tracemalloc.start()
    for _ in range(5):
        before = tracemalloc.take_snapshot()
        way(text)
        after = tracemalloc.take_snapshot()
        said.append(sum(d.count_diff for d in after.compare_to(before, "lineno") if d.count_diff > 0))
    tracemalloc.stop()
    return statistics.median(said)


class _Info(ctypes.Structure):
    # As malloc.h has it; the last three but one: free in fastbins, in use, free.
    _fields_ = [(f"field{n}", ctypes.c_size_t) for n in range(7)] + [
        (name, ctypes.c_size_t) for name in ("in_use", "free", "top")
    ]


def largest_small() -> float:
    """The largest object, in bytes, of which a thousand more are none of malloc's, as glibc says."""
    info = ctypes.CDLL(None).mallinfo2
    info.restype = _Info
    largest = 0.0
    for size in range(400, 640, 8):
        gc.collect()
        kept = [None] * 1000
        before = info().in_use
        for number in range(1000):
            kept[number] = bytes(size - sys.getsizeof(b""))
        if info().in_use - before < 1000 * size / 2:
            largest = float(sys.getsizeof(kept[0]))
        del kept
    return largest


def queued_ns() -> int:
    """How long this thread could have run and another did; 0 where the kernel does not say."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def collector() -> dict[str, float]:
    """Of the time of the collector's pauses, the share on a processor; without what others took of it."""
    wall = cpu = 0
    at = [0, 0, 0]

    def hear(phase: str, _about: dict) -> None:
        nonlocal wall, cpu
        if phase == "start":
            at[:] = queued_ns(), time.perf_counter_ns(), time.thread_time_ns()
        else:
            took, used = time.perf_counter_ns() - at[1], time.thread_time_ns() - at[2]
            wall += max(took - (queued_ns() - at[0]), used)
            cpu += used

    kept = [{"n": [n]} for n in range(100_000)]
    gc.callbacks.append(hear)
    for _ in range(10):
        gc.collect()
    gc.callbacks.remove(hear)
    return {"gc_on_cpu_share": min(cpu / wall, 1.0), "gc_pause_ns": wall / 10, "gc_objects": len(kept)}


def main() -> None:
    what, *words = sys.argv[1:]
    said = dict(word.split("=", 1) for word in words)
    edges = int(said.get("edges", "6"))
    parser = said.get("parser", "json")
    loads = json.loads if parser == "json" else __import__("orjson").loads
    text, chosen = document(edges), ways(loads)
    way = chosen[said.get("way", "per_request")]
    answer: dict[str, float] = {"document": len(text)}
    if what == "cost":
        answer |= cost(chosen, text, int(said.get("blocks", "5")), int(said.get("block_ms", "4")))
    elif what == "tail":
        answer |= tail(way, text, int(said.get("requests", "20000")), said.get("raw", ""))
    elif what == "count":
        every = said.get("read", "one") == "all"
        for _ in range(int(said.get("requests", "100"))):
            if every:
                sum(edge["lat_ms"] for edge in loads(text)["edges"])
            else:
                way(text)
    elif what == "facts":
        answer |= {"largest_small": largest_small(), "recipe": recipe(way, text), **collector()}
    else:
        raise SystemExit(f"json_requests.py: cannot be asked {what}; see its first lines")
    print(json.dumps(answer), file=sys.stderr)


if __name__ == "__main__":
    main()
