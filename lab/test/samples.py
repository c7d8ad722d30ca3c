"""Records as real runs would leave them, for the tests of what draws and judges them. Seeded."""

import math
import random
from collections.abc import Sequence
from typing import Any

import msgspec
from answers import answer

from reap.answer.records import Answer, Report
from reap.base.records import Estimate, exactly
from reap.evidence.judge.verdict import diagnose
from reap.experiment.records import Comparison, Ratio, Side, Verdict
from reap.launch.records import Machine
from reap.recording.records import (
    Latency,
    LifetimeBin,
    PerRequest,
    PhaseRequests,
    Point,
    Process,
    Profile,
    Requests,
    Share,
    Site,
    SizeBin,
    Totals,
)
from reap_studies.study.records import Statistics
from reap_studies.workloads import card

MIB = 1 << 20
HOSTILE = "</script><img src=x onerror=alert(1)>"
UNITS = {"cpu": "s", "wall": "s", "request_p99": "s"} | dict.fromkeys(
    ("peak_resident", "settled_resident", "mean_resident"), "bytes"
)
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"


def around(value: float, half: float) -> Estimate:
    """An estimate with an interval of `half` on both sides."""
    return Estimate(value=value, low=value - half, high=value + half)


def ratio_of(
    metric: str, value: float, half: float = 0.01, *, baseline: float = 2.0, rounds: int = 15
) -> Ratio:
    """A ratio with its interval, and pairs that scatter as the interval says."""
    chance = random.Random(f"{metric} {value} {half}")
    sigma = half * math.sqrt(rounds) / 2
    low, high = value - half, value + half
    verdict: Verdict = "better" if high < 1 else "worse" if low > 1 else "inconclusive"
    return Ratio(
        metric=metric,
        unit=UNITS.get(metric, "count"),
        baseline=baseline,
        value=baseline * value,
        ratio=Estimate(value=value, low=low, high=high),
        pairs=[max(0.01, chance.gauss(value, sigma)) for _ in range(rounds)],
        verdict=verdict,
    )


def exactly_paired(value: float, rounds: int = 6) -> Ratio:
    """A ratio of CPU time that was the same in every round."""
    ratio = ratio_of("cpu", value, 0.0, rounds=rounds)
    return msgspec.structs.replace(ratio, ratio=around(value, 0.0), pairs=[value] * rounds)


def side_of(
    allocator: str,
    cpu: float = 1.0,
    half: float = 0.01,
    *,
    memory: float = 1.0,
    wall: float | None = None,
    peak: float = 200.0 * MIB,
    cpu_seconds: float = 2.0,
    **changes: Any,
) -> Side:
    """One allocator; `peak` and `cpu_seconds` are the baseline's."""
    rounds = changes.get("rounds", 15)
    fields: dict[str, Any] = {
        "allocator": allocator,
        "rounds": rounds,
        "verified": True,
        "provider": f"/usr/lib/x86_64-linux-gnu/lib{allocator}.so.2",
        "ratios": {
            "cpu": ratio_of("cpu", cpu, half, baseline=cpu_seconds, rounds=rounds),
            "wall": ratio_of(
                "wall", cpu if wall is None else wall, half, baseline=cpu_seconds, rounds=rounds
            ),
            "peak_resident": ratio_of("peak_resident", memory, 0.005, baseline=peak, rounds=rounds),
            "minor_faults": ratio_of("minor_faults", memory * 1.1, 0.02, baseline=52_000, rounds=rounds),
            "involuntary_switches": ratio_of("involuntary_switches", 1.02, 0.4, baseline=31, rounds=rounds),
        },
        "same_output": True,
        "same_exit": True,
    }
    return Side(**{**fields, **changes})


def comparison_of(sides: Sequence[Side], noise: float = 0.006, **changes: Any) -> Comparison:
    """A comparison on glibc, with noise of `noise` on both sides of 1."""
    fields: dict[str, Any] = {
        "workload": "command",
        "command": ["perl", "words.pl", "corpus.txt"],
        "baseline": "glibc",
        "rounds": 15,
        "sides": list(sides),
        "noise": {
            "cpu": ratio_of("cpu", 1.001, noise),
            "wall": ratio_of("wall", 0.999, noise * 1.3),
            "peak_resident": ratio_of("peak_resident", 1.0, 0.001, baseline=200 * MIB),
            "minor_faults": ratio_of("minor_faults", 1.0, 0.002, baseline=52_000),
        },
        "exit_code": 0,
        "stdout_varies": False,
    }
    return Comparison(**{**fields, **changes})


