"""`reap fleet s3://...` on a local S3-compatible server."""

import json
import shutil
from pathlib import Path

import pyarrow.fs
import pytest
from lab.test.fleet.rows import fleet, table, write
from moto.server import ThreadedMotoServer

from reap.fleet.run import remote


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint, monkeypatch, tmp_path):
    """A bucket `fleet`, and what puts a file of tmp_path into it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{endpoint}")
    buckets = {"allow_bucket_creation": True, "allow_bucket_deletion": True}
    store = pyarrow.fs.S3FileSystem(scheme="http", endpoint_override=endpoint, **buckets)
    store.create_dir("fleet")

    def put(name):
        with (tmp_path / name).open("rb") as file, store.open_output_stream(f"fleet/{name}") as stream:
            shutil.copyfileobj(file, stream)

    yield put
    store.delete_dir("fleet")


@pytest.fixture
def folder(bucket, tmp_path):
    """Twelve recordings, in a folder and in the bucket."""
    for number in range(12):
        made = table({"parse": 60 + number, "send": 40}, host=f"h{number % 7}", number=number)
        name = f"2026/{number % 2}/{number}.parquet"
        write(tmp_path / name, made)
        bucket(name)
    return tmp_path


def groups(folder, *words, status=0):
    """Of each site what is exact in whatever order it is added up; and what is said."""
    done = fleet(folder, *words, "--by", "site", "--json", "-")
    assert done.returncode == status, done.stderr
    exact = ("function", "bytes", "recordings", "hosts")
    return [{key: each[key] for key in exact} for each in json.loads(done.stdout)["groups"]], done.stderr


@pytest.mark.parametrize("whole", [4 << 20, 0], ids=["at once", "in parts"])
def test_a_bucket_says_what_a_folder_says(folder, monkeypatch, whole):
    monkeypatch.setattr(remote, "_WHOLE", whole)
    assert groups(folder, "s3://fleet")[0] == groups(folder, "2026")[0]


def test_a_name_and_a_pattern_say_what_those_of_files_say(folder):
    assert groups(folder, "s3://fleet/2026/1/7.parquet")[0] == groups(folder, "2026/1/7.parquet")[0]
    assert groups(folder, "s3://fleet/2026/*/1?.parquet")[0] == groups(folder, "2026/*/1?.parquet")[0]
    assert groups(folder, "s3://fleet/2026/0/", "2026/1")[0] == groups(folder, "2026")[0]


def test_objects_are_read_in_the_order_of_their_names(folder):
    found = sorted(remote.listed("s3://fleet/2026"), key=str)
    read = [str(each) for each, opened in remote.ahead(found) if opened().size()]
    assert read == [f"s3://fleet/{each}" for each in sorted(map(name_in(folder), folder.rglob("*.parquet")))]


def name_in(folder):
    return lambda path: str(path.relative_to(folder))


def test_a_damaged_object_is_named_and_left_out(folder, bucket):
    Path(folder / "2026/bad.parquet").write_bytes(b"PAR1 nothing")
    bucket("2026/bad.parquet")
    found, said = groups(folder, "s3://fleet/2026", status=1)
    assert found[0]["recordings"] == 12
    assert "reap: skipped s3://fleet/2026/bad.parquet: it is damaged or cut short" in said


def test_an_object_that_is_gone_is_named_and_left_out(folder, monkeypatch):
    listed = remote.listed

    def with_another(url):
        return [*listed(url), remote.Object("fleet/2026/gone.parquet", 9, listed(url)[0]._store)]

    monkeypatch.setattr(remote, "listed", with_another)
    found, said = groups(folder, "s3://fleet/2026", status=1)
    assert found[0]["recordings"] == 12
    assert "reap: skipped s3://fleet/2026/gone.parquet: " in said


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://fleet/nothing", "there is no .parquet file in s3://fleet/nothing"),
        ("s3://fleet/*.csv", "there is no .parquet file in s3://fleet/*.csv"),
        ("s3://no-such-bucket/x", "there is no .parquet file in s3://no-such-bucket/x"),
    ],
)
def test_what_is_not_there_is_one_message(folder, url, message):
    done = fleet(folder, url)
    assert done.returncode == 125
    assert message in done.stderr


@pytest.mark.usefixtures("bucket")
def test_a_store_that_does_not_answer_is_one_message(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    done = fleet(tmp_path, "s3://fleet/x")
    assert done.returncode == 125
    assert "s3://fleet/x cannot be listed: " in done.stderr
    assert "AWS_ENDPOINT_URL names another store than Amazon's" in done.stderr
