"""What a program of the truth suite prints."""

import os
import subprocess
from collections.abc import Mapping, Sequence


def printed(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Its standard output, which is never empty; it has to end with status 0."""
    done = subprocess.run(
        words,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout
    return done.stdout
