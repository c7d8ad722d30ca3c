"""What is printed on a terminal, as text."""

import io
import re
from collections.abc import Callable
from typing import Any

from rich.console import Console


def printed(draw: Callable[..., None], held: object, width: int = 80, **options: Any) -> str:
    """What `draw` prints of it."""
    out = io.StringIO()
    draw(Console(file=out, width=width, **options), held)
    return out.getvalue()


def flat(shown: str) -> str:
    """Without the breaks that a width makes."""
    return re.sub(r"\s+", " ", shown)
