"""Figures of a page, and the data that its scripts draw them from."""

from dataclasses import dataclass

import msgspec

from reap.base import redact
from reap.base.records import Record
from reap.base.text import plain_json


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


class Charts:
    """Data that the charts of a page are drawn from, in the page's order."""

    def __init__(self) -> None:
        self._answers: list[Record] = []

    def add(self, figure: Figure, chart: Record) -> dict[str, object]:
        """The words of the template for one more, which may be drawn from the data of the last."""
        if not self._answers or self._answers[-1] is not chart:
            self._answers.append(chart)
        number = len(self._answers) - 1
        return {"section": {"anchor": f"chart-{number}", "number": number}, "figure": figure}

    def data(self) -> bytes:
        """All of them, as the scripts read them."""
        return plain_json(msgspec.json.encode({"answers": redact.shared(self._answers)}))

    def __bool__(self) -> bool:
        return bool(self._answers)
