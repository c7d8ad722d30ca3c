"""Allocates blocks of sizes that occur once, each from a stack that the program itself writes down.

Writes JSON to a file: by size, the functions, files and lines of Python that led to it, innermost first.

python_stacks.py TURNS FILE: so many turns, and then in two threads at once.
python_stacks.py TURNS FILE -: in three threads, with pauses, until standard input ends.
"""

import asyncio
import contextlib
import ctypes
import functools
import json
import re
import sys
import threading
import time
from pathlib import Path

truth = {}
lock = threading.Lock()
libc = ctypes.CDLL(None)
libc.malloc.argtypes = [ctypes.c_size_t]
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


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


def without_the_gil():
    libc.free(libc.malloc(size() + 1))


def in_a_thread_of_c():
    """Its first function is malloc, and Python knows nothing of it."""
    thread, block = ctypes.c_ulong(), ctypes.c_void_p()
    length = size() + 1
    truth[length] = []
    begin = ctypes.cast(libc.malloc, ctypes.c_void_p)
    libc.pthread_create(ctypes.byref(thread), None, begin, ctypes.c_void_p(length))
    libc.pthread_join(thread, ctypes.byref(block))
    libc.free(block)


def everything(turn):
    plain()
    without_the_gil()
    in_a_thread_of_c()
    sorted([turn], key=lambda _: len(bytearray(size())))
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


def at_once(work, count):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def with_pauses(turns, ended):
    turn = 0
    while not ended.is_set():
        everything(turn % turns)
        turn += 1
        time.sleep(0.01)


def main():
    turns = int(sys.argv[1])
    if len(sys.argv) > 3:
        ended = threading.Event()
        threading.Thread(target=lambda: sys.stdin.read() or ended.set()).start()
        at_once(lambda: with_pauses(turns, ended), 3)
    else:
        for turn in range(turns):
            everything(turn)
        at_once(lambda: [everything(turn) for turn in range(turns)], 2)
    Path(sys.argv[2]).write_text(json.dumps(truth))


main()
