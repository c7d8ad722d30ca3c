"""The documents against what they speak of: links, commands, messages, and the trace format's header."""

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import click
import pytest

from reap.cli.main import cli

ROOT = Path(__file__).resolve().parents[3]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [page for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS) if page.exists()]
FORMAT = (ROOT / "docs" / "trace-format.md").read_text()
HEADER = (ROOT / "lab" / "format" / "reap_trace.h").read_text()

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def fenced(text: str) -> str:
    """The lines of fenced code blocks."""
    return "\n".join(re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def prose(text: str) -> str:
    """The text without code of any kind."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(page: Path) -> set[str]:
    """What GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    text = prose(page.read_text())
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'\b(?:src|href|srcset)="([^"]+)"', text)
    for link in found:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name}: {link}"


def test_the_index_names_every_page() -> None:
    """Each folder of pages has its index, and the index of all names the folders."""
    for page in DOCS:
        index = page.parent / "README.md"
        if page != index:
            assert f"]({page.name})" in index.read_text(), f"{index.relative_to(ROOT)}: {page.name}"
        elif page.parent != ROOT / "docs":
            assert f"]({page.parent.name}/README.md)" in (ROOT / "docs" / "README.md").read_text()


def commands(text: str) -> list[list[str]]:
    """Every use of `reap VERB` in code: its words up to the measured program's."""
    spans = [*fenced(text).replace("\\\n", " ").splitlines(), *re.findall(r"`(reap [^`\n]+)`", text)]
    spans += re.findall(r"^    (.*)$", text, re.MULTILINE)
    found = []
    for span in spans:
        for use in re.findall(r"(?:^|[\s/(])reap ([a-z][^#|;&]*)", span):
            try:
                words = shlex.split(use)
            except ValueError:
                words = use.split()
            found.append(words[: words.index("--")] if "--" in words else words)
    return found


@every_page
def test_commands_exist(page: Path) -> None:
    context = click.Context(cli)
    for verb, *words in commands(page.read_text()):
        command = cli.get_command(context, verb)
        assert command is not None, f"{page.name}: there is no `reap {verb}`"
        if isinstance(command, click.Group) and words and words[0] in command.commands:
            command = command.commands[words[0]]
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        known |= {"-h", "--help"}
        for word in words:
            if word.startswith("-") and word != "-" and " " not in word:  # standard output; a quoted value
                assert word.partition("=")[0] in known, f"{page.name}: reap {verb} has no {word}"


@cache
def said_by_the_code() -> str:
    """Every string of the packages; an f-string is cut where something is filled in."""
    return "\n".join(
        node.value
        for package in ("lab/reap", "studies/reap_studies")
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def messages() -> list[str]:
    """The messages in the first column of the tables of the page on troubleshooting."""
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    text = text.partition("## The program cannot be measured")[2]
    rows = re.findall(r"^\| (`.*?`) \| ", text, re.MULTILINE)
    return [message.strip("`") for row in rows for message in re.split(r"`, `", row)]


@pytest.mark.parametrize("message", messages())
def test_messages_are_those_of_the_code(message: str) -> None:
    fragments = [part.strip(" ();,:.") for part in message.split("…")]
    assert any(len(fragment) > 8 for fragment in fragments), "too little to recognise"
    for fragment in fragments:
        assert fragment in said_by_the_code()


def header_values() -> dict[str, int]:
    """The value of every name of the header that is a plain number."""
    numbers = r"^#define (REAP_\w+) (?:UINT\d+_C\()?(0x[0-9a-f]+|\d+)u?\)?"
    found = dict(re.findall(numbers, HEADER, re.MULTILINE))
    found |= dict(re.findall(r"\b(REAP_\w+)\s*=\s*(0x[0-9a-f]+|\d+)", HEADER))
    return {name: int(value, 0) for name, value in found.items()}


def test_the_format_page_names_what_the_header_names() -> None:
    names = r"\bREAP_[A-Z0-9_]+\b"
    in_header = set(re.findall(names, HEADER)) - {"REAP_TRACE_H"}
    in_page = set(re.findall(names, FORMAT))
    assert in_page - in_header == set(), "on the page only"
    assert in_header - in_page == set(), "in the header only"


def test_the_format_page_has_the_header_s_numbers() -> None:
    values = header_values()
    rows = re.findall(r"^\| (0x[0-9a-f]{2}|\d+) \| `(REAP_\w+)` \|", FORMAT, re.MULTILINE)
    text = re.findall(r"\b(\d+) `(REAP_(?:CALL|DEPTH|CLOCK|SAMPLER)_\w+)`", FORMAT)
    text += [(number, name) for name, number in re.findall(r"`(REAP_\w+)` \((0x[0-9a-f]+|\d+)[):]", FORMAT)]
    assert {name for _, name in rows} >= {
        name for name in values if name.startswith(("REAP_TAG_", "REAP_IMAGE_")) and name != "REAP_TAG_END"
    } | {f"REAP_BLOCK_{kind}" for kind in ("EVENTS", "DEFINITIONS", "COUNTS", "OUTSIDE", "REQUESTS")}
    for number, name in [*rows, *text]:
        assert values[name] == int(number, 0), name


def layout(struct: str) -> dict[str, tuple[int, int]]:
    """Offset and size of every field of a struct of the header."""
    body = re.search(rf"struct {struct} {{(.*?)^}};", HEADER, re.MULTILINE | re.DOTALL)
    assert body is not None
    plain = re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL)
    values, fields, at = header_values(), {}, 0
    field = re.compile(r"(?:uint(\d+)_t|char|struct (\w+))\s+(\w+)(?:\[(\w+)\])?;")
    for bits, inner, name, count in field.findall(plain):
        within = layout(inner).values() if inner else [(0, int(bits or 8) // 8)]
        unit = max(size for _, size in within)
        at = (at + unit - 1) // unit * unit
        size = max(offset + size for offset, size in within) * (values[count] if count else 1)
        fields[name] = (at, size)
        at += size
    return fields


@pytest.mark.parametrize(
    ("struct", "heading"),
    [
        ("reap_file_header", "### The file header"),
        ("reap_block_header", "### The head of a block"),
        ("reap_counts", "## Counts"),
        ("reap_requests", "## Requests"),
    ],
)
def test_the_format_page_has_the_header_s_layout(struct: str, heading: str) -> None:
    section = re.split(r"^#", FORMAT.partition(heading)[2], maxsplit=1, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| (\d+) \| (\d+) \| `(\w+)` \|", section, re.MULTILINE)
    assert {name: (int(offset), int(size)) for offset, size, name in rows} == layout(struct)
