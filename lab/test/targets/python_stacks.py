"""Allocates blocks of sizes that occur once, each from a stack that the program itself writes down.

Writes JSON to a file: by size, the functions, files and lines of Python that led to it, innermost first.
"""

import asyncio
import contextlib
import functools
import json
import re
import sys
import threading
from pathlib import Path

truth = {}
lock = threading.Lock()


def size():
    """A size that occurs once; its stack is that of the caller, at the line of the call."""
    frames, frame = [], sys._getframe(1)
    while frame:
        code = frame.f_code
        frames.append([code.co_qualname, code.co_filename, frame.f_lineno])
        frame = frame.f_back
    with lock:
        length = 400_000 + 16 * len(truth)  # larger than any file that is imported
        truth[length + 1] = frames  # with the zero behind it
    return length


def plain():
    return bytearray(size())


class Made:
    def __init__(self):
        self.block = bytearray(size())

    def __del__(self):
        self.last = bytearray(size())

    @property
    def other(self):
        return plain()

    def __lt__(self, other):
        return len(bytearray(size())) > 0


def produce(count):
    for _ in range(count):
        block = bytearray(size())
        yield block


def chained():
    yield from produce(2)
    yield bytearray(size())


def deep(levels):
    return plain() if levels == 0 else deep(levels - 1)


def deep_through_c(levels):
    if levels == 0:
        return plain()
    return list(map(deep_through_c, [levels - 1]))


def failing(levels):
    try:
        if levels == 0:
            raise ValueError(bytearray(size()))
        failing(levels - 1)
    except ValueError as error:
        raise KeyError(bytearray(size())) from error
    finally:
        plain()


async def waiting():
    await asyncio.sleep(0)
    return bytearray(size())


async def together():
    return await asyncio.gather(waiting(), waiting())


def compiled_anew(turn):
    """Code at addresses that were other code's before, with lines of its own."""
    blank = "\n" * (turn % 7)
    name = f"made{turn % 3}"
    space = {"size": size}
    exec(  # noqa: S102 - what is tested
        compile(f"{blank}def {name}(size):\n{blank}    return bytearray(size())\n", f"<{turn % 5}>", "exec"),
        space,
    )
    space[name](size)
    exec(compile(f"{blank}bytearray(size())\n", "<string>", "exec"), space)  # noqa: S102 - what is tested


def everything(turn):
    plain()
    made = Made()
    sorted([made, Made()])
    _ = made.other
    del made
    for _ in produce(3):
        pass
    list(chained())
    next(produce(1))
    [bytearray(size()) for _ in range(2)]
    {key: bytearray(size()) for key in "ab"}
    functools.reduce(lambda _, __: bytearray(size()), range(3))
    re.sub("a", lambda _: str(len(bytearray(size()))), "aba")
    deep(turn)
    deep_through_c(turn % 12)
    with contextlib.suppress(KeyError):
        failing(turn % 4)
    asyncio.run(together())
    compiled_anew(turn)


def main():
    turns = int(sys.argv[1])
    threads = [threading.Thread(target=lambda: [everything(turn) for turn in range(turns)]) for _ in range(2)]
    for turn in range(turns):
        everything(turn)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Path(sys.argv[2]).write_text(json.dumps(truth))


main()
