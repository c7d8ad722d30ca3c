"""ASCII replacements for characters that the locale's encoding cannot represent."""

import codecs
import io
import sys

_SPELT = {
    "µ": "u",
    "…": "...",
    **dict(zip("▁▂▃▄▅▆▇█", "__..::##", strict=True)),
    **dict(zip("▏▎▍▌▋▊▉", "...####", strict=True)),
}
"""All other characters become `?`."""

_NAME = "reap.plain"


def spelt(error: UnicodeError) -> tuple[str, int]:
    """An error handler of codecs: the characters that cannot be written, spelt in ASCII."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_SPELT.get(character, "?") for character in lacking), error.end


def print_plainly() -> None:
    """From here on, printing never fails because of a character, whatever the locale."""
    codecs.register_error(_NAME, spelt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_NAME)
