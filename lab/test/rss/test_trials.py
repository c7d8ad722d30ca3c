"""`reap rss --try`: which remedies are tried, how they rank, and that a trim changes nothing else."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from lab.test.rss.test_rss import read_rows
from lab.test.rss.waiting import wait_for
from programs import reap
from recorded import target

from reap.allocators import catalog, settings
from reap.allocators.records import Allocator
from reap.allocators.remedies import table as remedies
from reap.base.records import Estimate
from reap.experiment.folder import Folder
from reap.experiment.records import Ratio
from reap.experiment.runner import Listener
from reap.launch import native_files
from reap.launch import program as programs
from reap.rss import steps
from reap.rss.records import Owner, Parts, Residence, Taken
from reap.rss.trials import analyse, run, words
from reap.rss.trials.judge import Effect, effect, winner
from reap.rss.trials.records import Change, NotTried, Trials, Tried, Trim
from reap.server.records import STOP, Server

MB = 1 << 20


def residence_of(allocator="glibc", huge=0, **parts):
    whole = sum(parts.values())
    moment = Taken(seconds=4.0, resident=whole, parts=Parts(**parts), huge=huge, said=True)
    return Residence(command=["server"], pid=1, moments=[moment], taken=1, interval=0.1, allocator=allocator)


def names(residence, runtimes=(), *, huge_pages=True):
    return [each.name for each in analyse.applicable(residence, runtimes, huge_pages=huge_pages)]


def tried_of(name, value, *, width=0.01, base=100 * MB):
    share = value / base
    interval = Estimate(value=share, low=share * (1 - width), high=share * (1 + width))
    ratio = Ratio(
        metric="settled_resident",
        unit="bytes",
        baseline=base,
        value=value,
        ratio=interval,
        pairs=[share] * 3,
        verdict="better",
    )
    return Tried(change=Change(name=name, environment={"A": "b"}), rounds=3, settled=value, ratio=ratio)


def trials_of(*tried, not_tried=()):
    return Trials(
        command=["server"],
        baseline=100 * MB,
        rounds=3,
        runs=20,
        tried=analyse.ranked(tried),
        not_tried=list(not_tried),
    )


def test_what_an_environment_sets_is_kept():
    held = {"GLIBC_TUNABLES": "glibc.malloc.perturb=1", "MALLOC_CONF": ""}
    ours = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1", "MALLOC_CONF": "thp:never", "GOGC": "50"}
    assert settings.merged(ours, held) == {
        "GLIBC_TUNABLES": "glibc.malloc.perturb=1:glibc.malloc.arena_max=1",
        "MALLOC_CONF": "thp:never",
        "GOGC": "50",
    }


def environment(name, residence, **written):
    files = {f"/{file}": names_ for file, names_ in written.items()}
    return analyse.environment(remedies.named(name), [residence], files)


def linked(*owners):
    moment = Taken(seconds=4.0, resident=MB, parts=Parts(held=MB), linked=list(owners))
    return Residence(command=["x"], pid=1, moments=[moment], taken=1, interval=0.1, allocator="glibc")


def test_a_linked_jemalloc_is_set_by_the_variable_of_its_build():
    rust = Owner(allocator="jemalloc", file="/rust", function="_rjem_mallctl")
    stripped = Owner(allocator="jemalloc", file="/arrow")
    both = linked(rust, stripped)
    assert {"purging in the background", "no huge pages under jemalloc", "one arena"} <= {*names(both)}
    assert environment("no huge pages under jemalloc", both, arrow=["JE_ARROW_MALLOC_CONF"]) == {
        "_RJEM_MALLOC_CONF": "thp:never",
        "JE_ARROW_MALLOC_CONF": "thp:never",
    }
    # Symbols that were renamed after the build have another prefix than the variable.
    assert environment("no huge pages under jemalloc", linked(rust), rust=["MALLOC_CONF"]) == {
        "MALLOC_CONF": "thp:never"
    }
    assert [*environment("jemalloc, purging in the background", both)] == ["MALLOC_CONF"]
    assert [*environment("purging in the background", residence_of("jemalloc", held=MB))] == ["MALLOC_CONF"]
    assert "purging at once" in names(linked(Owner(allocator="mimalloc", file="/x")))


def test_limits_are_of_what_was_measured():
    go = residence_of(go=100 * MB, other=MB)
    assert environment("a memory limit of Go", go) == {"GOMEMLIMIT": "75MiB"}
    assert environment("a smaller heap of V8", residence_of(v8=200 * MB)) == {
        "NODE_OPTIONS": "--max-old-space-size=150"
    }
    assert environment("a smaller Java heap", residence_of(java=MB)) is None, "it would not start"


def test_the_account_decides_what_comes_first():
    assert names(residence_of(held=90 * MB, live=10 * MB))[0] == "malloc_trim now and then"
    assert "one arena" in names(residence_of(held=90 * MB, live=10 * MB))[:4]
    huge = residence_of("jemalloc", huge=90 * MB, other=90 * MB, live=10 * MB)
    assert names(huge)[0] == "no huge pages under jemalloc"
    assert names(residence_of("jemalloc", held=90 * MB, live=MB))[0] == "purging in the background"


def test_what_cannot_do_anything_is_not_a_candidate():
    found = names(residence_of("jemalloc", held=9 * MB), huge_pages=False)
    assert not {"one arena", "malloc_trim once", "no huge pages", "jemalloc", "trimming by the JVM"} & {
        *found
    }
    assert "trimming by the JVM" in names(residence_of(held=MB), ["jvm"])
    assert "gc.freeze() before the fork" in names(residence_of(held=MB), ["cpython"])


@pytest.mark.parametrize("runs", range(4, 60))
@pytest.mark.parametrize("wanted", [1, 4, 14])
def test_no_more_runs_than_there_is_time_for(runs, wanted):
    number = analyse.affordable(wanted, runs)
    if not number:
        assert runs < analyse.runs_for(1)
        return
    left = runs - number - 1
    final = len(analyse.finalists({str(each): float(each) for each in range(number)}, left))
    assert number + 1 + analyse.rounds_of(final, left) * (final + analyse.COPIES) <= runs


def test_those_that_left_least_are_compared():
    assert analyse.finalists({"a": 3.0, "b": 1.0, "c": 2.0}, 0) == ["b", "c"]


def test_the_first_is_that_which_gives_most_and_what_harms_is_said():
    failed = Tried(change=Change(name="fails"), problem="exit status 1 instead of 0")
    once = Tried(change=Change(name="once"), settled=50.0 * MB)
    every = [failed, once, tried_of("worse", 150 * MB), tried_of("some", 60 * MB), tried_of("most", 10 * MB)]
    trials = trials_of(*every)
    assert [each.change.name for each in trials.tried] == ["most", "some", "worse", "once", "fails"]
    assert [effect(each) for each in trials.tried] == [
        Effect.LESS,
        Effect.LESS,
        Effect.MORE,
        Effect.SEEMS,
        Effect.FAILED,
    ]
    assert winner(trials).change.name == "most"
    assert words.sentences(trials) == [
        "most gives most: 10.0 MiB settled instead of 100 MiB (95 % CI 9.90 MiB to 10.1 MiB)."
    ]
    assert words.rows(trials)[5][3] == "failed: exit status 1 instead of 0"


def test_a_change_within_noise_wins_nothing():
    trials = trials_of(tried_of("same", 99 * MB), tried_of("wide", 90 * MB, width=0.5))
    assert winner(trials) is None
    assert words.sentences(trials)[0].startswith("inconclusive: wide comes first, ")
    assert winner(trials_of(tried_of("same", 99 * MB))) is None
    assert words.sentences(trials_of(tried_of("same", 99 * MB)))[0].startswith("none of 1 tried lowers")


def test_what_was_not_tried_says_why_and_how():
    change = Change(name="one arena", environment={"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"})
    trials = trials_of(not_tried=[NotTried(change=change, why="no time")])
    assert words.not_tried(trials) == [
        "not tried: one arena (no time): GLIBC_TUNABLES=glibc.malloc.arena_max=1"
    ]


def trimming(*words_, when="1000:1000", **options):
    """A program of which glibc's heaps are trimmed all the time."""
    environment = {**os.environ, "LD_PRELOAD": str(native_files.preload("resident")), "REAP_TRIM": when}
    done = subprocess.run(
        words_, env=environment, capture_output=True, text=True, check=False, timeout=100, **options
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("mode", "output"),
    [("leaves", "went on\n"), ("files", ""), ("signals", "15\n" * 20), ("user", "65534\n"), ("forks", "")],
)
def test_a_program_that_is_trimmed_does_what_it_always_does(mode, output):
    if mode == "user" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    assert trimming(target("resides"), mode) == (0, output, "")


