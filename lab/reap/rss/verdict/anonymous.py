"""Verdicts on anonymous memory that no allocator holds: runtimes, stacks, copies after a fork."""

from collections.abc import Callable

from reap.base import units
from reap.rss.verdict import holders, jvm, runtimes
from reap.rss.verdict.cases import LEAST, Answer, Case, Remedy
from reap.rss.verdict.over_time import most


def zeros(case: Case) -> Answer:
    """Zero pages inside huge pages."""
    settings = holders.without_huge_pages(case.residence)
    remedies = [Remedy(what=f"no huge pages in {name}", environment=each) for name, each in settings.items()]
    remedies.append(
        Remedy(what="no huge pages in the process: prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) as main begins")
    )
    if case.residence.allocator == "glibc":
        remedies.append(case.remedy("no huge pages under glibc"))
    return case.answer(
        f"{case.of} are pages of only zeros inside huge pages: one touched byte makes 2 MiB resident.",
        f"{units.size(case.residence.settled.huge)} are in huge pages. How much of that holds only zeros is "
        "estimated from a sample; it was never written to, or written with zeros.",
        remedies=remedies,
    )


def other(case: Case) -> Answer:
    """Memory of no owner that is known."""
    silent = holders.silent(case.residence)
    if not case.residence.settled.said:
        return case.answer(
            f"{case.of} are anonymous mappings: an allocator's, or the program's own.",
            *([f"The program has {silent}."] if silent else []),
            "From outside these cannot be told apart.",
        )
    if silent:
        return case.answer(
            f"{case.of} are anonymous memory. {silent} may hold a part: it cannot be asked.",
            "The rest is the program's own mmap, or that of a runtime that reap does not know.",
        )
    return case.answer(
        f"{case.of} are anonymous memory of no owner that reap recognises.",
        "It is the program's own mmap, or that of an allocator or runtime that reap does not know.",
    )


def copied(case: Case) -> Answer:
    """Memory that was shared with the parent after a fork."""
    settled = case.residence.settled
    is_python = most(settled) == "python" or settled.parts.python >= LEAST
    frozen = case.remedy("gc.freeze() before the fork")
    return case.answer(
        f"At most {case.of} were shared with the parent after a fork, and are copies now.",
        "A page is copied when either process writes to it.",
        remedies=[frozen if is_python else Remedy(what=runtimes.COPIED)],
    )


def stack(case: Case) -> Answer:
    """Stacks of threads."""
    fewer = Remedy(what="fewer threads, or smaller stacks (ulimit -s)")
    below = Remedy(what="call madvise(MADV_DONTNEED) on what lies below the stack pointer")
    return case.answer(
        f"{case.of} are stacks of threads.",
        *runtimes.stack_sentences(case.residence.settled),
        remedies=[fewer, below] if case.residence.settled.below else [fewer],
    )


def owned(name: str) -> Callable[[Case], Answer]:
    """Verdict on the part of that name, a runtime's."""

    def answer(case: Case) -> Answer:
        remedies = [case.remedy(each, what) for each, what in runtimes.remedies(name)]
        more = jvm.mapped(case.residence) if name == "jvm" else []
        return case.answer(
            f"{case.of} are {runtimes.OF[name]}.", runtimes.why(name), *more, remedies=remedies
        )

    return answer
