"""The truth suite: programs whose cause is known by construction, and what each verb must say of them.

Each has a twin, which does the same work without the fault. Plain data: `command` says how to run one,
`judge` holds a verdict against it.
"""

import shutil
import sys
from dataclasses import dataclass, field

from causes import CAUSES, cause_program, cpp_program, go_program, java_classes

from reap.allocators import catalog
from reap.allocators.records import Allocator


@dataclass(frozen=True)
class Said:
    """What a verb may say of a program. Whatever else it states is false."""

    cause: str = ""
    """What must be named: a cause of `wall`, or a part of `rss`. Empty where nothing can be."""
    beside: tuple[str, ...] = ()
    """What is true, too."""
    twin: tuple[str, ...] = ()
    """What may be said of the twin."""
    quote: str = ""
    """A text that must be in what is said of the program."""
    first: bool = True
    """Whether it must be named before all others, and not beside them."""
    sure: bool = True
    """Whether one pass must name the cause; else missing it is inconclusive."""


@dataclass(frozen=True)
class Advice:
    """What `run` may not advise, and what it must tell."""

    never: tuple[str, ...] = ()
    """Headlines that would be false."""
    tells: str = ""
    """Words that must be in the verdict on the program, and not in that on its twin."""
    twin: bool = True
    """Whether the same headlines would be false of the twin, too; else it is not asked."""


@dataclass(frozen=True)
class Case:
    """A program and its twin."""

    name: str
    language: str
    fault: str
    """What is wrong with it, for the documents."""
    words: tuple[str, ...] = ()
    """Of the program, before the scale."""
    environment: dict[str, str] = field(default_factory=dict)
    twin_environment: dict[str, str] | None = None
    """Of the twin where that is its environment; else it has `cured` as its last word."""
    missing: str = ""
    """What is not installed here and is needed; empty if all is here."""
    wall: Said | None = None
    rss: Said | None = None
    share: bool = False
    """Whether the part of time that its cause takes is what its twin does not use."""
    run: Advice | None = None


def command(case: Case, scale: float, *, cured: bool = False) -> tuple[list[str], dict[str, str]]:
    """The words and the environment of a case, or of its twin."""
    by_word = cured and case.twin_environment is None
    words = [*_start(case), str(scale), *(["cured"] if by_word else [])]
    if not cured or case.twin_environment is None:
        return words, case.environment
    return words, case.twin_environment


def _start(case: Case) -> list[str]:
    programs = {
        "C": lambda: [cause_program(), *case.words],
        "C++": lambda: [cpp_program(), *case.words],
        "Python": lambda: [sys.executable, str(CAUSES / case.words[0]), *case.words[1:]],
        "Go": lambda: [go_program()],
        "Java": lambda: ["java", *case.words, "-cp", java_classes(), "Collect"],
    }
    return programs[case.language]()


def _c(name: str, fault: str, **more: object) -> Case:
    return Case(name, "C", fault, (name,), **more)  # type: ignore[arg-type]


def _cpp(name: str, fault: str, **more: object) -> Case:
    return Case(f"cpp-{name}", "C++", fault, (name,), **more)  # type: ignore[arg-type]


def _python(name: str, fault: str, **more: object) -> Case:
    return Case(f"python-{name}", "Python", fault, ("cause.py", name), **more)  # type: ignore[arg-type]


def _lazily() -> Case:
    jemalloc = catalog.find("jemalloc")
    library = jemalloc.library if isinstance(jemalloc, Allocator) else ""
    conf = "dirty_decay_ms:50,muzzy_decay_ms:"
    return _c(
        "lazy",
        "160 MB returned with MADV_FREE, which count as resident",
        environment={"LD_PRELOAD": library, "MALLOC_CONF": f"{conf}600000"},
        twin_environment={"LD_PRELOAD": library, "MALLOC_CONF": f"{conf}0"},
        missing="" if library else "libjemalloc2",
        wall=Said("lazy free", beside=("page faults",), twin=("page faults",)),
    )


SWITCH, LEAVE, LESS = "switch the allocator", "leave it alone", "allocate less"
MANY = ("many allocations",)

