"""Owners of memory that are no malloc, in real programs, and all processes of a tree together."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab.test.rss.waiting import waiting
from programs import as_nobody, reap
from recorded import target

from reap.base.errors import ReapError
from reap.launch.process import areas, cgroup, smaps
from reap.launch.process.look import Watched
from reap.launch.process.owners import find
from reap.launch.process.records import Kernel, Moment
from reap.rss import analyse
from reap.rss.judge import judge
from reap.rss.records import Parts, Residence
from reap.rss.run import Log
from reap.rss.watch import Looks

MB = 1 << 20


def seen(pid, *others):
    """All moments of these processes at one time, each taken apart."""
    moments = Looks(1.0, None).at(0.0, [pid, *others])
    return [(moment, analyse.take_apart(moment)) for moment in moments]


def parts_of(pid):
    ((moment, taken),) = seen(pid)
    assert taken.resident == moment.kernel.resident
    return taken.parts


def judged(*taken, **fields):
    values = {"command": ["server"], "pid": 1, "interval": 0.1, **fields}
    return judge(Residence(moments=list(taken), taken=len(taken), **values))


def test_stacks_of_threads_are_told_from_other_memory():
    with waiting(target("resident/owned"), "stacks") as pid:
        ((_, taken),) = seen(pid)
    assert taken.parts.stack >= 32 * MB
    assert taken.parts.other < MB
    verdict = judged(taken)
    assert verdict.cause == "stack"
    if taken.below:  # each thread waits, and shows its stack pointer, where the kernel shows it
        assert taken.below >= 31 * MB
        assert "lie below the stack pointers" in verdict.sentences[1]


def test_static_data_is_the_program_s():
    with waiting(target("resident/owned"), "static") as pid:
        assert parts_of(pid).data >= 32 * MB


PYTHON = """
import sys
kept = [(number, str(number)) for number in range(200_000)]
blocks = [bytes(300_000) for _ in range(30)]
print("ready", flush=True)
sys.stdin.read()
"""


def test_arenas_of_cpython_are_told_from_its_large_objects():
    """By its own count: of each object of at most 512 bytes, and of what its arenas have free."""
    debug = "import sys; sys._debugmallocstats()"
    if (
        "arenas"
        not in subprocess.run(
            [sys.executable, "-c", debug], capture_output=True, text=True, check=True
        ).stderr
    ):
        pytest.skip("this Python has no arenas")
    counting = PYTHON.replace("print(", "sys._debugmallocstats(); print(")
    with waiting(sys.executable, "-c", PYTHON) as pid:
        parts = parts_of(pid)
    said = subprocess.run(
        [sys.executable, "-c", counting], input="", capture_output=True, text=True, check=True
    ).stderr
    arenas = next(line for line in said.splitlines() if "arenas * " in line)
    truth = int(arenas.split("=")[1].replace(",", ""))
    assert abs(parts.python - truth) < 0.1 * truth
    assert parts.other < 2 * MB


RUNTIMES = {
    "v8": (
        "node",
        "-e",
        "globalThis.a=new Array(3e6).fill(0).map((_,i)=>({i}));console.log('ready');process.stdin.resume()",
    ),
    "php": (
        "php",
        "-r",
        "$a=range(1,4000000); $b=str_repeat('x',20000000); echo \"ready\\n\"; fgets(STDIN);",
    ),
}


@pytest.mark.parametrize("owner", RUNTIMES)
def test_the_heap_of_a_runtime_has_its_name(owner):
    command, *words = RUNTIMES[owner]
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    with waiting(command, *words) as pid:
        parts = parts_of(pid)
    assert getattr(parts, owner) > 60 * MB
    assert parts.other < 0.02 * sum(getattr(parts, name) for name in Parts.__struct_fields__)


JAVA = """
public class Held {
    static byte[][] kept = new byte[64][];
    public static void main(String[] words) throws Exception {
        for (int at = 0; at < 64; ++at) kept[at] = new byte[1 << 20];
        System.out.println("ready");
        System.in.read();
    }
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-XX:-UseCompressedOops"], ["-XX:+UseSerialGC"]])
def test_the_heap_of_a_jvm_is_told_from_its_other_memory(tmp_path, options):
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    (tmp_path / "Held.java").write_text(JAVA)
    if shutil.which("javac") is None:
        pytest.skip("javac is not installed")
    subprocess.run(["javac", "Held.java"], cwd=tmp_path, check=True)
    with waiting("java", "-Xmx256m", *options, "-cp", str(tmp_path), "Held") as pid:
        parts = parts_of(pid)
    assert 64 * MB < parts.java < 128 * MB
    assert parts.jvm > 0
    assert parts.other < 2 * MB


GO = """
package main

import (
	"fmt"
	"os"
)

var kept [][]byte

func main() {
	for at := 0; at < 64; at++ {
		block := make([]byte, 1<<20)
		for byte := range block {
			block[byte] = 1
		}
		kept = append(kept, block)
	}
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
}
"""


def test_go_s_heap_is_told_from_its_tables(tmp_path):
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    (tmp_path / "held.go").write_text(GO)
    subprocess.run(["go", "build", "held.go"], cwd=tmp_path, check=True)
    with waiting(str(tmp_path / "held")) as pid:
        parts = parts_of(pid)
    assert 64 * MB < parts.go < 128 * MB
    assert 0 < parts.go_runtime < 8 * MB
    assert parts.other == 0


def test_a_name_that_an_owner_gave_says_whose_it_is():
    """Not every kernel takes names (CONFIG_ANON_VMA_NAME)."""
    names = (
        "[anon: Go: heap]",
        "[anon:v8]",
        "[anon: glibc: malloc]",
        "[anon: glibc: pthread stack: 7]",
        "[anon:mine]",
    )
    text = "".join(
        f"{at:x}000-{at + 1:x}000 rw-p 00000000 00:00 0 {name}\nRss: 4 kB\nPss: 2 kB\nAnonymous: 4 kB\n"
        for at, name in enumerate(names, 16)
    )
    found = areas.parse(text)
    kernel, shares = areas.summed(found, find.Owners(os.getpid()).claims(found))
    page = 4096
    assert (kernel.go, kernel.v8, kernel.arenas, kernel.stack, kernel.named) == (page,) * 5
    assert kernel.anonymous == page, "what is malloc's is told apart by its own word"
    assert (shares.go, shares.resident) == (page // 2, 5 * page // 2)


def test_a_tree_counts_what_is_shared_once():
    """Five processes of 32 MiB: 32 in all, and 8 that each child has copied."""
    log = Log(0.1)
    with waiting(target("resident/owned"), "forks") as pid:
        looks = Looks(0.1, None)
        for at in range(2):
            for moment in looks.at(float(at), [pid, *smaps.descendants(pid)]):
                log.add(moment)
    tree = log.tree(["server"])
    assert tree.processes == 5
    assert 64 * MB <= tree.last.resident <= 68 * MB
    assert 32 * MB <= tree.last.copied <= 34 * MB
    assert tree.last.inherited >= 96 * MB
    verdict = judge(tree)
    assert verdict.cause == "copied"
    assert "PSS of 5 processes" in verdict.sentences[0]
    assert sum(getattr(tree.last.parts, name) for name in Parts.__struct_fields__) == tree.last.resident


def test_a_forked_process_is_divided_as_its_parent_is():
    kernel = Kernel(
        resident=40 * MB, heap=40 * MB, anonymous=0, stack=0, files=0, written=0, shared=0, lazy_free=0
    )
    parent = analyse.take_apart(Moment(pid=1, seconds=0, kernel=kernel))
    assert analyse.take_apart(Moment(pid=2, seconds=0, kernel=kernel), parent).parts == Parts(heap=40 * MB)
    asked = analyse.Taken(seconds=0, resident=80 * MB, parts=Parts(live=60 * MB, pinned=20 * MB), said=True)
    child = analyse.take_apart(Moment(pid=2, seconds=0, kernel=kernel, forked_from=1), asked)
    assert child.parts == Parts(live=30 * MB, pinned=10 * MB)


def test_a_pid_is_observed_with_the_processes_below_it(tmp_path):
    with waiting(target("resident/owned"), "forks") as pid:
        done = reap(
            "rss", "--pid", str(pid), "--seconds", "0.3", "--json", "r.json", "-o", "rows", cwd=tmp_path
        )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "r.json").read_text())
    assert results["processes"][0]["pid"] == pid
    assert len(results["processes"]) == results["tree"]["processes"] == 5
    assert results["verdict"]["cause"] == "copied"


