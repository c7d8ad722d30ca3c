"""The sampling drag engine: against programs that know their own drag, and that they stay what they are."""

import json
import math
import os
import platform
import subprocess
import sys
from pathlib import Path

import chance
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from recorded import target

from reap.base.errors import ReapError
from reap.drag.sample import analyse, read
from reap.drag.sample import page as drag_sample_page
from reap.drag.sample import run as launching
from reap.drag.sample.records import SampledProcess
from reap.drag.sample.samples import DragSample, DragSamples
from reap.launch import native_files
from reap.launch.records import Launch, Outcome

PERIOD = 40_000
REAP = Path(sys.executable).parent / "reap"


def run(folder: Path, *argv: str, period: int = PERIOD) -> tuple[Outcome, list[DragSamples]]:
    folder.mkdir(exist_ok=True)
    outcome = launching.run(Launch(argv=list(argv), program=argv[0]), folder, period=period)
    return outcome, [read.read(path) for path in sorted(folder.glob(launching.FILES))]


def sampled(folder: Path, mode: str, objects: int = 400_000) -> tuple[SampledProcess, float]:
    """What samples say, and the truth of the same run: how threads take turns differs from run to run."""
    folder.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "LD_PRELOAD": str(native_files.preload("drag-sample")),
        "REAP_DRAG_SAMPLES": str(folder / "samples"),
        "REAP_DRAG_PERIOD": str(PERIOD),
    }
    command = [target("drag/lifetimes"), str(objects), mode]
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    live, needed, _ = done.stdout.split()
    files = [read.read(path) for path in sorted(folder.glob(launching.FILES))]
    return analyse.process(max(files, key=lambda file: file.clock)), float(live) / float(needed)


def errors_off(found: SampledProcess, true: float) -> float:
    assert found.drag is not None
    return math.log(found.drag.value / true) / (math.log(found.drag.high / found.drag.value) / 1.96)


@pytest.mark.timed
@pytest.mark.parametrize("mode", ["plain", "realloc", "threads"])
def test_the_drag_that_a_program_computes_itself_is_found(mode: str, tmp_path: Path) -> None:
    off = [errors_off(*sampled(tmp_path / str(number), mode)) for number in range(3)]
    assert abs(sum(off)) / math.sqrt(len(off)) < chance.ERRORS
    assert max(map(abs, off)) < chance.ERRORS


@pytest.mark.timed
@pytest.mark.long
def test_the_mean_of_forty_runs_is_the_truth_and_so_is_what_intervals_say(tmp_path: Path) -> None:
    runs = [sampled(tmp_path / str(number), "plain", 3_000_000) for number in range(40)]
    found = [each for each, _ in runs]
    true = runs[0][1]
    values = [each.drag.value for each in found if each.drag is not None]
    mean = sum(values) / len(values)
    assert len(values) == 40
    assert abs(mean - true) < chance.of_mean(values)
    covered = sum(abs(errors_off(each, true)) < 1.96 for each in found)
    assert covered >= chance.fewest(40)


def test_a_fork_in_the_middle_changes_nothing_and_the_child_has_its_own_file(tmp_path: Path) -> None:
    outcome, files = run(tmp_path, target("drag/lifetimes"), "100000", "fork")
    assert outcome.status == 0, outcome.stderr_tail
    assert len(files) == 2
    assert all(len(file.samples) > 100 for file in files)
    assert len({file.pid for file in files}) == 2


@pytest.mark.parametrize("how", ["fork", "_Fork", "fork-call", "clone-call", "clone"])
def test_a_child_has_objects_of_its_own_however_it_is_made(how: str, tmp_path: Path) -> None:
    outcome, files = run(tmp_path, target("raw_fork"), how, period=100)
    assert outcome.status == 0
    assert len(files) == 2
    assert max(len(file.samples) for file in files) > 100


