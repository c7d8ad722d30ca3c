"""A shop of small allocators whose recipes build in no time."""

import os
import subprocess
import sys
from pathlib import Path

from programs import LIBRARIES

RECIPE = """
about = "a test's own"
version = "1.0"
licence = "MIT"
crate = "mine-sys"
needs = ["gcc"]
build = '''
{before}
echo built >>"$RECIPES/count"
gcc -O1 -fPIC -shared -fno-builtin -w mine.c -o "$OUT/lib$NAME.so"
'''
"""


MANIFEST = """
[package]
name = "reap-allocators"
version = "0.0.0"
edition = "2018"
[lib]
path = "none.rs"
[dependencies]
mine-sys = {{ path = "{crate}" }}
[workspace]
"""


LOCK = """
version = 3
[[package]]
name = "mine-sys"
version = "0.1.0"
[[package]]
name = "reap-allocators"
version = "0.0.0"
dependencies = ["mine-sys"]
"""


CRATE = """
[package]
name = "mine-sys"
version = "0.1.0"
edition = "2018"
[lib]
path = "none.rs"
"""


class Shop:
    """A folder of one recipe, `mine`, and the user's folder that it is installed in."""

    def __init__(self, folder: Path) -> None:
        self.recipes = folder / "recipes"
        self.crate = folder / "crate"
        self.root = folder / "data/reap/allocators"
        self.environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
        self.prefix: list[str] = []
        self.recipes.mkdir()
        self.crate.mkdir()
        (self.recipes / "Cargo.toml").write_text(MANIFEST.format(crate=self.crate))
        (self.recipes / "Cargo.lock").write_text(LOCK)
        (self.crate / "Cargo.toml").write_text(CRATE)
        self.offer()

    def offer(self, source: str = LIBRARIES["good"], before: str = "") -> None:
        """Another source, or a script that does something before it builds."""
        (self.crate / "mine.c").write_text(source)
        (self.recipes / "mine.toml").write_text(RECIPE.format(before=before))

    def start(self, *words: str) -> subprocess.Popen:
        """Begins `reap allocators WORDS` with these recipes."""
        code = (
            "from pathlib import Path\nfrom reap.allocators import recipe\n"
            f"recipe.FOLDER = Path({str(self.recipes)!r})\nfrom reap.cli.main import main\nmain()"
        )
        return subprocess.Popen(
            [*self.prefix, sys.executable, "-c", code, "allocators", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def reap(self, *words: str) -> subprocess.CompletedProcess:
        child = self.start(*words)
        out, err = child.communicate(timeout=60)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(words, child.returncode, out, err)

    def built(self) -> int:
        """How often the script came to build."""
        count = self.recipes / "count"
        return len(count.read_text().splitlines()) if count.exists() else 0

    def left(self) -> set[str]:
        """What is in the user's folder."""
        return {path.name for path in self.root.iterdir()} - {".lock"} if self.root.exists() else set()
