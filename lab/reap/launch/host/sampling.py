"""Permission to sample instruction pointers of other programs on this machine: tried, not guessed."""

import subprocess

import msgspec

from reap.base.errors import ReapError
from reap.launch import native_files


class Sampling(msgspec.Struct):
    """Result of trying perf events until a sample comes, or for twenty milliseconds."""

    samples: int
    """How many came; 0 where perf events are not allowed or not there."""
    kernel: bool
    """Whether time in the kernel can be sampled, too."""
    errno: int
    """Why not, or 0."""


def check() -> Sampling:
    """Tries it. Throws ReapError if the launcher is broken."""
    done = subprocess.run(
        [native_files.spawner(), "--check-sampling"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        raise ReapError(f"the launcher failed: {done.stderr.decode(errors='replace').strip()}")
    return msgspec.json.decode(done.stdout, type=Sampling)
