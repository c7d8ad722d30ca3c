"""Plain text as Markdown, where nothing of it is markup."""

import html
import re


def escaped(text: str) -> str:
    """Text in which no character has a meaning of Markdown's."""
    return html.escape(re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", text), quote=False)


def row(*cells: str) -> str:
    """A line of a table."""
    return "| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |"


def code(text: str) -> str:
    """A span of code; a pipe in it would end a table's cell."""
    return f"`{text}`" if "|" not in text else f"<code>{escaped(text)}</code>"


def fence(text: str, language: str = "") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"
