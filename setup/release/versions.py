"""Where the version stands, and the changelog: what a release has to agree with before it is built."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = {
    "CMakeLists.txt": r"^project\(reap VERSION ([0-9.]+)",
    "pyproject.toml": r'^version = "([^"]+)"',
    "studies/pyproject.toml": r'^version = "([^"]+)"',
    "lab/reap/__init__.py": r'^__version__ = "([^"]+)"',
    "setup/packages/vcpkg/reap/vcpkg.json": r'^  "version": "([^"]+)"',
}
"""Files that hold the version, and the pattern that finds it; other packages read it from CMakeLists.txt."""
VERSION = re.compile(r"\d+\.\d+\.\d+")


class NotReadyError(Exception):
    """The sources are not those of a release; the message has a line for each reason."""


def _found(name: str, root: Path) -> re.Match[str]:
    match = re.search(PLACES[name], (root / name).read_text(), re.MULTILINE)
    if match is None:
        raise NotReadyError(f"{name}: no version is found there; setup/release/versions.py has its pattern")
    return match


def current(root: Path = ROOT) -> str:
    """The version that every place has."""
    versions = {name: _found(name, root)[1] for name in PLACES}
    if len({*versions.values()}) > 1:
        raise NotReadyError(
            "the version differs: "
            + ", ".join(f"{name} has {version}" for name, version in versions.items())
            + ". Write one into all of them: setup/release prepare VERSION"
        )
    return versions["CMakeLists.txt"]


def _sections(root: Path) -> dict[str, str]:
    """The changelog's text by heading: `[Unreleased]`, `[0.1.0] - 2026-11-30`."""
    _, *parts = re.split(r"^## (.+)\n", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def notes(version: str, root: Path = ROOT) -> str:
    """What the changelog says of a version, or of what is unreleased where it says nothing of that."""
    sections = _sections(root)
    for heading, text in sections.items():
        if heading.startswith(f"[{version}]"):
            return text + "\n"
    return sections.get("[Unreleased]", "") + "\n"


def prepare(version: str, date: str, root: Path = ROOT) -> None:
    """Write a version into every place, and date what the changelog has as unreleased."""
    if not VERSION.fullmatch(version):
        raise NotReadyError(f"{version} is not a version: three numbers, as 0.2.0")
    sections = _sections(root)
    if not sections.get("[Unreleased]"):
        raise NotReadyError("CHANGELOG.md has nothing under [Unreleased]: write what this release changes")
    if any(heading.startswith(f"[{version}]") for heading in sections):
        raise NotReadyError(f"CHANGELOG.md has [{version}] already: choose the next version")
    for name in PLACES:
        match, path = _found(name, root), root / name
        text = path.read_text()
        text = text[: match.start(1)] + version + text[match.end(1) :]
        # The studies require the lab of their own version.
        path.write_text(text.replace(f"reap-lab=={match[1]}", f"reap-lab=={version}"))
    path = root / "CHANGELOG.md"
    path.write_text(
        path.read_text().replace("## [Unreleased]\n", f"## [Unreleased]\n\n## [{version}] - {date}\n", 1)
    )


def _git(*arguments: str, root: Path) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()


def check(root: Path = ROOT) -> str:
    """The version, if the sources are those of its release. Raises NotReadyError with every reason."""
    version = current(root)
    problems = []
    sections = _sections(root)
    dated = [heading for heading in sections if heading.startswith(f"[{version}]")]
    if not dated:
        problems.append(f"CHANGELOG.md has no section [{version}]: setup/release prepare {version}")
    elif not re.fullmatch(r"\[[0-9.]+\] - \d{4}-\d\d-\d\d", dated[0]) or not sections[dated[0]]:
        problems.append(f"CHANGELOG.md: {dated[0]} needs a date, as [{version}] - 2026-11-30, and a text")
    if sections.get("[Unreleased]"):
        problems.append(
            "CHANGELOG.md has changes under [Unreleased]: move them to the release, or wait for the next"
        )
    if changed := _git("status", "--porcelain", root=root):
        problems.append(f"{len(changed.splitlines())} files are not committed: commit them (git status)")
    tagged = _git("rev-parse", "--verify", "--quiet", f"v{version}^{{commit}}", root=root)
    head = _git("rev-parse", "HEAD", root=root)
    if not tagged:
        problems.append(f"no tag v{version}: git tag --annotate v{version} --message 'Reap {version}'")
    elif tagged != head:
        problems.append(
            f"the tag v{version} is of {tagged[:8]}, and this is {head[:8]}: check it out, or raise "
            "the version"
        )
    if problems:
        raise NotReadyError("\n".join(problems))
    return version
