"""The flame graph of a recording, without a browser: what it holds, and that it fits."""

import json
import re
import subprocess

import msgspec
import pytest
from programs import reap
from recorded import recorded, target
from samples import HOSTILE, profile_of, report_of

from reap.answer.html import render
from reap.answer.json import decoded
from reap.answer.records import Answer
from reap.draw.html import MOST_BYTES
from reap.recording.analyse.calls import MEASURES
from reap.recording.read import read
from reap.run.parts import KINDS
from reap.show.analyse.flame import flame, thinned
from reap.show.part import FlamePart, ProfilePart
from reap.show.records import Flame
from reap.show.view import flame_view


def graph(functions: int, length: int = 20, name: str = "") -> Flame:
    """A chain of ten functions, and below each of them the others, every one with as much as the next."""
    parents = [-1, *range(9), *(i % 10 for i in range(functions - 10))]
    return Flame(
        functions=[f"{name}function_{i}_{'x' * length}" for i in range(functions)],
        parents=parents,
        at=list(range(functions)),
        own={measure: [0] * 10 + [7] * (functions - 10) for measure in MEASURES},
        least=0.001,
        estimated=False,
    )


def page_of(held: Flame) -> str:
    parts = [ProfilePart(profile=profile_of()), FlamePart(flame=held)]
    return render(report_of(Answer(title="x", command=["x"], parts=parts)))


def data_of(page: str) -> Flame:
    text = page.partition('id="report-data">')[2].partition("</script>")[0]
    part = decoded(text, KINDS).answers[0].part(FlamePart)
    assert part is not None
    return part.flame


def stacks(held: Flame, measure: str) -> dict[tuple[str, ...], int]:
    found = {}
    for node, value in enumerate(held.own[measure]):
        path, at = [], node
        while at >= 0:
            path.append(held.functions[held.at[at]])
            at = held.parents[at]
        if value:
            found[tuple(path[::-1])] = value
    return found


def test_the_boxes_are_the_stacks_of_the_recording(tmp_path):
    held = flame(read(recorded(tmp_path, "full", target("stacks")).path))
    assert held is not None
    kept = stacks(held, "live-at-exit")
    assert [(stack[-2:], value) for stack, value in kept.items()] == [
        (("keeps_ten_of_100", "allocate"), 1000)
    ]
    assert sum(stacks(held, "allocations").values()) == 62
    assert not held.estimated


def test_a_function_of_many_lines_is_one_box(tmp_path):
    lines = "\n".join(f"case {line}: block = malloc(8); return block;" for line in range(11_000))
    source = tmp_path / "many.c"
    source.write_text(
        f"#include <stdlib.h>\nvoid *many(int at) {{ void *block; switch (at) {{\n{lines}\n}} return 0; }}\n"
        "int main(void) { for (int at = 0; at < 11000; at++) many(at); return 0; }"
    )
    subprocess.run(["gcc", "-g", "-fno-builtin", "-o", tmp_path / "many", source], check=True)
    held = flame(read(recorded(tmp_path, "full", str(tmp_path / "many")).path))
    assert held is not None
    ((_, value),) = [(path, v) for path, v in stacks(held, "allocations").items() if path[-1] == "many"]
    assert value == 11_000


def test_the_page_and_the_json_of_a_recording_have_it(tmp_path):
    path = recorded(tmp_path, "full", target("stacks")).path
    done = reap("show", str(path), "--json", "a.json", "--html", "a.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads((tmp_path / "a.json").read_text())["answers"]
    assert "keeps_ten_of_100" in answer["flame"]["functions"]
    page = (tmp_path / "a.html").read_text()
    assert "keeps_ten_of_100" in data_of(page).functions
    assert "less than 0.1 % of every measure" in page
    assert "flame graphs by d3-flame-graph" in page


def test_a_page_without_one_has_no_library_for_it():
    page = render(report_of(Answer(title="x", command=["x"], parts=[ProfilePart(profile=profile_of())])))
    assert "flame graphs by" not in page
    assert len(re.findall("<script>", page)) == 3
    assert len(re.findall("<script>", page_of(graph(20)))) == 5


def test_a_recording_without_allocations_has_none(tmp_path):
    held = flame(read(recorded(tmp_path, "full", "/bin/true").path))
    assert held is None or sum(held.own["allocations"]) > 0


def test_estimates_are_said_to_be_estimates():
    assert "Estimated from samples" in flame_view(msgspec.structs.replace(graph(20), estimated=True)).note
    assert "Estimated" not in flame_view(graph(20)).note


@pytest.mark.parametrize(("functions", "length"), [(900, 30), (19_000, 30), (3000, 3000)])
def test_however_large_it_fits_on_a_page_that_says_what_it_leaves_out(functions, length):
    page = page_of(graph(functions, length))
    assert len(page.encode()) <= MOST_BYTES
    held = data_of(page)
    assert sum(held.own["bytes"]) == 7 * (functions - 10)
    if functions > 900:
        assert held.least > 0.001
    assert f"less than {flame_view(held).note.partition('less than ')[2].partition(' of')[0]}" in page


def test_thinning_keeps_totals_and_the_largest():
    held = graph(500)
    held.own["bytes"][400] = 10_000
    cut = thinned(held, 50, 9000)
    assert len(cut.parents) <= 50
    assert len(cut.functions) == len(set(cut.at)) <= len(cut.parents)
    for measure in MEASURES:
        assert sum(cut.own[measure]) == sum(held.own[measure])
    assert max(stacks(cut, "bytes").items(), key=lambda stack: stack[1])[0][-1] == held.functions[400]
    assert thinned(held, 500, 9000) == held


def test_hostile_names_stay_data():
    page = page_of(graph(30, name=HOSTILE))
    assert HOSTILE not in page
    assert data_of(page).functions[0].startswith(HOSTILE)