@pytest.mark.parametrize("mode", ["cancelled", "exits"])
def test_a_trimmed_process_ends_with_its_main(mode):
    assert trimming(target("resides"), mode)[0] == 0


@pytest.mark.parametrize("when", ["", "x", ":", "-1:-1", "99999999999999999999:0", "0:0"])
def test_a_strange_setting_harms_nothing(when):
    assert trimming("/bin/echo", "hello", when=when) == (0, "hello\n", "")


def test_the_remedy_that_gives_most_is_first(tmp_path):
    """A pin of glibc's: a trim returns 200 MB. A slow machine may take 0.4 s to make it."""
    script = f"(sleep 1) | {target('resides')} pin"
    account = residence_of(pinned=200 * MB, live=MB)
    spec = run.specify_trials(
        programs.resolve(["sh", "-c", script]),
        catalog.parse("glibc")[0],
        [account],
        seconds=1,
        budget=12,
        timeout=None,
        stdin=False,
    )
    with Folder.create(tmp_path / "trials", spec) as folder:
        trials = run.run(folder, Listener())
    assert trials.runs <= spec.remedied.most
    first, last = trials.tried[0], trials.tried[-1]
    assert first.change.name == "malloc_trim now and then"
    assert "every 100 ms" in first.change.how
    assert trials.baseline > 150 * MB
    assert first.settled < 0.5 * trials.baseline
    assert last.change.name == "mmap threshold of 128 KiB"
    assert {each.change.name for each in trials.not_tried} >= {"one arena", "malloc_trim once"}
    done = reap(
        *("rss", "--try", "--resume", "trials", "--json", "again.json", "--html", "again.html"), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "again.json").read_text())["trials"]
    assert again == json.loads(msgspec.json.encode(trials)), "nothing is run again"
    assert trials.curve
    assert first.trim == Trim(first=0.1, every=0.1)
    assert last.trim is None
    assert 0 < max(size for _, size in last.curve) <= 2 * trials.baseline
    page = (tmp_path / "again.html").read_text()
    assert page.count('data-figure="remedy"') == 1 + len(trials.tried)
    assert "settled memory" in (tmp_path / "again.html").read_text()
    assert "settled memory" in done.stdout
    assert "not tried: one arena (no time: --budget " in " ".join(done.stdout.split())


