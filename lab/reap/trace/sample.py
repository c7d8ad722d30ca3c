"""Sampling where a program's time goes from outside, without the recorder: nothing is added to it."""

from __future__ import annotations  # the types of reap.native stand in its stub and not in the module

import tempfile
from pathlib import Path

from msgspec.structs import replace

from reap import native
from reap.launch import litter as littering
from reap.launch import native_files
from reap.launch.litter import Litter, Littered
from reap.launch.records import Launch
from reap.trace import record

_PERIOD_US = 1000
"""Between two samples, in processor time of a thread."""


def sample(
    launch: Launch, litter: Litter, *, image: str = "", providers: list[str]
) -> tuple[Littered, native.InstructionSamples, bool]:
    """Runs the program on a littered heap and samples it, the littering itself left out.

    `providers` are the files that serve malloc, where that is not the C library. Also returned: whether time
    in the kernel was sampled. Needs perf events, without which no sample comes (see `sampling.check`). Throws
    what `litter.run` throws.
    """
    with tempfile.TemporaryDirectory(prefix="reap-sample-") as folder:
        path = Path(folder) / "samples"
        # Stamps in nanoseconds of the clock that the litterings report by.
        native.create_trace(str(path), native.TRIAGE, native.MONOTONIC_NS, native.SAMPLER_PERF, _PERIOD_US)
        sampled = replace(launch, options=[*launch.options, "--trace", str(path)])
        littered = littering.run(sampled, litter, image=image)
        record.finish(path)
        left_out = [(each.pid, each.begin_ns, each.end_ns) for each in littered.litterings]
        recording = native.Recording(str(path), native_files.preload("fragment").name, providers, left_out)
        return littered, recording.instruction_samples(), recording.header()["sampler_kernel"]
