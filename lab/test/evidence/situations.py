"""Situations of suspicions and trials, and the verdict that each must get."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from lab.test.evidence.suspected import CACHE, PURGING, TRIMMED, of, price, resident, setting
from samples import comparison_of, profile_of, share_of, side_of
from walls import WALLS

from reap.evidence.analyse.suspicions.records import NO_TIME, Suspicion
from reap.evidence.analyse.suspicions.suspect import suspect
from reap.evidence.judge.records import Diagnosis
from reap.evidence.judge.verdict import diagnose
from reap.evidence.records import Linked
from reap.experiment.records import Side
from reap.recording.records import Profile

COMMAND = ["./server", "it's here"]
QUOTED = "./server 'it'\"'\"'s here'"


def jemalloc(cpu: float = 1.0, half: float = 0.01, **changes: Any) -> Side:
    return side_of("jemalloc", cpu, half, **changes)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What was suspected and tried, and the verdict that it must get."""

    name: str
    headline: str
    first: Sequence[Side] | None = ()
    """The allocators and the price; None where no comparison ran."""
    second: Sequence[Side] = ()
    """What tells causes apart."""
    suspicions: Sequence[Suspicion] = ()
    missing: dict[str, str] = field(default_factory=dict)
    irreplaceable: str = ""
    refused: bool = False
    unfinished: bool = False
    trials_take: float = 0.0
    linked: str = ""
    """An allocator that is linked in, and stood aside in the trials."""
    beside: bool = False
    """Whether a library has one of its own, with much of the time."""
    profile: Profile | None = None
    says: Sequence[str] = ()
    never: Sequence[str] = ()
    command: str | None = None

    def diagnosis(self) -> Diagnosis:
        """Its verdict."""
        linked = Linked(module="/p", allocator=self.linked, how="symbols", seen=True, stands_aside=True)
        wall = msgspec.structs.replace(
            WALLS["nothing"],
            irreplaceable=self.irreplaceable,
            refused=self.refused,
            unfinished=self.unfinished,
            linked=[linked] if self.linked else [OF_A_LIBRARY] if self.beside else [],
            owners={"other": 100},
            share=None,
        )
        return diagnose(
            command=COMMAND,
            profile=self.profile,
            comparison=None if self.first is None else comparison_of(self.first),
            causes=comparison_of(self.second) if self.second else None,
            wall=wall,
            suspicions=self.suspicions,
            missing=self.missing,
            trials_take=self.trials_take,
        )


OVERFLOW, MANY = of("tcache overflow"), of("many allocations")
OF_A_LIBRARY = Linked(
    module="/lib/libpool.so", allocator="jemalloc", how="text", seen=False, samples=50, library=True
)
FREE = (price("recycle"), price("bump"))
"""A price of nothing."""
SETTING = "GLIBC_TUNABLES=glibc.malloc.tcache_count=1000"
MERGED = "glibc.malloc.arena_max=2:glibc.malloc.tcache_count=1000"
STATIC = "it is statically linked"

