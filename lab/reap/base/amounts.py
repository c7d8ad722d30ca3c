"""Amounts as people write them: `200MB`, `1.5GiB`, `64K`, `1.3M`, `5 %`; also as units.py prints them."""

import re
from typing import Literal

Kind = Literal["bytes", "count", "percent", "time"]

_PREFIXES = "kmgt"
# As coreutils has them: K and KiB are 1024 bytes, kB is 1000.
_FACTORS: dict[Kind, dict[str, float]] = {
    "bytes": {
        **dict.fromkeys(("", "b"), 1.0),
        **{f"{prefix}b": 1e3 ** (power + 1) for power, prefix in enumerate(_PREFIXES)},
        **{
            f"{prefix}{ending}": 1024.0 ** (power + 1)
            for power, prefix in enumerate(_PREFIXES)
            for ending in ("", "ib")
        },
    },
    "count": {"": 1.0, **{prefix: 1e3 ** (power + 1) for power, prefix in enumerate(_PREFIXES)}},
    "percent": {"%": 0.01},
    "time": {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0},
}
FORMS: dict[Kind, str] = {
    "bytes": "a number of bytes, with kB, MB, GB (powers of 1000), K, M, G, KiB, MiB, GiB (1024) or without",
    "count": "a number, with k, M, G or no unit",
    "percent": "a number with %",
    "time": "a number with s, min, h or d",
}
"""What is expected, for messages."""
_AMOUNT = re.compile(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*(%|[A-Za-z]*)\s*", re.ASCII)


def parse(text: str, kind: Kind) -> float | None:
    """Bytes, a count, a share of 1, or seconds; None for what is none. Upper and lower case are the same."""
    found = _AMOUNT.fullmatch(text)
    factor = _FACTORS[kind].get(found[2].lower()) if found else None
    return None if found is None or factor is None else float(found[1]) * factor