def share_of(value: float, half: float = 0.01, samples: int = 4200, **changes: Any) -> Share:
    """A sampled share of time with its interval."""
    low, high = max(0.0, value - half), min(1.0, value + half)
    fields: dict[str, Any] = {
        "method": "perf",
        "samples": samples,
        "inside": round(value * samples),
        "kernel_inside": round(value * samples * 0.2),
        "share": Estimate(value=value, low=low, high=high),
        "sees_kernel": True,
    }
    return Share(**{**fields, **changes})


_SITES = (
    ("Perl_newSV", "sv.c:5721", "/usr/lib/x86_64-linux-gnu/libperl.so.5.36"),
    ("S_new_xpv", "sv_inline.h:210", "/usr/lib/x86_64-linux-gnu/libperl.so.5.36"),
    ("Perl_sv_grow", "sv.c:1644", "/usr/lib/x86_64-linux-gnu/libperl.so.5.36"),
    ("S_hsplit", "hv.c:1266", "/usr/lib/x86_64-linux-gnu/libperl.so.5.36"),
    (
        "std::vector<std::pair<int, std::string>, std::allocator<std::pair<int, std::string>>>::_M_insert",
        "vector.tcc:459",
        "/usr/lib/x86_64-linux-gnu/libperl.so.5.36",
    ),
    ("PerlIOBuf_get_base", "perlio.c:4040", "/usr/lib/x86_64-linux-gnu/libperl.so.5.36"),
    ("", "libc.so.6+0x8f2c1", LIBC),
)


def _site(rank: int, objects: float, size: float, rng: random.Random) -> Site:
    function, location, module = _SITES[rank % len(_SITES)]
    if rank >= len(_SITES):
        function = f"{function or 'static'}_{rank}"
    stack = [
        f"{function or location} ({location})",
        "Perl_pp_split (pp.c:6104)",
        "Perl_runops_standard (run.c:41)",
        "perl_run (perl.c:2741)",
        "main (perlmain.c:127)",
    ]
    return Site(
        function=function,
        location=location,
        module=module,
        stack=stack,
        objects=objects,
        bytes=objects * size,
        temporary=objects * rng.random(),
        live_at_peak=objects * size * rng.random() * 0.4,
    )


