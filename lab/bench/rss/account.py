"""How far `reap rss` accounts for the memory of programs, and what watching them costs.

    .venv/bin/python lab/bench/rss/account.py [NAME ...]

Servers and runtimes, and the cases of lab/test/truth/memory that were handed: each holds some tens of
megabytes. Its whole tree is looked at from outside, as with --pid, and with its allocators asked. The sum of
the parts is compared with the PSS of /proc/PID/smaps_rollup, which the kernel adds up, before and after each
of nine looks; the median, since some change while they are looked at. *No owner* is the part called other
anonymous memory. CPU time is that of watching the tree for ten seconds at ten snapshots a second. A program
that is not installed is named and left out.
"""

import contextlib
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2] / "test"))
sys.path.insert(0, str(Path(__file__).parents[2] / "test" / "truth"))

from memory import HOLDINGS, Holding, command

from reap.launch import native_files
from reap.launch.process import smaps
from reap.rss import analyse, file, tree, watch
from reap.rss.records import NAMES, Parts, Taken

_SECONDS, _INTERVAL, _LOOKS = 10.0, 0.1, 9
_NOBODY = 65534

PYTHON = """
import multiprocessing, time
kept = [{"id": n, "name": str(n)} for n in range(200_000)]
def work(seconds):
    more = [str(n) * 3 for n in range(100_000)]
    time.sleep(seconds)
if __name__ == "__main__":
    workers = [multiprocessing.Process(target=work, args=(60,)) for _ in range(3)]
    for worker in workers: worker.start()
    time.sleep(60)
"""
THREADS = """
import threading, time
def work():
    kept = [bytes(40_000) for _ in range(200)]
    time.sleep(60)
for _ in range(8): threading.Thread(target=work, daemon=True).start()
time.sleep(60)
"""
NODE = """
globalThis.kept = new Map();
for (let i = 0; i < 300000; i++) kept.set('k' + i, {i});
globalThis.buffers = Array.from({length: 40}, () => Buffer.alloc(500000, 1));
setTimeout(() => {}, 60000);
"""
JAVA = """
import java.util.*;
public class Holds {
    static List<byte[]> kept = new ArrayList<>();
    public static void main(String[] words) throws Exception {
        for (int at = 0; at < 60; ++at) kept.add(new byte[1 << 20]);
        Runnable waits = () -> { try { Thread.sleep(60000); } catch (Exception e) {} };
        for (int at = 0; at < 20; ++at) new Thread(waits).start();
        Thread.sleep(60000);
    }
}
"""
GO = """
package main

import "time"

var kept = map[int][]byte{}

func main() {
	for at := 0; at < 60000; at++ {
		kept[at] = append(make([]byte, 0, 1000), "some text"...)
	}
	for at := 0; at < 200; at++ {
		go time.Sleep(time.Minute)
	}
	time.Sleep(time.Minute)
}
"""
PHP = "for ($i = 0; $i < 400000; $i++) $kept[] = \"text $i\"; $large = str_repeat('x', 9000000); sleep(60);"
PERL = 'my %kept = map { $_ => "text $_" } 1 .. 200_000; sleep 60'
LUA = "kept = {} for i = 1, 400000 do kept[i] = 'text ' .. i end io.read()"
ERLANG = (
    "T = ets:new(kept, []), [ets:insert(T, {N, integer_to_list(N)}) || N <- lists:seq(1, 300000)], "
    "timer:sleep(60000)."
)
SQLITE = (
    "create table t(a, b); with recursive c(n) as (select 1 union all select n + 1 from c where n < 400000) "
    "insert into t select n, hex(n) from c;\n"
)
NGINX = """
daemon off; error_log /dev/null; pid {folder}/pid; worker_processes 2;
events {{ worker_connections 4000; }}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; return 200 hello; }} }}
"""


class Program(NamedTuple):
    """A program and what fills it. `{port}` and `{folder}` are put into its words."""

    words: list[str]
    files: dict[str, str] = {}
    build: list[str] = []
    fill: Callable[[int], None] | None = None
    typed: str = ""
    user: int | None = None
    environment: dict[str, str] = {}


def _send(port: int, text: Iterator[bytes]) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
            for each in text:
                connection.sendall(each)
                connection.recv(1 << 16)
            return
        time.sleep(0.1)


def _fill_redis(port: int) -> None:
    _send(
        port,
        (
            b"".join(b"SET k%d %s\r\n" % (n, b"v" * 100) for n in range(at, at + 100))
            for at in range(0, 10**5, 100)
        ),
    )


def _fill_memcached(port: int) -> None:
    _send(port, (b"set k%d 0 0 200\r\n%s\r\n" % (n, b"v" * 200) for n in range(40_000)))


