"""Size profile to litter a heap with: the sizes that a program allocates, and its number of blocks in use.

The detection of adversarial allocation (section 3.1, ISMM 2026), from a recording, and the file of it.
"""

from datetime import UTC, datetime
from typing import Literal

import msgspec

from reap import native
from reap.base import records
from reap.base.errors import ReapError
from reap.base.records import Estimate, Record, exactly
from reap.base.text import plain_json

FORMAT = "reap size profile"
VERSION = 1
CUT_OFF = 4096
"""Larger blocks are left out unless one says otherwise, as in the paper: a page holds no two of them."""

_MOST_SIZE = 1 << 40
_MOST_COUNT = 1 << 47
"""Of all sizes together: what the exact arithmetic of drawing has room for."""
_MOST_SIZES = 65535
_MOST_THREADS = 1 << 22
"""What Linux can have at once."""
_MAKE = "take one with: reap fragment --save-profile FILE -- CMD"


class SizeProfile(Record):
    """The size profile of one program. This is what its file holds."""

    format: str
    version: int
    program: str
    """The executable of the process that allocated most."""
    command: list[str]
    """Of the process that was recorded first."""
    counted: Literal["allocations", "in use at the peak"]
    """What the counts of `sizes` are: all allocations (from a triage recording), or the blocks in use when
    there were most (from a full one), which is nearer to what a long-running process leaves behind."""
    cut_off: int
    """Blocks of this many bytes and more are not in `sizes`."""
    sizes: list[tuple[int, int]]
    """(size, count), by size."""
    left_out: int
    """How many blocks were as large as the cut-off, or larger."""
    left_out_bytes: int
    peak: Estimate
    """Most blocks in use at once in a process. From triage: the most at any sample, and an upper bound; those
    beyond the cut-off are among them. From a full recording exact, and without those."""
    threads: int = 1
    """Most threads that allocated in a process at once."""
    processes: int = 1
    """Of the recorded tree: the sizes are those of all, the peak is the largest."""
    recorded: str = ""
    """When, as ISO 8601 in UTC."""
    reap_version: str = ""

    @property
    def count(self) -> int:
        """All counts together."""
        return sum(count for _, count in self.sizes)

    @property
    def left_out_share(self) -> float:
        """Of all bytes, those in blocks as large as the cut-off; 0 to 1."""
        below = sum(size * count for size, count in self.sizes)
        return self.left_out_bytes / (self.left_out_bytes + below) if self.left_out_bytes else 0.0

    @property
    def mean_size(self) -> float:
        """Of the blocks below the cut-off; 0 if there is none."""
        return sum(size * count for size, count in self.sizes) / self.count if self.sizes else 0.0


