"""A figure of a page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure: what it is of, in words for those who do not see it."""

    kind: str
    title: str
    remark: str
    summary: str
    wide: bool = False
    option: str = ""
    """What the kind needs to know besides, such as the metric."""
