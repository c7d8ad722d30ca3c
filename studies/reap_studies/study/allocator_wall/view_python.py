"""The page of the study of the allocator wall: CPython's requests."""

import markupsafe

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import exactly
from reap_studies.study.allocator_wall.analyse import At, Figures
from reap_studies.study.allocator_wall.python import LARGE, MALLOCS, SMALL, setting
from reap_studies.study.allocator_wall.records import Wall
from reap_studies.study.drawing.bars import Bar
from reap_studies.study.view import FigureView, drawn

_WAYS = ("pooled", "batch", "less", "floor", "empty")


def figures(figures: Figures, wall: Wall) -> list[FigureView]:
    """Allocators beside each other, and ways to answer a request beside each other."""
    parser = list(wall.parsers)[-1]
    settings = [setting(malloc, parser, edges) for malloc in MALLOCS for edges in (SMALL, LARGE)]
    return [
        FigureView(
            "Figure 5. Python: allocators",
            "CPU time of a request that parses a document, to the same over glibc. With pymalloc "
            "CPython "
            "serves small objects itself; the article says 0.71.",
            _drawings({way: _allocators(figures, settings, way) for way in ("per_request", "pooled")}),
        ),
        FigureView(
            "Figure 6. Python: ways to answer a request",
            "CPU time over glibc, to per_request. pooled parses, too, as the article's does; batch "
            "drops what "
            "64 requests made at once; less reads one field without a parser; floor fills the slot and "
            "parses "
            "nothing; empty is a call.",
            _drawings({named: _ways(figures, named) for named in settings}),
        ),
    ]


def _drawings(charts: dict[str, list[tuple[str, list[Bar]]]]) -> list[markupsafe.Markup]:
    """Those of which something was measured."""
    return [
        drawn(title, groups)
        for title, groups in charts.items()
        if any(bar.ratio is not None and not bar.ratio.exact for _, bars in groups for bar in bars)
    ]


def _allocators(figures: Figures, settings: list[str], way: str) -> list[tuple[str, list[Bar]]]:
    groups = []
    for named in settings:
        field = f"{way}_ns"
        others = sorted(set(figures.arms("python", named)) - {DEFAULT})
        bars = [
            Bar(
                arm,
                figures.ratio(At("python", arm, named, field), At("python", DEFAULT, named, field)),
                shade,
            )
            for shade, arm in enumerate(others, 1)
        ]
        groups.append((f"{named}:", bars))
    return groups


def _ways(figures: Figures, named: str) -> list[tuple[str, list[Bar]]]:
    base = At("python", DEFAULT, named, "per_request_ns")
    bars = [Bar("per_request", exactly(1), 0)]
    bars += [Bar(way, figures.ratio(At("python", DEFAULT, named, f"{way}_ns"), base), 1) for way in _WAYS]
    return [("", bars)]
