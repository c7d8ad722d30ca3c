"""`reap fleet`: totals are exact, each recording counts once, what cannot be read is named and left out."""

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lab.test.cli.schemas import assert_valid
from lab.test.fleet.rows import SCHEMA, fleet, table, write
from programs import program, reap
from recorded import target

from reap.base.errors import ExitCode
from reap.fleet.run import files
from reap.recording import rows


def asked(folder, *words, status=0):
    """What is printed as JSON, and on standard error."""
    done = fleet(folder, *words, "--json", "-")
    assert done.returncode == status, done.stderr
    answer = json.loads(done.stdout)
    assert_valid("fleet", answer)
    return answer, done.stderr


@pytest.fixture
def folder(tmp_path):
    """Two services, two versions of one of them, on three hosts."""
    write(tmp_path / "x/1.parquet", table({"parse": 60, "send": 40}, host="a"))
    write(tmp_path / "x/2.parquet", table({"parse": 100}, host="b", number=3, line=9))
    write(tmp_path / "x/deep/3.parquet", table({"parse": 300}, host="a", version="2"))
    write(tmp_path / "x/4.parquet", table({"index": 500}, host="c", service="find", peak=None, module="find"))
    return tmp_path


def test_totals_by_service(folder):
    answer, said = asked(folder, "x")
    assert [
        (each["service"], each["bytes"], each["recordings"], each["hosts"]) for each in answer["groups"]
    ] == [
        ("find", 500, 1, 1),
        ("shop", 500, 3, 2),
    ]
    assert [each["peak_bytes"] for each in answer["groups"]] == [None, 100]
    assert (answer["recordings"], answer["hosts"], answer["bytes"], answer["allocations"]) == (
        4,
        3,
        1000,
        100,
    )
    assert (answer["seconds"], answer["files"], answer["skipped"], answer["left_out"]) == (8, 4, [], 0)
    assert (answer["first"], answer["last"]) == ("2026-11-01T00:00:00Z", "2026-11-04T00:00:00Z")
    assert "next: reap fleet x --by site --where service=find" in said
    assert "62.5 B/s" not in said, "rates are by second"
    assert "250 B/s" in said


def test_totals_by_version_host_and_site(folder):
    answer, _ = asked(folder, "x", "--by", "version", "--where", "service=shop")
    assert [(each["version"], each["bytes"]) for each in answer["groups"]] == [("2", 300), ("1", 200)]
    answer, _ = asked(folder, "x", "--by", "host")
    assert [(each["host"], each["bytes"]) for each in answer["groups"]] == [
        ("c", 500),
        ("a", 400),
        ("b", 100),
    ]
    answer, said = asked(folder, "x", "--by", "site", "--where", "service=shop", "--where", "version=1")
    parse, send = answer["groups"]
    assert (parse["function"], parse["bytes"], parse["recordings"], parse["build_ids"]) == (
        "parse",
        160,
        2,
        1,
    )
    assert parse["location"] == "shop.c:9", "where most of it is allocated"
    assert (send["function"], send["bytes"], send["seconds"], send["peak_bytes"]) == ("send", 40, 4, 5)
    assert "parse (shop, shop.c:9)" in said


def test_a_pattern_and_files_are_paths_too(folder):
    assert asked(folder, "x/[12].parquet")[0]["bytes"] == 200
    assert asked(folder, "x/**/*.parquet")[0]["bytes"] == 1000
    assert asked(folder, "x/1.parquet", "x/4.parquet", "x/1.parquet")[0]["bytes"] == 600


def test_a_name_that_looks_like_a_pattern_is_a_file(tmp_path):
    write(tmp_path / "[a]*.parquet", table({"f": 10}))
    assert asked(tmp_path, "[a]*.parquet")[0]["bytes"] == 10
    assert asked(tmp_path, ".")[0]["bytes"] == 10


def test_a_recording_in_several_files_counts_once(folder):
    shutil.copy(folder / "x/1.parquet", folder / "x/again.parquet")
    both = table({"parse": 60, "send": 40}, host="a"), table({"other": 7}, host="z")
    write(folder / "x/joined.parquet", *both)
    answer, said = asked(folder, "x")
    assert (answer["bytes"], answer["duplicates"], answer["recordings"]) == (1007, 2, 5)
    assert "2 recordings were in more than one file" in " ".join(said.split())


def test_compacted_rows_say_the_same(folder):
    (folder / "x/bad.parquet").write_bytes(b"PAR1")
    before, said = asked(folder, "x", "--compact", "one.parquet", "--by", "site", status=1)
    assert "all rows: one.parquet" in said
    after, _ = asked(folder, "one.parquet", "--by", "site")
    assert after["groups"] == before["groups"]
    assert after["files"] == 1


def test_rows_of_large_files_are_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROWS", 3)
    path = write(tmp_path / "x.parquet", *(table({"f": 1, "g": 2}, number=number) for number in range(10)))
    batches = list(files.batches(pa, lambda: path))
    assert len(batches) == 10
    assert pa.concat_tables(batches).num_rows == 30
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 4] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(files.UnreadableError):
        list(files.batches(pa, lambda: path))


