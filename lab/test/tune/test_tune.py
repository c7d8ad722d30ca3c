"""Searching an allocator's settings: the decisions, the search itself, and real programs."""

import json
import math
import re

import msgspec
import pytest
from lab.test.tune.machine import GLIBC, Machine, finding, search
from marked import INCLUDE
from programs import program, reap
from recorded import target
from samples import ratio_of

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.base.errors import ReapError
from reap.base.records import Estimate
from reap.experiment import sequential
from reap.experiment.folder import Folder, read_runs
from reap.experiment.runner import InterruptedRunError, Listener
from reap.experiment.spec import Option
from reap.experiment.specify import Conditions
from reap.tune import numa, plan, words
from reap.tune import run as tuning
from reap.tune import spec as tune_spec
from reap.tune.records import Finding, Look

LOOK = Look(cpu=1, wall=1, system_share=0.2, parallel=1, minor_faults=9, peak_resident=1 << 20)


# --- the decisions ----------------------------------------------------------------------------------------


def option(name, *, words=1, may=("cpu",), sign="", milder=()):
    said = {f"{name}{number}": "1" for number in range(words)}
    return Option(name=name, about=name, words=said, may=list(may), sign=sign, milder=list(milder))


def scores(**ratios):
    return lambda name, what: math.log(ratios.get(name, 1.0)) if what == "cpu" else 0.0


STILL = {"cpu": 0.0, "tail": 0.0, "memory": 0.0}


def test_what_the_first_run_speaks_for_is_tried_first_and_the_rest_left_out():
    every = [option("user", sign="user"), option("system", sign="system"), option("threads", sign="threads")]
    busy = msgspec.structs.replace(LOOK, system_share=0.7, parallel=1.5)
    assert [each.name for each in plan.first(every, ["cpu"], busy, 99)] == ["system", "threads", "user"]
    assert [each.name for each in plan.first(every, ["cpu"], LOOK, 13)] == ["user", "system"]
    assert plan.first(every, ["memory"], LOOK, 99) == []


def test_the_best_are_tried_again_with_milder_forms_and_together():
    milder = option("mild")
    every = [option("a", milder=[milder]), option("b"), option("c"), option("d")]
    score = scores(a=0.5, b=0.7, c=0.97, d=1.1)
    again = plan.second(every, ["cpu"], score, STILL, 61)
    assert [each.name for each in again] == ["a", "a and b", "mild", "b", "c"]
    assert again[1].words == {"a0": "1", "b0": "1"}
    still = plan.second(every, ["cpu"], scores(), STILL, 61)
    assert [each.name for each in still] == ["a", "b", "c"], "nothing is promising: no form of it either"


def test_settings_that_contradict_each_other_are_not_put_together():
    high, low = option("high"), option("low")
    low = msgspec.structs.replace(low, words={"high0": "0"})
    assert plan.union([high, low]) is None


def test_of_what_is_as_good_the_one_is_chosen_that_costs_and_sets_least():
    every = [option("hungry"), option("long", words=3), option("short", words=2), option("poor")]
    every.append(msgspec.structs.replace(option("choosy"), needs="huge pages"))
    ratios = {"hungry": 0.50, "long": 0.49, "short": 0.51, "poor": 0.8, "choosy": 0.49}

    def score(name, what):
        return math.log(ratios[name]) if what == "cpu" else (0.6 if name == "hungry" else 0.0)

    assert plan.choice(every, "cpu", score, STILL).name == "short"
    assert plan.choice([], "cpu", score, STILL) is None


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict", "standing", "said"),
    [
        (0.9, 0.88, 0.92, "better", "gain", "CPU time: one arena helps: 10.0 % less (8.0 to 12.0 % less)"),
        (
            0.96,
            0.95,
            0.97,
            "better",
            "costly",
            "(one arena), confirmed: 4.0 % less (3.0 to 5.0 % less), which does not pay for its memory",
        ),
        (
            0.99,
            0.985,
            0.995,
            "better",
            "none",
            "(one arena), confirmed: 1.0 % less (0.5 to 1.5 % less), too little",
        ),
        (
            1.126,
            1.02,
            1.24,
            "worse",
            "none",
            "(one arena), confirmed: 12.6 % more (2.0 to 24.0 % more), worse",
        ),
        (
            1.0,
            0.9,
            1.1,
            "inconclusive",
            "inconclusive",
            "the same (10.0 % less to 10.0 % more), inconclusive",
        ),
    ],
)
def test_a_result_is_told_as_a_change(value, low, high, verdict, standing, said):
    ratio = msgspec.structs.replace(
        ratio_of("cpu", value), ratio=Estimate(value=value, low=low, high=high), verdict=verdict
    )
    found = Finding(objective="cpu", metric="cpu", name="one arena", ratio=ratio, standing=standing)
    assert said in words.verdict(found)