def profile_of(
    *,
    seed: int = 1,
    objects: int = 4_812_331,
    share: Share | None = None,
    depth: Any = "triage",
    sites: int = 40,
    points: int = 240,
    **changes: Any,
) -> Profile:
    """A profile of `objects` allocations over two and a half seconds; estimates as triage makes them."""
    rng = random.Random(seed)
    seconds = 2.5
    weights = [0.4, 3, 9, 22, 31, 19, 8, 4, 2, 0.9, 0.4, 0.1, 0.03, 0.004, 0.0006]
    bins = []
    for power, weight in enumerate(weights):
        low = 0 if power == 0 else (1 << power) + 1
        high = 1 << (power + 1)
        n = int(objects * weight / sum(weights))
        bins.append(SizeBin(low=low, high=high, objects=n, bytes=int(n * (low + high) / 2)))
    total_bytes = sum(b.bytes for b in bins)
    peak_bytes, peak_objects = total_bytes / 9.4, objects / 14
    exact = depth == "full"
    totals = Totals(
        total_objects=objects,
        max_objects=exactly(round(peak_objects)) if exact else around(peak_objects, peak_objects * 0.03),
        average_size=total_bytes / max(1, objects),
        total_bytes=total_bytes,
        max_bytes=exactly(round(peak_bytes)) if exact else around(peak_bytes, peak_bytes * 0.02),
        total_over_max=total_bytes / max(1.0, peak_bytes),
    )
    edges = [0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, None]
    lived = [38, 21, 14, 9, 6, 4, 5, 3]
    lifetimes = [
        LifetimeBin(
            low=edges[i] or 0.0,
            high=edges[i + 1],
            objects=objects * lived[i] / 100,
            bytes=total_bytes * lived[i] / 100,
        )
        for i in range(8)
    ]
    live, resident, rates = [], [], []
    kept = 0.0
    for i in range(points):
        t = seconds * i / max(1, points - 1)
        grown = (
            peak_bytes * (0.15 + 0.85 * math.sin(min(1.0, t / 2.1) * math.pi / 2)) * (0.55 if t > 2.2 else 1)
        )
        now = grown * (1 + 0.05 * rng.random())
        kept = max(kept * 0.999, now * 1.12 + 6 * MIB)
        live.append(Point(seconds=t, bytes=now))
        resident.append(Point(seconds=t, bytes=kept))
        rates.append(Point(seconds=t, bytes=objects / seconds * (0.6 + 0.8 * rng.random())))
    left, rows = float(objects), []
    for rank in range(sites):
        part = left * (0.34 if rank < 6 else 0.08)
        rows.append(_site(rank, part, totals.average_size * (0.4 + 1.4 * rng.random()), rng))
        left -= part
    excess = max(1.0, 1.1 * sum(s.bytes for s in rows) / max(1, total_bytes))
    rows = [msgspec.structs.replace(s, bytes=s.bytes / excess) for s in rows]
    rows.sort(key=lambda s: -s.bytes)
    fields: dict[str, Any] = {
        "command": ["perl", "words.pl", "corpus.txt"],
        "depth": depth,
        "seconds": seconds,
        "totals": totals,
        "processes": [
            Process(
                image=1,
                pid=4711,
                name="perl",
                command=["perl", "words.pl", "corpus.txt"],
                allocator=LIBC,
                totals=totals,
            )
        ],
        "sizes": bins,
        "lifetimes": lifetimes,
        "temporary": exactly(0.31) if exact else around(0.31, 0.012),
        "live": live,
        "resident": resident,
        "rates": rates,
        "sites": rows,
        "calls": {
            "malloc": int(objects * 0.93),
            "calloc": int(objects * 0.02),
            "realloc": int(objects * 0.05),
            "free": int(objects * 0.97),
        },
        "latencies": [
            Latency(call="malloc", samples=9120, p50=21, p90=48, p99=310, p999=4210),
            Latency(call="free", samples=8804, p50=14, p90=30, p99=122, p999=980),
            Latency(call="realloc", samples=412, p50=55, p90=240, p99=2100, p999=31_000),
        ],
        "share": share or share_of(0.124),
        "samples": 0 if exact else 18_336,
        "notes": [],
    }
    return Profile(**{**fields, **changes})


def machine() -> Machine:
    """A small virtual machine."""
    return Machine(
        processor="AMD EPYC 7B13",
        cores=2,
        memory=16 << 30,
        kernel="6.1.0-25-amd64",
        system="Debian GNU/Linux 12 (bookworm)",
        libc="glibc 2.36",
        virtual="kvm",
        huge_pages="madvise",
    )


def answer_of(
    title: str, profile: Profile | None, comparison: Comparison | None, command: list[str] | None = None
) -> Answer:
    """An answer with the verdict that its parts lead to."""
    argv = command or (profile.command if profile else comparison.command if comparison else ["true"])
    return answer(
        title,
        argv,
        profile=profile,
        comparison=comparison,
        diagnosis=diagnose(profile=profile, comparison=comparison, command=argv),
    )


def report_of(*answers: Answer) -> Report:
    """A report of these answers."""
    return Report(
        reap_version="0.1.0",
        created="2026-11-20T23:59:00Z",
        machine=machine(),
        made_by=["reap", "run", "--html", "report.html", "--", "perl", "words.pl"],
        answers=list(answers),
    )