def test_watching_costs_less_than_two_percent():
    """By the CPU time of the thread that looks, at a hundred snapshots a second of this process."""
    from reap.rss import watch

    begun, before = time.monotonic(), time.thread_time()
    watch.watch(os.getpid(), 0.01, 4.0, lambda _: None)
    used, wall = time.thread_time() - before, time.monotonic() - begun
    assert used <= 0.02 + 0.012 * wall + 0.1  # what may be spent at first, and one look at a slow machine


def test_watching_ends_in_time_with_a_last_look():
    """Also where the looks so far have cost more than their share of the time."""
    from reap.rss import watch

    times = []
    begun = time.monotonic()
    with waiting(target("resident/owned"), "many", "20000") as pid:
        assert watch.watch(pid, 0.01, 0.3, lambda moment: times.append(moment.seconds)) == ""
    assert times[-1] >= 0.3
    assert len(times) <= 1 + (time.monotonic() - begun) / 0.01


def test_a_hundred_thousand_mappings_are_seen():
    most = int(Path("/proc/sys/vm/max_map_count").read_text())
    number = min(100_000, most - 500)
    with waiting(target("resident/owned"), "many", str(number)) as pid:
        watched = Watched(pid)
        begun = time.thread_time()
        view = watched.look()
        first = time.thread_time() - begun
    assert len(view.areas) > 0.9 * number
    assert view.kernel.resident >= number * 4096
    assert first < 60