def test_few_runs_confirm_few():
    chosen = {"cpu": option("a"), "memory": option("b")}

    def score(_name, what):
        return math.log(0.9 if what == "cpu" else 0.5)

    assert list(plan.finalists(chosen, score, STILL, 20)) == ["memory", "cpu"]
    assert list(plan.finalists(chosen, score, STILL, 19)) == ["memory"]
    restless = {"cpu": 0.7, "tail": 0.7, "memory": 0.7}
    assert list(plan.finalists(chosen, score, restless, 20)) == ["cpu"], "one is confirmed anyway"


# --- the search, on a machine whose programs cost what we say ----------------------------------------------


def test_a_short_program_has_no_winner_in_time_and_is_told_milliseconds(tmp_path):
    tuned = search(tmp_path, cpu={"mxfast=0": 0.5}, memory={"arena_max=1": 0.5}, noise=0.0, length=2e6)
    time = finding(tuned, "cpu")
    assert not time.wins
    assert words.verdict(time) == (
        "CPU time: the program is too short to tell; the best candidate (no fastbins) takes 1.00 ms less"
    )
    assert any(note.startswith("true takes 2.00 ms of CPU time. Below 20.0 ms") for note in tuned.notes)
    assert finding(tuned, "memory").wins, "memory has no such floor"
    assert words.headline(tuned) == "a setting helps: one arena"
    alone = search(tmp_path, name="f", cpu={"mxfast=0": 0.5}, objectives=["cpu"], noise=0.0, length=2e6)
    assert words.headline(alone) == "inconclusive: the program is too short to compare settings on it"


def test_load_is_told_where_a_setting_is_inconclusive(tmp_path, monkeypatch):
    monkeypatch.setattr("reap.launch.host.load.watch", lambda: lambda: 0.7)
    tuned = search(tmp_path, cpu={"mxfast=0": 0.93}, noise=0.08, objectives=["cpu"], seed=3)
    assert tuned.others == pytest.approx(0.7)
    assert words.load(tuned).startswith("Other programs used 70 % of the cores' time")
    assert words.load(msgspec.structs.replace(tuned, others=0.01)) == ""


@pytest.mark.parametrize("word", ["tcache_count=10", "mxfast=0", "trim_threshold=1073741824", "hugetlb=1"])
def test_the_setting_that_helps_is_found(tmp_path, word):
    tuned = search(tmp_path, cpu={word: 0.6}, noise=0.02)
    assert finding(tuned, "cpu").wins
    assert word in finding(tuned, "cpu").environment["GLIBC_TUNABLES"]
    assert 0.5 < finding(tuned, "cpu").ratio.ratio.value < 0.7
    assert not finding(tuned, "memory").wins
    assert tuned.runs < 37
    assert tuned.runs == len(read_runs(tmp_path / "e" / "runs.jsonl")[0])


def test_two_that_help_are_found_together(tmp_path):
    tuned = search(tmp_path, cpu={"mxfast=0": 0.7, "hugetlb=1": 0.7}, objectives=["cpu"])
    words = finding(tuned, "cpu").environment["GLIBC_TUNABLES"].split(":")
    assert sorted(words) == ["glibc.malloc.hugetlb=1", "glibc.malloc.mxfast=0"]


def test_what_is_to_be_pasted_has_the_allocator_whose_setting_it_is(tmp_path):
    library = tmp_path / "libjemalloc.so"
    library.write_bytes(b"\0narenas\0")
    chosen = Allocator(name="jemalloc", library=str(library))
    tuned = search(tmp_path, allocator=chosen, memory={"narenas:1": 0.5})
    said = words.command(tuned, finding(tuned, "memory"))
    assert said == f"LD_PRELOAD={library} MALLOC_CONF=narenas:1 /bin/true"


def test_each_objective_has_its_own_winner(tmp_path):
    tuned = search(tmp_path, cpu={"mxfast=0": 0.7, "arena_max": 1.3}, memory={"arena_max=1": 0.4})
    assert finding(tuned, "cpu").name == "no fastbins"
    assert finding(tuned, "memory").name == "one arena"
    assert tuned.level == pytest.approx(0.975), "two are confirmed at once"
    assert finding(tuned, "memory").beside["cpu"].verdict == "worse"


