"""The page of the OOPSLA 2002 study: section 7.5, reaps in Apache."""

import statistics

from reap.api import units
from reap_studies.study.records import Apache, Pooled, Study
from reap_studies.study.view import TableView

_COLUMNS = [
    "pools", "objects made", "asked for", "freed before the end", "the pool holds at the end",
    "the process grows by", "most resident memory",
]  # fmt: skip


def tables(study: Study) -> list[TableView]:
    """What a request took, each way, beside the paper's; and how much of the program was changed."""
    if study.apache is None:
        return []
    return [_memory(study.apache), _lines(study.apache)]


def _memory(apache: Apache) -> TableView:
    title = "Section 7.5. bc in Apache httpd: memory of the request that computes the 1000th prime"
    if apache.excluded:
        return TableView(f"{title} (not measured: {apache.excluded})", _COLUMNS, [])
    published = [
        ["the paper: reaps, nothing freed", *[""] * 3, "7.4 MB", "", ""],
        ["the paper: reaps, with ap_pfree", *[""] * 3, "240 KB", "", ""],
    ]
    return TableView(title, _COLUMNS, [*(_line(each) for each in apache.pooled), *published])


def _line(each: Pooled) -> list[str]:
    return [
        each.way,
        units.count(each.objects),
        units.size(each.asked),
        units.count(each.freed),
        units.size(each.held) if each.held else units.UNKNOWN,
        units.size(max(statistics.median(each.resident), 0)),
        units.size(statistics.median(each.peak_resident)),
    ]


def _lines(apache: Apache) -> TableView:
    columns = ["lines of bc", "of them", "the paper"]
    if apache.excluded:
        return TableView("Section 7.5. What of bc means something else (not measured)", columns, [])
    rows = [
        ["all", units.count(apache.lines), "8,000"],
        ["changed in its files", "0", "20"],
        ["in which malloc and free are the pool's", units.count(apache.memory_lines), "20"],
        ["in which files and exit are the module's", units.count(apache.other_lines), "not said"],
    ]
    return TableView("Section 7.5. What of bc means something else", columns, rows)
