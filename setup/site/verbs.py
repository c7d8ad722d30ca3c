"""The reference of the commands, from what each says with --help."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
from markdown_text import code, escaped, fence, row

from reap.cli.main import COMMANDS, cli


def every(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """A command and all below it."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from every(below, click.Context(below, info_name=name, parent=context))


def paragraphs(text: str) -> str:
    """Help text as Markdown: indented lines and what follows a \\b are code, `spans` stay."""
    done = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        verbatim = part.startswith("\b\n")
        if verbatim or all(line.startswith("    ") for line in part.splitlines()):
            done.append(fence(inspect.cleandoc(part.removeprefix("\b\n")), "text"))
            continue
        spans = re.split(r"(`[^`]+`)", " ".join(part.split()))
        done.append("".join(span if span.startswith("`") else escaped(span) for span in spans) + "\n")
    return "\n".join(done)


def one(command: click.Command, context: click.Context, depth: int) -> str:
    """A command: its heading, usage, help and options."""
    parts = [f"{'#' * depth} {context.command_path}\n"]
    pieces = " ".join(command.collect_usage_pieces(context))
    parts.append(fence(f"{context.command_path} {pieces}", "text"))
    parts.append(paragraphs(command.help or ""))
    records = [
        record for option in command.get_params(context) if (record := option.get_help_record(context))
    ]
    if records:
        parts.append("\n".join([row("option", "meaning"), row("---", "---")]))
        parts[-1] += "\n" + "\n".join(row(code(names), escaped(meaning)) for names, meaning in records) + "\n"
    if command.epilog:
        parts.append(paragraphs(command.epilog))
    return "\n".join(parts)


def write(source: Path, folder: str) -> list[str]:
    """Writes a page for each verb and one for `reap` itself; returns their paths, for the menu."""
    (source / folder).mkdir(parents=True)
    top = click.Context(cli, info_name="reap", max_content_width=100)
    index = [one(cli, top, 1), row("command", "what it does"), row("---", "---")]
    pages = [f"{folder}/README.md"]
    for verb, (_, summary) in COMMANDS.items():
        index.append(row(f"[`reap {verb}`]({verb}.md)", escaped(summary)))
        command = cli.get_command(top, verb)
        if command is None:  # it lists what it has
            continue
        context = click.Context(command, info_name=verb, parent=top)
        text = "\n".join(
            one(each, below, 1 if each is command else 2) for each, below in every(command, context)
        )
        (source / folder / f"{verb}.md").write_text(text)
        pages.append(f"{folder}/{verb}.md")
    (source / pages[0]).write_text("\n".join(index) + "\n")
    return pages
