"""lines.py SOURCE: how many lines bc has, and in how many of them bc_in_pool.h changes what a word means.

Of what its authors wrote, so of the grammars instead of what yacc and lex make of them; comments count as
lines, and what stands in them is no call.
"""

import json
import re
import sys
from pathlib import Path

FILES = (
    *("bc/bc.y", "bc/scan.l", "bc/execute.c", "bc/global.c", "bc/load.c", "bc/main.c", "bc/storage.c"),
    *("bc/util.c", "bc/warranty.c", "lib/number.c"),
    *("bc/bcdefs.h", "bc/const.h", "bc/global.h", "bc/proto.h", "h/number.h"),
)
MEMORY = r"\b(malloc|free|strdup|realloc|calloc)\s*\("
"""What the pool serves."""
OTHER = r"\b(printf|putchar|getchar|read|exit|isatty|main)\s*\(|\b(stdin|stdout|stderr)\b"
"""Its files, and its end."""


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)


def main() -> None:
    texts = [(Path(sys.argv[1]) / name).read_text(errors="replace") for name in FILES]
    lines = [line for text in texts for line in without_comments(text).splitlines()]
    counts = {
        "lines": sum(len(text.splitlines()) for text in texts),
        "memory": sum(bool(re.search(MEMORY, line)) for line in lines),
        "other": sum(bool(re.search(OTHER, line)) for line in lines),
    }
    print(json.dumps(counts))


main()
