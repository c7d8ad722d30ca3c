"""Requests and answers of the protocols: what is sent, and where an answer ends. Pure functions."""

import re
import shlex
from collections.abc import Sequence

from reap.load.records import Protocol

NUMBER = b"{n}"
"""In a request: its number."""

_ERRORS = 400
"""The first status of HTTP that is an error."""
_BODILESS = (204, 304)
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:\s*chunked", re.IGNORECASE)
_CLOSES = re.compile(
    rb"\r\nconnection:\s*close|^HTTP/1\.0 (?!.*\r\nconnection:\s*keep-alive)", re.IGNORECASE | re.DOTALL
)
_UNKNOWN = -1


def encoded(protocol: Protocol, host: str, texts: Sequence[str]) -> list[bytes]:
    """The bytes of requests: paths of HTTP, commands of Redis, lines with escapes. Throws ValueError."""
    if protocol == "http":
        return [f"GET {text} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() for text in texts]
    if protocol == "redis":
        return ["\0".join(shlex.split(text)).encode() for text in texts]
    return [text.encode().decode("unicode_escape").encode("latin-1") + b"\r\n" for text in texts]


def numbered(protocol: Protocol, request: bytes, number: int) -> bytes:
    """Bytes to send for a request that `encoded` made. Redis needs the length of each word."""
    filled = request.replace(NUMBER, b"%d" % number)
    if protocol != "redis":
        return filled
    words = filled.split(b"\0")
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


def is_whole(protocol: Protocol, received: bytes) -> bool:
    """Whether that is all of an answer."""
    if protocol == "http":
        return _http_ends(received)
    if protocol == "redis":
        return _redis_end(received, 0) != _UNKNOWN
    return received.endswith(b"\n")


def has_failed(protocol: Protocol, answer: bytes) -> bool:
    """Whether a whole answer says that the request failed."""
    if protocol == "http":
        return _status(answer) >= _ERRORS
    if protocol == "redis":
        return answer.startswith(b"-")
    return b"ERROR" in answer.partition(b" ")[0]


def closes(protocol: Protocol, answer: bytes) -> bool:
    """Whether the server closes the connection behind this answer."""
    return protocol == "http" and bool(_CLOSES.search(answer.partition(b"\r\n\r\n")[0]))


def _status(answer: bytes) -> int:
    word = answer[:12].partition(b" ")[2]
    return int(word) if word.isdigit() else _ERRORS


def _http_ends(received: bytes) -> bool:
    head, blank, body = received.partition(b"\r\n\r\n")
    if not blank:
        return False
    if found := _LENGTH.search(head):
        return len(body) >= int(found[1])
    if _CHUNKED.search(head):
        return _chunks_end(body)
    # Without a length the answer ends with the connection.
    return _status(received) in _BODILESS


def _chunks_end(body: bytes) -> bool:
    at = 0
    while (end := body.find(b"\r\n", at)) >= 0:
        size = int(body[at:end].partition(b";")[0], 16)
        if size == 0:
            return body.endswith(b"\r\n\r\n")
        at = end + 2 + size + 2
    return False


def _redis_end(received: bytes, at: int) -> int:
    """End of the value that begins at `at`; _UNKNOWN while the value is not all received."""
    end = received.find(b"\r\n", at)
    if end < 0:
        return _UNKNOWN
    kind, size, end = received[at : at + 1], received[at + 1 : end], end + 2
    if kind == b"$":
        end += int(size) + 2 if int(size) >= 0 else 0
    elif kind == b"*":
        for _ in range(int(size)):
            end = _redis_end(received, end)
            if end == _UNKNOWN:
                return _UNKNOWN
    return end if end <= len(received) else _UNKNOWN
