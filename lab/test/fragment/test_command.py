"""`reap fragment` as its user meets it: messages, exit statuses, and the profile that it records."""

import json
import subprocess

import pytest
from lab.test.fragment.littered import (
    PROFILE,
    litter,
    run,
    target,
)
from programs import compile_c, library, program, reap

from reap.base.errors import ExitCode


def test_a_report_that_the_program_overwrites_is_not_believed(profile):
    done = run(litter(), program("scribbles"))
    assert done.overwritten
    assert (done.outcome, done.litterings) == (done.gross, [])
    told = reap("fragment", "--litter", f"profile={profile}", "--", program("scribbles"))
    assert told.returncode == 3
    assert "the program overwrote what its littering reported" in " ".join(told.stderr.split())


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(PROFILE))
    return str(path)


def test_the_command_says_what_the_program_says_and_takes_the_profile_first(tmp_path):
    files = ["--json", str(tmp_path / "a.json"), "--save-profile", str(tmp_path / "p.json")]
    done = reap("fragment", "--level", "adv1", *files, "--", program("busy"), "x")
    assert done.stdout == reap_free(program("busy"), "x")
    assert done.returncode == 0
    answer = json.loads((tmp_path / "a.json").read_text())
    assert answer["litter"]["level"]["name"] == "adv1"
    assert answer["run"]["litterings"][0]["objects"] == round(answer["profile"]["peak"]["value"])
    assert answer["notes"] == []
    again = reap("fragment", "--litter", f"profile={tmp_path}/p.json", "--", program("busy"), "x")
    assert again.stdout == done.stdout
    assert "On a heap littered at adv3, under glibc" in again.stderr
    beside = f"next: reap fragment --level adv0 --litter profile={tmp_path}/p.json -- {program('busy')} x"
    assert beside in again.stderr, "the same on a clean heap"


def reap_free(*argv: str) -> str:
    """What a program prints without us."""
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_the_command_gives_both_runs_the_same_input():
    done = reap(
        "fragment",
        "--",
        "/usr/bin/perl",
        "-ne",
        "$n += length; END { print $n }",
        stdin=None,
        input="a\n" * 5000,
    )
    assert done.stdout == "10000"


def test_the_command_ends_as_the_program_ends(profile):
    assert reap("fragment", "--litter", f"profile={profile}", "--", target("careless")).returncode == 3
    assert reap("fragment", "--litter", f"profile={profile}", "--", target("dies")).returncode == 128 + 6
    late = reap("fragment", "--litter", f"profile={profile}", "--timeout", "0.2", "--", "/bin/sleep", "9")
    assert late.returncode == ExitCode.TIMED_OUT
    unknown = reap("fragment", "--timeout", "0.2", "--", "/bin/sleep", "9")
    assert unknown.returncode == ExitCode.TIMED_OUT
    assert "/bin/sleep, whose size profile was taken, did not end within 0.2 s" in unknown.stderr


def test_threads_that_do_not_come_are_pointed_out(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**PROFILE, "threads": 4}))
    few = reap("fragment", "--litter", f"profile={path}", "--", target("threads"), "1")
    assert "50 % of the litter was laid" in " ".join(few.stderr.split())
    enough = reap("fragment", "--litter", f"profile={path}", "--", target("threads"), "3")
    assert "of the litter was laid" not in " ".join(enough.stderr.split())
    alone = reap(
        "fragment", "--litter", f"profile={path}", "--litter", "threads=no", "--", target("threads"), "1"
    )
    assert "of the litter was laid" not in " ".join(alone.stderr.split())


# Forks before it creates threads, as a server does; as many as it is told, in each of two children.
FORKS = r"""
    #include <pthread.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static void *work(void *given) { free(malloc(100)); return given; }
    int main(int count, char **words) {
        for (int child = 0; child < 2; child++)
            if (!fork()) {
                for (int i = 0; i < atoi(words[1]); i++) {
                    pthread_t one;
                    pthread_create(&one, 0, work, 0);
                    pthread_join(one, 0);
                }
                _exit(0);
            }
        while (wait(0) > 0) {}
        return 0;
    }"""


