"""Marks: what a program says of its requests reaches whoever listens, and nobody else notices."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from marked import INCLUDE, marks
from programs import compile_c

from reap import mark
from reap.launch import native_files, requests, spawn
from reap.launch.records import Launch, RequestTimes


def timed(*argv: str, **options) -> RequestTimes:
    launch = Launch(argv=list(argv), program=argv[0], requests=True, **options)
    times = spawn.run(launch).requests
    assert times is not None
    return times


@pytest.mark.parametrize(
    ("mode", "count", "unmatched", "unfinished"),
    [
        (["plain", "50"], 50, 0, 0),
        (["nested", "50"], 50, 0, 0),
        (["phases", "10"], 40, 0, 0),
        (["alone"], 1, 1, 0),
        (["across"], 1, 1, 1),
        (["fork"], 2, 1, 0),
        (["raw"], 2, 1, 0),
        (["exit"], 1, 0, 1),
        (["plain", "10000"], 10000, 0, 0),
        (["killed", "5000"], 5000, 0, 1),
        (["threads", "3000"], 3000, 0, 0),
        (["pools", "5"], 0, 0, 0),
        (["leaving", "40"], 40, 0, 40),
        (["left"], 0, 0, 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_requests_are_timed_one_by_one(mode, count, unmatched, unfinished):
    times = timed(marks(), *mode)
    assert (times.count, times.unmatched, times.unfinished, times.lost) == (count, unmatched, unfinished, 0)
    assert 0 <= times.p50_ns <= times.p99_ns <= times.p999_ns <= times.max_ns


def test_times_are_those_of_the_requests():
    times = timed(marks(), "sleep", "20")
    assert times.p50_ns >= 2_000_000
    assert times.max_ns >= times.p99_ns
    assert 0 < times.per_second <= 500


def test_a_file_of_requests_does_not_grow_for_ever(tmp_path):
    """In a file that has one block left, a program of 5,000 requests notes 4,092 of them."""
    law = (Path(__file__).parents[2] / "format" / "reap_requests.h").read_text()
    most = int(re.search(r"REAP_REQUESTS_MOST_BLOCKS (\d+)", law)[1])
    file = tmp_path / "requests"
    requests.prepare(file)
    with file.open("r+b") as opened:
        opened.seek(8)
        opened.write((most - 1).to_bytes(8, "little"))
    environment = {requests.VARIABLE: str(file), "LD_PRELOAD": str(native_files.preload("requests"))}
    subprocess.run([marks(), "plain", "5000"], env=environment, check=True)
    times = requests.read(file)
    assert (times.count, times.lost) == (4092, 908)
    assert file.stat().st_size == most * 65536


REMOVES = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "reap/mark.h"
int main(int count, char **words) {
    const char *path = getenv("REAP_REQUESTS");
    char noise[1000];
    memset(noise, 0xee, sizeof noise);
    reap_mark_request_begin();
    reap_mark_request_end();
    if (!strcmp(words[1], "remove")) unlink(path);
    if (!strcmp(words[1], "cut")) (void)!truncate(path, 70000);
    if (!strcmp(words[1], "head")) (void)!pwrite(open(path, O_WRONLY), noise, sizeof noise, 0);
    if (!strcmp(words[1], "block")) (void)!pwrite(open(path, O_WRONLY), noise, sizeof noise, 65536 + 16);
    if (!strcmp(words[1], "times")) (void)!pwrite(open(path, O_WRONLY), noise, 8, 65536 + 64);
    return 0;
}
"""


