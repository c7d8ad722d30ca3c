"""A recorded profile on a terminal: complete at 80 columns, plain in a pipe, whatever the names are."""

from answers import fields_of
from samples import msg_replace, profile_of, requests_of, three_answers
from terminals import flat, printed

from reap.base.records import exactly
from reap.recording.records import Caller, Pattern, Point, Share
from reap.show.terminal import render

perl, gcc, _ = map(fields_of, three_answers().answers)


def test_profile_has_table_3() -> None:
    shown = flat(printed(render, perl.profile, 100))
    for words in (
        "Total objects 4 812 331",
        "Most in use at once ~344 k (333 k to 354 k)",
        "Average size 62.1 B",
        "Total bytes 285 MiB",
        "Most bytes in use ~30.3 MiB (29.7 MiB to 30.9 MiB)",
        "Turnover (all bytes / peak) 9.40",
        "Time executing in the allocator (sampled) 12.4 % (95 % CI 11.4 to 13.4 %;",
        "perf events",
        "Allocations per second 1.92 M",
        "17 to 32 B",
        "under 1.00 µs",
        "never freed",
        "resident",
        "live",
        "Perl_newSV",
        "sv.c:5721",
        "free 4 667 961",
        "p99.9",
        "4.21 µs",
    ):
        assert words in shown


def test_requests_have_their_figures_over_all_and_by_phase() -> None:
    shown = flat(printed(render, msg_replace(perl.profile, requests=requests_of("warm-up", "")), 100))
    assert "Per request as the program marks them" in shown
    assert "allocations 2 000 30.25 28 64 97" in shown
    assert "warm-up: bytes 1 000 2.00 KiB 1.95 KiB 4.00 KiB 9.76 KiB" in shown
    assert "(no phase yet): allocations" in shown
    assert "Per request" not in printed(render, perl.profile)


def test_counted_values_are_not_marked_as_estimates() -> None:
    shown = printed(render, profile_of(depth="full"))
    assert "~" not in shown
    assert "every event" in shown


def test_processes_are_listed_when_there_are_several() -> None:
    assert "Processes" not in printed(render, perl.profile)
    shown = printed(render, gcc.profile)
    assert "collect2" in shown
    assert "not recorded (static)" in shown
    assert "! 1 process ended" in shown


def test_a_profile_without_a_share_says_so() -> None:
    assert "not sampled" in printed(render, msg_replace(perl.profile, share=None))
    held = Share(method="timer", samples=1234, inside=0, kernel_inside=0, share=exactly(0), sees_kernel=False)
    assert "1 234 samples by a timer, time in the kernel not seen" in flat(
        printed(render, msg_replace(perl.profile, share=held), 160)
    )


def test_an_empty_profile_is_drawn() -> None:
    bare = profile_of(
        objects=0, sites=0, points=0, sizes=[], lifetimes=[], calls={}, latencies=[], processes=[]
    )
    assert "Total objects" in printed(render, msg_replace(bare, seconds=0.0))


def test_one_point_in_time() -> None:
    held = [Point(seconds=0.0, bytes=5.0)]
    assert "live" in printed(render, profile_of(live=held, resident=held, rates=held, seconds=0.0))


def test_callers_are_printed_when_asked_for() -> None:
    first = perl.profile.sites[0]
    rows = [(1, "split", 0.75), (2, "main", 0.75), (1, "join", 0.25)]
    callers = [
        Caller(depth=depth, function=name, location="a.c:1", objects=1, bytes=share * first.bytes)
        for depth, name, share in rows
    ]
    site = msg_replace(first, via="libx.so", callers=callers)
    profile = msg_replace(perl.profile, sites=[site, *perl.profile.sites[1:]])
    shown = printed(lambda console, held: render(console, held, callers=True), profile, 100)
    lines = [line.strip() for line in shown.splitlines()]
    at = next(at for at, line in enumerate(lines) if line.endswith(f"{first.location}, via libx.so"))
    assert lines[at + 1 : at + 4] == ["├ 75 % split (a.c:1)", "│ └ 75 % main (a.c:1)", "└ 25 % join (a.c:1)"]
    assert "└" not in printed(render, profile, 100)


def test_a_site_without_a_name_is_printed_once() -> None:
    """Its function is the place in the module, which stood below it again."""
    place = "fdfind+0x201ed1"
    for via, below in (("opendir", "via opendir"), ("", "")):
        site = msg_replace(perl.profile.sites[0], function=place, location=place, via=via)
        shown = printed(render, msg_replace(perl.profile, sites=[site]), 100)
        assert shown.count(place) == 1
        assert f"  {below}" in shown


def test_patterns_have_their_line_and_what_to_change() -> None:
    pattern = Pattern(
        kind="temporaries",
        function="count\x1b[31m",
        location="words.cpp:6",
        via="std::operator+",
        figures={"share_of_objects": exactly(0.98)},
        statement="98 % of all objects are temporaries of this line",
        advice="reuse the buffer",
    )
    shown = flat(printed(render, msg_replace(perl.profile, patterns=[pattern]), 100))
    assert "Temporaries of one line: count" in shown
    assert "\x1b[31m" not in shown
    assert "(words.cpp:6), via std::operator+ 98 % of all objects" in shown
    assert "To change it: reuse the buffer." in shown
    assert "Patterns" not in flat(printed(render, perl.profile, 100))


def test_a_narrow_terminal_has_shorter_bars_and_as_many_lines() -> None:
    wide, narrow = (printed(render, profile_of(depth="full"), width).splitlines() for width in (80, 60))
    assert len(narrow) < 1.2 * len(wide)