def size_profile(
    recording: native.Recording, *, cut_off: int = CUT_OFF, reap_version: str = ""
) -> SizeProfile:
    """The size profile that a recording holds.

    Sizes below 4096 bytes are counted one by one and larger ones in four bins an octave: with a cut-off
    beyond that, a bin stands for blocks of its mean size. Throws ReapError if nothing below the cut-off was
    allocated.
    """
    header, images = recording.header(), recording.images()
    full = header.depth == native.FULL
    seen = recording.sizes_at_peak() if full else recording.sizes()
    sizes: dict[int, int] = {}
    left_out = left_out_bytes = 0
    for low, _, objects, total in seen:
        size = max(low, total // objects)
        if size < cut_off:
            sizes[size] = sizes.get(size, 0) + objects
        else:
            left_out += objects
            left_out_bytes += total
    main = max(images, key=lambda image: image.objects, default=None)
    profile = SizeProfile(
        format=FORMAT,
        version=VERSION,
        program=main.executable if main else "",
        command=images[0].command if images else [],
        counted="in use at the peak" if full else "allocations",
        cut_off=cut_off,
        sizes=sorted(sizes.items()),
        left_out=left_out,
        left_out_bytes=left_out_bytes,
        peak=_exact_peak(images, sum(sizes.values()), left_out) if full else _counted_peak(images),
        threads=max((image.threads for image in images), default=1) or 1,
        processes=max(len(images), 1),
        recorded=datetime.fromtimestamp(header.start_unix_ns / 1e9, UTC).isoformat(timespec="seconds"),
        reap_version=reap_version,
    )
    require_something(profile)
    return profile


def narrow(profile: SizeProfile, cut_off: int) -> SizeProfile:
    """The profile that a lower cut-off would have given.

    A higher one changes nothing, for what was left out is gone. Throws ReapError if nothing remains.
    """
    kept = [(size, count) for size, count in profile.sizes if size < cut_off]
    peak = profile.peak
    if profile.counted == "in use at the peak":  # that of triage has the blocks beyond the cut-off in it
        peak = exactly(peak.value * sum(count for _, count in kept) / profile.count)
    gone = [(size, count) for size, count in profile.sizes if size >= cut_off]
    narrowed = msgspec.structs.replace(
        profile,
        cut_off=min(cut_off, profile.cut_off),
        sizes=kept,
        left_out=profile.left_out + sum(count for _, count in gone),
        left_out_bytes=profile.left_out_bytes + sum(size * count for size, count in gone),
        peak=peak,
    )
    require_something(narrowed)
    return narrowed


def require_something(profile: SizeProfile) -> None:
    """Throws ReapError for a profile by which no heap could be littered."""
    if not profile.sizes:
        raise ReapError(
            f"the program allocates nothing of less than {profile.cut_off} bytes, so there is nothing to "
            "litter a heap with",
            "take the profile of its naive variant, or a higher --litter cut-off=BYTES",
        )
    if profile.peak.value < 1:
        raise ReapError(
            "the program had hardly anything in use: its peak was missed by sampling",
            "make a full recording, reap record --depth full -o F.reap -- CMD; give --litter profile=F.reap",
        )


def _exact_peak(images: list[native.Image], below: int, beyond: int) -> Estimate:
    most = max((image.in_use.max_objects for image in images), default=0.0)
    # Not rounded: a lower cut-off takes its share of it, and should come to what the recording gives.
    return exactly(most * below / (below + beyond) if below else 0)


def _counted_peak(images: list[native.Image]) -> Estimate:
    """Blocks in use are known exactly at every sample, and at the end of each process."""
    value = high = 0.0
    for image in images:
        seen = max(image.counted.most, float(image.objects - image.frees), 0.0)
        value = max(value, seen)
        bound = image.counted.bound if image.counted.most > 0 else float(image.objects)
        high = max(high, seen, min(bound, float(image.objects)))
    return Estimate(value=value, low=value, high=high)


def encode(profile: SizeProfile) -> bytes:
    """The file's bytes: JSON, for people too."""
    return plain_json(msgspec.json.format(msgspec.json.encode(profile), indent=1)) + b"\n"


def decode(data: bytes, name: str) -> SizeProfile:
    """The profile in a file's bytes; `name` is the file's, for messages.

    Throws ReapError for what is no size profile, is of a newer version, or cannot be true.
    """
    try:
        kind = records.decode(data, _Kind)
    except msgspec.DecodeError as error:
        raise ReapError(f"{name} is no size profile: {error}", _MAKE) from error
    if kind.format != FORMAT:
        raise ReapError(f"{name} is no size profile, but '{kind.format[:40]}'", _MAKE)
    if kind.version != VERSION:
        raise ReapError(
            f"{name} is a size profile of version {kind.version}; this reap reads version {VERSION}",
            f"use the reap that made it, or {_MAKE}",
        )
    try:
        profile = records.decode(data, SizeProfile)
    except msgspec.DecodeError as error:
        raise ReapError(f"the size profile {name} is damaged: {error}", _MAKE) from error
    if fault := _fault(profile):
        raise ReapError(f"the size profile {name} is damaged: {fault}", _MAKE)
    require_something(profile)
    return profile


class _Kind(Record):
    format: str = ""
    version: int = 0


def _fault(profile: SizeProfile) -> str:
    """Reason why a profile cannot be true; empty if it can."""
    sizes = [size for size, _ in profile.sizes]
    if sizes != sorted(set(sizes)):
        return "its sizes are not in order, each once"
    if any(not 0 <= size < min(profile.cut_off, _MOST_SIZE) for size in sizes):
        return f"a size is not from 0 to below its cut-off of {profile.cut_off}"
    if any(count < 1 for _, count in profile.sizes):
        return "a size has a count below 1"
    if profile.count > _MOST_COUNT or len(sizes) > _MOST_SIZES:
        return "its counts are beyond what can be drawn from"
    if not 0 <= profile.peak.value <= _MOST_COUNT:
        return f"a peak of {profile.peak.value:g} objects is impossible"
    if profile.threads < 1 or profile.processes < 1:
        return "it has no thread, or no process"
    if profile.threads > _MOST_THREADS:
        return f"{profile.threads} threads are more than a system can have"
    if profile.left_out < 0 or profile.left_out_bytes < 0:
        return "what it leaves out is less than nothing"
    return ""
