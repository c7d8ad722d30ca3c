"""The nodes of memory that this machine has, and the program that binds others to them."""

import re
import shutil
from pathlib import Path

PACKAGE = "numactl"

_NODES = Path("/sys/devices/system/node/has_memory")


def nodes() -> int:
    """Number of nodes that have memory; 1 where the kernel does not say."""
    try:
        said = _NODES.read_text()
    except OSError:
        return 1
    ranges = re.findall(r"(\d+)(?:-(\d+))?", said)
    return max(1, sum(int(last or first) - int(first) + 1 for first, last in ranges))


def tool() -> str | None:
    """The path of numactl; None where it is not installed."""
    return shutil.which("numactl")
