"""Sampling where a program's time goes on a littered heap: by perf events, or else by a timer in it."""

import tempfile
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec.structs import replace

from reap import native
from reap.allocators import library
from reap.base.files import native_name
from reap.launch import native_files
from reap.launch.host import sampling
from reap.launch.litter import run as littering
from reap.launch.litter.records import Litter, Littered
from reap.launch.records import Launch
from reap.recording import record


class Sampled(NamedTuple):
    """A run on a littered heap, and where its instruction pointers were."""

    littered: Littered
    seen: native.InstructionSamples
    method: Literal["perf", "timer"]
    kernel: bool
    """Whether time in the kernel was told apart, too."""


def sample(launch: Launch, litter: Litter, *, image: str = "", providers: list[str]) -> Sampled:
    """Runs the program on a littered heap and samples it, the littering itself left out.

    Perf events add nothing to the program. Where they are refused the recorder is loaded into it for its
    timer's sake; its own time is left out of the samples, too, but not off the outcome. `providers` are the
    files that serve malloc, where that is not the C library. Throws what `litter.run` throws.
    """
    by_timer = sampling.check().samples == 0
    sampler, period = record.sampler(by_timer=by_timer)
    with tempfile.TemporaryDirectory(prefix="reap-sample-") as folder:
        path = Path(folder) / "samples"
        # Stamps in nanoseconds of the clock that the litterings report by.
        native.create_trace(native_name(path), native.TRIAGE, native.MONOTONIC_NS, sampler, period)
        sampled = replace(launch, options=[*launch.options, "--trace", str(path)])
        if by_timer:
            sampled = replace(
                sampled,
                preloads=[*launch.preloads, str(native_files.preload("record"))],
                environment={**launch.environment, native.TRACE_ENV: str(path)},
            )
        littered = littering.run(sampled, litter, image=image)
        record.finish(path, names=False)
        left_out = [(each.pid, each.begin_ns, each.end_ns) for each in littered.litterings]
        files = [name for provider in providers for name in library.names(provider)]
        recording = native.Recording(native_name(path), native_files.preload("record").name, files, left_out)
        return Sampled(
            littered=littered,
            seen=recording.instruction_samples(),
            method="timer" if by_timer else "perf",
            # A timer's handler does not see who called libc's wrapper of a system call.
            kernel=not by_timer and recording.header().sampler_kernel,
        )