@pytest.mark.parametrize(
    "what",
    [
        "handlers",
        "streams",
        "own-streams",
        "refused",
        "freed-twice",
        "unneeded",
        "protected",
        "executable",
        "locked",
        "addresses",
        "no-file",
        "no-file-size",
    ],
)
def test_memory_and_forks_are_what_they_are_without(what: str, tmp_path: Path) -> None:
    if what == "executable" and platform.machine() != "x86_64":
        pytest.skip("its code is for x86-64")
    plain = subprocess.run([target("own_memory"), what], check=False, timeout=60).returncode
    outcome, files = run(tmp_path, "/usr/bin/timeout", "20", target("own_memory"), what, period=1000)
    assert outcome.status == plain, outcome.stderr_tail
    assert max(len(each.samples) for each in files) > 15
    assert all(each.clock < 1 << 30 for each in files)  # what was refused is not counted


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its stack is for x86-64")
def test_a_thread_made_by_a_call_of_its_own_begins_where_its_stack_says(tmp_path: Path) -> None:
    outcome, _ = run(tmp_path, target("raw_fork"), "thread-call", period=100)
    assert outcome.status == 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its stack is for x86-64")
def test_a_stack_that_ends_at_its_first_frame_is_not_read_further(tmp_path: Path) -> None:
    outcome, (file,) = run(tmp_path, target("own_stack"), period=3000)
    assert outcome.status == 0
    assert all(each.stack for each in file.samples)
    assert len(file.samples) > 1000


def test_programs_that_are_executed_leave_files_of_their_own(tmp_path: Path) -> None:
    script = f"{target('drag/lifetimes')} 50000 plain; exec {target('drag/lifetimes')} 50000 plain"
    outcome, files = run(tmp_path, "/bin/sh", "-c", script)
    assert outcome.status == 0
    programs = [Path(file.program).name for file in files if file.clock > 1_000_000]
    assert len(programs) == 2
    assert all(name.startswith("target-drag-lifetimes") for name in programs)


@pytest.mark.timed
def test_what_a_killed_process_sampled_is_kept(tmp_path: Path) -> None:
    for seconds in (0.5, 3, 30):  # until it had time to allocate
        script = f"timeout -s KILL {seconds} {target('drag/lifetimes')} 100000000 plain"
        outcome, files = run(tmp_path / str(seconds), "/bin/sh", "-c", script)
        found = [analyse.process(each) for each in files if "drag-lifetimes" in each.program]
        if found and found[0].samples > 30:
            break
    assert outcome.status != 0
    (file,) = [each for each in files if "drag-lifetimes" in each.program]
    (found,) = found
    assert not file.ended
    assert found.samples > 30
    assert any("own end" in note for note in found.notes)


def test_real_programs_do_what_they_do_anyway(tmp_path: Path) -> None:
    code = "import json, threading, subprocess; d = json.dumps({str(i): [i] * 9 for i in range(9999)}); "
    code += "print(len(d), subprocess.run(['echo', 'x'], capture_output=True).stdout, len(json.loads(d)))"
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    plain = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, check=True, env=environment)
    preload = str(native_files.preload("drag-sample"))
    environment |= {
        "LD_PRELOAD": preload,
        "REAP_DRAG_SAMPLES": str(tmp_path / "s"),
        "REAP_DRAG_PERIOD": "2000",
    }
    seen = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, check=True, env=environment)
    assert seen.stdout == plain.stdout
    assert seen.stderr == plain.stderr
    files = [read.read(path) for path in tmp_path.glob("s.*")]
    assert max(len(file.samples) for file in files) > 500
    # Root may become any user, who opens the file again; Reap's own folder cannot be listed.
    mode = 0o666 if os.geteuid() == 0 else 0o600
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("s.*")} == {mode}


@pytest.mark.parametrize("limit", ["-f 100", "-v 4000000", "-n 4"])
def test_a_machine_that_refuses_leaves_the_program_as_it_is(limit: str, tmp_path: Path) -> None:
    command = f"ulimit {limit}; exec {target('drag/lifetimes')} 20000 plain"
    outcome, files = run(tmp_path, "/bin/sh", "-c", command)
    assert outcome.status == 0, outcome.stderr_tail
    assert all(analyse.process(file).notes for file in files if not file.samples)


@pytest.mark.parametrize("period", [2**63, 2**64 - 1])
def test_a_period_that_no_run_reaches_draws_nothing(period: int, tmp_path: Path) -> None:
    program = target("drag/lifetimes")
    launch = Launch(argv=[program, "100", "plain"], program=program, timeout=300)
    outcome = launching.run(launch, tmp_path, period=period)
    assert outcome.status == 0
    assert not any(read.read(path).samples for path in tmp_path.glob(launching.FILES))


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no")
    with pytest.raises(ReapError, match="too short"):
        read.read(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"x" * 1000)
    with pytest.raises(ReapError, match="no file of drag samples"):
        read.read(tmp_path / "x")
    with pytest.raises(ReapError, match="cannot be read"):
        read.read(tmp_path / "missing")


