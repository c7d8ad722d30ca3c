"""Choice of the clock that the stamps of a recording count."""

from pathlib import Path

from reap import native

_SYNCHRONOUS = frozenset({"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"})
"""Clock sources of the kernel that are the time stamp counter itself: it has checked that this never stops
and is the same on all processors."""


def choose() -> int:
    """`native.TSC` where the kernel trusts the counter (8 ns a stamp), else `native.MONOTONIC_NS` (20 ns)."""
    try:
        source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text().strip()
        flags = Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split()
    except OSError:
        return native.MONOTONIC_NS
    trusted = source in _SYNCHRONOUS and {"constant_tsc", "nonstop_tsc"} <= set(flags)
    return native.TSC if trusted else native.MONOTONIC_NS
