"""Makes a card's program and its inputs, and keeps them in the user's cache.

Their folders are named after everything that they are made from, so that after a change they are rebuilt.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from reap.api import ExitCode, ReapError, did_you_mean, installation, packages
from reap_studies.workloads import brought, card, debian
from reap_studies.workloads.records import Card, Peer, Places, Prepare, Ready, Variant

MARKED = ("-DREAP_MARK_POOLS=1", "-DREAP_MARK_VALGRIND=1")
"""What a program of ours is compiled with so that its pools tell the drag engines of their objects."""
EMULATED = "emulated"
"""The name of the variant that a card has for drag alone."""
_VALGRIND_HEADERS = ("/usr/include", "/usr/local/include")


def can_be_marked(described: Card) -> bool:
    """Whether its pools can tell of their objects: those of the programs that c++ makes at once.

    What is built by a script, or comes from Debian, has pools that are seen as chunks alone.
    """
    return described.build is not None and described.build.argv[0] == "c++"


def places(name: str, *, scale: int | None = None, cache: Path | None = None, marked: bool = False) -> Places:
    """The folders of a card at a scale; their names depend on everything that they are made from."""
    described, folder, home = card.load(name), card.find(name), cache or cache_folder()
    amount = described.default_scale if scale is None else scale
    own = _fingerprint([described.prepare, brought.digest(described)], folder)
    how = "marked" if marked and can_be_marked(described) else "built"
    said = [described.build, described.source, *(MARKED if how == "marked" else ())]
    program = _fingerprint(said, folder, folder.parent / "common", *_library_files())
    built = f"{name}-{how}-{program}" if described.build else ""
    return Places(
        source=str(debian.place(described.source, home)) if described.source else "",
        built=str(home / built) if built else "",
        inputs=str(home / f"{name}-{amount}-{own}") if described.prepare else "",
    )


def peer_places(described: Card, name: str, *, cache: Path | None = None) -> Places:
    """The folders of a card's peer: of the source of its library, and of the library."""
    peer, home = described.peers[name], cache or cache_folder()
    folder = card.find(described.name)
    own = _fingerprint([peer.build, peer.source], folder, folder.parent / "common") if peer.build else ""
    return Places(
        source=str(debian.place(peer.source, home)) if peer.source else "",
        built=str(home / f"{described.name}-{name}-{own}") if own else "",
        inputs="",
    )


def absent(described: Card, *, cache: Path | None = None) -> dict[str, list[str]]:
    """The card's peers that cannot run here, and what each lacks: packages, or the source of its library."""
    found = {}
    for name, peer in described.peers.items():
        found[name] = packages.lacking(peer.packages)
        at = peer_places(described, name, cache=cache)
        if at.source and not Path(at.built).is_dir() and not Path(at.source).is_dir():
            found[name].append(debian.named(peer.source))
    return {name: lacking for name, lacking in found.items() if lacking}


def prepare(
    name: str,
    variant: str = "default",
    *,
    scale: int | None = None,
    cache: Path | None = None,
    marked: bool = False,
) -> Ready:
    """Makes the card's program and inputs unless they are there already, and returns what to run.

    They are kept in the user's cache, in folders that depend on everything they are made from. With `marked`
    the program's pools tell the drag engines of their objects, if they can; a program for which
    `can_be_marked` is false is the usual one. Throws ReapError if a program or the source is not there, or
    the build or prepare command fails.
    """
    described = card.load(name)
    folder = card.find(name)
    ways: dict[str, Variant] = {**described.variants, **described.peers}
    if described.emulated is not None:
        ways[EMULATED] = described.emulated
    if variant not in ways:
        raise ReapError(
            f"the workload {name} has no variant '{variant}'",
            f"{did_you_mean(variant, ways)}it has {', '.join(ways)}",
            ExitCode.USAGE,
        )
    amount = described.default_scale if scale is None else scale
    at = places(name, scale=amount, cache=cache, marked=marked)
    words = {"card": str(folder), "scale": str(amount), "python": sys.executable}
    words |= {"source": at.source, "built": at.built, "inputs": at.inputs}
    words["program"] = brought.folder(described)
    if described.build is not None:
        words["library"] = str(installation.headers())
        if at.source and not Path(at.built).is_dir():
            _require_source(described, described.source, Path(at.source))
        _make(described, _marked(described, described.build) if marked else described.build, "built", words)
    chosen = ways[variant]
    if isinstance(chosen, Peer) and chosen.build is not None:
        own = peer_places(described, variant, cache=cache)
        words["peer"] = own.built
        if own.source and not Path(own.built).is_dir():
            _require_source(described, chosen.source, Path(own.source))
        _make(described, chosen.build, "peer", {**words, "source": own.source})
    argv = [_fill(word, words) for word in chosen.argv]
    _require(described, argv[0])
    if described.prepare is not None:
        _make(described, described.prepare, "inputs", words)
    environment = {key: _fill(value, words) for key, value in chosen.environment.items()}
    return Ready(
        card=described,
        variant=variant,
        argv=argv,
        environment=environment,
        directory=at.inputs or str(folder),
    )