def test_a_process_that_was_killed_before_its_file_had_a_length_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert read.read(tmp_path / "x").clock == 0


def test_the_command_says_the_interval_and_passes_the_status_on(tmp_path: Path) -> None:
    script = f"{target('drag/lifetimes')} 300000 plain; exit 3"
    command = [
        REAP,
        "drag",
        "--engine",
        "sample",
        "--json",
        tmp_path / "x.json",
        "--",
        "/bin/sh",
        "-c",
        script,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert len(done.stdout.split()) == 3  # the program's own words, and no others
    assert "drag-lifetimes" in done.stderr
    process = json.loads((tmp_path / "x.json").read_text())["processes"][0]
    assert process["drag"]["low"] < process["drag"]["value"] < process["drag"]["high"]


@pytest.mark.parametrize("option", [("--depth", "30"), ("--period", str(2**40 + 1)), ("--period", "0")])
def test_what_it_has_not_is_refused(option: tuple[str, str]) -> None:
    command = [REAP, "drag", "--engine", "sample", *option, "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert option[0] in done.stderr


@pytest.mark.timed
def test_sites_have_their_share_of_what_is_dragged_and_the_page_shows_them(tmp_path: Path) -> None:
    page, results = tmp_path / "x.html", tmp_path / "x.json"
    program = [target("drag/sites"), "400000"]
    options = ["--period", str(PERIOD), "--html", page, "--json", results]
    command = [REAP, "drag", "--engine", "sample", "--details", *options, "--", *program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    true = float(done.stdout.split()[0])
    sites = {each["function"]: each for each in json.loads(results.read_text())["processes"][0]["sites"]}
    share = sites["forgotten"]["share"]
    error = (share["high"] - share["low"]) / 2 / 1.96
    assert abs(share["value"] - true) < chance.ERRORS * error
    assert error < 0.05
    assert sites["forgotten"]["samples"] == pytest.approx(400, abs=100)  # its standard deviation is 17
    assert any(frame.startswith("main ") for frame in sites["forgotten"]["stack"])
    assert sites["forgotten"]["share"]["value"] + sites["needed"]["share"]["value"] == pytest.approx(1)
    assert done.stderr.index("forgotten") < done.stderr.index("needed")
    assert "sites.c" in page.read_text()
    assert page.read_text().count('data-figure="drag"') == 1
    assert str(page) in done.stderr


def test_what_is_loaded_where_another_library_was_is_not_taken_for_it(tmp_path: Path) -> None:
    libraries = [
        target("drag/reloaded", "-shared", "-fPIC", f"-DLIBRARY={name}") for name in ("first", "other")
    ]
    outcome, (file,) = run(tmp_path, target("drag/reloaded"), *libraries, period=20_000)
    assert outcome.status == 0
    sites = {each.function: each for each in analyse.process(file, read.frames).sites}
    assert sites["first"].share.value == pytest.approx(0.5, abs=0.1)
    assert sites["other"].share.value == pytest.approx(0.5, abs=0.1)


def test_the_curves_have_the_areas_of_the_sums() -> None:
    rows = [(10, 10 * i, 10 * i + 500, 100.0) for i in range(999)]
    found = analyse.process(samples_of((10_000, 1_000, 6_000, 2_000.0), *rows, clock=11_000))
    width = 11_000 / 50
    assert len(found.curve) == 50
    assert sum(point.live for point in found.curve) * width == pytest.approx(10_000 * 5_000 + 999 * 5_000)
    assert sum(point.needed for point in found.curve) * width == pytest.approx(10_000 * 2_000 + 999 * 1_000)
    assert found.curve[20].live == pytest.approx(10_000 + 500)
    assert found.curve[20].needed == pytest.approx(100)
    assert analyse.process(samples_of(*rows[:100])).curve == []


def test_sites_of_few_samples_are_told_and_come_last() -> None:
    files = samples_of(*[(10, 10 * i, 10 * i + 50, 20.0) for i in range(100)], period=1000)
    common, rare = (1,), (2,)
    marked = [
        replace(each, stack=rare if number < 3 else common) for number, each in enumerate(files.samples)
    ]
    frames = {common: ("/bin/a", 1, "common", "a.c", 1, False), rare: ("/bin/a", 2, "rare", "a.c", 9, False)}
    found = analyse.process(replace(files, samples=marked), lambda _, stack: [frames[stack]])
    assert [(site.function, site.samples, site.few) for site in found.sites] == [
        ("common", 97, False),
        ("rare", 3, True),
    ]
    assert found.sites[0].share.value == pytest.approx(0.97)
    assert found.sites[0].share.low < 0.97 < found.sites[0].share.high <= 1


def test_names_of_the_program_stay_text_on_the_page() -> None:
    hostile = "<script>alert(1)</script>"
    files = samples_of(*[(10, 10 * i, 10 * i + 50, 20.0) for i in range(100)])
    frame = ("/bin/a", 1, hostile, hostile, 1, False)
    sampled = analyse.profile([files], [hostile], lambda *_: [frame], status=0, notes=[hostile])
    page = drag_sample_page.render(sampled)
    assert hostile not in page
    assert "&lt;script&gt;" in page


def samples_of(*rows: tuple[int, int, int, float], clock: int = 1_000_000, period: int = 1) -> DragSamples:
    return DragSamples(
        pid=1,
        program="p",
        clock=clock,
        ended=True,
        problem="",
        seconds=0,
        samples=[
            DragSample(
                size=size, stands=max(size, period), birth=birth, death=death, used=used, used_squares=0
            )
            for size, birth, death, used in rows
        ],
    )


def test_where_everything_was_drawn_and_known_the_estimate_is_the_truth() -> None:
    found = analyse.process(samples_of(*[(10, 10 * i, 10 * i + 50, 20.0) for i in range(100)]))
    assert found.drag is not None
    assert found.drag.value == pytest.approx(2)
    assert found.drag.high == pytest.approx(2, rel=1e-6)
    assert found.peak == pytest.approx(50, rel=0.2)
    assert not found.few


def test_no_more_is_in_use_than_was_allocated() -> None:
    rows = [(10, 10 * i, 0, 20.0) for i in range(100)]
    assert analyse.process(samples_of(*rows, clock=1000, period=1000)).peak == 1000


def test_an_interval_has_room_for_what_can_be() -> None:
    rows = [(10, 10 * i, 10 * i + 500, 510.0) for i in range(400)]
    found = analyse.process(samples_of(*rows)).drag
    assert found is not None
    assert found.value == pytest.approx(510 / 520)
    assert found.low <= found.value
    assert found.high >= 1


def test_where_the_interval_is_wide_more_samples_are_advised() -> None:
    rows = [(10, 10 * i, 10 * i + 500, 490.0 if i % 16 == 0 else 0.0) for i in range(400)]
    wide = analyse.process(samples_of(*rows, period=1000))
    assert wide.drag is not None
    reach = wide.drag.high / wide.drag.value - 1
    assert reach > 0.1
    period = int(wide.notes[0].partition("--period ")[2].partition(",")[0])
    assert period == pytest.approx(1_000_000 / 400 * (0.1 / reach) ** 2, rel=0.01)
    assert analyse.process(samples_of(*rows, period=10)).notes == []


def test_one_object_that_rules_is_told() -> None:
    rows = [(10, i, i + 50, 25.0) for i in range(100)]
    assert analyse.process(samples_of((100_000, 0, 1_000_000, 1000.0), *rows)).few


@given(
    st.lists(
        st.tuples(
            st.integers(1, 1 << 40), st.integers(0, 1 << 40), st.integers(0, 1 << 41), st.floats(0, 1e15)
        ),
        max_size=60,
    ),
    st.integers(1, 1 << 40),
)
def test_whatever_a_file_says_there_is_an_answer(
    rows: list[tuple[int, int, int, float]], period: int
) -> None:
    found = analyse.process(samples_of(*rows, clock=1 << 41, period=period))
    assert found.samples == len(rows)
    if found.drag is not None:
        assert found.drag.low <= found.drag.value <= found.drag.high
