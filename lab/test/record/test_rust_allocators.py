"""Rust programs into which a crate links jemalloc or snmalloc: recorded, run and checked."""

import functools
import json
from pathlib import Path

import pytest
from building import OUT, compiled
from causes import prefixed_jemalloc
from lab.test.record.outside import NEEDS_UPROBES, recorded
from programs import reap

from reap.base.errors import ExitCode

pytestmark = pytest.mark.slow

CRATE = Path(__file__).parents[1] / "targets" / "allocators"
ROUNDS = "3000"
SITES = {"take_box": 1001, "take_zeroed": 2002, "grow": 3003}
"""Functions of the crate, each with the size of what it allocates."""


@functools.cache
def program(allocator):
    build = f"cargo build --release --locked --quiet --features {allocator} --target-dir {OUT}-build"
    made = f"mv {OUT}-build/release/linked-allocators {OUT} && rm -r {OUT}-build"
    if allocator == "jemalloc":
        # Debian's jemalloc under the crate's names, in place of a build of some minutes. It has C++.
        build = f"JEMALLOC_OVERRIDE={prefixed_jemalloc('_rjem_')} RUSTFLAGS='-l stdc++' {build}"
    return compiled(f"rust-{allocator}", ["bash", "-c", f"{build} && {made}"], tree=CRATE)


@pytest.mark.parametrize("allocator", ["jemalloc", "snmalloc"])
@NEEDS_UPROBES[0]
@NEEDS_UPROBES[1]
def test_its_calls_are_estimated_beside_the_recording(tmp_path, allocator):
    done = reap("record", "-o", "v.reap", "--", program(allocator), ROUNDS, cwd=tmp_path)
    seen = recorded(done, tmp_path / "v.reap").linked
    assert f"note: calls of {allocator} in rust-{allocator} are estimated by uprobes" in done.stderr
    assert seen is not None
    sizes = {site.function.rpartition("::")[2]: site.bytes / site.objects for site in seen.sites}
    assert {name: sizes.get(name) for name in SITES} == SITES


@pytest.mark.parametrize("allocator", ["jemalloc", "snmalloc"])
def test_a_check_does_not_pass_on_what_it_did_not_measure(tmp_path, allocator):
    done = reap("check", "--max-live-at-exit", "1GB", "--", program(allocator), ROUNDS, cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_MEASURED, done.stderr
    assert allocator in done.stdout + done.stderr


@pytest.mark.parametrize("allocator", ["jemalloc", "snmalloc"])
def test_a_run_names_it(tmp_path, allocator):
    words = ["run", "--json", "answer.json", "--budget", "2", "--", program(allocator), "500"]
    done = reap(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert allocator in json.dumps(json.loads((tmp_path / "answer.json").read_text()))