def test_where_nothing_helps_nothing_wins(tmp_path):
    """Half of the searches would have a best of many that is 2 % better by chance alone."""
    won = 0
    for seed in range(25):
        tuned = search(tmp_path, name=f"e{seed}", noise=0.03, seed=seed)
        won += any(each.wins for each in tuned.findings)
    assert won <= 2


def test_settings_are_to_be_left_alone_only_where_the_search_would_have_seen_a_gain(tmp_path):
    still = search(tmp_path, name="still", noise=0.001)
    assert words.headline(still) == "leave the settings alone: none of glibc's helps"
    restless = search(tmp_path, name="restless", noise=0.08)
    assert restless.conclusion == "inconclusive"


def test_what_was_better_only_while_it_was_chosen_does_not_win(tmp_path):
    tuned = search(tmp_path, objectives=["cpu"], cpu={"mxfast=0": 0.5}, until=2)
    assert finding(tuned, "cpu").name == "no fastbins"
    assert finding(tuned, "cpu").ratio.ratio.value > 0.95
    assert not finding(tuned, "cpu").wins


def test_little_memory_is_no_gain(tmp_path):
    """Of 1.5 MB, 8 % is what the kernel's way of counting makes of nothing; of 15 MB it is a gain."""
    small, large = {"arena_max=1": 0.92, "": 0.015}, {"arena_max=1": 0.92, "": 0.15}
    none = search(tmp_path, objectives=["memory"], memory=small)
    assert finding(none, "memory").better
    assert not finding(none, "memory").wins
    assert finding(search(tmp_path, name="f", objectives=["memory"], memory=large), "memory").wins


def test_a_setting_that_breaks_the_program_is_given_up_and_told(tmp_path):
    odd = {
        "mxfast=0": {"signal": 11},
        "hugetlb=1": {"stdout_digest": "other"},
        "arena_max=1": {"exit_code": 3},
    }
    tuned = search(tmp_path, cpu={"mxfast=0": 0.1, "hugetlb=1": 0.1, "arena_max": 0.1}, odd=odd)
    problems = {each.name: each.problem for each in tuned.trials if each.problem}
    assert problems.keys() == {"no fastbins", "huge pages", "one arena"}
    assert "SIGSEGV" in problems["no fastbins"]
    assert tuned.differs
    assert any("sh -c 'exec \"$@\" >/dev/null' sh /bin/true" in note for note in tuned.notes)
    assert not any(each.wins for each in tuned.findings)
    assert all(each.rounds == 1 for each in tuned.trials if each.problem), "it is not run again"


def test_a_round_in_which_the_program_itself_fails_counts_for_nothing(tmp_path):
    class Fragile(Machine):
        def start(self, cell, *, probe):
            started = super().start(cell, probe=probe)
            if cell.environment or cell.repeat not in (0, 3) or not cell.control:
                return started
            crashed = msgspec.structs.replace(started.outcome, signal=11, user_ns=1)
            return msgspec.structs.replace(started, outcome=crashed)

    spec = tune_spec.specify_search(["/bin/true"], GLIBC, ["cpu"])
    with Folder.create(tmp_path / "e", spec) as folder:
        tuned = tuning.tune(folder, Listener(), Fragile(folder, cpu={"mxfast=0": 0.6}))
    assert finding(tuned, "cpu").name == "no fastbins"
    assert len(finding(tuned, "cpu").ratio.pairs) == tuned.rounds - 1
    assert any("as it is, the program was ended by SIGSEGV" in note for note in tuned.notes)


def test_a_word_that_the_allocator_complains_of_is_given_up(tmp_path):
    told = {"stderr_tail": "WARNING: ld.so: invalid GLIBC_TUNABLES value `0'\n"}
    tuned = search(tmp_path, cpu={"mxfast=0": 0.1}, odd={"mxfast=0": told})
    trial = next(each for each in tuned.trials if each.name == "no fastbins")
    assert "does not know it: WARNING" in trial.problem
    assert not tuned.differs


