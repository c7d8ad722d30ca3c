"""Amounts of limits and options, in one grammar."""

import pytest

from reap.base import amounts, units


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("65536", 65536), ("12 B", 12), ("1kB", 1000), ("200MB", 200e6), ("2 gb", 2e9),
        ("64K", 65536), ("64k", 65536), ("1.5GiB", 1.5 * 2**30), (" 2 mib ", 2 * 2**20), ("1T", 2**40),
    ],
)  # fmt: skip
def test_bytes(text, value):
    """As coreutils: kB is 1000 bytes, K and KiB are 1024."""
    assert amounts.parse(text, "bytes") == value


@pytest.mark.parametrize(("text", "value"), [("7", 7), ("1.3M", 1.3e6), ("2k", 2000), ("2 G", 2e9)])
def test_counts(text, value):
    assert amounts.parse(text, "count") == value


@pytest.mark.parametrize("value", [0, 17, 1536, 3 * 2**20, 2**33])
def test_what_is_printed_is_read(value):
    assert amounts.parse(units.size(value), "bytes") == value


@pytest.mark.parametrize("kind", ["bytes", "count", "percent"])
@pytest.mark.parametrize(
    "text", ["", "-1", "1e3", "nan", "inf", "1 QB", "5 MW", "\u0663", "1,5", "1 2", "+1", "%"]
)
def test_what_is_no_amount(text, kind):
    assert amounts.parse(text, kind) is None


def test_kinds_are_told_apart():
    assert amounts.parse("5 %", "percent") == 0.05
    assert amounts.parse("5", "percent") is None
    assert amounts.parse("5 %", "bytes") is None
    assert amounts.parse("5 MB", "count") is None