def test_threads_of_a_forked_process_have_the_rest_of_its_parent_s_litter(tmp_path):
    path, forks = tmp_path / "p.json", compile_c("forks-first", FORKS, ["-O1", "-fno-builtin", "-pthread"])
    path.write_text(json.dumps({**PROFILE, "threads": 4}))
    whole = reap("fragment", "--litter", f"profile={path}", "--", forks, "3")
    assert "of the litter was laid" not in " ".join(whole.stderr.split())
    few = reap("fragment", "--litter", f"profile={path}", "--", forks, "2")
    assert "75 % of the litter was laid" in " ".join(few.stderr.split())


def test_a_profile_of_another_program_is_pointed_out(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**PROFILE, "program": "/usr/bin/perl"}))
    done = reap("fragment", "--litter", f"profile={path}", "--", program("busy"))
    assert "the profile is of perl, not of busy" in " ".join(done.stderr.split())


def test_what_is_left_out_of_the_litter_is_said(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**PROFILE, "left_out": 3, "left_out_bytes": 30000}))
    most = " ".join(reap("fragment", "--litter", f"profile={path}", "--", program("busy")).stderr.split())
    assert "ignored: blocks of 4 096 bytes and more, 73 % of its bytes" in most
    assert "73 % of what it allocates is in blocks of 4 096 bytes and more, which are not imitated" in most
    assert "littered: 1 process, 1 thread" in most
    path.write_text(json.dumps({**PROFILE, "left_out": 3, "left_out_bytes": 3000}))
    few = " ".join(reap("fragment", "--litter", f"profile={path}", "--", program("busy")).stderr.split())
    assert "not imitated" not in few


def test_a_program_that_leaves_the_work_to_another_is_pointed_out():
    words = ["/bin/sh", "-c", f"{program('busy')} >/dev/null; true"]
    done = reap("fragment", "--", *words)
    assert "most was allocated by busy, which dash executed" in " ".join(done.stderr.split())
    assert "most was" not in " ".join(
        reap("fragment", "--litter", "children=yes", "--", *words).stderr.split()
    )


BAD = {
    "an impossible occupancy": (["--level", "1x7"], 2, "occupancy of 7 is impossible"),
    "half a level": (["--level", "1x"], 2, "no level is called '1x'"),
    "a key of compare": (["--litter", "layouts=1"], 2, "the keys are profile, "),
    "an unknown level": (["--level", "adv2"], 2, "no level is called 'adv2'"),
    "two allocators": (["--allocator", "glibc,jemalloc"], 2, "a run has one allocator"),
    "an allocator that lacks a call": (["--allocator", "lacks=LACKS"], 2, "lacks posix_memalign"),
    "what is no profile": (["--litter", "profile=/etc/passwd"], 125, "/etc/passwd is no size profile"),
    "no profile there": (["--litter", "profile=/nowhere"], 125, "/nowhere cannot be read"),
    "an empty profile": (["--litter", "profile=EMPTY"], 125, "allocates nothing of less than 4096 bytes"),
    "a level that does not fit": (["--litter", "profile=HUGE"], 1, "adv3 needs about"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_in_a_sentence(what, tmp_path):
    words, code, message = BAD[what]
    words = [word.replace("LACKS", library("lacks_aligned") if "LACKS" in word else "") for word in words]
    peak = {"value": 1e12, "low": 1e12, "high": 1e12}
    for name, changes in (("EMPTY", {"sizes": []}), ("HUGE", {"peak": peak})):
        (tmp_path / name).write_text(json.dumps({**PROFILE, **changes}))
        words = [word.replace(name, str(tmp_path / name)) for word in words]
    done = reap("fragment", *words, "--", "/bin/true")
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_programs_that_cannot_be_littered_are_refused(profile):
    static = reap("fragment", "--litter", f"profile={profile}", "--", program("peak_static"), "1")
    assert static.returncode == ExitCode.NOT_EXECUTABLE
    assert "statically linked" in static.stderr
    large = compile_c("large", "#include <stdlib.h>\nint main(void) { return !malloc(100000); }", ["-O0"])
    empty = reap("fragment", "--", large)
    assert "allocates nothing of less than 4096 bytes" in empty.stderr
