"""`reap record` watches calls of linked allocators by uprobes, beside the recorder."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from building import OUT, compiled
from lab.test.record.outside import NEEDS_UPROBES
from programs import reap, reap_command

from reap.base.errors import ExitCode
from reap.recording import read
from reap.recording.analyse import notes
from reap.recording.analyse.profile import profile

TEXT = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <time.h>
    const char said[] = "<jemalloc>: Error";
    static char heap[1 << 16];
    static size_t used;
    __attribute__((noinline)) void *app_je_malloc(size_t size) {
        used = (used + size) % (1 << 15);
        return heap + used;
    }
    __attribute__((noinline)) void app_je_free(void *block) { *(char *)block = 1; }
    __attribute__((noinline)) char *take(void) { return (char *)app_je_malloc(24) + 1; }
    int main(int count, char **words) {
        int rounds = atoi(words[1]);
        for (int i = 0; i < rounds; i++) {
            struct timespec pause = {0, 200000};
            app_je_free(take());
            if (i % 10 == 0) free(malloc(100));
            nanosleep(&pause, 0);
        }
        printf("%d\\n", rounds + (count > 99 ? said[0] : 0));
        return 7;
    }"""
ROUNDS = 1500
BESIDE = 432
"""Where a header says that a recording has a part from outside."""


def program(*flags):
    command = ["gcc", "-x", "c", "-g", "-O1", "-fno-builtin", "-w", *flags, "-", "-o", OUT]
    return compiled("beside" + "".join(flags), command, text=TEXT)


def record(folder, *options, command=(), **given):
    words = command or (program(), str(ROUNDS))
    return reap("record", "-o", "v.reap", *options, "--", *words, cwd=folder, **given)


