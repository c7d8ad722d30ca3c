"""Makes a repository of one file that many revisions change. Always the same contents for one scale."""

import hashlib
import random
import subprocess
import sys
from pathlib import Path

LINES = 4000


def headers(**named: str) -> bytes:
    return "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in named.items()).encode()


def revision(number: int) -> bytes:
    day, hour, minute = number // 1440 % 28 + 1, number // 60 % 24, number % 60
    about = {
        "svn:date": f"2004-02-{day:02d}T{hour:02d}:{minute:02d}:00.000000Z",
        "svn:author": f"author{number % 7}",
        "svn:log": f"change number {number}",
    }
    parts = [f"K {len(key)}\n{key}\nV {len(value)}\n{value}\n" for key, value in about.items()]
    body = "".join([*parts, "PROPS-END\n"]).encode()
    size = str(len(body))
    return (
        headers(Revision_number=str(number), Prop_content_length=size, Content_length=size)
        + b"\n"
        + body
        + b"\n"
    )


def file(action: str, lines: list[str]) -> bytes:
    text = "".join(line + "\n" for line in lines).encode()
    head = headers(
        Node_path="story.c",
        Node_kind="file",
        Node_action=action,
        Text_content_length=str(len(text)),
        Text_content_md5=hashlib.md5(text, usedforsecurity=False).hexdigest(),
        Content_length=str(len(text)),
    )
    return head + b"\n" + text + b"\n\n"


def dump(scale: int) -> bytes:
    chance = random.Random(20040223)  # noqa: S311 - no secret
    lines = [f"line {n} of it, {chance.random():.6f}" for n in range(LINES)]
    parts = [b"SVN-fs-dump-format-version: 2\n\nUUID: 20040223-0000-4000-8000-000000000000\n\n", revision(0)]
    for number in range(1, scale * 10 + 1):
        for _ in range(chance.randint(20, 60)):
            at = chance.randrange(len(lines))
            lines[at : at + chance.randint(0, 3)] = [f"changed in {number}", f"and {chance.random():.6f}"]
        parts += [revision(number), file("add" if number == 1 else "change", lines)]
    return b"".join(parts)


def main() -> None:
    place, scale = Path(sys.argv[1]), int(sys.argv[2])
    repository = place / "repository"
    subprocess.run(["svnadmin", "create", repository], check=True)
    load = ["svnadmin", "load", "--quiet", "--force-uuid", "--no-flush-to-disk", repository]
    subprocess.run(load, input=dump(scale), check=True)
    (place / "made").write_text("")


main()
