"""The page, without a browser: escaped, alone, small enough."""

import base64
import hashlib
import html.parser
import json
import re
from importlib import resources
from pathlib import Path

import msgspec
import pytest
from answers import changed, fields_of
from any_records import ANY, comparisons, profiles
from fragmented_samples import fragmented_answer, fragmented_of
from hypothesis import given, settings
from samples import (
    HOSTILE,
    answer_of,
    comparison_of,
    hostile_report,
    marked,
    profile_of,
    ratio_of,
    report_of,
    requests_of,
    side_of,
    three_answers,
)

from reap.answer.html import render, write_html
from reap.answer.json import decoded
from reap.answer.records import Answer, Report
from reap.answer.trim import STEPS, trim
from reap.base.errors import ReapError
from reap.compare.part import ComparisonPart
from reap.draw import html as shell
from reap.draw.html import MOST_BYTES, embedded, tied
from reap.recording.records import Point, Site
from reap.run.parts import KINDS
from reap.show.part import thin

VENDORED = {
    "echarts.common.min.js": "61f13280aba3161f77fc801bf5f9c786f55f10432153a0683fc5cc0700b013d5",
    "d3-flamegraph.umd.min.js": "5f8d8bc7bf7f8329248d43c1e215431a88f77e17daa217f3c31b019b8b71b3f7",
    "d3.min.js": "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1",
}
"""Apache ECharts 6.1.0, d3-flame-graph 5.0.0 and D3 7.9.2, from dist/ as published."""


