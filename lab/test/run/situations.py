"""Situations that `reap run` judges, and the verdict that each must get."""

import math
from dataclasses import dataclass
from typing import Any

from samples import MIB, comparison_of, profile_of, share_of, side_of

from reap.base.records import exactly
from reap.experiment.records import Comparison
from reap.recording.records import Profile

COMMAND = ["perl", "words.pl", "it's here.txt"]


SMALL, MIDDLE, LARGE = share_of(0.02), share_of(0.09), share_of(0.32)


def tcmalloc(*args: Any, **kwargs: Any) -> Any:
    return side_of("tcmalloc", *args, **kwargs)


def recycle(*args: Any, **kwargs: Any) -> Any:
    return side_of("price: recycle", *args, **kwargs)


def jemalloc(*args: Any, **kwargs: Any) -> Any:
    return side_of("jemalloc", *args, **kwargs)


@dataclass(frozen=True)
class Situation:
    name: str
    headline: str
    rule: str
    share: Any = MIDDLE
    sides: tuple[Any, ...] | None = None
    says: tuple[str, ...] = ()
    command: str | None = None
    profile: dict[str, Any] | None = None
    comparison: dict[str, Any] | None = None


NO_PROFILE = {"none": True}


SITUATIONS = [
    Situation(
        "a clear gain",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.9), tcmalloc(0.97)),
        says=("jemalloc takes 10.0 % less CPU time", "95 % CI 9.0 to 11.0 % less", "9.0 %"),
        command="LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "the thriftier of two equals",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.900, memory=1.2), tcmalloc(0.905, memory=1.02)),
        says=("tcmalloc takes 9.5 % less", "as fast as the best, with less memory"),
    ),
    Situation(
        "a gain although the share is small",
        "switch the allocator",
        "switch_for_time",
        SMALL,
        (jemalloc(0.85),),
        says=("jemalloc takes 15.0 % less CPU time",),
    ),
    Situation(
        "a gain in wall time alone",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(1.0, wall=0.8),),
        says=("20 % less wall time",),
    ),
    Situation(
        "less CPU but more wall time",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(0.9, wall=1.1),),
        says=("but 10.0 % more (95 % CI 9.0 to 11.0 % more) wall time",),
    ),
    Situation(
        "proven and small",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(0.985, 0.004),),
        says=("1.5 % less", "a gain this small may vanish"),
    ),
    Situation(
        "within the noise",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(0.965, 0.01),),
        comparison={"noise": 0.07},
    ),
    Situation(
        "within large noise",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.93, 0.02),),
        comparison={"noise": 0.2},
        says=("within the noise (glibc compared with itself: 19.9 % less to 20 % more CPU time",),
    ),
    Situation(
        "nothing to gain",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(1.0), tcmalloc(1.03)),
        says=("None of jemalloc and tcmalloc gives a gain worth having", "so it saves 1.0 % at most."),
    ),
    Situation(
        "everything slower",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(1.2), tcmalloc(1.4)),
        says=("gain worth having: jemalloc takes 20 % more CPU time (95 % CI 19.0 to 21.0 % more)",),
    ),
    Situation(
        "a dear gain",
        "leave it alone",
        "bad_trade",
        sides=(jemalloc(0.95, memory=1.6),),
        says=("not worth its price", "320 MiB instead of 200 MiB"),
    ),
    Situation(
        "a dear gain that pays",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.8, memory=1.6),),
        says=("320 MiB instead of 200 MiB",),
    ),
    Situation(
        "dear in ratio, cheap in bytes",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.9, memory=2.5, peak=4 * MIB),),
    ),
    Situation(
        "the cheap one before the dear one",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.91, memory=1.8), tcmalloc(0.93)),
        says=("tcmalloc takes 7.0 % less",),
    ),
    Situation(
        "memory saved for nothing",
        "switch the allocator",
        "switch_for_memory",
        sides=(jemalloc(1.0, memory=0.6, peak=800 * MIB),),
        says=("480 MiB instead of 800 MiB",),
    ),
    Situation(
        "memory saved, time lost",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(1.2, memory=0.6, peak=800 * MIB),),
    ),
    Situation(
        "other output",
        "inconclusive",
        "not_compared",
        sides=(jemalloc(0.5, same_output=False),),
        says=("jemalloc: the program's output was different under it",),
        command="reap doctor",
    ),
    Situation("other exit status", "inconclusive", "not_compared", sides=(jemalloc(0.5, same_exit=False),)),
    Situation("not verified", "inconclusive", "not_compared", sides=(jemalloc(0.5, verified=False),)),
    Situation("a ratio that is none", "inconclusive", "not_compared", sides=(jemalloc(0.0, 0.0),)),
    Situation("a ratio without an end", "inconclusive", "not_compared", sides=(jemalloc(math.inf, 0.0),)),
    Situation(
        "output varies by itself",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.8, same_output=None),),
        comparison={"stdout_varies": True},
    ),
    Situation(
        "the liar beside the honest",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.3, same_output=False), tcmalloc(0.9)),
        says=("tcmalloc takes 10.0 % less",),
    ),
    Situation(
        "too few rounds",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.8, rounds=3),),
        says=("3 rounds are too few",),
    ),
    Situation(
        "one round",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.8, rounds=1),),
        says=("1 round is too few",),
    ),
    Situation(
        "a wide interval",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.96, 0.06), tcmalloc(1.0)),
        command="reap compare --allocators jemalloc --runs 40 -- perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "hopelessly wide",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(1.0, 0.6),),
        says=("hardly settle it",),
        command="reap doctor",
    ),
    Situation(
        "wide and stopped early",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.96, 0.06),),
        comparison={"stopped_early": True},
        says=("budget ended", "would likely decide it if the machine stays as quiet as it was."),
        command="reap compare --allocators jemalloc --runs 40 -- perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "a budget too small for two rounds says what it needs",
        "inconclusive",
        "small_budget",
        sides=(side_of("jemalloc", problem="too few rounds were run for an interval (1)"),),
        comparison={"stopped_early": True, "needed_budget": 12.0, "rounds": 1},
        says=("an interval needs at least two rounds", "Two rounds take about 12 s"),
        command="reap run --budget 12 -- perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "wide, although the share is small",
        "inconclusive",
        "wide_intervals",
        SMALL,
        (jemalloc(0.98, 0.1),),
        says=("not decided", "2.0 %"),
    ),
    Situation("a small share", "leave it alone", "no_gain", SMALL, (jemalloc(1.0),)),
    Situation("a small share, never compared", "inconclusive", "not_compared", SMALL),
    Situation(
        "small in user time, kernel not seen",
        "inconclusive",
        "not_compared",
        share_of(0.02, sees_kernel=False),
        says=("kernel could not be sampled",),
    ),
    Situation(
        "the price gains and no allocator does",
        "allocate less",
        "allocate_less",
        LARGE,
        (jemalloc(1.0), recycle(0.7)),
        says=("Allocation costs this program 30 % of its CPU time", "allocate less", "Perl_newSV"),
        command="reap record --depth full -o full.reap -- perl words.pl 'it'\"'\"'s here.txt'"
        " && reap show full.reap",
    ),
    Situation(
        "the same, mostly temporary",
        "allocate less",
        "allocate_less",
        LARGE,
        (jemalloc(1.0), recycle(0.7)),
        profile={"temporary": exactly(0.9)},
        says=("reuse one buffer at Perl_newSV",),
    ),
    Situation(
        "the same, recorded in full",
        "allocate less",
        "allocate_less",
        LARGE,
        (jemalloc(1.0), recycle(0.7)),
        profile={"depth": "full"},
        command="",
    ),
    Situation(
        "the price gains more than the allocator that helps",
        "switch the allocator",
        "switch_for_time",
        LARGE,
        (jemalloc(0.9), recycle(0.7)),
        says=("jemalloc takes 10.0 % less", "No change to malloc that was tried saves more than 30 %"),
    ),
    Situation(
        "an allocator gains hardly what is worth it",
        "little to gain",
        "little",
        MIDDLE,
        (jemalloc(0.965), recycle(1.0)),
        says=("What helps hardly pays: jemalloc takes 3.5 % less CPU time",),
    ),
    Situation(
        "the price does not gain either",
        "leave it alone",
        "no_gain",
        MIDDLE,
        (jemalloc(1.0), recycle(1.0)),
        says=("A malloc that costs next to nothing (price: recycle) saves at most 1.0 % of CPU time.",),
    ),
    Situation(
        "the price is not decided",
        "inconclusive",
        "wide_intervals",
        MIDDLE,
        (jemalloc(1.0), recycle(0.97, 0.1)),
    ),
    Situation(
        "the preload that prices allocation broke the program",
        "leave it alone",
        "no_gain",
        MIDDLE,
        (jemalloc(1.0), recycle(0.5, same_output=False)),
        says=("What allocation costs in all was not measured.",),
    ),
    Situation(
        "a large share and no malloc that takes less",
        "inconclusive",
        "unknown_cost",
        LARGE,
        (jemalloc(1.0), recycle(1.0)),
        says=("cannot be tried from outside",),
    ),
    Situation(
        "large, never compared",
        "inconclusive",
        "not_compared",
        LARGE,
        says=("Nothing was tried",),
        command="reap run -- perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "a share that could be anything",
        "leave it alone",
        "no_gain",
        share_of(0.1, 0.1, 30),
        (jemalloc(1.0),),
        says=("0.0 to 20.0 %",),
    ),
    Situation(
        "a share that could be anything, never compared",
        "inconclusive",
        "not_compared",
        share_of(0.1, 0.1, 30),
        says=("0.0 to 20.0 %",),
    ),
    Situation(
        "no samples",
        "leave it alone",
        "no_gain",
        share_of(0, 0, 0),
        (jemalloc(1.0),),
        says=("was not measured",),
    ),
    Situation(
        "many allocations, small share",
        "leave it alone",
        "no_gain",
        SMALL,
        (jemalloc(1.0),),
        profile={"objects": 900_000_000},
        says=("900 M allocations",),
    ),
    Situation("not one allocation", "leave it alone", "no_allocations", profile={"objects": 0}),
    Situation(
        "too short to measure",
        "inconclusive",
        "too_short",
        sides=(jemalloc(1.3, cpu_seconds=0.004),),
        says=("4.00 ms of CPU time",),
    ),
    Situation(
        "too short, since it ends with an error",
        "inconclusive",
        "too_short",
        sides=(jemalloc(1.3, cpu_seconds=0.004),),
        comparison={"exit_code": 1},
        says=("4.00 ms of CPU time", "ended with status 1", "has no terminal"),
    ),
    Situation(
        "not found", "inconclusive", "program_failed", sides=(jemalloc(0.5),), comparison={"exit_code": 127}
    ),
    Situation(
        "killed",
        "inconclusive",
        "program_failed",
        sides=(jemalloc(0.5),),
        comparison={"exit_code": 139},
        says=("SIGSEGV",),
    ),
    Situation(
        "a status of its own",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.8),),
        comparison={"exit_code": 1},
    ),
    Situation(
        "compared only, no gain",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(1.0),),
        profile=NO_PROFILE,
        says=("What allocation costs in all was not measured",),
        command="reap run -- perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "compared only, a gain",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.8),),
        profile=NO_PROFILE,
    ),
    Situation("nothing at all", "inconclusive", "nothing_measured", profile=NO_PROFILE),
    Situation(
        "nothing usable",
        "inconclusive",
        "nothing_measured",
        profile=NO_PROFILE,
        sides=(jemalloc(0.5, problem="It is no allocator."),),
        says=("It is no allocator",),
    ),
]


def records(case: Situation) -> tuple[Profile | None, Comparison | None]:
    profile = None if case.profile is NO_PROFILE else profile_of(share=case.share, **(case.profile or {}))
    changes = dict(case.comparison or {})
    noise = changes.pop("noise", 0.006)
    comparison = None if case.sides is None else comparison_of(case.sides, noise, **changes)
    return profile, comparison
