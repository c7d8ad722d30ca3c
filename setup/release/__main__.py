"""Build and check what a release consists of. Nothing is uploaded.

    setup/bootstrap release                           # once: the tools that setup/python/release.lock has
    .venv/bin/python setup/release prepare VERSION    # writes the version everywhere, dates the changelog
    .venv/bin/python setup/release check              # versions, changelog, tag, nothing uncommitted
    .venv/bin/python setup/release build [--trial] [--with WHEEL ...] [--results FOLDER ...] [--out FOLDER]
    .venv/bin/python setup/release wheel FOLDER       # one wheel alone, for the Python that runs this
    .venv/bin/python setup/release older              # what wheels are linked with; needs a network once
    .venv/bin/python setup/release needs WHEEL        # what its files need of glibc; 1 if that is too new

`build` leaves in dist/VERSION: the source distribution, a wheel that was built from it, the wheel of
reap-studies, wheels built elsewhere (--with), the notes of the changelog, a CycloneDX bill of materials and
SHA256SUMS. It ends with the commands that publish them. With --trial neither tag nor changelog is checked.
Each FOLDER of --results has a full study, as studies/bench/full.py leaves it; its page, JSON, CSV and
drawings go to reap-results-VERSION.tar.xz, once what docs/results keeps of it is known to be the same.
"""

import argparse
import datetime as dt
import shutil
import sys
import tarfile
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path

import bill
import versions
import wheel
from commands import run

import older

PYTHON = "cp311-abi3"
"""Of the wheel: the stable ABI of the oldest Python."""


STUDY = ("study.html", "study.json", "figures.csv", "parts.jsonl", "*.svg")
"""What a release has of a full study."""


def build(out: Path, version: str, others: list[Path], results: list[Path]) -> list[Path]:
    """Build and check all files of a release; `out` is made empty."""
    for each in others:
        check_wheel(each, version)
    if results:
        run(sys.executable, versions.ROOT / "studies/bench/keep.py", "--check", *results)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    source = wheel.sources(out)
    if version not in source.name:
        raise versions.NotReadyError(f"{source.name} is not of version {version}")
    wheels = [wheel.wheel(out, source), *(Path(shutil.copy(other, out)) for other in others)]
    check_wheel(wheels[0], version)
    studies = wheel.studies(out)
    bill.write(out / f"reap_lab-{version}.cdx.json", wheels)
    (out / "notes.md").write_text(versions.notes(version))
    if results:
        attach(out / f"reap-results-{version}.tar.xz", results)
    run(sys.executable, "-m", "twine", "check", "--strict", source, *wheels, studies)
    files = sorted(out.iterdir())
    sums = "".join(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (out / "SHA256SUMS").write_text(sums)
    run("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=out)
    return [*files, out / "SHA256SUMS"]


def attach(archive: Path, results: list[Path]) -> None:
    """Write the results of full studies, a folder each, into an archive."""
    with tarfile.open(archive, "w:xz") as file:
        for folder in results:
            for path in sorted(path for pattern in STUDY for path in folder.glob(pattern)):
                file.add(path, f"{archive.name.removesuffix('.tar.xz')}/{folder.name}/{path.name}")


def check_wheel(path: Path, version: str) -> None:
    """Raises NotReadyError for a wheel of another version, or one whose glibc is newer than promised."""
    _, of, python, abi, *_ = path.name.split("-")
    if of != version:
        raise versions.NotReadyError(f"{path.name} is not of version {version}: build it from this commit")
    if f"{python}-{abi}" != PYTHON:
        raise versions.NotReadyError(f"{path.name}: the wheel is for {PYTHON} (setup/release has that)")
    if "reap/native.abi3.so" not in zipfile.ZipFile(path).namelist():
        raise versions.NotReadyError(f"{path.name}: its module is of one Python alone, not of the stable ABI")
    if (promised := wheel.glibc(path)) > older.MODULE:
        raise versions.NotReadyError(
            f"{path.name} needs glibc 2.{promised}, and its platforms have 2.{older.MODULE}"
        )
    if too_new := wheel.too_new(path):
        raise versions.NotReadyError(
            "\n".join(f"{path.name}: {name} needs {', '.join(needed)}" for name, needed in too_new.items())
            + "\nlab/older has a fall-back for each function of a newer glibc: add one"
        )


def main() -> int:
    """Runs what the command line asks for; 1 if the sources are not ready or a check fails."""
    parser = argparse.ArgumentParser(prog="setup/release", description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    preparing = verbs.add_parser("prepare", help="write the version everywhere, date the changelog")
    preparing.add_argument("version")
    verbs.add_parser("check", help="whether the sources are those of a release")
    building = verbs.add_parser("build", help="build and check all files of a release")
    building.add_argument("--trial", action="store_true", help="check neither tag nor changelog")
    building.add_argument("--with", dest="others", metavar="WHEEL", type=Path, nargs="+", default=[])
    building.add_argument("--results", metavar="FOLDER", type=Path, nargs="+", default=[])
    building.add_argument("--out", type=Path)
    one = verbs.add_parser("wheel", help="build one wheel, for the Python that runs this")
    one.add_argument("folder", type=Path)
    verbs.add_parser("older", help="prepare what wheels are linked with, for an older glibc")
    needing = verbs.add_parser("needs", help="what a wheel's files need of glibc")
    needing.add_argument("wheel", type=Path)
    asked = parser.parse_args()
    try:
        if asked.verb == "prepare":
            versions.prepare(asked.version, dt.datetime.now(dt.UTC).date().isoformat())
            print("Next: setup/install && setup/man, then git diff, commit, tag, setup/release check")
        elif asked.verb == "check":
            print(f"{versions.check()} is ready to be built: setup/release build")
        elif asked.verb == "older":
            print(older.prepare())
        elif asked.verb == "needs":
            for name, minor in wheel.newest(asked.wheel).items():
                print(f"glibc 2.{minor:<4}{name}")
            check_wheel(asked.wheel, versions.current())
        elif asked.verb == "wheel":
            asked.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as scratch:
                print(wheel.wheel(asked.folder, wheel.sources(Path(scratch))))
        else:
            version = versions.current() if asked.trial else versions.check()
            if missing := [str(path) for path in asked.others if not path.is_file()]:
                raise versions.NotReadyError(f"there is no wheel {', '.join(missing)}: see setup/platforms")
            out = asked.out or versions.ROOT / "dist" / version
            for path in build(out, version, asked.others, asked.results):
                print(f"{path.stat().st_size:>12,}  {path}")
            print(f"\nTo publish: .venv/bin/twine upload {out}/reap_*-{version}*.whl {out}/*.tar.gz")
            beside = "notes.md, the bill, the results and SHA256SUMS"
            print(f"and git push origin v{version}, with {beside} beside the tag.")
    except versions.NotReadyError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
