"""The programs and services of the table: data in *.toml beside this file."""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """A program, and a short script in which it does some of its work."""

    name: str
    group: str
    """The file that it is in."""
    packages: tuple[str, ...]
    """Debian's, which bring it; any alternatives are in setup/apt/programs.txt."""
    script: str
    """For /bin/sh, in an empty folder. It ends what it starts."""
    service: bool = False
    varies: str = ""
    """Why two runs of it differ although nobody changed anything, where that is known."""
    not_under: tuple[str, ...] = ()
    """Ways in which it cannot be run for a reason that is its own, stated in `because`."""
    because: str = ""
    collector_logs: bool = False
    """Whether `reap wall` runs it once more, in which its collector logs on standard error: not compared."""
    limit: int = 60
    """Seconds that it may take alone."""

    @property
    def key(self) -> str:
        """Changes with anything that a result depends on."""
        said = repr((self.name, self.script))
        return hashlib.sha256(said.encode()).hexdigest()[:12]


def load() -> dict[str, Entry]:
    """All entries by name, in the order of the files."""
    found: dict[str, Entry] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for name, fields in tomllib.loads(path.read_text()).items():
            if name in found:
                raise ValueError(f"{path.name}: {name} is in two files")
            lists = {key: tuple(fields.pop(key, ())) for key in ("packages", "not_under")}
            found[name] = Entry(name=name, group=path.stem, **lists, **fields)
    return found
