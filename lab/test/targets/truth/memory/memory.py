"""Python programs whose memory stays after their work: MODE [SCALE [cured]]. Each then idles for longer."""

import ctypes
import gc
import os
import sys
import time

BEGIN = time.monotonic()


def idle(scale: float) -> None:
    """Wait until most of the run was idle."""
    time.sleep(2 * (time.monotonic() - BEGIN) + 3 * scale)


def answers(scale: float, *, cured: bool) -> None:
    """Large answers of a worker, which are dropped; a little of each stays in a cache. Cured, it trims."""
    kept = []
    for _ in range(3):
        rows = [bytes(700) for _ in range(int(60_000 * scale) + 1)]
        kept.append(rows[::300])
        del rows
    sys.stdout.write(f"{len(kept)}\n")
    if cured:
        ctypes.CDLL(None).malloc_trim(0)
    idle(scale)


def prefork(scale: float, *, cured: bool) -> None:
    """Workers are forked, and their collector writes to all that they share. Cured: gc.freeze()."""
    if cured:
        gc.disable()
    data = [{"id": at, "tags": [at, at + 1], "more": (at, [at])} for at in range(int(60_000 * scale) + 1)]
    if cured:
        gc.freeze()
    until, end = os.pipe()
    workers = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            os.close(end)
            gc.enable()
            gc.collect()
            os.read(until, 1)  # until the parent closes its end
            os._exit(0)
        workers.append(pid)
    sys.stdout.write(f"{len(data)}\n")
    sys.stdout.flush()
    idle(scale)
    os.close(end)
    for pid in workers:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    modes = {"answers": answers, "prefork": prefork}
    modes[sys.argv[1]](float((sys.argv[2:] or ["1"])[0]), cured=sys.argv[3:] == ["cured"])
