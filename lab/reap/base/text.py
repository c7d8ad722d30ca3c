"""Text from a measured program, made harmless for a terminal, and small drawings made of characters."""

import os
import re
import shlex
import signal
import unicodedata
from collections.abc import Iterable, Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_OBEYED = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")
"""Control characters of eight bits, and those that turn the reading direction."""
_OWN_LINES = re.compile(r"\n(?=  )(?!\s*(?:::|##\[))")
_RUNNER = re.compile(
    "::(?=(?:error|warning|notice|debug|group|endgroup|echo|add-mask|add-path|set-env|set-output|save-state|"
    "stop-commands|add-matcher|remove-matcher)(?: [^:]*)?::)"
)
"""The begin of a command to a runner of GitHub Actions, which it obeys where a line begins with it."""


def printable(text: str) -> str:
    r"""Control characters shown as `\x1b` and the like.

    Names come from the measured program: a name must not move the cursor, colour the screen or turn the
    reading direction. In a log of GitHub Actions a line that is folded before `::error::` would be a command.
    """
    plain = "".join(_escape(c) if _is_control(c) else c for c in text)
    return _RUNNER.sub(r":\\x3a", plain) if os.environ.get("GITHUB_ACTIONS") == "true" else plain


def message(text: str) -> str:
    """A message as `printable`; a new line stays where it is one of ours, which are indented.

    Not before what a runner of GitHub Actions takes for its command, indented or not.
    """
    return "\n".join(map(printable, _OWN_LINES.split(text)))


def plain_json(data: bytes) -> bytes:
    """JSON with escapes for all that a terminal obeys; encoders escape the ASCII ones alone."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", data.decode()).encode()


def cell(text: str) -> str:
    """The text as a cell of a table that a spreadsheet does not take for a formula."""
    return printable(f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text)


def file_name(text: str) -> str:
    """The text as a file's name without control characters."""
    return "".join("_" if _is_control(c) else c for c in text)


def _is_control(character: str) -> bool:
    return unicodedata.category(character)[0] == "C" or character in "\u2028\u2029"


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def bar(part: float, width: int) -> str:
    """A bar of `part` (0 to 1) of `width` cells, drawn in eighths; never empty where part is above 0."""
    eighths = round(max(0.0, min(1.0, part)) * width * 8)
    if eighths == 0 and part > 0:
        eighths = 1
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def sparkline(values: Sequence[float], top: float) -> str:
    """One character a value, from 0 to `top`."""
    if top <= 0:
        return _BLOCKS[0] * len(values)
    return "".join(_BLOCKS[max(0, min(7, round(value / top * 7)))] for value in values)


def resample(points: Sequence[tuple[float, float]], width: int, end: float) -> list[float]:
    """The largest value in each of `width` equal slices of 0 to `end`; an empty slice repeats the last."""
    slices: list[float | None] = [None] * width
    for seconds, value in points:
        index = min(width - 1, max(0, int(seconds / end * width))) if end > 0 else 0
        held = slices[index]
        slices[index] = value if held is None else max(held, value)
    last, filled = 0.0, []
    for held in slices:
        last = last if held is None else held
        filled.append(last)
    return filled


def shortened(text: str, width: int) -> str:
    """The text cut in its middle to `width` characters, so that the ends of a symbol or path stay."""
    if len(text) <= width or width < 5:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def branches(depths: Sequence[int]) -> list[str]:
    """The lines before the rows of a tree, which are listed depth first, the outermost at depth 1."""
    drawn = []
    for row, depth in enumerate(depths):
        last = []
        for level in range(1, depth + 1):
            behind = next((each for each in depths[row + 1 :] if each <= level), 0)
            last.append(behind != level)
        stems = "".join("  " if ended else "│ " for ended in last[:-1])
        drawn.append(stems + ("└" if last[-1] else "├"))
    return drawn


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean jemalloc? `, to stand before a hint; empty where no known name resembles the word."""
    import difflib  # not for `reap --help`

    near = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.65)
    return f"did you mean {near[0]}? " if near else ""


def command_line(words: list[str]) -> str:
    r"""A command as it would be typed, words with control characters as $'\x1b'."""
    return " ".join(_quoted(word) if any(map(_is_control, word)) else shlex.quote(word) for word in words)


def _quoted(word: str) -> str:
    plain = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(map(_bytes_of, plain)) + "'"


def _bytes_of(character: str) -> str:
    if not _is_control(character):
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogateescape"))


def signal_name(number: int) -> str:
    """As `SIGSEGV`; realtime signals have a number only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
