"""Privileges that a program gets from its file: the loader ignores preloads for it then."""

import os
import stat
from pathlib import Path


def changes_identity(status: os.stat_result) -> bool:
    """Whether a file of this status is set-user-ID or set-group-ID to somebody else than we are."""
    user = bool(status.st_mode & stat.S_ISUID) and status.st_uid != os.getuid()
    group = bool(status.st_mode & stat.S_ISGID) and status.st_gid != os.getgid()
    return user or group


def has_capabilities(image: Path) -> bool:
    """Whether the file has capabilities; False where its attributes cannot be read."""
    try:
        return bool(os.getxattr(image, "security.capability"))
    except OSError:
        return False
