"""`reap show --resolve` finds the names that a recording lacks, and takes none of another build."""

import ctypes
import subprocess
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from lab.test.recording.names.builds import FIRST, build, build_id, functions
from programs import reap

from reap.launch.records import Launch
from reap.recording import read, record


@pytest.fixture
def lost(tmp_path):
    """A recording without names, and the build that it is of, in another folder than it was."""
    file = build(tmp_path / "prog")
    path = tmp_path / "lost.reap"
    record.record(Launch(argv=[file], program=file), path, "full", names=False)
    (tmp_path / "kept").mkdir()
    Path(file).rename(tmp_path / "kept" / "prog")
    build(tmp_path / "prog", "-DSECOND")
    assert functions(read.read(path)) == {"prog+0x"}
    return path, tmp_path / "kept"


def resolve(path, *words, **options):
    done = reap("show", str(path), "--resolve", *words, **options)
    assert done.returncode == 0, done.stderr
    return done


def test_a_folder_of_debug_files_by_name(lost):
    path, folder = lost
    done = resolve(path, "--debug-folder", str(folder))
    assert "read_body" in done.stdout
    assert f"which are kept in {path}" in done.stderr
    assert functions(read.read(path)) == FIRST


def test_a_folder_of_debug_files_by_build_id(lost):
    path, folder = lost
    number = build_id(folder / "prog")
    kept = folder / ".build-id" / number[:2]
    kept.mkdir(parents=True)
    debug = kept / f"{number[2:]}.debug"
    subprocess.run(["objcopy", "--only-keep-debug", folder / "prog", debug], check=True)
    (folder / "prog").unlink()
    resolve(path, "--debug-folder", str(folder))
    assert functions(read.read(path)) == FIRST


def test_a_root_of_another_machine(lost):
    path, folder = lost
    moved = folder / "root" / str(path.parent / "prog").lstrip("/")
    moved.parent.mkdir(parents=True)
    (folder / "prog").rename(moved)
    resolve(path, "--sysroot", str(folder / "root"))
    assert functions(read.read(path)) == FIRST


def test_another_build_is_refused(lost):
    path, folder = lost
    (folder / "prog").write_bytes((path.parent / "prog").read_bytes())
    done = resolve(path, "--debug-folder", str(folder))
    assert "it is another build than the one that was recorded" in done.stderr
    assert done.stderr.count("is not used") == 1
    assert functions(read.read(path)) == {"prog+0x"}


def test_a_compressed_recording_keeps_none(tmp_path):
    file = build(tmp_path / "prog")
    path = tmp_path / "small.reap"
    record.record(Launch(argv=[file], program=file), path, "full", names=False, compress=True)
    (tmp_path / "kept").mkdir()
    Path(file).rename(tmp_path / "kept" / "prog")
    done = resolve(path, "--debug-folder", str(tmp_path / "kept"))
    assert "read_body" in done.stdout
    assert "for this view alone" in done.stderr
    assert functions(read.read(path)) == {"prog+0x"}


def test_folders_require_resolve(tmp_path):
    done = reap("show", "any.reap", "--sysroot", str(tmp_path))
    assert done.returncode == 2
    assert "require --resolve" in done.stderr


class Server(BaseHTTPRequestHandler):
    """Has the debug file of one build, as debuginfod has."""

    def __init__(self, asked, number, file, *words):
        self.asked, self.number, self.file = asked, number, file
        super().__init__(*words)

    def do_GET(self):
        self.asked.append(self.path)
        if self.path != f"/buildid/{self.number}/debuginfo":
            self.send_error(404)
            return
        content = self.file.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(lost):
    """Its address, and the paths that it was asked for."""
    _, folder = lost
    number, debug = build_id(folder / "prog"), folder / "prog.debug"
    subprocess.run(["objcopy", "--only-keep-debug", folder / "prog", debug], check=True)
    asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, asked, number, debug))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_debuginfod_server_is_asked_by_resolve_alone(lost, server, tmp_path, monkeypatch):
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        pytest.skip("elfutils' client of debuginfod is not installed")
    path, _ = lost
    address, asked = server
    monkeypatch.setenv("DEBUGINFOD_URLS", address)
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    monkeypatch.delenv("http_proxy", raising=False)
    assert reap("show", str(path)).returncode == 0
    assert asked == []
    done = resolve(path)
    assert "read_body" in done.stdout
    assert asked
    assert functions(read.read(path)) == FIRST
