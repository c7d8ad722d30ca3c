"""The boxes of a flame graph: stacks by function, cut to what can be seen."""

from collections.abc import Sequence
from dataclasses import dataclass

from reap.recording.analyse.calls import MEASURES, Measure, Tree, inclusive

LEAST = 0.001
"""Share of a box that would be a pixel wide on a page of a thousand."""
MOST = 20_000
"""Boxes that are kept at all."""


@dataclass(frozen=True)
class Boxes:
    """The boxes of one recording, or of several, which have the same."""

    functions: list[str]
    parents: list[int]
    at: list[int]
    """Of each box, which of the functions it is."""
    own: list[dict[str, list[int]]]
    """Of each recording, what each box has without its callees."""
    least: float
    """The share of every measure below which a function is part of its caller."""


def boxes(
    trees: Sequence[Tree], functions: Sequence[str], *, least: float = LEAST, most: int = MOST
) -> Boxes:
    """At most `most` boxes of trees that have the same nodes; the smallest become part of their callers."""
    while True:
        kept = [any(each) for each in zip(*(large(tree, least) for tree in trees), strict=True)]
        if sum(kept) <= most or least >= 1:
            break
        least *= 1.5
    cut = [only(tree, kept) for tree in trees]
    places = {place: number for number, place in enumerate(dict.fromkeys(cut[0].at))}
    return Boxes(
        functions=[functions[place] for place in places],
        parents=cut[0].parents,
        at=[places[place] for place in cut[0].at],
        own=[
            {str(measure): [round(value) for value in tree.own[measure]] for measure in MEASURES}
            for tree in cut
        ],
        least=least,
    )


def fewer(held: Boxes, most: int) -> Boxes:
    """Reduces `held` to at most `most` boxes."""
    if len(held.parents) <= most:
        return held
    trees = [
        Tree(held.parents, held.at, {m: [float(value) for value in own[m]] for m in MEASURES})
        for own in held.own
    ]
    return boxes(trees, held.functions, least=held.least * 1.5, most=most)


def large(tree: Tree, least: float) -> list[bool]:
    """Of each node, whether it has the share `least` of some measure; roots always do."""
    kept = [parent < 0 for parent in tree.parents]
    for measure in MEASURES:
        enough = least * sum(tree.own[measure])
        for node, value in enumerate(inclusive(tree, measure)):
            kept[node] = kept[node] or (value > 0 and value >= enough)
    return kept


def only(tree: Tree, kept: list[bool]) -> Tree:
    """The nodes that are kept; their callers take what the others had.

    Roots, and the callers of what is kept, have to be among them.
    """
    moved: list[int] = []
    parents: list[int] = []
    at: list[int] = []
    own: dict[Measure, list[float]] = {measure: [] for measure in MEASURES}
    for node, parent in enumerate(tree.parents):
        to = moved[parent] if parent >= 0 else -1
        if kept[node]:
            moved.append(len(parents))
            parents.append(to)
            at.append(tree.at[node])
        else:
            moved.append(to)
        for measure in MEASURES:
            if kept[node]:
                own[measure].append(tree.own[measure][node])
            else:
                own[measure][to] += tree.own[measure][node]
    return Tree(parents, at, own)