class Reader(html.parser.HTMLParser):
    """What a browser would see: elements with their attributes, text, scripts, identifiers."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text = ""
        self._script: dict[str, str | None] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        self._script = dict(attrs) if tag == "script" else None

    def handle_endtag(self, tag) -> None:
        if tag == "script":
            self._script = None

    def handle_data(self, data) -> None:
        if self._script is None:
            self.text += data
        else:
            self.scripts.append((self._script, data))


def data_of(reader: Reader) -> Report:
    text = "".join(data for attrs, data in reader.scripts if attrs.get("id") == "report-data")
    return decoded(text, KINDS)


@pytest.fixture(scope="module")
def three() -> str:
    return render(three_answers())


@pytest.fixture(scope="module")
def hostile() -> str:
    return render(hostile_report())


def test_the_vendored_libraries_are_those_that_were_published() -> None:
    vendor = resources.files("reap.draw") / "vendor"
    for name, published in VENDORED.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == published
    assert "Apache License" in (vendor / "LICENSE-d3-flame-graph").read_text()
    assert "Bostock" in (vendor / "LICENSE-d3-7").read_text()
    assert "Apache License" in (vendor / "LICENSE-echarts").read_text()
    assert "Apache Software Foundation" in (vendor / "NOTICE-echarts").read_text()
    assert "Bostock" in (vendor / "LICENSE-d3").read_text()


def test_the_page_is_written_small_and_private(tmp_path: Path) -> None:
    path = write_html(three_answers(), tmp_path / "r.html")
    assert 700_000 < path.stat().st_size <= MOST_BYTES
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ReapError, match="--force"):
        write_html(three_answers(), path)
    write_html(three_answers(), path, force=True)


def test_the_page_needs_nothing_else(three: str) -> None:
    reader = Reader(three)
    for tag, attributes in reader.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster", "background"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
        assert tag not in {"iframe", "object", "embed", "base", "form", "img"}
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    style = three[three.index("<style>") : three.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    ours = "".join(shell.own(name) for name in shell.SCRIPTS)
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest|WebSocket|innerHTML|eval\(|import\(", ours)


def test_the_policy_allows_these_scripts_alone(three: str) -> None:
    reader = Reader(three)
    policy = next(
        a["content"] for t, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", three, re.DOTALL)
    assert len(scripts) == 3
    for script in scripts:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy


def test_the_data_is_the_report(three: str) -> None:
    assert data_of(Reader(three)) == three_answers()


def test_the_page_is_well_formed_for_those_who_do_not_see_it(three: str) -> None:
    reader = Reader(three)
    assert [t for t, _ in reader.elements].count("h1") == 1
    assert [t for t, _ in reader.elements].count("table") == [t for t, _ in reader.elements].count("caption")
    identifiers = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    for _, attributes in reader.elements:
        if (attributes.get("href") or "").startswith("#"):
            assert attributes["href"][1:] in identifiers
        for name in ("aria-labelledby", "data-copies"):
            assert name not in attributes or attributes[name] in identifiers
        if attributes.get("role") == "img":
            assert attributes["aria-label"]
    assert any(a.get("name") == "viewport" for _, a in reader.elements)
    assert ("html", {"lang": "en"}) in reader.elements


@pytest.fixture(scope="module")
def heaps() -> str:
    result = fragmented_of()
    control = msgspec.structs.replace(result.controls[0], preload=ratio_of("cpu", 1.3))
    return render(report_of(fragmented_answer(msgspec.structs.replace(result, controls=[control]))))


def test_fragmented_heaps_have_their_section(heaps: str) -> None:
    shown = re.sub(r"\s+", " ", Reader(heaps).text.replace("\xa0", " "))
    answer = fragmented_answer()
    assert re.sub(r"\s+", " ", fields_of(answer).fragmented_verdict.paragraph) in shown
    for words in (
        "naive jemalloc",
        "Controls: these should show no difference",
        "3.20 more",
        "48.9 B",
        "2 layouts tried",
    ):
        assert words in shown, words
    first, verdict = (
        shown.index("Bare and adv0 differ"),
        shown.index("On a fragmented heap: it would be slower"),
    )
    assert first < verdict, "before anything else"


def test_the_page_of_fragmented_heaps_is_well_formed(heaps: str) -> None:
    test_the_page_is_well_formed_for_those_who_do_not_see_it(heaps)
    test_the_page_needs_nothing_else(heaps)
    result = fields_of(data_of(Reader(heaps)).answers[0]).fragmented
    assert result.arm("naive", "glibc", "adv3").slowdown["cpu"].ratio.value == pytest.approx(3.2)
    assert not any(ratio.pairs for arm in result.arms for ratio in arm.normalised.values())


def test_hostile_names_on_fragmented_heaps_stay_text() -> None:
    result = fragmented_of(["default"], ["glibc"], notes=[HOSTILE], levels=["adv0", "adv3"])
    arms = [
        msgspec.structs.replace(arm, allocator=HOSTILE, problem=HOSTILE * i)
        for i, arm in enumerate(result.arms)
    ]
    hostile = msgspec.structs.replace(result, arms=arms, allocators=[HOSTILE], command=[HOSTILE])
    page_of = render(report_of(fragmented_answer(hostile)))
    assert HOSTILE not in page_of
    assert HOSTILE in Reader(page_of).text


def test_the_verdict_and_its_evidence_are_text(three: str) -> None:
    shown = re.sub(r"\s+", " ", Reader(three).text)
    for answer in three_answers().answers:
        diagnosis = fields_of(answer).diagnosis
        assert re.sub(r"\s+", " ", diagnosis.paragraph) in shown
        assert all(re.sub(r"\s+", " ", fact.statement) in shown for fact in diagnosis.evidence)
        assert diagnosis.next_command in shown
    for words in ("RSS", "Time executing in the allocator", "Noise", "AMD EPYC", "reap run --html"):
        assert words in shown


def test_requests_have_their_table_and_their_figures() -> None:
    perl = three_answers().answers[0]
    profile = msgspec.structs.replace(fields_of(perl).profile, requests=requests_of("warm-up"))
    answer = changed(perl, profile=profile, comparison=marked(fields_of(perl).comparison))
    shown = render(report_of(answer))
    assert "warm-up: allocations" in shown
    assert "Requests per second" in shown
    assert "Requests per second: higher is better." in shown
    assert "forest-request_p99" in shown
    assert "requests per second" not in render(report_of(perl))


def test_one_program_needs_no_overview() -> None:
    assert "Overview" not in render(report_of(three_answers().answers[0]))


def test_hostile_text_stays_text(hostile: str) -> None:
    reader = Reader(hostile)
    assert HOSTILE not in hostile
    assert not [tag for tag, _ in reader.elements if tag == "img"]
    assert HOSTILE in reader.text
    assert "49" not in "".join(re.findall(r"\{\{.*?\}\}", reader.text))
    assert "\x1b" not in hostile
    assert data_of(reader).answers[0].title == hostile_report().answers[0].title


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "]]>", "\u2028\u2029", "&lt;", '"\\'])
def test_embedded_json_cannot_end_its_element(text: str) -> None:
    held = embedded(msgspec.json.encode({text: text}))
    assert not re.search("[<>&\u2028\u2029]", held)
    assert json.loads(held) == {text: text}


def test_numbers_are_tied_to_their_units() -> None:
    assert (
        tied("6.9 % less, 12 MiB of 3 k in 4 s, 5 sites")
        == "6.9\xa0% less, 12\xa0MiB of 3\xa0k in 4\xa0s, 5 sites"
    )


def huge_report(programs: int, sites: int, points: int, frames: int = 60) -> Report:
    stack = [
        f"a_function_with_a_long_name_{i}<std::string> (some/path/file_{i}.cc:{i})" for i in range(frames)
    ]
    held = [
        Site(
            function=f"site_{i}",
            location="x.cc:1",
            module="m",
            stack=stack,
            objects=1.0,
            bytes=float(sites - i),
            temporary=0.0,
            live_at_peak=0.0,
        )
        for i in range(sites)
    ]
    curve = [Point(seconds=i / 7, bytes=float(i * 7919 % 1_000_003)) for i in range(points)]
    profile = profile_of(live=curve, resident=curve, rates=curve, points=2)
    profile = msgspec.structs.replace(profile, sites=held, notes=["x" * 100_000])
    comparison = comparison_of([side_of("jemalloc"), side_of("mimalloc")])
    return report_of(*(answer_of(f"program {i}", profile, comparison) for i in range(programs)))


@pytest.mark.parametrize(("programs", "sites", "points"), [(1, 5000, 20_000), (12, 300, 3000), (20, 50, 500)])
def test_a_huge_report_is_cut_until_it_fits(programs: int, sites: int, points: int) -> None:
    text = render(huge_report(programs, sites, points))
    assert len(text.encode()) <= MOST_BYTES
    kept = data_of(Reader(text))
    assert len(kept.answers) == programs
    notes = " ".join(fields_of(kept.answers[0]).profile.notes)
    assert f"of {sites:,}".replace(",", " ") in notes
    assert "(100 000 characters)" in notes
    assert fields_of(kept.answers[0]).profile.sites[0].function == "site_0"


@pytest.mark.slow
def test_what_cannot_be_cut_enough_is_refused() -> None:
    with pytest.raises(ReapError, match="200 programs"):
        render(report_of(*(three_answers().answers[2] for _ in range(200))))


def test_trimming_keeps_what_fits() -> None:
    assert trim(three_answers(), STEPS[0]) == three_answers()


def test_thinning_keeps_the_peaks() -> None:
    points = [Point(seconds=float(i), bytes=float(i * 7919 % 1009)) for i in range(5000)]
    kept = thin(points, 100)
    assert len(kept) <= 100
    assert max(p.bytes for p in kept) == max(p.bytes for p in points)
    assert min(p.bytes for p in kept) == min(p.bytes for p in points)
    assert [p.seconds for p in kept] == sorted(p.seconds for p in kept)


@pytest.mark.parametrize("part", ["profile", "comparison", "diagnosis"])
def test_a_part_that_is_missing_is_left_out(part: str) -> None:
    answer = changed(three_answers().answers[0], **{part: None})
    assert "report-data" in render(report_of(answer))


def test_no_programs_at_all() -> None:
    assert "no programs" in render(report_of())


def test_rendering_twice_gives_the_same_page(three: str) -> None:
    assert render(three_answers()) == three


@settings(ANY, max_examples=40)
@given(profiles(), comparisons())
def test_any_records_are_drawn(profile, comparison) -> None:
    assert "report-data" in render(report_of(answer_of("any", profile, comparison)))


def test_the_heading_is_what_the_page_answers() -> None:
    def heading(*answers: Answer) -> str:
        return re.search("<h1>(.*?)</h1>", render(report_of(*answers))).group(1)

    perl, gcc, _ = three_answers().answers
    assert heading(perl) == "Does memory allocation slow this program down?"
    assert heading(perl, gcc) == "Does memory allocation slow these programs down?"
    compared = ComparisonPart(comparison=comparison_of([side_of("jemalloc")]))
    only = Answer(title="x", command=["x"], parts=[compared])
    assert heading(only) == "Which is faster, and by how much?"
    assert heading(perl, only) == "What does memory allocation cost?"