@pytest.mark.parametrize("how", ["remove", "cut", "head", "block", "times"])
def test_a_program_that_damages_the_file_has_no_requests(how):
    path = compile_c("damages", REMOVES, [f"-I{INCLUDE}"])
    times = timed(path, how)
    assert (times.count, times.max_ns) == (0, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_requests_that_find_no_room_are_counted(tmp_path):
    times = timed(marks(), "chroot", str(tmp_path))
    assert times.count + times.lost == 4101
    assert times.lost > 0


@pytest.mark.parametrize(
    "flags",
    [("-std=c99",), ("-no-pie", "-fno-pic"), ("-x", "c++", "-std=c++17"), ("-flto", "-O2")],
    ids=" ".join,
)
def test_marks_are_heard_however_the_program_is_built(flags):
    build = [word for word in flags if word not in ("-x", "c++")]
    source = "int main(void) { reap_mark_request_begin(); reap_mark_request_end(); return 0; }"
    name = "built" + "".join(flags).replace("/", "_")
    language = ["-x", "c++"] if "c++" in flags else []
    pedantic = ["-Wall", "-Wextra", "-Wconversion", "-pedantic-errors", "-Werror"]
    path = compile_c(
        name, f'#include "reap/mark.h"\n{source}', [*language, *pedantic, f"-I{INCLUDE}", *build]
    )
    assert timed(path).count == 1


def test_a_static_program_marks_to_nobody():
    path = marks("-static")
    assert subprocess.run([path, "plain", "3"], check=False).returncode == 0


def test_marks_of_a_library_that_is_opened_later_are_heard():
    plugin = compile_c(
        "libplugin.so",
        '#include "reap/mark.h"\nvoid serve(void) { reap_mark_request_begin(); reap_mark_request_end(); }',
        ["-fPIC", "-shared", f"-I{INCLUDE}"],
    )
    host = compile_c(
        "host",
        "#include <dlfcn.h>\nint main(int n, char **w) { void *p = dlopen(w[1], RTLD_NOW | RTLD_LOCAL);"
        "((void (*)(void))dlsym(p, w[2]))(); return 0; }",
        [],
    )
    assert timed(host, plugin, "serve").count == 1


POOL = r"""
#include <stdlib.h>
#include "reap/mark.h"
#define READ(name) __attribute__((noinline)) void name(const volatile char *object) { (void)*object; }
READ(alive) READ(freed) READ(cleared)
int main(void) {
    char *memory = malloc(1000), *one = memory + 100, *other = memory + 200;
    reap_mark_pool_create(memory, "of the test");
    reap_mark_pool_alloc(memory, one, 50);
    reap_mark_pool_alloc(memory, other, 50);
    *one = *other = 1;
    reap_mark_pool_free(memory, one);
    freed(one);
    alive(other);
    reap_mark_pool_clear(memory);
    cleared(other);
    reap_mark_pool_destroy(memory);
    free(memory);
    return 0;
}
"""


@pytest.mark.skipif(
    not (shutil.which("valgrind") and Path("/usr/include/valgrind/valgrind.h").exists()),
    reason="needs valgrind and its header",
)
def test_valgrind_sees_what_a_pool_hands_out():
    path = compile_c("pool", POOL, ["-DREAP_MARK_VALGRIND=1", f"-I{INCLUDE}"])
    answer = subprocess.run(["valgrind", "--quiet", path], capture_output=True, text=True, check=True)
    found = re.findall(r"Invalid read of size 1\n\S+ +at \S+: (\w+)", answer.stderr)
    assert found == ["freed", "cleared"], answer.stderr


def test_without_a_listener_the_program_s_next_dlerror_is_its_own():
    path = compile_c(
        "dlerror",
        '#include <dlfcn.h>\n#include "reap/mark.h"\n'
        "int main(void) { reap_mark_request_begin(); return dlerror() != 0; }",
        [f"-I{INCLUDE}"],
    )
    assert subprocess.run([path], check=False).returncode == 0


PYTHON = """
import sys
from reap import mark
for odd in ("\\ud800", None, 7):
    mark.phase(odd)
for number in range(int(sys.argv[1])):
    with mark.request():
        mark.phase("warm")
try:
    with mark.request():
        raise ValueError
except ValueError:
    pass
mark.request_end()
print("ctypes" in sys.modules, mark.listening)
"""


def test_python_s_requests_are_timed():
    times = timed(sys.executable, "-c", PYTHON, "20")
    assert (times.count, times.unmatched) == (21, 1)


def test_python_that_nobody_listens_to_looks_for_nothing():
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    answer = subprocess.run(
        [sys.executable, "-c", PYTHON, "2"], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == ["False", "False"]


def test_python_s_marks_stand_alone(tmp_path):
    """The module is one that people may copy: it runs without the package."""
    copy = tmp_path / "elsewhere.py"
    copy.write_text(Path(mark.__file__).read_text())
    code = "import elsewhere, sys\nwith elsewhere.request(): pass\nprint('reap' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "False\n"