def test_memory_with_a_remedy_is_broken_down(tmp_path):
    """200 MB below a pin are returned, by a process that is asked meanwhile; it waits for its input's end."""
    os.mkfifo(tmp_path / "input")
    program, launch = steps.prepare([target("resides"), "pin"], "glibc", None, 0.05)
    launch = msgspec.structs.replace(launch, stdin=str(tmp_path / "input"))
    trimmed = Allocator(
        name="trims",
        library="",
        environment={"REAP_TRIM": "20000:20000"},
        preloads=[str(native_files.preload("resident"))],
    )
    rows = tmp_path / "r-remedied.csv"

    def settled():
        seen = read_rows(rows) if rows.exists() else []
        after = [row["seconds"] for row in seen if row["seconds"] > 1 and row["resident"] < 50 * MB]
        return after and after[-1] > 2 * after[0]

    def hold():
        with (tmp_path / "input").open("w"):
            wait_for(settled)

    with ThreadPoolExecutor() as pool:
        held = pool.submit(hold)
        seen = steps.with_remedy(program, launch, trimmed, tmp_path / "r.csv", 0.05, ask=True)
        held.result()
    assert seen.allocator == "glibc"
    assert seen.settled.said
    assert seen.settled.parts.pinned < 10 * MB
    assert rows.stat().st_mode & 0o777 == 0o600


