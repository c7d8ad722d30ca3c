"""A comparison exported: every figure in CSV, and a Markdown table that names cannot break."""

import csv
from pathlib import Path

import pytest
from samples import comparison_of, ratio_of, side_of

from reap.base.errors import ReapError
from reap.commandline.exports import by_ending
from reap.compare import export


def test_csv_and_markdown_hold_every_figure() -> None:
    held = comparison_of([side_of("a|b", 0.9, ratios={"cpu": ratio_of("cpu", 0.9)})])
    (row,) = csv.DictReader(export.as_csv(held).splitlines())
    ratio = held.sides[0].ratios["cpu"]
    assert (row["name"], row["metric"], row["verdict"]) == ("a|b", "cpu", ratio.verdict)
    assert (row["ratio"], row["low"]) == (f"{ratio.ratio.value:.4f}", f"{ratio.ratio.low:.4f}")
    head, rule, line = export.as_markdown(held).splitlines()
    assert head.count("|") == rule.count("|") == line.replace("\\|", "").count("|")
    assert "a\\|b" in line


def test_the_ending_of_a_file_names_its_format() -> None:
    files = [Path("a.md"), Path("-"), Path("b.csv")]
    formats = dict(by_ending(files, export.FORMATS, "a comparison"))
    assert list(formats.values()) == [export.as_markdown, export.as_csv, export.as_csv]
    with pytest.raises(ReapError, match=r"x\.txt: there is no such format of a comparison") as caught:
        by_ending([Path("x.txt")], export.FORMATS, "a comparison")
    assert "FILE.csv, FILE.md" in caught.value.hint
