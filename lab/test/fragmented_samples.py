"""Results of fragmented heaps that were never measured, for tests of judging and drawing."""

from collections.abc import Sequence
from typing import Any

from answers import answer
from samples import MIB, around, ratio_of

from reap.answer.records import Answer
from reap.base.records import Estimate, exactly
from reap.compare.levels.judge import judge
from reap.compare.levels.records import Arm, Control, Fragmented, LayoutBias, Split
from reap.experiment.records import Laid
from reap.launch.litter.level import LEVELS
from reap.launch.records import Misses
from reap.recording.analyse.size_profile import SizeProfile

SLOWDOWNS = {"adv0": 1.0, "adv1": 2.1, "adv3": 3.2, "adv10": 4.4}


def arm_of(variant: str, allocator: str, level: str, **changes: Any) -> Arm:
    """Naive allocation under glibc suffers most; the program's own allocator hardly at all."""
    naive = variant == "naive"
    suffers = (0.1 if allocator == "jemalloc" else 1.0) if naive else 0.02
    slowdown = 1 + (SLOWDOWNS[level] - 1) * suffers
    own = slowdown * (1.4 if naive else 1.0)
    share = Estimate(value=0.2, low=0.18, high=0.22)
    metrics = ("cpu", "wall", "peak_resident", "minor_faults")
    custom, other = 1 + (SLOWDOWNS[level] - 1) * 0.02, 1.4 * (SLOWDOWNS[level] if naive else 1.0)
    fields: dict[str, Any] = {
        "variant": variant,
        "allocator": allocator,
        "level": level,
        "huge_pages": "",
        "rounds": 15,
        "cpu": 2.0 * own,
        "normalised": {name: ratio_of(name, own) for name in metrics},
        "slowdown": {name: ratio_of(name, slowdown) for name in metrics},
        "to_custom": {"cpu": ratio_of("cpu", own / custom)} if naive else {},
        "to_best": {"cpu": ratio_of("cpu", own)} if level == "adv0" else {},
        "to_allocator": {"cpu": ratio_of("cpu", own / other)} if allocator != "glibc" else {},
        "laid": Laid(
            objects=LEVELS[level].objects(100_000),
            kept_bytes=LEVELS[level].kept(100_000) * 50,
            cpu_ns=10**8,
            wall_ns=10**8,
            resident=int(LEVELS[level].multiplier * 8 * MIB),
            threads=1,
        ),
        "split": Split(
            samples=4000,
            share=share,
            inside=around(0.4 * own, 0.04),
            outside=around(1.6 * own, 0.04),
            sees_kernel=True,
        ),
        "misses": Misses(
            instructions=10**9,
            accesses=4 * 10**8,
            first=int(10**7 * slowdown),
            last=int(10**6 * slowdown**2),
            caches=["D1 cache: 32768 B, 64 B, 8-way associative"],
        ),
        "same_output": True,
    }
    return Arm(**{**fields, **changes})


def fragmented_of(
    variants: Sequence[str] = ("custom", "naive"),
    allocators: Sequence[str] = ("glibc", "jemalloc"),
    levels: Sequence[str] = tuple(LEVELS),
    **changes: Any,
) -> Fragmented:
    """A program whose own allocator protects it."""
    fields: dict[str, Any] = {
        "workload": "command",
        "command": ["python3", "words.py"],
        "naive_command": ["python3", "words.py"] if len(variants) > 1 else [],
        "naive_environment": {"PYTHONMALLOC": "malloc"} if len(variants) > 1 else {},
        "variants": list(variants),
        "allocators": list(allocators),
        "levels": [LEVELS[name] for name in levels],
        "huge_pages": [""],
        "children": False,
        "seed": 1,
        "order": "random",
        "elsewhere": "",
        "touch": True,
        "profile": SizeProfile(
            format="reap size profile",
            version=1,
            program="/usr/bin/python3.11",
            command=["python3", "words.py"],
            counted="allocations",
            cut_off=4096,
            sizes=[(24, 300_000), (56, 900_000), (300, 4000), (4000, 7)],
            left_out=12,
            left_out_bytes=900_000,
            peak=exactly(100_000),
        ),
        "rounds": 15,
        "arms": [arm_of(v, a, name) for v in variants for a in allocators for name in levels],
        "controls": [
            Control(variant=v, allocator=a, preload=ratio_of("cpu", 1.001), emptied=ratio_of("cpu", 1.002))
            for v in variants
            for a in allocators
        ],
        "layout_bias": [
            LayoutBias(variant=v, level=level, ratios=[ratio_of("cpu", 0.99), ratio_of("cpu", 1.02)])
            for v in variants
            for level in ("none", "adv0")
        ],
        "failed_controls": [],
        "noise": {name: ratio_of(name, 1.001, 0.006) for name in ("cpu", "wall")},
        "exit_code": 0,
        "stdout_varies": False,
    }
    return Fragmented(**{**fields, **changes})


def fragmented_answer(result: Fragmented | None = None) -> Answer:
    """An answer that is of fragmented heaps alone."""
    held = result or fragmented_of()
    return answer("python3", held.command, fragmented=held, fragmented_verdict=judge(held))