def test_a_run_with_a_remedy_that_cannot_be_seen_is_left_out(tmp_path, capsys):
    program, launch = steps.prepare(["true"], "glibc", None, 0.05)
    plain = Allocator(name="plain", library="")
    assert steps.with_remedy(program, launch, plain, tmp_path / "none" / "r.csv", 0.05, ask=True) is None
    assert "note: " in capsys.readouterr().err


def test_a_budget_without_time_for_a_trial_says_what_it_takes(tmp_path):
    done = reap("rss", "--try", "--budget", "0.1", "-o", "r.csv", "--", "sleep", "0.3", cwd=tmp_path)
    assert done.returncode == 2
    assert "has no time for a trial" in done.stderr
    assert "give --budget " in done.stderr


@pytest.mark.parametrize(
    "words_",
    [
        ("--budget", "5", "--", "true"),
        ("--try", "--pid", "1"),
        ("--try", "--record", "x", "--", "true"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, words_):
    done = reap("rss", *words_, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "--try" in done.stderr


# SERVER PORT: whoever connects has it free 40 MB below a block that stays.
PINS = """
import ctypes, socket, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client, _ = listening.accept()
    blocks = [libc.malloc(40000) for _ in range(1000)]
    for block in blocks:
        ctypes.memset(ctypes.c_void_p(block), 1, 40000)
    pin = libc.malloc(40000)
    for block in blocks:
        libc.free(block)
    client.close()
"""
CONNECTS = """
import socket, sys, time
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).recv(1)
time.sleep(0.1)
"""


def test_remedies_are_tried_on_a_server_under_load(tmp_path):
    (tmp_path / "pins.py").write_text(PINS)
    (tmp_path / "connects.py").write_text(CONNECTS)
    spec = run.specify_trials(
        programs.resolve([sys.executable, str(tmp_path / "pins.py"), "{port}"]),
        catalog.parse("glibc")[0],
        [residence_of(pinned=40 * MB, live=MB)],
        seconds=1,
        budget=9,
        timeout=None,
        stdin=False,
        server=Server(
            ready="tcp",
            load=programs.resolve([sys.executable, str(tmp_path / "connects.py"), "{port}"]),
            stop=STOP,
            ready_within=30,
            has_port=True,
            loads=2,
            requests=1,
        ),
    )
    with Folder.create(tmp_path / "trials", spec) as folder:
        trials = run.run(folder, Listener())
    (first,) = trials.tried
    assert first.change.name == "malloc_trim now and then"
    assert trials.baseline > 30 * MB
    assert first.settled < 0.7 * trials.baseline
    assert (first.cpu.metric, first.requests.metric) == ("cpu_per_request", "throughput")
    done = reap("rss", "--try", "--resume", "trials", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "malloc_trim now and then: requests per second " in " ".join(done.stdout.split())


def test_a_server_is_loaded_once_to_know_what_a_run_takes(tmp_path):
    (tmp_path / "connects.py").write_text(CONNECTS)
    (tmp_path / "pins.py").write_text(PINS)
    done = reap(
        *("rss", "--try", "--budget", "0.1", "--seconds", "0.3", "-o", "x.csv"),
        *("--server", f"{sys.executable} pins.py {{port}}", "--ready", "tcp"),
        *("--load", f"{sys.executable} connects.py {{port}}"),
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "has no time for a trial" in done.stderr