CASES: tuple[Case, ...] = (
    # --- the allocator's time
    _c(
        "tcache",
        "300 blocks live at once, of which a thread's cache keeps 7 of a size",
        wall=Said("tcache overflow", twin=MANY),
        run=Advice((LEAVE,), twin=False),
    ),
    _cpp(
        "requests",
        "the same as strings in a vector; the twin has views",
        wall=Said("tcache overflow", twin=()),
    ),
    _cpp(
        "share",
        "a known share of time in the allocator; the twin has an array",
        wall=Said("tcache overflow"),
        share=True,
    ),
    _c(
        "arena",
        "four threads in one arena",
        wall=Said("arena lock", beside=("large blocks",), twin=("large blocks", *MANY)),
        run=Advice((LEAVE,), twin=False),
    ),
    _c(
        "brk",
        "blocks at the top of the heap: it shrinks and grows all the time",
        wall=Said("brk thrash", beside=("large blocks",), twin=("large blocks", *MANY)),
        share=True,
    ),
    _c(
        "mmap",
        "a low mmap threshold: each block is a mapping",
        wall=Said("mmap thrash", beside=("large blocks",), twin=("large blocks", *MANY)),
        share=True,
    ),
    _c("faults", "48 MB that are mapped, written and unmapped again", wall=Said("page faults")),
    _c(
        "calloc",
        "1 MB cleared for 3 KB that are used",
        wall=Said("clearing and copying"),
        share=True,
    ),
    _c(
        "many",
        "none: an allocator that is busy on its fast path",
        wall=Said("many allocations"),
        twin_environment={},
    ),
    _cpp(
        "frees",
        "blocks freed by another thread than the one that made them",
        wall=Said(
            "arena lock",  # that of the thread that made them
            beside=("large blocks", "a lock of its own", "page faults", *MANY),
            twin=("large blocks", "a lock of its own", *MANY),
            first=False,
            sure=False,
        ),
    ),
    # --- where memory is
    _c(
        "pin",
        "160 MB free below one block",
        wall=Said("pin at the top", beside=("page faults",), twin=("page faults",)),
    ),
    _c(
        "contiguous", "120 MB free in one stretch below a block", rss=Said("pinned", twin=("live", "nothing"))
    ),
    _c(
        "scattered",
        "one block in 40 survives, all over the heap",
        rss=Said("pinned", beside=("inside",), twin=("live", "nothing")),
    ),
    _c("arenas", "each of four arenas holds free memory", rss=Said("held", twin=("nothing", "live"))),
    _c(
        "leak",
        "a fast leak: 200 bytes a request",
        wall=Said(
            "growing memory",
            beside=("page faults", *MANY),
            twin=MANY,
            quote="allocated at make_session",
            first=False,
        ),
        rss=Said("live", twin=("nothing",)),
        run=Advice(tells="grew until the end"),
    ),
    _c(
        "slow-leak",
        "a slow leak: 2 KB a request, beside much work",
        wall=Said("growing memory", beside=("page faults",), first=False),
        rss=Said("live", twin=("nothing",)),
    ),
    _c(
        "fresh",
        "none of a large list is freed",
        wall=Said(
            "growing memory", beside=("page faults", *MANY), quote="allocated at cause_fresh", first=False
        ),
        rss=Said("live", twin=("nothing",)),
    ),
    _cpp(
        "cache",
        "a cache without a bound",
        wall=Said(
            "growing memory", beside=("page faults", *MANY), twin=("tcache overflow", *MANY), first=False
        ),
        rss=Said("live", twin=("live", "nothing")),
    ),
    _python(
        "growing",
        "a log that is kept for ever",
        wall=Said(
            "growing memory",
            beside=("page faults", *MANY),
            twin=(*MANY, "page faults"),
            first=False,
            sure=False,
        ),
    ),
    _c("live", "none: all memory is in use", rss=Said("live", twin=("live",))),
    _lazily(),
    # --- not the allocator
    Case(
        "cpython",
        "Python",
        "cycles beside a large live heap; the twin makes none, its collector is off",
        ("collect.py",),
        wall=Said("garbage collection", beside=MANY, twin=(*MANY, "growing memory", "page faults")),
        share=True,
    ),
    Case(
        "go",
        "Go",
        "GOGC=10 beside a large live heap; the twin has GOGC=off",
        environment={"GOGC": "10"},
        twin_environment={"GOGC": "off"},
        missing="" if shutil.which("go") else "golang",
        wall=Said("garbage collection", beside=MANY, twin=(*MANY, "growing memory", "page faults")),
    ),
    Case(
        "java",
        "Java",
        "a heap that is just large enough; the twin has 600 MB",
        ("-XX:+UseSerialGC",),
        environment={"JDK_JAVA_OPTIONS": "-Xmx68m"},
        twin_environment={"JDK_JAVA_OPTIONS": "-Xmn300m -Xmx600m"},
        missing="" if shutil.which("java") and shutil.which("javac") else "a JDK",
        wall=Said("garbage collection", beside=("page faults",), twin=("page faults", "garbage collection")),
    ),
    _c("parse", "a text is read again and again", wall=Said(), run=Advice((SWITCH, LESS))),
    _python(
        "parsing",
        "a document is read for each request",
        wall=Said(beside=MANY, twin=MANY),
    ),
    _c("lock", "four threads under one lock", wall=Said("a lock of its own"), run=Advice((SWITCH, LESS))),
    _python("locked", "four threads under one lock", wall=Said("a lock of its own", sure=False)),
    _cpp("sharing", "two threads count on one line of the processor's cache", wall=Said()),
    _c("locality", "a list in the order of no address", wall=Said()),
    _c(
        "disk",
        "a journal that is synced for each entry",
        wall=Said(
            "disk", beside=("kernel input and output",), twin=("kernel input and output",), first=False
        ),
    ),
    _c("network", "a slow server", wall=Said("network")),
    # --- nothing
    _c(
        "nothing",
        "none: it computes",
        wall=Said(),
        twin_environment={},
        run=Advice((SWITCH, LESS)),
    ),
    _cpp("lookups", "none: it looks things up in a tree", wall=Said(), twin_environment={}),
    _python("nothing", "none: it computes", wall=Said(), twin_environment={}),
)


def asked(verb: str) -> list[Case]:
    """The cases that are put to a verb."""
    return [case for case in CASES if getattr(case, verb) not in (None, False)]


def find(name: str) -> Case:
    """A case by its name."""
    return next(case for case in CASES if case.name == name)


def has_twin(case: Case) -> bool:
    """Whether there is a fault that a twin can be without."""
    return case.twin_environment != {}
