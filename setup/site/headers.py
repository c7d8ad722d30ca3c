"""The reference of the library, from the comments of its headers.

libclang reads them: it knows which comment belongs to which declaration and what is private, in C and C++.
"""

import inspect
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clang.cindex import AccessSpecifier, Cursor, CursorKind, Index, TranslationUnit
from markdown_text import code, escaped, fence

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "library" / "include"
FOLDERS = {
    "layer": "Layers: what carves memory into objects",
    "source": "Sources: where memory comes from",
    "face": "Adapters: pmr, STL allocators, JSON, owning pointers",
    "face/c": "In C",
    "core": "Core: sizes, sources' contract, modes",
    "testkit": "Test kit",
    ".": "Marks",
}
"""The folders of headers that users include, with what each has."""

TYPES = {
    CursorKind.CLASS_DECL,
    CursorKind.STRUCT_DECL,
    CursorKind.UNION_DECL,
    CursorKind.CLASS_TEMPLATE,
    CursorKind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION,
    CursorKind.ENUM_DECL,
}
MEMBERS = {
    *TYPES,
    CursorKind.FUNCTION_DECL,
    CursorKind.FUNCTION_TEMPLATE,
    CursorKind.CXX_METHOD,
    CursorKind.CONSTRUCTOR,
    CursorKind.DESTRUCTOR,
    CursorKind.CONVERSION_FUNCTION,
    CursorKind.FIELD_DECL,
    CursorKind.VAR_DECL,
    CursorKind.ENUM_CONSTANT_DECL,
    CursorKind.TYPE_ALIAS_DECL,
    CursorKind.TYPE_ALIAS_TEMPLATE_DECL,
    CursorKind.TYPEDEF_DECL,
    CursorKind.CONCEPT_DECL,
}
FIELDS = {CursorKind.FIELD_DECL, CursorKind.ENUM_CONSTANT_DECL}
NAMESPACES = {CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL}


@cache
def system_folders() -> tuple[str, ...]:
    """Where g++ finds the standard library and its own headers; libclang as PyPI has it brings none."""
    said = subprocess.run(
        ["g++", "-E", "-v", "-xc++", "/dev/null"], capture_output=True, text=True, check=True
    ).stderr
    listed = said.partition("#include <...> search starts here:\n")[2].partition("End of search list.")[0]
    return tuple(line.strip() for line in listed.splitlines())


def in_c(header: Path) -> bool:
    """Whether a header is C's, whose comments are plain ones."""
    return header.parent.name == "c" or header.name in {"mark.h", "c.h"}


def parse(header: Path) -> Cursor:
    """The declarations of a header."""
    options = ["-x", "c++", "-std=c++20", f"-I{INCLUDE}", "-w"]
    options += [f"-isystem{folder}" for folder in system_folders()]
    if in_c(header):
        options.append("-fparse-all-comments")
    unit = Index.create().parse(str(header), options, options=TranslationUnit.PARSE_INCOMPLETE)
    fatal = [each for each in unit.diagnostics if each.severity >= each.Fatal]
    if fatal:
        raise SystemExit(f"{header}: libclang cannot read it: {fatal[0].spelling}")
    return unit.cursor


def plain(comment: str | None) -> str:
    """A comment's text without its marks."""
    if comment is None:
        return ""
    lines = []
    for line in comment.splitlines():
        bare = re.sub(r"^\s*(///?<?|/\*\*?<?|\*(?!/))? ?", "", line)
        lines.append(re.sub(r"\s*\*/\s*$", "", bare))
    return inspect.cleandoc("\n".join(lines)).strip()


def prose(text: str) -> str:
    """A comment as Markdown: lines that are indented by four are code."""
    done = []
    for part in re.split(r"\n\s*\n", text):
        if all(line.startswith("    ") for line in part.splitlines()):
            done.append(fence(inspect.cleandoc(part), "cpp"))
            continue
        spans = re.split(r"(`[^`]+`)", part)
        done.append("".join(span if span.startswith("`") else escaped(span) for span in spans) + "\n")
    return "\n".join(done)


