"""Puts real programs to each of Reap's verbs, and says where they do anything else than alone.

    .venv/bin/python lab/test/real_programs [NAME...]      runs what has no result yet
    .venv/bin/python lab/test/real_programs --again NAME   runs it again
    .venv/bin/python lab/test/real_programs --way full --repeat 20
    .venv/bin/python lab/test/real_programs --markdown docs/programs.md

Each result is appended at once to build/real-programs.jsonl, so that what was ended goes on.
Programs come by `setup/bootstrap programs`. Services need root.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click
import entries
import judging
import kept
import markdown_table
import running


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all if not given")
    parser.add_argument("--way", action="append", choices=("alone", *running.VERBS), help="one of the verbs")
    parser.add_argument("--group", action="append", help="those of a file NAME.toml")
    parser.add_argument("--again", action="store_true", help="run what has a result, too")
    parser.add_argument("--repeat", type=int, default=1, help="so many runs of each, one after all others")
    parser.add_argument("--results", type=Path, default=kept.RESULTS)
    parser.add_argument("--markdown", type=Path, help="write the table into this page, between its marks")
    asked = parser.parse_args()
    known = entries.load()
    if unknown := set(asked.names) - known.keys():
        parser.error(f"no program {', '.join(sorted(unknown))} in the table")
    results = kept.Results(asked.results)
    if asked.markdown:
        markdown_table.write(asked.markdown, known, results)
        return 0
    chosen = [
        entry
        for entry in known.values()
        if (not asked.names or entry.name in asked.names) and (not asked.group or entry.group in asked.group)
    ]
    failed = 0
    for entry, way, number in wanted(chosen, asked.way or ("alone", *running.VERBS), asked.repeat):
        if not asked.again and results.of(entry, way, number):
            continue
        try:
            result = replace(judging.judge(entry, way), number=number)
        except RuntimeError as error:
            click.echo(f"{entry.name}: {error}")
            failed += 1
            continue
        results.append(result)
        failed += bool(result.differences) and not result.by_valgrind
        click.echo(markdown_table.line(result))
    return 1 if failed else 0


def wanted(
    chosen: list[entries.Entry], ways: Sequence[str], repeats: int
) -> Iterator[tuple[entries.Entry, str, int]]:
    """What is run: each entry once in each way, then all of them again, but for the runs alone."""
    for number in range(1, repeats + 1):
        for entry in chosen:
            for way in ways:
                if way not in entry.not_under and (number == 1 or way != "alone"):
                    yield entry, way, number


if __name__ == "__main__":
    sys.exit(main())