def three_answers() -> Report:
    """The demo: perl gains by another allocator, gcc has children and spends on memory, sed is left alone."""
    perl = profile_of()
    perl_sides = [
        side_of("jemalloc", 0.931, 0.009, memory=1.06),
        side_of("mimalloc", 0.902, 0.011, memory=1.12),
        side_of("tcmalloc", 0.944, 0.012, memory=1.09),
    ]
    gcc_command = ["gcc", "-O2", "-c", "big.c", "-o", "big.o"]
    gcc = profile_of(
        seed=2,
        objects=1_911_200,
        share=share_of(0.062, 0.008),
        command=gcc_command,
        notes=["1 process ended without sealing its last block; it was read up to its committed length."],
    )
    whole = gcc.processes[0]
    gcc_tree = [
        Process(
            image=i,
            pid=5000 + i,
            name=name,
            command=[name, "-quiet", "big.c"],
            allocator=LIBC,
            totals=whole.totals,
            recorded=name != "ld",
            note="static" if name == "ld" else "",
        )
        for i, name in enumerate(["gcc", "cc1", "as", "collect2", "ld"])
    ]
    gcc_sides = [
        side_of("jemalloc", 0.951, 0.013, memory=1.62, cpu_seconds=4.1),
        side_of("mimalloc", 0.998, 0.03, memory=1.3, cpu_seconds=4.1),
        side_of(
            "tcmalloc",
            1.0,
            0.01,
            verified=False,
            ratios={},
            rounds=0,
            problem="malloc still came from libc.so.6: cc1 is linked so that it cannot be replaced.",
        ),
    ]
    sed = profile_of(
        seed=3,
        objects=9_120,
        share=share_of(0.011, 0.005),
        command=["sed", "-n", "s/a/b/p", "corpus.txt"],
        sites=9,
    )
    sed_sides = [
        side_of(name, 1.0 + d, 0.012, memory=1.4, peak=2.0 * MIB, cpu_seconds=0.7)
        for name, d in [("jemalloc", 0.012), ("mimalloc", 0.004), ("tcmalloc", 0.021)]
    ]
    return report_of(
        answer_of("perl", perl, comparison_of(perl_sides)),
        answer_of(
            "gcc",
            msg_replace(gcc, processes=gcc_tree),
            comparison_of(gcc_sides, command=gcc_command, stdout_varies=True, stopped_early=True),
        ),
        answer_of("sed", sed, comparison_of(sed_sides, command=sed.command)),
    )


def msg_replace(profile: Profile, **changes: Any) -> Profile:
    """The profile with some fields changed."""
    return msgspec.structs.replace(profile, **changes)


def requests_of(*phases: str) -> Requests:
    """A thousand marked requests in each phase."""
    blocks = PerRequest(mean=30.25, p50=28, p99=64, max=97)
    size = PerRequest(mean=2048, p50=2000, p99=4096, max=9999)
    return Requests(
        count=1000 * len(phases),
        allocations=blocks,
        bytes=size,
        phases=[PhaseRequests(phase=name, count=1000, allocations=blocks, bytes=size) for name in phases],
    )


def marked(comparison: Comparison) -> Comparison:
    """The same of a program that marks requests: the first allocator has a quarter more of them a second."""
    p99 = ratio_of("request_p99", 0.8, baseline=0.004)
    rate = msgspec.structs.replace(
        ratio_of("request_rate", 1.25, baseline=1000),
        unit="per_second",
        verdict="better",
        more_is_better=True,
    )
    first, *others = comparison.sides
    first = msgspec.structs.replace(first, ratios={**first.ratios, "request_p99": p99, "request_rate": rate})
    return msgspec.structs.replace(comparison, sides=[first, *others])


def hostile_report() -> Report:
    """Every string that a measured program could choose holds markup, escapes and line separators."""
    bad = HOSTILE + "\u2028\x1b[31m&amp;'\"{{7*7}}${1}"
    profile = profile_of(command=["./a", bad], notes=[bad])
    first = Site(
        function=bad,
        location=bad,
        module=bad,
        stack=[bad, bad],
        objects=10,
        bytes=1e9,
        temporary=1,
        live_at_peak=1,
    )
    process = Process(image=1, pid=1, name=bad, command=[bad], allocator=bad, totals=profile.totals, note=bad)
    profile = msg_replace(
        profile,
        sites=[first, *profile.sites],
        processes=[process, process],
        calls={bad: 3},
        latencies=[Latency(call=bad, samples=1, p50=1, p90=1, p99=1, p999=1)],
        requests=requests_of(bad),
    )
    sides = [side_of(bad, 0.8, problem=bad), side_of("jemalloc", 0.9, provider=bad)]
    comparison = comparison_of(sides, command=[bad], notes=[bad], baseline=bad, workload=bad)
    return report_of(answer_of(bad, profile, comparison, [bad]))


def recorded(name: str, share: float, half: float = 0.005) -> Statistics:
    """How a workload allocates, with this share of its time in malloc."""
    return Statistics(card=card.load(name), scale=1, totals=profile_of().totals, share=share_of(share, half))