def declaration(cursor: Cursor, source: bytes) -> str:
    """What the source declares, without a body."""
    begin, end = cursor.extent.start.offset, cursor.extent.end.offset
    text = source[begin:end].decode()
    if cursor.kind in TYPES:
        text = re.split(r"\{", text, maxsplit=1)[0]
    else:
        body = [c for c in cursor.get_children() if c.kind == CursorKind.COMPOUND_STMT]
        if body:
            text = source[begin : body[-1].extent.start.offset].decode()
        if body and cursor.kind == CursorKind.CONSTRUCTOR:  # without what it initialises
            text = re.sub(r"\s*:\s[^:].*$", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*//.*$", "", text, flags=re.MULTILINE)
    return inspect.cleandoc(text).rstrip(" \n;") + ";"


def public(cursor: Cursor) -> bool:
    """Whether users may name it."""
    hidden = cursor.access_specifier in {AccessSpecifier.PRIVATE, AccessSpecifier.PROTECTED}
    return not hidden and not cursor.spelling.startswith("_")


def of_users(cursor: Cursor, text: str) -> bool:
    """Whether a declaration of a C header is for users: no variable, no second name of a structure."""
    return cursor.kind != CursorKind.VAR_DECL and not text.startswith("__attribute__") and "{" not in text


def here(cursor: Cursor, header: Path) -> Iterator[Cursor]:
    """The public declarations of this header itself, those of namespace detail left out."""
    for child in cursor.get_children():
        if child.location.file is None or Path(child.location.file.name) != header:
            continue
        if child.kind in NAMESPACES:
            if child.spelling != "detail":
                yield from here(child, header)
        elif child.kind in MEMBERS and public(child):
            yield child


class Page:
    """The page of a header, as it is written."""

    def __init__(self, header: Path) -> None:
        self.header = header
        self.source = header.read_bytes()
        self.parts: list[str] = []
        self.seen: set[str] = set()

    def text(self) -> str:
        """The page; empty where the header declares nothing that is documented."""
        name = self.header.relative_to(INCLUDE)
        opening = plain(self.opening())
        for cursor in here(parse(self.header), self.header):
            self.add(cursor, 2)
        if not self.parts:
            return ""
        head = [f"# {name}\n", fence(f"#include <{name}>", "cpp")]
        return "\n".join([*head, prose(opening) if opening else "", *self.parts])

    def opening(self) -> str | None:
        """The comment that a C header begins with."""
        found = re.match(rb"/\*.*?\*/", self.source, re.DOTALL)
        return found[0].decode().replace("SPDX-License-Identifier: MIT", "") if found else None

    def add(self, cursor: Cursor, depth: int) -> None:
        """A declaration with its comment, and those of its members that are public."""
        comment = plain(cursor.raw_comment)
        if cursor.kind in TYPES:
            self.add_type(cursor, comment, depth)
            return
        text = declaration(cursor, self.source)
        if not comment or "NOLINT" in comment or (in_c(self.header) and not of_users(cursor, text)):
            return
        if cursor.kind in FIELDS:
            # One list of them, whose items follow each other.
            item = f"- {code(' '.join(text.rstrip(';').split()))}: {' '.join(prose(comment).split())}\n"
            self.parts.append(item)
        else:
            self.parts += [fence(text, "cpp"), prose(comment)]

    def add_type(self, cursor: Cursor, comment: str, depth: int) -> None:
        """A type under a heading of its own with its members, if it is defined here and documented."""
        members = [c for c in cursor.get_children() if c.kind in MEMBERS and public(c)]
        inner = Page(self.header)
        for member in members:
            inner.add(member, depth + 1)
        name = cursor.spelling
        named = name and "(" not in name and name not in self.seen
        if not (named and cursor.is_definition() and (comment or inner.parts)):
            return
        self.seen.add(name)
        self.parts.append(f"{'#' * min(depth, 4)} {escaped(name)}\n")
        self.parts.append(fence(declaration(cursor, self.source), "cpp"))
        self.parts.append(prose(comment) if comment else "")
        self.parts += inner.parts


def write(source: Path, folder: str) -> list[object]:
    """Writes a page for each header that has something documented; returns the menu of them."""
    menu: list[object] = []
    for place, title in FOLDERS.items():
        pages = []
        for header in sorted((INCLUDE / "reap" / place).glob("*.h*")):
            text = Page(header).text()
            if text:
                path = f"{folder}/{header.relative_to(INCLUDE / 'reap')}.md"
                (source / path).parent.mkdir(parents=True, exist_ok=True)
                (source / path).write_text(text)
                pages.append({header.name: path})
        menu.append({title: pages})
    return menu