def test_a_search_that_was_stopped_goes_on_as_it_would_have(tmp_path):
    helped = {"cpu": {"mxfast=0": 0.6}, "noise": 0.0}
    whole = search(tmp_path, name="whole", **helped)
    with pytest.raises(InterruptedRunError, match="14 runs that ended") as stopped:
        search(tmp_path, name="cut", stop_at=14, **helped)
    assert f"reap tune --resume {tmp_path}/cut" in stopped.value.hint
    with Folder.resume(tmp_path / "cut") as folder:
        again = tuning.tune(folder, Listener(), Machine(folder, **helped))
    assert msgspec.structs.replace(again, others=whole.others) == whole
    one, other = (read_runs(tmp_path / name / "runs.jsonl")[0] for name in ("whole", "cut"))
    assert [run.cell for run in one] == [run.cell for run in other]


def test_the_confirmation_ends_once_it_is_decided(tmp_path):
    tuned = search(tmp_path, cpu={"mxfast=0": 0.7}, noise=0.02, runs=150, objectives=["cpu"])
    assert tuned.decided
    assert (tuned.rounds, tuned.widening) == (sequential.LOOKS[0], sequential.WIDENING)
    assert finding(tuned, "cpu").wins
    assert tuned.runs < 130
    assert "6 separate paired rounds, after the choice (stopped: all decided)" in words.confirmation(tuned)


def test_the_confirmation_goes_on_while_it_is_open_and_no_wider_intervals_where_it_is_not_looked_at(tmp_path):
    tuned = search(tmp_path, cpu={"mxfast=0": 0.98}, noise=0.2, runs=150, objectives=["cpu"])
    assert not tuned.decided
    assert tuned.rounds > sequential.LOOKS[1]
    assert finding(tuned, "cpu").is_open
    few = search(tmp_path, name="few", cpu={"mxfast=0": 0.7}, objectives=["cpu"])
    assert (few.decided, few.widening) == (False, 1)


def test_a_search_may_be_given_more_runs_which_confirm(tmp_path):
    slow = {"cpu": {"mxfast=0": 0.9}, "noise": 0.08, "objectives": ["cpu"]}
    before = search(tmp_path, **slow)
    runs, _ = read_runs(tmp_path / "e" / "runs.jsonl")
    with Folder.resume(tmp_path / "e") as folder:
        with pytest.raises(ReapError, match="has 36 runs already"):
            folder.extend_search(36)
        folder.extend_search(100)
        after = tuning.tune(folder, Listener(), Machine(folder, cpu=slow["cpu"], noise=0.08, seed=2))
    assert read_runs(tmp_path / "e" / "runs.jsonl")[0][: len(runs)] == runs
    assert after.rounds > before.rounds
    assert after.trials == before.trials, "the search is as it was"
    assert finding(after, "cpu").wins
    assert any("runs were added after 36" in note for note in after.notes)
    assert after.runs <= 100


def test_every_run_has_as_long_an_environment(tmp_path):
    """Its length moves the stack: a setting must not win for the length of its name."""
    words_and_pointers = "echo $(($(env -0 | wc -c) + 8 * $(env -0 | tr -cd '\\0' | wc -c)))"
    command = ["/bin/sh", "-c", words_and_pointers]
    spec = tune_spec.specify_search(command, GLIBC, ["cpu"], 28)
    with Folder.create(tmp_path / "e", spec) as folder:
        tuned = tuning.tune(folder)
    assert not tuned.stdout_varies
    assert not tuned.differs