def test_many_children_are_one_tree():
    with waiting(target("resident/owned"), "children", "200") as pid:
        log = Log(0.1)
        for moment in Looks(0.1, None).at(0.0, [pid, *smaps.descendants(pid)]):
            log.add(moment)
    tree = log.tree(["server"])
    assert tree.processes == 201
    assert tree.last.resident < sum(each[-1].resident for each in log.moments.values())


@pytest.mark.skipif(os.geteuid() != 0, reason="root's processes are to be looked at by others")
def test_without_permission_the_kinds_that_anybody_may_read_are_said():
    def refused():
        try:
            smaps.require_readable(os.getppid())
        except ReapError as error:
            kernel = Watched(os.getppid()).look().kernel
            return f"{error.what} {kernel.resident > MB} {kernel.anonymous > 0}"
        return "it may be read"

    said = as_nobody(refused)
    assert "all that is known is" in said
    assert " resident: " in said
    assert said.endswith("True True")


def test_the_narrowest_limit_of_the_groups_counts(tmp_path, monkeypatch):
    """Either version of cgroups; a name that is not shown is passed over."""
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path)
    names = [line.split(":", 2)[1] for line in Path("/proc/self/cgroup").read_text().splitlines()]
    if not {"", "memory"} & set(names):
        pytest.skip("there is no group that limits memory")
    assert cgroup.read(os.getpid()) is None
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory").mkdir()
    for folder, (most, current) in zip(
        (tmp_path, tmp_path / "memory"),
        (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")),
        strict=True,
    ):
        (folder / most).write_text(f"{64 * MB}\n")
        (folder / current).write_text(f"{48 * MB}\n")
    group = cgroup.read(os.getpid())
    assert (group.current, group.limit) == (48 * MB, 64 * MB)


def test_a_limit_is_in_the_verdict():
    from reap.rss.records import Cgroup

    taken = analyse.Taken(seconds=1, resident=40 * MB, parts=Parts(python=40 * MB))
    verdict = judged(taken, cgroup=Cgroup(current=48 * MB, limit=64 * MB))
    assert verdict.cause == "python"
    assert verdict.sentences[-1] == "Its cgroup has 48.0 MiB of the limit of 64.0 MiB, page cache included."
