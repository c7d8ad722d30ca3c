"""Programs on fragmented heaps: `reap compare --levels` as a command."""

import errno
import json
import shlex

import msgspec
import pytest
from lab.test.compare.levels.experiments import PROFILE, fragmented, target
from programs import compile_c, library, program, reap

from reap.allocators import catalog
from reap.base.errors import ExitCode, ReapError
from reap.cli.compare import compare
from reap.compare.levels import run as levels_run
from reap.experiment import folder as folders
from reap.experiment.folder import Folder
from reap.experiment.specify import Conditions, specify
from reap.fragment.run import load_profile


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "p.json"
    path.write_bytes(msgspec.json.encode(PROFILE))
    return str(path)


def test_the_command_runs_every_level_and_writes_it_down(tmp_path, profile):
    words = ["compare", "--details", "--levels", "adv0,adv1", "-a", "glibc", "-n", "2"]
    for each in ("layouts=1", "seed=7", "order=reversed", "touch=no", f"profile={profile}"):
        words += ["--litter", each]
    files = ["--json", "m.json", "--html", "m.html", "-o", "x"]
    done = reap(*words, *files, "--naive", "NAIVE=1", "--", target(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "naive as a ratio to custom" in done.stdout
    assert "adv0 to bare" in done.stdout
    assert "next: reap fragment --litter profile=" in done.stderr
    answer = json.loads((tmp_path / "m.json").read_text())["answers"][0]
    assert answer["fragmented"]["naive_environment"] == {"NAIVE": "1"}
    assert answer["fragmented_verdict"]["headline"] == "inconclusive", "two rounds are too few"
    asked = json.loads((tmp_path / "x" / "experiment.json").read_text())["spec"]["fragment"]
    assert (asked["seed"], asked["order"], asked["touch"]) == (7, "reversed", False)
    held = answer["fragmented"]
    assert (held["seed"], held["order"], held["touch"]) == (7, "reversed", False)
    assert "freed by address, the highest first" in (tmp_path / "m.html").read_text()
    again = reap("compare", "--resume", "x", "--details", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout == done.stdout
    wrong = reap("run", "--resume", "x", cwd=tmp_path)
    assert wrong.returncode == ExitCode.USAGE
    assert "experiment on fragmented heaps" in wrong.stderr


STAYS = r"""
    #include <stdlib.h>
    int main(void) {
        for (int i = 0; i < 1000; i++) if (!malloc(48)) return 1;
        if (getenv("REAP_LAYOUT")) abort();
        return 0;
    }"""


def test_a_program_that_crashes_in_another_layout_exits_with_1(tmp_path, profile):
    stays = compile_c("levels-stays", STAYS, ["-O1", "-fno-builtin"])
    words = ["compare", "--levels", "adv1", "-a", "glibc", "-n", "2"]
    words += ["--litter", "layouts=1", "--litter", f"profile={profile}"]
    done = reap(*words, "-o", "x", "--", stays, cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED, done.stderr
    said = " ".join(done.stdout.split())
    for where in ("bare", "adv0"):
        assert f"the control glibc, {where} in layout 1: the program was ended by SIGABRT" in said


def test_a_profile_that_was_given_is_there_before_the_folder_is_one(tmp_path, profile, monkeypatch):
    written = []
    real = folders._write_synced

    def write(path, data):
        written.append(path.name)
        if path.name == "experiment.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, data)

    words = [
        "compare",
        "--levels",
        "adv1",
        "-a",
        "glibc",
        "-n",
        "2",
        "--litter",
        f"profile={profile}",
        "-o",
        str(tmp_path / "x"),
    ]
    words += ["--", target()]
    monkeypatch.setattr(folders, "_write_synced", write)
    with pytest.raises(ReapError, match="No space left on device") as said:
        compare.main(words[1:], standalone_mode=False)
    assert written == ["profile.json", "experiment.json"]
    assert "nothing was run yet" in said.value.hint
    assert not (tmp_path / "x").exists(), "so that nothing can be resumed with another profile"
    monkeypatch.setattr(folders, "_write_synced", real)
    compare.main(words[1:], standalone_mode=False)
    assert (tmp_path / "x" / "profile.json").stat().st_mode & 0o777 == 0o600
    assert load_profile(tmp_path / "x" / "profile.json", cut_off=4096) == PROFILE


BAD = {
    "an option without levels": (["--litter", "children=yes"], 2, "--litter requires --levels"),
    "no level but adv0": (["--levels", "adv0"], 2, "no level litters the heap"),
    "an unknown level": (["--levels", "adv2"], 2, "no level is called 'adv2'"),
    "an unknown key": (["--levels", "adv1", "--litter", "sed=7"], 2, "did you mean seed?"),
    "a wrong value": (["--levels", "adv1", "--litter", "seed=x"], 2, "seed: 'x' is not a valid integer"),
    "an open quote": (["--levels", "adv1", "--naive", "a 'b"], 2, "--naive cannot be split"),
    "no naive program": (["--levels", "adv1", "--naive", "no-such-program"], 127, "no such command"),
    "no profile": (["--levels", "adv1", "--litter", "profile=/nowhere"], 125, "/nowhere cannot be read"),
    "a multiplier beyond all memory": (["--levels", "1e305x0.5"], 2, "littered with 1e+305 times"),
    "an impossible occupancy": (["--levels", "3x1.5"], 2, "occupancy of 1.5 is impossible"),
    "an empty profile": (
        ["--levels", "adv1", "--litter", "profile=EMPTY"],
        125,
        "allocates nothing of less than",
    ),
    "an allocator that lacks a call": (["--levels", "adv1", "-a", "lacks=LACKS"], 2, "lacks posix_memalign"),
    "levels for a resumed one": (["--levels", "adv1", "--resume", "x"], 2, "it takes no --levels"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_in_a_sentence(what, tmp_path, tmp_path_factory):
    words, code, message = BAD[what]
    empty = tmp_path_factory.mktemp("profile") / "p.json"
    empty.write_bytes(msgspec.json.encode(msgspec.structs.replace(PROFILE, sizes=[])))
    for word, path in (("EMPTY", empty), ("LACKS", library("lacks_aligned") if "LACKS" in words[-1] else "")):
        words = [each.replace(word, str(path)) for each in words]
    done = reap("compare", *words, "--", "/bin/true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_static_program_is_refused_before_anything_is_made(tmp_path):
    done = reap("compare", "--levels", "adv1", "--", program("peak_static"), "1", cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_EXECUTABLE
    assert "statically linked" in done.stderr
    naive = shlex.join([program("peak_static"), "1"])
    done = reap("compare", "--levels", "adv1", "--naive", naive, "--", "/bin/true", cwd=tmp_path)
    assert "statically linked" in done.stderr, "nor as the naive variant"
    assert list(tmp_path.iterdir()) == []


DEEPBIND = r"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdio.h>
    int main(int count, char **words) { puts(dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND) ? "m" : "?"); }"""


def test_a_program_with_deepbind_is_explained_and_a_profile_of_another_program_pointed_out(tmp_path):
    deepbind = compile_c("levels-deepbind", DEEPBIND, ["-O1"])
    profile = msgspec.structs.replace(PROFILE, program="/usr/bin/perl")
    spec = specify(
        [deepbind], catalog.parse("glibc"), conditions=Conditions(runs=2), fragmented=fragmented(layouts=0)
    )
    with Folder.create(tmp_path / "e", spec) as folder:
        levels_run.keep_profile(folder, profile)
        notes = " ".join(levels_run.run(folder).notes)
    assert "opens extensions with RTLD_DEEPBIND" in notes
    assert "they were opened without it" in notes
    assert "the sizes are those of /usr/bin/perl" in notes


def test_a_program_that_overwrites_its_litter_s_report_is_not_measured(tmp_path):
    spec = specify(
        [program("scribbles")],
        catalog.parse("glibc"),
        conditions=Conditions(runs=2),
        fragmented=fragmented(layouts=0),
    )
    with Folder.create(tmp_path / "e", spec) as folder:
        levels_run.keep_profile(folder, PROFILE)
        result = levels_run.run(folder)
    assert all("overwrote what its littering reported" in arm.problem for arm in result.arms)