CASES = [
    Case(
        name="the price gains and no allocator does",
        headline="allocate less",
        first=(jemalloc(), price("recycle", 0.7), price("bump", 0.8)),
        suspicions=(MANY,),
        says=(
            "Allocation costs this program 30 % of its CPU time (95 % CI 29.0 to 31.0 %)",
            "a malloc that costs next to nothing",
            "jemalloc gives no gain worth having",
            "What is left is to allocate less",
        ),
    ),
    Case(
        name="the price gains, and what an allocator gains is not worth its memory",
        headline="allocate less",
        first=(jemalloc(0.94, memory=1.8), price("recycle", 0.7)),
        says=("30 % of its CPU time", "not worth its price", "What is left is to allocate less"),
    ),
    Case(
        name="the price gains and no allocator could be compared",
        headline="allocate less",
        first=(jemalloc(problem="It crashed."), price("recycle", 0.7)),
        says=("30 % of its CPU time", "(jemalloc: It crashed)"),
        never=("What is left", "recycle:"),
    ),
    Case(
        name="the price gains, an allocator is not decided",
        headline="inconclusive",
        first=(jemalloc(0.95, 0.1), price("recycle", 0.7)),
    ),
    Case(
        name="the price gains less than an allocator",
        headline="switch the allocator",
        first=(jemalloc(0.6), price("recycle", 0.7)),
        says=("jemalloc takes 40 % less CPU time",),
        never=("saves more than",),
    ),
    Case(
        name="a setting beside those that the program had",
        headline="change a setting",
        first=(jemalloc(), price("recycle", 0.8)),
        second=(setting(CACHE, 0.8, environment={"GLIBC_TUNABLES": MERGED, "PYTHONPATH": "/hook"}),),
        suspicions=(OVERFLOW,),
        says=(f"with GLIBC_TUNABLES={MERGED} it takes 20 % less CPU time",),
        never=("PYTHONPATH",),
        command=f"GLIBC_TUNABLES={MERGED} {QUOTED}",
    ),
    Case(
        name="the price gains more than a setting",
        headline="change a setting",
        first=(jemalloc(), price("recycle", 0.5)),
        second=(setting(CACHE, 0.8),),
        suspicions=(OVERFLOW,),
        says=("20 % less CPU time", "No change to malloc that was tried saves more than 50 %"),
        command=f"{SETTING} {QUOTED}",
    ),
    Case(
        name="the price does not gain",
        headline="leave it alone",
        first=(jemalloc(), price("recycle", 0.985), price("bump", 0.99)),
        says=("A malloc that costs next to nothing (price: recycle) saves at most 2.5 % of CPU time.",),
    ),
    Case(
        name="the price is slower",
        headline="leave it alone",
        first=(jemalloc(), price("recycle", 1.1)),
        says=("saves nothing of CPU time",),
    ),
    Case(
        name="one cost was taken away, and not the whole",
        headline="leave it alone",
        first=(jemalloc(),),
        second=(price("cache"),),
        says=("What allocation costs in all was not measured.",),
        never=("costs next to nothing",),
    ),
    Case(
        name="the price is not decided",
        headline="inconclusive",
        first=(jemalloc(), price("recycle", 0.96, 0.06)),
        command=f"reap run --runs 40 -- {QUOTED}",
    ),
    Case(
        name="a setting gains",
        headline="change a setting",
        first=(jemalloc(), *FREE),
        second=(price("cache", 0.82), setting(CACHE, 0.8)),
        suspicions=(OVERFLOW,),
        says=(f"with {SETTING} it takes 20 % less CPU time (95 % CI 19.0 to 21.0 % less)",),
        command=f"{SETTING} {QUOTED}",
    ),
    Case(
        name="an allocator's gain is at the line of what is worth it",
        headline="little to gain",
        first=(jemalloc(0.965, 0.01), *FREE),
        says=("What helps hardly pays: jemalloc takes 3.5 % less CPU time (95 % CI 2.5 to 4.5 % less)",),
        command=f"LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 {QUOTED}",
    ),
    Case(
        name="an allocator's gain is below the line, and may be above it",
        headline="little to gain",
        first=(jemalloc(0.975, 0.01), *FREE),
    ),
    Case(
        name="a setting's gain is at the line of what is worth it",
        headline="little to gain",
        first=(jemalloc(), *FREE),
        second=(setting(CACHE, 0.965, 0.01),),
        suspicions=(OVERFLOW,),
        says=(f"hardly pays: with {SETTING} it takes 3.5 % less",),
        command="",
    ),
    Case(
        name="what malloc costs at most is at the line of what is worth it",
        headline="little to gain",
        first=(jemalloc(), price("recycle", 0.965, 0.01)),
        says=("hardly pays: a malloc that costs next to nothing takes 3.5 % less",),
        command="",
    ),
    Case(
        name="a gain at the line that costs much memory",
        headline="leave it alone",
        first=(jemalloc(0.965, 0.01, memory=1.8), *FREE),
        says=("The gain is not worth its price",),
    ),
    Case(
        name="a little gain beside a price that is large",
        headline="allocate less",
        first=(jemalloc(0.965, 0.01), price("recycle", 0.8)),
    ),
    Case(
        name="a setting at the line gains all that malloc costs",
        headline="little to gain",
        first=(jemalloc(), price("recycle", 0.963, 0.005)),
        second=(setting(CACHE, 0.963, 0.012),),
        suspicions=(OVERFLOW,),
        says=(f"hardly pays: with {SETTING} it takes 3.7 % less",),
    ),
    Case(
        name="a large gain in three rounds",
        headline="switch the allocator",
        first=(jemalloc(0.2, rounds=3), price("recycle", 0.9, 0.1, rounds=3)),
    ),
    Case(
        name="the setting of a memory remedy's allocator is no setting",
        headline="leave it alone",
        first=(jemalloc(), *FREE),
        second=(resident(side_of(PURGING, 0.8), 1.0),),
        suspicions=(of("pin at the top"),),
        command=f"reap run -- {QUOTED}",
    ),
    Case(
        name="a preload gains and no setting does",
        headline="allocate less",
        first=(jemalloc(), *FREE),
        second=(price("placed", 0.8),),
        says=("20 % of its CPU time", "blocks packed by size, at glibc's cost"),
        never=("costs next to nothing",),
    ),
    Case(
        name="less memory by another allocator",
        headline="switch the allocator",
        first=(jemalloc(), *FREE),
        second=(resident(side_of(PURGING, 1.2), 0.4), resident(setting(TRIMMED), 1.0)),
        suspicions=(of("pin at the top"),),
        says=("60 % less settled memory",),
    ),
    Case(
        name="less memory by a setting",
        headline="change a setting",
        first=(jemalloc(), *FREE),
        second=(resident(setting(TRIMMED), 0.4),),
        suspicions=(of("pin at the top"),),
        says=("60 % less settled memory", "Set GLIBC_TUNABLES=glibc.malloc.trim_threshold=131072"),
        command=f"reap rss --try -- {QUOTED}",
    ),
    Case(
        name="less memory by a setting of the allocator that it has",
        headline="change a setting",
        first=(side_of("mimalloc"), *FREE),
        second=(
            resident(
                setting("returning lazily freed pages at once", provider="/usr/lib/libjemalloc.so.2"), 0.4
            ),
        ),
        suspicions=(of("lazy free"),),
        command=f"reap rss --try -- {QUOTED}",
    ),
    Case(
        name="a linked allocator, and another gains in its place",
        headline="switch the allocator",
        first=(side_of("mimalloc", 0.7), *FREE),
        linked="jemalloc",
        says=("a build would gain more", "Build the program with mimalloc in place of jemalloc"),
        command="",
    ),
    Case(
        name="a linked allocator, and another build of it gains in its place",
        headline="switch the allocator",
        first=(side_of("mimalloc", 0.7), *FREE),
        linked="mimalloc",
        says=("with the mimalloc that was tried in place of the one that is linked into it",),
        never=("mimalloc in place of mimalloc",),
        command="",
    ),
    Case(
        name="a linked allocator, and none gains in its place",
        headline="inconclusive",
        first=(side_of("mimalloc"), *FREE),
        linked="jemalloc",
        says=("jemalloc is linked into the program", "Build it with another allocator"),
        never=("leave it alone",),
    ),
    Case(
        name="a linked allocator in whose place no other runs",
        headline="inconclusive",
        first=(side_of("mimalloc", problem="the program was ended by SIGABRT"),),
        linked="jemalloc",
        says=("No other allocator could be compared (mimalloc: the program was ended by SIGABRT)",),
        never=("None gained",),
    ),
    Case(
        name="a setting gains in a program that nothing can be preloaded into",
        headline="change a setting",
        first=None,
        second=(setting(CACHE, 0.7),),
        irreplaceable=STATIC,
        suspicions=(of("tcache overflow", 0.03),),
        says=("30 % less CPU time",),
    ),
    Case(
        name="an allocator that cannot be replaced",
        headline="inconclusive",
        first=None,
        irreplaceable=STATIC,
        says=("cannot be tried from outside: it is statically linked",),
    ),
    Case(
        name="an allocator of a library, beside a malloc that another one makes faster",
        headline="switch the allocator",
        first=(jemalloc(0.8), *FREE),
        beside=True,
        says=(
            "jemalloc takes 20 % less CPU time",
            "of what malloc serves: jemalloc is linked into libpool.so",
        ),
    ),
    Case(
        name="an allocator of a library, beside a malloc that costs much",
        headline="allocate less",
        first=(jemalloc(1.0), price("recycle", 0.7)),
        beside=True,
        says=("Allocation costs this program 30 %", "jemalloc is linked into libpool.so"),
    ),
    Case(
        name="an allocator of a library, beside a malloc that costs nothing",
        headline="inconclusive",
        first=(jemalloc(1.0), *FREE),
        beside=True,
        says=(
            "cannot be tried in full from outside: jemalloc is linked into",
            "Of what malloc serves: jemalloc gives no",
        ),
    ),
    Case(
        name="a program that ends otherwise with a preload",
        headline="inconclusive",
        first=None,
        irreplaceable="it ends with status 3 and not 0 when anything is preloaded into it",
        refused=True,
        says=("it ends with status 3 and not 0", "with LD_PRELOAD set"),
        never=("Build it with another allocator",),
    ),
    Case(
        name="a program that its time limit ended",
        headline="inconclusive",
        first=None,
        unfinished=True,
        suspicions=(MANY,),
        says=("The program was ended after", "nothing was tried"),
    ),
    Case(
        name="a program that runs so long that nobody allowed trials their time",
        headline="inconclusive",
        first=None,
        trials_take=7200,
        suspicions=(MANY,),
        says=("trials would take about 120 min: nothing was tried",),
        command=f"reap run --budget 7200 -- {QUOTED}",
    ),
    Case(
        name="an allocator that cannot be replaced, and that no samples found",
        headline="inconclusive",
        first=None,
        irreplaceable=STATIC,
        profile=profile_of(objects=0),
    ),
    Case(
        name="an allocator that is linked in, so that no preload served the program",
        headline="inconclusive",
        first=(jemalloc(verified=False), price("recycle", verified=False)),
        irreplaceable="it brings jemalloc",
        says=("it brings jemalloc",),
    ),
    Case(
        name="a setting of a program that cannot be entered",
        headline="change a setting",
        first=None,
        second=(setting("collect less often", 0.7),),
        suspicions=(
            msgspec.structs.replace(
                of("garbage collection"),
                remedies=suspect(
                    msgspec.structs.replace(
                        WALLS["garbage collection"],
                        collections=[
                            msgspec.structs.replace(WALLS["garbage collection"].collections[0], kind="go")
                        ],
                    )
                )[0].remedies,
            ),
        ),
        irreplaceable=STATIC,
        command=f"GOGC=400 {QUOTED}",
    ),
    Case(
        name="a heavy suspicion that was not tried",
        headline="inconclusive",
        first=(jemalloc(), *FREE),
        suspicions=(of("page faults"),),
        missing={"huge pages": NO_TIME},
        says=("is not known: what is suspected was not tried", "Try by hand: reuse the buffer"),
    ),
    Case(
        name="a heavy suspicion that was tried in too much noise",
        headline="inconclusive",
        first=(jemalloc(), *FREE),
        second=(setting("huge pages", 0.97, 0.2),),
        suspicions=(of("page faults"),),
    ),
    Case(
        name="a heavy suspicion that was not tried, beside a bad trade",
        headline="inconclusive",
        first=(jemalloc(0.95, memory=1.6), *FREE),
        suspicions=(of("page faults"),),
        says=("not worth its price",),
    ),
    Case(
        name="a heavy suspicion that was not tried, of a program that never called malloc",
        headline="inconclusive",
        first=(jemalloc(), *FREE),
        profile=profile_of(objects=0),
        suspicions=(of("garbage collection"),),
    ),
    Case(
        name="a heavy suspicion that was refuted",
        headline="leave it alone",
        first=(jemalloc(), *FREE),
        second=(setting("huge pages"), setting("keep freed memory, map no block")),
        suspicions=(of("page faults"),),
    ),
    Case(
        name="a light suspicion that was not tried",
        headline="leave it alone",
        first=(jemalloc(), *FREE),
        suspicions=(of("page faults", weight=0.12),),
    ),
    Case(
        name="a heavy suspicion of what no allocator changes",
        headline="leave it alone",
        first=(jemalloc(), *FREE),
        suspicions=(of("disk"), of("kernel input and output"), of("a lock of its own")),
    ),
    Case(
        name="nothing was tried",
        headline="inconclusive",
        first=None,
        suspicions=(OVERFLOW,),
        profile=profile_of(share=share_of(0.3)),
        says=("Nothing was tried",),
        command=f"reap run -- {QUOTED}",
    ),
]
