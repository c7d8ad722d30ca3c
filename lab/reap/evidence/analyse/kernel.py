"""System calls and kernel functions executed for a program, by name. Pure."""

from collections import Counter
from collections.abc import Iterable

from reap.evidence.analyse import owners
from reap.evidence.analyse.owners import Sample
from reap.evidence.records import KernelTime

_MOST_KERNEL = 12


def kernel_time(rows: Iterable[Sample]) -> KernelTime:
    """System calls and kernel functions with the most samples, the allocator's calls among them."""
    calls: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for row in rows:
        if not row.kernel:
            continue
        calls[_called(row.call)] += row.count
        if row.kernel_function:
            functions[row.kernel_function] += row.count
    return KernelTime(
        calls=dict(calls.most_common(_MOST_KERNEL)), functions=dict(functions.most_common(_MOST_KERNEL))
    )


def _called(call: int | None) -> str:
    if call is None:
        return "fault"
    return owners.call_name(call) if call >= 0 else "unknown"
