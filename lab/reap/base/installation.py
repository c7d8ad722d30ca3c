"""Installation of this Reap: where the library's headers are, and the command that installs it again."""

import shlex
import sys
from pathlib import Path

from reap.base.errors import ReapError

_NAME = "reap-lab"
_DEBIAN = Path("/usr/lib/reap")
"""Where the Debian package has this one."""
_PACKAGE = Path(__file__).resolve().parents[1]


def again() -> str:
    """The command that installs it again, whole: by apt, from its checkout, or by pip."""
    if _PACKAGE.is_relative_to(_DEBIAN):
        return "sudo apt-get install --reinstall reap"
    origin = _origin()
    if origin is not None and (origin / "setup" / "install").is_file():
        # Without the stamps, which say that all is there.
        return f"cd {shlex.quote(str(origin))} && rm -f .venv/.*.stamp && make install"
    what = str(origin) if origin is not None and origin.is_file() else _NAME
    return shlex.join([sys.executable, "-m", "pip", "install", "--force-reinstall", what])


def headers() -> Path:
    """The folder of the library's headers: in the installed package, or in the checkout that it lies in.

    Beside it is `src`, with the sources of what is preloaded. Throws ReapError.
    """
    for place in (_PACKAGE / "include", _PACKAGE.parents[1] / "library" / "include"):
        if (place / "reap").is_dir():
            return place
    raise ReapError("the library's headers are not beside reap", again())


def _origin() -> Path | None:
    """The folder or the file that it was installed from, as pip keeps it; None of a package index."""
    import json  # these take as long to load as all else that records
    from importlib import metadata
    from urllib.parse import unquote, urlsplit

    try:
        kept = metadata.distribution(_NAME).read_text("direct_url.json")
        url = urlsplit(json.loads(kept)["url"]) if kept else None
    except (metadata.PackageNotFoundError, ValueError, KeyError):
        return None
    return Path(unquote(url.path)) if url is not None and url.scheme == "file" else None