def test_what_cannot_be_read_is_named_and_left_out(folder):
    whole = (folder / "x/1.parquet").read_bytes()
    (folder / "x/cut.parquet").write_bytes(whole[:-100])
    (folder / "x/empty.parquet").touch()
    flipped = bytearray(whole)
    flipped[40] ^= 0xFF  # in the first page, whose checksum no longer holds
    (folder / "x/flipped.parquet").write_bytes(flipped)
    newer = SCHEMA.with_metadata({rows.KEY: b"2"})
    write(folder / "x/newer.parquet", table({"f": 1}, name="newer"), schema=newer)
    pq.write_table(pa.table({"a": [1]}), folder / "x/other.parquet")
    pq.write_table(table({"f": 1}).drop_columns("host"), folder / "x/narrow.parquet")
    os.mkfifo(folder / "x/pipe.parquet")
    answer, said = asked(folder, "x", status=ExitCode.FAILED)
    assert (answer["bytes"], answer["files"]) == (1000, 10)
    why = {each["file"].rpartition("/")[2]: each["why"] for each in answer["skipped"]}
    assert sorted(why) == [
        f"{name}.parquet" for name in ("cut", "empty", "flipped", "narrow", "newer", "other")
    ]
    assert why["newer.parquet"] == "its format has version 2, this reap reads version 1"
    assert "cut short" in why["cut.parquet"]
    assert why["other.parquet"] == "it is a Parquet file, but has no rows of reap export --to fleet"
    assert why["narrow.parquet"] == "its columns are not those of reap export --to fleet"
    for name, text in why.items():
        assert f"reap: skipped x/{name}: {text}" in said
    assert "6 files could not be read" in " ".join(said.split())


def test_a_folder_of_nothing_but_damage(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"nothing")
    done = fleet(tmp_path, ".")
    assert done.returncode == ExitCode.INTERNAL
    assert "none of 1 files could be read" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["https://host/x.parquet"], 2, "https://host/x.parquet cannot be read: of stores on the network"),
        (["nowhere"], 125, "nowhere does not exist, and matches no file"),
        (["empty"], 125, "there is no .parquet file in the folder empty"),
        (["x", "--where", "colour=red"], 2, "--where colour=... is not known"),
        (["x", "--where", "service=shpo"], 2, "no recording has service=shpo"),
        (["x", "--where", "service"], 2, "'service' is not KEY=VALUE"),
        (["x", "--of", "peak"], 2, "--of requires --compare"),
        (["x", "--compare", "1", "9"], 2, "no service has the versions 1 and 9"),
        (["x", "--compare", "1", "1"], 2, "names one version twice"),
        (["x", "--compact", "-"], 2, "this cannot be written to standard output"),
    ],
)
def test_bad_input_has_one_message(folder, words, status, message):
    (folder / "empty").mkdir()
    done = fleet(folder, *words)
    assert done.returncode == status, done.stderr
    assert message in done.stderr


def test_versions_of_several_services_need_a_service(folder):
    write(folder / "x/5.parquet", table({"g": 1}, service="find", version="2"))
    done = fleet(folder, "x", "--compare", "1", "2")
    assert done.returncode == ExitCode.USAGE
    assert "2 services have these versions: find, shop" in done.stderr
    assert "--where service=find" in done.stderr


def test_names_of_recordings_cannot_break_a_page_or_a_terminal(tmp_path):
    hostile = "\x1b[31m<script>alert(1)</script>"
    write(tmp_path / "1.parquet", table({hostile: 10}, service=hostile, host="a"))
    write(tmp_path / "2.parquet", table({hostile: 90}, service=hostile, host="a", version="2"))
    done = fleet(tmp_path, ".", "--by", "site", "--compare", "1", "2", "--html", "x.html")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    page = (tmp_path / "x.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in page


def test_a_recording_becomes_rows_with_its_labels(tmp_path):
    labels = ["--label", "service=shop", "--label", "version=1.5", "--label", "host=node7"]
    command = ["record", "--depth", "full", *labels, "-o", "x.reap", "--", target("stacks")]
    assert reap(*command, cwd=tmp_path).returncode == 0
    (tmp_path / "fleet").mkdir()
    done = reap("export", "--to", "fleet", "x.reap", "-o", "fleet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "next: reap fleet fleet" in done.stderr
    again = reap("export", "--to", "fleet", "x.reap", "-o", "fleet", cwd=tmp_path)
    assert again.returncode == ExitCode.INTERNAL, "the same recording has the same name"
    done = reap("fleet", "fleet", "--by", "site", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    found = {each["function"]: each for each in answer["groups"]}
    shown = json.loads(reap("show", "x.reap", "--json", "-", cwd=tmp_path).stdout)["answers"][0]["profile"]
    assert answer["bytes"] == shown["totals"]["total_bytes"]
    by_function: dict[str, float] = {}
    for each in shown["sites"]:
        by_function[each["function"]] = by_function.get(each["function"], 0) + each["bytes"]
    assert {name: each["bytes"] for name, each in found.items()} == by_function
    assert all(each["build_ids"] == 1 for each in found.values())
    answer, _ = asked(tmp_path, "fleet", "--by", "version")
    assert [(each["service"], each["version"]) for each in answer["groups"]] == [("shop", "1.5")]
    assert asked(tmp_path, "fleet", "--by", "host")[0]["groups"][0]["host"] == "node7"


def test_a_recording_without_labels_is_of_its_program_on_this_host(tmp_path):
    assert reap("record", "-o", "x.reap", "--", program("busy"), cwd=tmp_path).returncode == 0
    assert reap("export", "--to", "fleet", "x.reap", cwd=tmp_path).returncode == 0
    found = pq.read_table(tmp_path / "x.fleet.parquet").to_pylist()[0]
    assert found["service"] == found["program"]
    assert (found["version"], found["host"]) == ("", os.uname().nodename)