def watched(folder, done):
    if "(bpf was refused)" in done.stderr or "(perf_event_open was refused)" in done.stderr:
        pytest.skip("this container has no right to uprobes")
    return profile(read.read(folder / "v.reap"), [])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A recording of the program, what `reap record` said, and its profile."""
    folder = tmp_path_factory.mktemp("linked")
    done = record(folder)
    return folder, done, watched(folder, done)


@pytest.mark.privileged
@NEEDS_UPROBES[1]
class TestWatched:
    def test_the_program_does_what_it_does_alone(self, made):
        _, done, _ = made
        assert (done.returncode, done.stdout) == (7, f"{ROUNDS}\n")

    def test_what_malloc_served_stays_exact(self, made):
        seen = made[2]
        assert seen.depth == "full"
        assert seen.totals.total_objects == ROUNDS // 10 + 1  # and a buffer of standard output
        assert seen.attached is None
        assert not any("take" in site.function for site in seen.sites)

    def test_calls_of_the_linked_allocator_are_estimated_from_the_first_instruction_on(self, made):
        linked = made[2].linked
        assert [site.function for site in linked.sites] == ["take"]
        assert linked.sites[0].location.endswith(":13")
        assert linked.attached.from_start
        # Beside busy processes two windows may be all that is seen of so short a program.
        few = 0.05 if linked.attached.share > 0.99 else 3.0
        assert linked.objects == pytest.approx(ROUNDS, rel=few)
        assert linked.bytes == pytest.approx(24 * linked.objects, rel=0.01)
        assert linked.calls["free"] == pytest.approx(linked.objects, rel=few)

    def test_cost_and_coverage_are_said(self, made):
        folder, done, seen = made
        assert "note: calls of jemalloc in beside are estimated by uprobes" in done.stderr
        assert ": each that met a probe cost" in done.stderr
        (own,) = seen.unrecorded_allocators
        assert own.watched
        (note,) = [each for each in seen.notes if "app_je_malloc" in each]
        assert "estimated by uprobes" in note
        assert "no limit of a check" in note
        shown = reap("show", "v.reap", "--html", "s.html", "--json", "s.json", cwd=folder)
        assert "Linked allocators  watched by uprobes" in shown.stdout
        assert "Sites of linked allocators" in (folder / "s.html").read_text()
        assert '"linked":{' in (folder / "s.json").read_text().replace(" ", "").replace("\n", "")

    def test_other_verbs_say_it_too(self, tmp_path):
        done = reap("check", "--max-peak", "1G", "--", program(), "300", cwd=tmp_path)
        watched_or_skip = "note: calls of jemalloc in beside are"
        assert watched_or_skip in done.stderr, done.stderr

    def test_names_are_kept_for_both_parts(self, tmp_path):
        copy = tmp_path / "copy"
        copy.write_bytes(Path(program()).read_bytes())
        copy.chmod(0o755)
        done = record(tmp_path, command=(str(copy), "500"))
        copy.unlink()
        seen = watched(tmp_path, done)
        assert [site.function for site in seen.linked.sites] == ["take"]

    def test_a_malloc_of_the_executable_that_no_preload_replaces(self, tmp_path):
        text = TEXT.replace("app_je_malloc", "malloc").replace("app_je_free", "free")
        text = text.replace("if (i % 10 == 0) free(malloc(100));", "").replace(
            "#include <stdlib.h>", "int atoi();"
        )
        command = ["gcc", "-x", "c", "-g", "-O1", "-fno-builtin", "-w", "-", "-o", OUT]
        done = record(tmp_path, command=(compiled("beside-malloc", command, text=text), "500"))
        seen = watched(tmp_path, done)
        assert seen.totals.total_objects == 0
        assert "take" in {site.function for site in seen.linked.sites}

    def test_a_time_limit_ends_program_and_watching(self, tmp_path):
        done = record(tmp_path, "--timeout", "1", command=(program(), "1000000"))
        assert done.returncode == ExitCode.TIMED_OUT
        assert watched(tmp_path, done).linked.objects > 10

    def test_full_depth_and_compression(self, tmp_path):
        done = record(tmp_path, "--depth", "full", "--compress", command=(program(), "500"))
        seen = watched(tmp_path, done)
        assert seen.totals.total_objects == 51
        assert seen.linked.objects > 10

    def test_an_earlier_reader_sees_the_recorders_part_alone(self, made, tmp_path):
        """It knows no kind of block that is from outside, and passes over them."""
        folder, _, seen = made
        raw = bytearray((folder / "v.reap").read_bytes())
        raw[BESIDE : BESIDE + 4] = bytes(4)
        (tmp_path / "v.reap").write_bytes(raw)
        old = profile(read.read(tmp_path / "v.reap"), [])
        assert old.totals == seen.totals
        assert old.linked is None


def test_without_rights_the_recording_is_as_before_and_names_what_it_lacks(tmp_path):
    bare = ["setpriv", "--bounding-set=-sys_admin,-perfmon,-bpf"] if os.geteuid() == 0 else []
    words = [*bare, *reap_command(), "record", "-o", "v.reap", "--", program(), "50"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
    seen = profile(read.read(tmp_path / "v.reap"), [])
    assert seen.linked is None
    (note,) = [each for each in seen.notes if "app_je_malloc" in each]
    assert "As root" in note


def test_a_part_of_a_run_has_no_calls_from_outside(tmp_path):
    record(tmp_path, "--stop-at", "phase:none", command=(program(), "50"))
    assert profile(read.read(tmp_path / "v.reap"), []).linked is None


def said_of(**seen):
    every = {"windows": 20, "window_ns": 1e9, "watched_ns": 1e9, "window_cpu_ns": 1e9, "cost_ns": 2e8}
    windows = SimpleNamespace(**{**every, "slowed": 0, "unsampled": 0, "lost": 0, "broken": 0, **seen})
    header = SimpleNamespace(attached=True, from_start=True, attach=windows)
    return " ".join(notes._attached(header, beside=False))


def test_few_windows_are_said_to_be_of_a_part_of_the_run():
    assert "in 1 window, 2.0 % of the time" in said_of(windows=1, window_ns=2e7)
    assert "of that part" not in said_of(windows=1, window_ns=9e8) + said_of(window_ns=2e7)


def test_own_time_by_calibration_alone_is_said_where_estimates_rest_on_it():
    note = "20 of 20 windows the program's own CPU time could not be sampled"
    assert note in said_of(unsampled=20)
    assert "sampled" not in said_of() + said_of(unsampled=20, cost_ns=1e7)
