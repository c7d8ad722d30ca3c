"""How much of a program a recording accounts for."""

import pytest
from programs import compile_c, reap
from recorded import recorded, shell, target

import reap as lab
from reap.recording.analyse.coverage import sentence

HOLDS = """
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <unistd.h>
    int main(int argc, char **argv) {
        const size_t size = 64 << 20;
        void *memory = argc > 1 ? malloc(size) : mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(memory, 1, size);
        usleep(150000);
        return 0;
    }"""  # noqa: E501
DAEMON = """
    #include <stdlib.h>
    #include <unistd.h>
    int main(void) {
        free(malloc(7));
        if (daemon(1, 1) != 0) return 1;
        for (int i = 0; i < 30; i++) usleep(100000);
        return 0;
    }"""


def test_what_is_in_blocks_is_covered_and_what_a_program_maps_itself_is_not(tmp_path):
    program = compile_c("holds", HOLDS, ["-O1"])
    for words, low, high in ((("malloc",), 0.9, 1.1), ((), 0.0, 0.1)):
        held = recorded(tmp_path, "full", program, *words).profile.coverage
        assert (held.processes, held.recorded, held.unrecorded, held.cut) == (1, 1, [], [])
        assert held.anonymous >= 64 << 20
        assert low <= held.live / held.anonymous <= high


@pytest.mark.parametrize("depth", ["triage", "full"])
def test_every_process_counts_and_what_was_not_executed_does_not(tmp_path, depth):
    done = shell(tmp_path, depth, "/bin/true; (/bin/true); /nonexistent/program; none; exec /bin/true")
    held = done.profile.coverage
    assert held.unrecorded == []
    assert held.recorded == held.processes == len(done.profile.processes) >= 4
    assert sentence(held).startswith(f"{held.recorded} of {held.recorded} processes recorded; ")


def test_a_program_that_allocates_nothing_is_recorded_too(tmp_path):
    nothing = compile_c("nothing", "int main(void) { return 0; }", [])
    held = shell(tmp_path, "triage", f"{nothing}; {nothing}; true").profile.coverage
    assert (held.recorded, held.unrecorded) == (3, [])


def test_a_daemon_that_is_left_behind_is_named_and_the_recording_is_not_whole(tmp_path):
    daemon = compile_c("daemon", DAEMON, [])
    done = reap("record", "-o", "d.reap", "--", daemon, cwd=tmp_path)
    assert "note: still running, and still recorded into it: daemon (pid " in done.stderr
    recording = lab.open(tmp_path / "d.reap")
    assert any("still ran when the recording was closed" in reason for reason in recording.missing)


def test_the_program_that_the_loader_runs_is_a_module_of_its_own(tmp_path):
    done = recorded(tmp_path, "full", "/lib64/ld-linux-x86-64.so.2", target("processes"), "leaf")
    assert any("processes" in site.module for site in done.profile.sites), done.profile.sites