PROGRAMS = {
    "redis": Program(
        ["redis-server", "--port", "{port}", "--save", "", "--dir", "{folder}"], fill=_fill_redis
    ),
    "memcached": Program(["memcached", "-u", "nobody", "-p", "{port}"], fill=_fill_memcached),
    "nginx": Program(["nginx", "-c", "{folder}/conf"], {"conf": NGINX}),
    "postgres": Program(
        ["postgres", "-D", "{folder}/db", "-p", "{port}", "-k", "{folder}"],
        build=["initdb", "-D", "{folder}/db"],
        user=_NOBODY,
    ),
    "sqlite": Program(["sqlite3", ":memory:"], typed=SQLITE),
    "python, processes": Program(["python3", "{folder}/p.py"], {"p.py": PYTHON}),
    "python, threads": Program(["python3", "{folder}/t.py"], {"t.py": THREADS}),
    "node": Program(["node", "-e", NODE]),
    "java": Program(
        ["java", "-Xmx512m", "-cp", "{folder}", "Holds"],
        {"Holds.java": JAVA},
        ["javac", "{folder}/Holds.java"],
    ),
    "go": Program(["{folder}/g"], {"g.go": GO}, ["go", "build", "-o", "{folder}/g", "{folder}/g.go"]),
    "php": Program(["php", "-r", PHP]),
    "perl": Program(["perl", "-e", PERL]),
    "lua": Program(["lua", "-e", LUA]),
    "erlang": Program(["erl", "-noshell", "-eval", ERLANG]),
}


HANDED = {each.name: each for each in HOLDINGS if each.handed}


def _handed(case: Holding) -> Program:
    words, environment = command(case, 2)  # long enough to be watched for ten seconds
    return Program(words, environment=environment)


def main() -> int:
    """Prints a row for each program."""
    wanted = sys.argv[1:] or [*PROGRAMS, *HANDED]
    print("| program | processes | PSS | difference | largest owner | no owner, outside | asked | CPU time |")
    print("|---|---|---|---|---|---|---|---|")
    for name in wanted:
        with tempfile.TemporaryDirectory(prefix="reap-account-") as folder:
            if name in HANDED and HANDED[name].missing:
                print(f"| {name} | {HANDED[name].missing} is not installed |")
                continue
            program = PROGRAMS.get(name) or _handed(HANDED[name])
            print(_row(name, program, Path(folder)), flush=True)
    return 0


def _row(name: str, program: Program, folder: Path) -> str:
    missing = next((word for word in (*program.build[:1], *program.words[:1]) if not _exists(word)), "")
    if missing:
        return f"| {name} | {missing} is not installed |"
    with _running(program, folder) as pid:
        pids = [pid, *smaps.descendants(pid)]
        outside = _account(watch.Looks(1.0, None), pids)
        looks = watch.Looks(1.0, folder / "said")
        sums = []
        for _ in range(_LOOKS):
            before = sum(map(_pss, pids))
            asked = _account(looks, pids)
            sums.append((asked.resident, (before + sum(map(_pss, pids))) / 2))
        whole = sums[-1][1]
        used = time.process_time()
        watch.watch(pid, _INTERVAL, _SECONDS, lambda _: None, folder / "said", below=True)
        cost = (time.process_time() - used) / _SECONDS
    parts = {each: getattr(asked.parts, each) for each in Parts.__struct_fields__}
    largest = max(parts, key=lambda each: parts[each])
    cells = [
        name,
        str(len(pids)),
        f"{whole / 2**20:.1f} MiB",
        f"{statistics.median((parts - pss) / pss for parts, pss in sums):+.2%}",
        f"{NAMES[largest]} {parts[largest] / whole:.0%}",
        f"{outside.parts.other / whole:.1%}",
        f"{asked.parts.other / whole:.1%}",
        f"{cost:.1%}",
    ]
    return f"| {' | '.join(cells)} |"


def _exists(word: str) -> bool:
    return word.startswith("{") or shutil.which(word) is not None


def _account(looks: watch.Looks, pids: list[int]) -> Taken:
    """All processes together, by PSS, as `reap rss` has them."""
    taken: dict[int, Taken] = {}
    shares = []
    for moment in looks.at(0.0, pids):
        taken[moment.pid] = analyse.take_apart(moment, taken.get(moment.forked_from))
        shares.append(tree.share(moment, taken[moment.pid]))
    return tree.together(shares)


def _pss(pid: int) -> int:
    with contextlib.suppress(OSError):  # it has ended
        found = re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
        return int(found.group(1)) << 10 if found else 0
    return 0


@contextlib.contextmanager
def _running(program: Program, folder: Path) -> Iterator[int]:
    """Started with our thread in it, and filled."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = {"port": str(port), "folder": str(folder)}
    (folder / "said").mkdir()
    for name, text in program.files.items():
        (folder / name).write_text(text.format(**names) if name == "conf" else text)
    if program.user is not None and os.geteuid() == 0:
        for path in (folder, folder / "said"):
            os.chown(path, program.user, program.user)
    user = program.user if os.geteuid() == 0 else None
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "user": user}
    if program.build:
        subprocess.run(_worded(program.build, names), check=True, **quiet)  # type: ignore[call-overload]
    preloads = [str(native_files.preload("resident")), program.environment.get("LD_PRELOAD", "")]
    environment = {
        **os.environ,
        **program.environment,
        "LD_PRELOAD": " ".join(filter(None, preloads)),
        file.VARIABLE: f"100000:{folder / 'said'}",
    }
    words = _worded(program.words, names)
    process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, **quiet)  # type: ignore[call-overload]
    try:
        if program.typed:
            process.stdin.write(program.typed.encode())
            process.stdin.flush()
        if program.fill is not None:
            program.fill(port)
        time.sleep(4)
        yield process.pid
    finally:
        below = smaps.descendants(process.pid)
        process.terminate()
        process.stdin.close()
        process.wait()
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)


def _worded(words: list[str], names: dict[str, str]) -> list[str]:
    """A script has braces of its own."""
    return [word.replace("{port}", names["port"]).replace("{folder}", names["folder"]) for word in words]


if __name__ == "__main__":
    sys.exit(main())
