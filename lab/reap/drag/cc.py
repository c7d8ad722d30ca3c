"""`reap-drag-cc` and `reap-drag-c++`: compilers for `reap drag --engine recompiled`.

They stand where a build asks for CC and CXX, and take every option of gcc, or of what REAP_CC and REAP_CXX
name. What they build runs without Reap, too: about half as fast, and records nothing.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from reap.base.errors import ReapError
from reap.commandline.errors import complain
from reap.drag.exact import recompiled


def c() -> NoReturn:
    """`reap-drag-cc`."""
    _compile("c")


def cxx() -> NoReturn:
    """`reap-drag-c++`."""
    _compile("c++")


def _compile(language: str) -> NoReturn:
    try:
        compiler = recompiled.compiler(language)
        assembler = recompiled.assembler(compiler)
        with tempfile.TemporaryDirectory(prefix="reap-drag-cc-") as name:
            for command in recompiled.commands(compiler, sys.argv[1:], Path(name)):
                status = _run(command, assembler)
                if status != 0:
                    sys.exit(status)
    except ReapError as error:
        complain(error)
        sys.exit(error.code)
    sys.exit(0)


def _run(command: list[str], environment: dict[str, str]) -> int:
    try:
        return subprocess.run(command, env={**os.environ, **environment}, check=False).returncode
    except OSError as error:
        raise ReapError(
            f"the compiler {command[0]} cannot be run: {error.strerror}",
            "name another with REAP_CC or REAP_CXX",
        ) from error