def _marked(described: Card, build: Prepare) -> Prepare:
    if not can_be_marked(described):
        return build
    if not any((Path(folder) / "valgrind/valgrind.h").is_file() for folder in _VALGRIND_HEADERS):
        raise ReapError(
            f"{described.name} cannot be built with its pools marked: valgrind/valgrind.h is not there",
            "apt-get install valgrind",
            ExitCode.NOT_FOUND,
        )
    return replace(build, argv=[*build.argv, *MARKED])


def _require_source(described: Card, wanted: str, at: Path) -> None:
    """Throws ReapError unless the source is there."""
    if not at.is_dir():
        raise ReapError(
            f"the workload {described.name} is built from {debian.named(wanted)}, which was not fetched",
            f"reap workloads prepare --yes {described.name}",
            ExitCode.NOT_FOUND,
        )


def _require(described: Card, program: str) -> None:
    if shutil.which(program) is None:
        raise ReapError(
            f"the workload {described.name} needs {program}, which is not installed",
            f"reap workloads prepare --yes {described.name}",
            ExitCode.NOT_FOUND,
        )


def _make(described: Card, command: Prepare, what: str, words: dict[str, str]) -> None:
    """Runs the command unless the folder that it fills, `words[what]`, is there.

    It works beside that place, and what it made is moved there, so that nothing is ever half made.
    """
    place = Path(words[what])
    if place.is_dir():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        argv = [_fill(word, {**words, what: str(made)}) for word in command.argv]
        _require(described, argv[0])
        done = subprocess.run(argv, cwd=made, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()[-500:]
            named = {"built": "the program", "peer": "the library of a peer"}.get(what, "inputs")
            if lacking := packages.lacking(described.packages):
                advice = f"reap workloads prepare --yes {described.name}"
                said += f"\n  not installed: {', '.join(lacking)} ({advice})"
            raise ReapError(f"{named} cannot be made: {' '.join(argv)} failed with {done.returncode}", said)
        if lacking := [file for file in command.makes if not (made / file).is_file()]:
            raise ReapError(f"{' '.join(argv)} did not make {', '.join(lacking)}", "correct the card")
        try:
            made.rename(place)
        except OSError:
            if not place.is_dir():  # else another reap was faster, and made the same
                raise


def _fill(word: str, words: dict[str, str]) -> str:
    for key, value in words.items():
        word = word.replace(f"{{{key}}}", value)
    return word


def cache_folder() -> Path:
    """Where all that is made for workloads is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "reap" / "workloads"


def _library_files() -> tuple[Path, Path]:
    """What programs are built from: the headers, and the sources of what is preloaded, beside them."""
    headers = installation.headers()
    return headers, headers.parent / "src" / "interpose"


def _fingerprint(said: Sequence[Prepare | str | None], *folders: Path) -> str:
    """Of what the card says of it and of all files in there: what was made from others is not used again.

    The rest of the card makes no difference: a changed description rebuilds nothing.
    """
    digest = hashlib.sha256(msgspec.json.encode(said))
    for folder in folders:
        for file in sorted(
            path
            for path in folder.rglob("*")
            if path.is_file() and path.name != "card.toml" and "__pycache__" not in path.parts
        ):
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
