"""The share of time in the allocator, against what leaving the allocator out saves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import paired
import pytest
from programs import linked_library
from recorded import recorded, recorded_as, target

from reap import native
from reap.launch import spawn
from reap.launch.host import sampling
from reap.launch.records import Launch
from reap.recording.analyse.profile import profile
from reap.recording.read import read

LEVELS = (20, 100, 400)
"""Steps of work beside each call: much, some, little time in the allocator."""


def turns(work):
    """About a quarter of a second of the loop."""
    return str(3_000_000 // (100 + work))


@pytest.fixture(scope="module")
def truths():
    """What share of the loop's time goes when malloc and free go."""
    with_, without = ([target("share"), mode] for mode in ("with", "without"))
    with pytest.MonkeyPatch.context() as patch:
        if not sampling.check().kernel:  # what is not seen is not to be there: freed memory stays
            patch.setenv("MALLOC_TRIM_THRESHOLD_", str(1 << 30))
            patch.setenv("MALLOC_TOP_PAD_", str(16 << 20))
        yield {
            work: 1 - paired.ratios([*with_, *words], [*without, *words], pairs=2).mean
            for work in LEVELS
            for words in [[str(work), turns(work)]]
        }


def perf(folder, work):
    return recorded(folder, "triage", target("share"), "with", str(work), turns(work))


def timer(folder, work):
    words = [target("share"), "with", str(work), str(4 * int(turns(work)))]  # it samples four times less
    return recorded_as(folder, *words, depth=native.TRIAGE, sampler=native.SAMPLER_TIMER, period_us=4000)


@pytest.mark.timed
@pytest.mark.parametrize("method", [perf, timer])
def test_the_sampled_share_is_the_share_that_leaving_it_out_saves(tmp_path, truths, method):
    if method is perf and not sampling.check().samples:
        method = timer
    seen = {work: method(tmp_path, work).profile.share for work in LEVELS}
    for work in LEVELS:
        assert seen[work].samples > 30
        # 15 points beside what chance explains: leaving calls out does more to a processor than save them.
        share = seen[work].share
        assert share.low - 0.15 < truths[work] < share.high + 0.15, (work, seen[work], truths)
    much, some, little = (seen[work].share.value for work in LEVELS)
    assert much > some > little
    assert seen[LEVELS[0]].method == method.__name__


@pytest.mark.skipif(sampling.check().samples == 0, reason="perf events are not allowed here")
def test_an_allocator_behind_a_link_has_its_share(tmp_path):
    linked = linked_library(tmp_path)
    words = [target("share"), "with", "20", turns(20)]
    done = recorded(tmp_path, "triage", *words, allocator=linked)
    assert done.recording.images()[0].provider == linked
    assert done.profile.share.share.low > 0.02
    done.path.rename(tmp_path / "elsewhere.reap")
    Path(linked).unlink()  # as on another machine
    moved = profile(read(tmp_path / "elsewhere.reap"), [])
    assert moved.share.share == done.profile.share.share


@pytest.mark.skipif(os.geteuid() != 0 or sampling.check().samples == 0, reason="CPUs are sampled by root")
def test_children_that_end_within_a_period_have_their_share(tmp_path):
    """Many begin, so that the CPUs are sampled, and what else runs there is left out."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            done = recorded(tmp_path, "triage", target("processes"), "brief", "1500")
        finally:
            other.kill()
    assert done.outcome.status == 0
    milliseconds = done.outcome.cpu_ns / 1e6
    assert 0.6 < done.recording.instruction_samples().all / milliseconds < 1.3
    assert done.profile.share.share.low > 0.1


def test_the_recorders_own_time_is_not_the_allocators(tmp_path):
    done = recorded(tmp_path, "full", target("share"), "with", "20", "20000")
    seen = done.recording.instruction_samples()
    # It takes about a third of what the allocator does; without a place of its own it would have none.
    assert 10 * seen.recorder > seen.inside


@pytest.mark.timed
def test_the_c_library_without_symbols_gives_the_same_share(tmp_path):
    """With nothing left but the dynamic symbols the allocator is still found in it."""
    libc = next(
        Path(path) for path in ("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6") if Path(path).exists()
    )
    stripped = tmp_path / "libc.so.6"
    shutil.copy(libc, stripped)
    subprocess.run(["strip", "--strip-all", stripped], check=True)
    shares = []
    for folder in ("", str(tmp_path)):
        variables = {"LD_LIBRARY_PATH": folder} if folder else {}
        words = [target("share"), "with", "40", str(4 * int(turns(40)))]
        done = recorded(tmp_path, "triage", *words, environment=variables)
        assert done.outcome.status == 0
        shares.append(done.profile.share.share.value)
    # Two runs on a busy machine differ; an allocator that was not found would show next to nothing.
    assert abs(shares[0] - shares[1]) < 0.15, shares


LOOP = "i=0; while [ $i -lt 100 ]; do {program} with 4 300 & {program} with 4 300; wait $!; i=$((i+1)); done"


def test_the_timer_kills_no_program_that_forks_and_becomes_another(tmp_path):
    # A tick every 50 us: many fall between fork and exec, and into the start of the new program.
    script = "set -e; " + LOOP.format(program=target("share"))
    done = recorded_as(
        tmp_path, "/bin/sh", "-c", script, depth=native.TRIAGE, sampler=native.SAMPLER_TIMER, period_us=50
    )
    assert done.outcome.status == 0, done.outcome
    # A fork and an exec for each in the background, and at least the exec for each in front.
    assert len(done.recording.images()) >= 301
    assert not done.recording.damage()


def test_the_timer_leaves_programs_with_handlers_of_their_own_alone(tmp_path):
    done = recorded_as(
        tmp_path,
        target("fragile"),
        "signals",
        depth=native.TRIAGE,
        sampler=native.SAMPLER_TIMER,
        period_us=1000,
    )
    assert done.outcome.status == 0
    plain = spawn.run(Launch(argv=[target("fragile"), "signals"], program=target("fragile")))
    assert done.outcome.stdout_digest == plain.stdout_digest


@pytest.mark.parametrize(
    "words", [("stacks",), ("handlers",), ("jump",), ("fibers",), ("resets",)], ids=lambda words: words[0]
)
def test_fragile_programs_do_not_notice_the_timer(tmp_path, words):
    argv = [target("fragile"), *words]
    plain = spawn.run(Launch(argv=argv, program=argv[0]))
    done = recorded_as(tmp_path, *argv, depth=native.FULL, sampler=native.SAMPLER_TIMER, period_us=1000)
    assert (done.outcome.status, done.outcome.stdout_digest) == (0, plain.stdout_digest)
