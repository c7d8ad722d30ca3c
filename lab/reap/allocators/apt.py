"""Installing Debian's packages: said first, done when asked for, and nothing is ever removed."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence

from reap.base.errors import ExitCode, ReapError


def command(names: Sequence[str]) -> str:
    """The line that installs them."""
    return f"sudo apt-get install --no-install-recommends {' '.join(names)}"


def known(names: Sequence[str]) -> str:
    """The first of these packages that this system's archive has; the first of all where nobody knows."""
    if shutil.which("apt-cache") is None or len(names) == 1:
        return names[0]
    for name in names:
        # Of a name that others only conflict with apt-cache shows nothing, and succeeds.
        done = subprocess.run(
            ["apt-cache", "show", "--no-all-versions", name],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.stdout:
            return name
    return names[0]


def simulated(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Packages that apt would install and remove, by its own simulation, for anybody. Throws ReapError."""
    done = subprocess.run(
        ["apt-get", "--simulate", "install", "--no-install-recommends", *names],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    if done.returncode != 0:
        said = "; ".join(re.findall(r"^E: (.*)$", done.stderr, re.MULTILINE)) or done.stderr.strip()[-300:]
        raise ReapError(
            f"apt cannot install {', '.join(names)}: {said}",
            "sudo apt-get update, and repeat; or do without",
            ExitCode.FAILED,
        )
    return _named("Inst", done.stdout), _named("Remv", done.stdout)


def _named(word: str, said: str) -> list[str]:
    return re.findall(rf"^{word} (\S+)", said, re.MULTILINE)


def install(wanted: Sequence[str], removes: Sequence[str], tell: Callable[[str], None]) -> None:
    """Installs them, by root's rights where they are to be had. Throws ReapError; also if one would go."""
    if removes:
        raise ReapError(
            f"nothing was done: {', '.join(removes)} would have to be removed",
            f"if that is right, run: {command(wanted)}",
            ExitCode.FAILED,
        )
    may = _rights()
    if may is None:
        raise ReapError(
            f"nothing was done: only root may install {', '.join(wanted)}",
            f"run: {command(wanted)}; then repeat",
            ExitCode.FAILED,
        )
    tell(f"installing {', '.join(wanted)}")
    words = ["apt-get", "install", "-y", "--no-install-recommends", "--no-remove"]
    words += ["-o", "DPkg::Lock::Timeout=600", "-o", "Dpkg::Use-Pty=0"]
    done = subprocess.run(
        [*may, "env", "DEBIAN_FRONTEND=noninteractive", *words, *wanted],
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        raise ReapError(
            f"apt-get could not install {', '.join(wanted)}: {done.stderr.strip()[-800:]}",
            f"sudo apt-get update, then: {command(wanted)}",
            ExitCode.FAILED,
        )


def _rights() -> list[str] | None:
    """Words before a command so that root runs it; None where that is not allowed."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None
