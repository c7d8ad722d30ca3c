"""Two versions beside each other: intervals hold the truth, and what does not differ is not said to."""

import json

import numpy as np
import pytest
from lab.test.fleet.rows import fleet, table, write

from reap.fleet.analyse import Rates, Side, compared

VERSIONS = ("1", "2")


def sides_of(before, after):
    return [
        Side(len(each), float(sum(each)), float(sum(value**2 for value in each))) for each in (before, after)
    ]


def site(name, before, after):
    sides = {
        version: (float(sum(each)), float(sum(value**2 for value in each)), f"{name}.c:1")
        for version, each in zip(VERSIONS, (before, after), strict=True)
        if any(each)
    }
    return Rates(function=name, module="m", sides=sides)


@pytest.fixture
def folder(tmp_path):
    """Ten hosts of each version; `parse` grew by half, `send` is new, `log` is gone, `same` stays."""
    chance = np.random.default_rng(1)
    for version, sites in (
        ("1", {"parse": 1000, "same": 5000, "log": 400}),
        ("2", {"parse": 1500, "same": 5000, "send": 300}),
    ):
        for host in range(10):
            factor = {name: chance.normal(1, 0.02) for name in sites}
            amounts = {name: value * (1 if name == "same" else factor[name]) for name, value in sites.items()}
            write(tmp_path / f"{version}-{host}.parquet", table(amounts, host=f"h{host}", version=version))
    return tmp_path


def test_what_grew_is_found(folder):
    done = fleet(folder, ".", "--compare", "1", "2", "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["comparison"]
    assert (found["unit"], found["units_before"], found["units_after"]) == ("host", 10, 10)
    verdicts = {each["function"]: each["change"]["verdict"] for each in found["sites"]}
    assert verdicts == {"parse": "grew", "log": "shrank", "send": "grew", "same": "the same"}
    parse = found["sites"][0]
    assert parse["function"] == "parse"
    assert parse["change"]["before"] == pytest.approx(500, rel=0.02)  # of 2 s
    assert parse["change"]["change"]["value"] == pytest.approx(250, rel=0.1)
    assert 0 < parse["change"]["change"]["low"] < parse["change"]["change"]["value"]
    assert found["total"]["verdict"] == "grew"
    assert "Most growth: parse" in done.stderr


def test_of_few_hosts_recordings_are_the_units(tmp_path):
    for version, amount in (("1", 100), ("2", 200)):
        for number in range(3):
            write(
                tmp_path / f"{version}-{number}.parquet",
                table({"f": amount + number}, version=version, number=number),
            )
    done = fleet(tmp_path, ".", "--compare", "1", "2", "--of", "peak", "--json", "-")
    found = json.loads(done.stdout)["comparison"]
    assert (found["unit"], found["units_before"]) == ("recording", 3)
    assert found["sites"][0]["change"]["before"] == pytest.approx(101 / 4)
    assert found["total"]["verdict"] == "the same", "all peaks are 100"


def test_the_peak_of_running_processes_is_not_known(tmp_path):
    for version in VERSIONS:
        write(tmp_path / f"{version}.parquet", table({"f": 10}, version=version, peak=None))
    done = fleet(tmp_path, ".", "--compare", "1", "2", "--of", "peak")
    assert done.returncode == 2
    assert "the peak of shop is not known" in done.stderr


def test_a_single_recording_has_no_interval(tmp_path):
    for version, amount in (("1", 100), ("2", 200)):
        write(tmp_path / f"{version}.parquet", table({"f": amount}, version=version))
    done = fleet(tmp_path, ".", "--compare", "1", "2")
    assert "a version has a single recording" in " ".join(done.stdout.split())
    assert "grew" not in done.stdout.replace("grew or", "")


def test_intervals_hold_the_true_change():
    chance = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        before, after = chance.normal(100, 10, 8), chance.normal(110, 30, 12)
        total, _ = compared(*sides_of(before, after), [], VERSIONS)
        held += total.change.low <= 10 <= total.change.high
    assert held >= 360  # 95 % of 400 are 380; fewer than 360 by chance once in 10^5, and the seed is fixed


def test_few_of_many_equal_sites_are_said_to_differ():
    chance = np.random.default_rng(3)
    drawn = [(chance.normal(100, 20, 10), chance.normal(100, 20, 10)) for _ in range(1000)]
    whole = sides_of([1e5] * 10, [1e5] * 10)
    whole = [Side(10, 1e4, 1e7 + each) for each in (1, 2)]
    _, found = compared(*whole, [site(f"f{n}", *each) for n, each in enumerate(drawn)], VERSIONS)
    assert sum(each.change.verdict in {"grew", "shrank"} for each in found) <= 2
    _, found = compared(
        *whole, [site("f", np.full(10, 50.0) + np.arange(10), np.full(10, 90.0) + np.arange(10))], VERSIONS
    )
    assert found[0].change.verdict == "grew"
