"""Small checkouts, and where setup/quick is."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


QUICK = ROOT / "setup" / "quick"


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def git(root: Path, *words: str) -> str:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *settings, *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def remembered(folder: Path, took=(), more_than=()) -> None:
    write(folder, {"build/quick.json": json.dumps({"took": dict(took), "more than": dict(more_than)})})
