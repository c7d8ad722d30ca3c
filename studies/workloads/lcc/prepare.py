"""Makes unit.i: lcc's own sources as one preprocessed translation unit, the same on every machine.

It has what `c.h` declares, then the body of each source file. Identifiers of a single file get a prefix, so
that nothing is defined twice.
"""

import re
import subprocess
import sys
from pathlib import Path

HEADERS = ["assert", "ctype", "errno", "float", "limits", "stdarg", "stdio", "stdlib", "string", "time"]
KEYWORDS = {
    *(
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
    ),
    *(
        "float",
        "for",
        "goto",
        "if",
        "int",
        "long",
        "register",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
    ),
    *("struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while"),
}
LEFT_OUT = {"prof.c", "profio.c"}
"""Their structures have members of the names of their own types, which this renaming does not tell apart."""
COMMON = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<.*>|"c\.h").*$', re.MULTILINE)
TOKEN = re.compile(
    r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\''  # literals, which stay
    r"|\b[0-9][\w.]*|((?:->|\.)\s*)?\b([A-Za-z_]\w*)|[{}()]"
)


def preprocessed(text: str, *words: str) -> str:
    """What the preprocessor makes of it, without the system's headers and definitions."""
    command = ["cc", "-E", "-P", "-nostdinc", "-undef", "-std=c89", "-w", *words, "-"]
    done = subprocess.run(command, input=text, capture_output=True, encoding="latin-1", check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout


def names(text: str) -> tuple[set[str], set[str]]:
    """The identifiers of a text; and of these the ones that are declared for all of it, enumerators too."""
    every, outermost, nested, before = set(), set(), 0, ""
    opened: list[int] = []
    for found in TOKEN.finditer(text):
        if word := found[2]:
            every.add(word)
            if not nested:
                outermost.add(word)
            before = word if word == "enum" or before != "enum" else before
        elif found[0] in "{(":
            opened.append(0 if found[0] == "{" and before == "enum" else 1)
            nested += opened[-1]
            before = ""
        elif found[0] in "})":
            nested -= opened.pop()
    return every - KEYWORDS, outermost - KEYWORDS


def renamed(text: str, shared: set[str], members: set[str], prefix: str) -> str:
    """The text with a prefix at each identifier that the file has for itself."""

    def named(found: re.Match[str]) -> str:
        word = found[2]
        if not word or word in KEYWORDS or word in shared or (found[1] and word in members):
            return found[0]
        return f"{found[1] or ''}{prefix}{word}"

    return TOKEN.sub(named, text)


def main() -> None:
    source, card, folder = (Path(word) for word in sys.argv[1:4])
    system = folder / "include"
    system.mkdir()
    for name in HEADERS:
        (system / f"{name}.h").write_text((card / "hosted.h").read_text())
    includes = [f"-I{system}", f"-I{source}"]
    declared = preprocessed('#include "c.h"\n#include <time.h>\n', *includes)
    known, outermost = names(declared)
    files = [path for path in sorted(source.glob("*.c")) if path.name not in LEFT_OUT]
    with (folder / "unit.i").open("w", encoding="latin-1") as file:
        file.write(declared)
        for number, path in enumerate(files):
            text = COMMON.sub("", path.read_text(encoding="latin-1"))
            body = preprocessed(text, *includes, "-imacros", "c.h", "-imacros", "time.h")
            shared = outermost | (known - names(body)[1])
            file.write(renamed(body, shared, known, f"f{number}_"))


main()
