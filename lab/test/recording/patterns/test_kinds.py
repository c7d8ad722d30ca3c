"""Patterns of real programs, each beside the change that removes it and programs that only look like it."""

import pytest
from building import OUT, compiled
from recorded import TARGETS, Recorded, recorded, recorded_as, target

from reap import native
from reap.recording.analyse.patterns.unoptimized import is_optimized


def kinds(done: Recorded) -> list[str]:
    assert done.outcome.status == 0, done.outcome.stderr_tail
    return [pattern.kind for pattern in done.profile.patterns]


def run(folder, name, *words, depth="full"):
    return recorded(folder, depth, target(f"patterns/{name}"), *words)


def sampled(folder, name, *words):
    """One allocation in 64 KiB."""
    return recorded_as(
        folder,
        target(f"patterns/{name}"),
        *words,
        depth=native.TRIAGE,
        sampler=native.SAMPLER_NONE,
        period_bytes=1 << 16,
    )


@pytest.mark.parametrize(
    ("mode", "seen"),
    [
        ("line", ["temporaries"]),
        ("reused", []),  # the change that is advised
        ("kept", []),
        ("spread", []),
        ("grown", []),
    ],
)
def test_temporaries_of_one_line(tmp_path, mode, seen):
    done = run(tmp_path, "temporaries", mode)
    assert kinds(done) == seen
    for pattern in done.profile.patterns:
        assert pattern.function == "line"
        assert pattern.location == "patterns/temporaries.cpp:11"
        assert "basic_string" in pattern.via or "operator" in pattern.via
        share = pattern.figures["share_of_objects"]
        assert share.exact
        assert share.value > 0.98


def test_temporaries_are_seen_in_few_samples_with_their_interval(tmp_path):
    """So few that no shares of sites are reported."""
    done = sampled(tmp_path, "temporaries", "line", "60000")
    assert done.profile.sites == []
    assert kinds(done) == ["temporaries"]
    share = done.profile.patterns[0].figures["share_of_objects"]
    assert not share.exact
    assert 0.5 <= share.low <= 0.999
    assert share.high >= 0.98  # one interval of 20 does not have the truth, and is near it


@pytest.mark.parametrize("mode", ["reused", "kept", "spread", "grown"])
def test_what_only_looks_like_temporaries_is_none_in_samples(tmp_path, mode):
    assert kinds(sampled(tmp_path, "temporaries", mode)) == []


@pytest.mark.parametrize(
    ("mode", "step", "function"),
    [
        ("reserve", 32, "reserve"),
        ("in-turn", 32, "reserve"),
        ("realloc", 48, "lengthen"),
        ("doubling", 0, ""),  # the change that is advised
        ("one-by-one", 0, ""),
        ("with-head", 0, ""),
    ],
)
def test_growth_by_a_constant_step(tmp_path, mode, step, function):
    done = run(tmp_path, "constant_growth", mode)
    assert kinds(done) == (["constant-growth"] if step else [])
    for pattern in done.profile.patterns:
        assert pattern.function == function
        assert pattern.figures["step"].value == step
        assert pattern.figures["steps"].value > 7900
        assert pattern.figures["share_of_bytes"].value > 0.99


@pytest.mark.parametrize(("mode", "step"), [("reserve", 32), ("realloc", 48), ("noted", 48)])
def test_growth_by_a_constant_step_is_seen_in_samples(tmp_path, mode, step):
    """A thread's clock says how much it allocated until the sampled block was freed: a small block, too."""
    done = sampled(tmp_path, "constant_growth", mode)
    assert kinds(done) == ["constant-growth"]
    figures = done.profile.patterns[0].figures
    assert figures["step"].value == step
    assert figures["steps"].low <= 8000 * 1.02
    assert figures["steps"].high >= 8000 * 0.98


@pytest.mark.parametrize("mode", ["doubling", "in-turn", "one-by-one", "with-head"])
def test_what_samples_do_not_decide_is_not_reported(tmp_path, mode):
    """Of buffers that grow in turn the clock shows what both allocate."""
    assert "constant-growth" not in kinds(sampled(tmp_path, "constant_growth", mode))


@pytest.mark.parametrize(
    ("mode", "seen"),
    [
        pytest.param("pool", ["growing-pool"], marks=pytest.mark.timed),
        ("reset", []),  # the change that is advised
        ("table", []),
        ("load", []),
        ("all", []),
    ],
)
def test_a_pool_that_only_grows(tmp_path, mode, seen):
    done = run(tmp_path, "growing_pool", mode)
    assert kinds(done) == seen
    for pattern in done.profile.patterns:
        assert pattern.function.startswith("Arena::grow")
        assert 4 << 20 < pattern.figures["grew"].value < 12 << 20
        assert pattern.figures["most"].value == pytest.approx(16 << 20, rel=0.1)


@pytest.mark.parametrize(
    ("mode", "seen"),
    [
        ("small", ["overflowing-resource"]),
        ("large", []),  # the change that is advised
        ("once", []),
        ("none", []),
        ("pool", ["overflowing-resource"]),
        ("kept", []),  # the change that is advised for a pool
    ],
)
def test_a_resource_that_overflows_upstream(tmp_path, mode, seen):
    done = run(tmp_path, "overflowing_resource", mode)
    assert kinds(done) == seen
    name = "monotonic_buffer_resource" if mode == "small" else "unsynchronized_pool_resource"
    for pattern in done.profile.patterns:
        assert pattern.function == "fill"
        assert name in pattern.statement


def test_of_few_samples_no_bytes_in_use_are_told_of_a_resource(tmp_path):
    """A sample stands for megabytes, and `31.4 MiB in use at once` was said of a kilobyte."""
    done = sampled(tmp_path, "overflowing_resource", "small")
    (pattern,) = done.profile.patterns
    assert "in use at once" not in pattern.statement
    assert pattern.advice.startswith("give the resource a first buffer that holds all of it")


def test_a_program_without_optimisation(tmp_path):
    """The same program with an option, which is what is advised, and without debug information."""
    programs = {
        options: compiled(
            f"patterns{'-'.join(options)}",
            ["g++", *options, "-fno-builtin", TARGETS / "patterns" / "temporaries.cpp", "-o", OUT],
        )
        for options in (("-O0", "-g"), ("-Og", "-g"), ("-O0",))
    }
    seen = {
        options: kinds(recorded(tmp_path, "full", program, "kept")) for options, program in programs.items()
    }
    assert list(seen.values()) == [["unoptimized"], [], []]


@pytest.mark.parametrize(
    ("producer", "optimized"),
    [
        ("GNU C++17 12.2.0 -mtune=generic -march=x86-64 -g", False),
        ("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2 -O0", False),
        ("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O0 -O2", True),
        ("GNU GIMPLE 12.2.0 -mtune=generic -march=x86-64 -g -Os -fltrans", True),
        ("GNU C17 12.2.0", None),
        ("GNU AS 2.40", None),
        ("GNU ", None),
        ("Debian clang version 14.0.6", None),
        ("clang LLVM (rustc version 1.75.0)", None),
        ("", None),
    ],
)
def test_what_the_name_of_a_compiler_says(producer, optimized):
    assert is_optimized(producer) is optimized