@pytest.mark.parametrize(
    ("command", "allocator", "runs", "said"),
    [
        ([program("peak_static"), "1"], GLIBC, 36, "statically linked"),
        (["/bin/true"], Allocator(name="snmalloc", library="/x.so"), 36, "no settings of snmalloc are known"),
        (["/bin/true"], GLIBC, 27, "27 runs are too few"),
        (["no-such-program"], GLIBC, 36, "no such command"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_runs(command, allocator, runs, said):
    with pytest.raises(ReapError, match=said) as error:
        tune_spec.specify_search(command, allocator, ["cpu"], runs)
    assert error.value.hint


def test_a_program_with_a_malloc_of_its_own_is_refused(tmp_path):
    spec = tune_spec.specify_search([program("own_malloc")], GLIBC)
    with (
        Folder.create(tmp_path / "e", spec) as folder,
        pytest.raises(ReapError, match="brings its own malloc"),
    ):
        tuning.tune(folder)


def test_a_program_is_placed_on_nodes_where_there_are_some(tmp_path, monkeypatch):
    """By numactl, of which this one only says that it was there."""
    monkeypatch.setattr(numa, "nodes", lambda: 2)
    tool = tmp_path / "numactl"
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    spec = tune_spec.specify_search(["/bin/true"], GLIBC, ["cpu"], 36)
    assert "numactl is not installed" in spec.tune.notes[-1]
    tool.write_text('#!/bin/sh\nfor word; do case $word in --*) ;; *) exec "$@" ;; esac; shift; done\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    spec = tune_spec.specify_search(["/bin/echo", "it ran"], GLIBC, ["cpu"], 40)
    with Folder.create(tmp_path / "e", spec) as folder:
        tuned = tuning.tune(folder)
    placed = {each.name: each for each in tuned.trials if each.command}
    assert placed["interleave nodes"].command == ["numactl", "--interleave=all"]
    assert placed["one node"].same_output
    assert not tuned.differs


@pytest.mark.parametrize(("said", "count"), [("0\n", 1), ("0-3\n", 4), ("0,2-3\n", 3), ("", 1)])
def test_nodes_with_memory_are_counted(tmp_path, monkeypatch, said, count):
    (tmp_path / "has_memory").write_text(said)
    monkeypatch.setattr(numa, "_NODES", tmp_path / "has_memory")
    assert numa.nodes() == count


# --- real programs; those whose winner is known are in truth/settings.py ----------------------------------


def tunable():
    return target("tunable", f"-I{INCLUDE}")


def searched(where, words, objective, allocator="glibc"):
    (chosen,) = catalog.parse(allocator)
    spec = tune_spec.specify_search(
        [tunable(), *words], chosen, [objective], conditions=Conditions(timeout=60, pairing="auto")
    )
    with Folder.create(where / "e", spec) as folder:
        return tuning.tune(folder)


@pytest.mark.timed
def test_the_tail_is_that_of_marked_requests(tmp_path):
    spec = tune_spec.specify_search([tunable(), "served", "60", "200"], GLIBC)
    with Folder.create(tmp_path / "e", spec) as folder:
        tuned = tuning.tune(folder)
    tail = finding(tuned, "tail")
    assert tail.metric == "request_p99"
    assert tail.wins, "none of them waits for a thousand pages any more"
    assert len(tuned.findings) == 3, "beside CPU time and memory, unasked"


def test_without_marks_wall_time_stands_for_the_tail(tmp_path):
    tuned = search(tmp_path, objectives=["tail"])
    assert tuned.findings[0].metric == "wall"
    assert any("too few requests for a tail" in note for note in tuned.notes)
    assert [each.objective for each in search(tmp_path, name="f", objectives=()).findings] == [
        "cpu",
        "memory",
    ]


def test_what_there_are_no_runs_to_confirm_is_told(tmp_path):
    tuned = search(tmp_path, runs=28, cpu={"mxfast=0": 0.5}, memory={"arena_max=1": 0.7})
    assert finding(tuned, "cpu").wins
    assert "not confirmed, too few runs; the best seemed one arena" in finding(tuned, "memory").why_not


@pytest.mark.timed
def test_a_winner_that_gains_much_is_found_beside_load(tmp_path):
    """So much that no other load on the machine hides it."""
    (found,) = searched(tmp_path, ["top", "600", "60"], "cpu").findings
    assert found.wins, found
    assert re.search("trim_threshold|top_pad", " ".join(found.environment.values()))


def test_the_command(tmp_path):
    files = ["--json", "t.json", "--html", "t.html", "-o", "x"]
    done = reap(
        *("tune", "--for", "memory", "--runs", "28", *files, "--", tunable(), "arenas", "8", "1000"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "arena_max=1 " in done.stdout
    assert "next: reap run -- " in done.stderr
    answer = json.loads((tmp_path / "t.json").read_text())["answers"][0]["tuned"]
    assert answer["findings"][0]["environment"] == {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}
    assert "arena_max=1" in (tmp_path / "t.html").read_text()
    again = reap("tune", "--resume", "x", cwd=tmp_path)
    assert again.stdout == done.stdout, "nothing is run again"
    other = reap("compare", "--resume", "x", cwd=tmp_path)
    assert other.returncode == 2
    assert "go on with: reap tune --resume" in other.stderr
    changed = reap("tune", "--resume", "x", "--for", "cpu", cwd=tmp_path)
    assert "it takes no --for" in changed.stderr
    refused = reap("tune", "--resume", "x", "--runs", "28", cwd=tmp_path)
    assert refused.returncode == 2
    assert "the experiment has 28 runs already" in refused.stderr
    more = reap("tune", "--resume", "x", "--runs", "32", cwd=tmp_path)
    assert more.returncode == 0, more.stderr
    assert "runs were added after 28" in " ".join(
        reap("tune", "--resume", "x", "--details", cwd=tmp_path).stdout.split()
    )
