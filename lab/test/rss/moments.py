"""Moments of a process's memory that no process had."""

from reap.launch.process.records import OWNERS, Around, Kernel, Moment, Walk
from reap.rss import analyse
from reap.rss.records import Residence

AREAS = ("heap", "anonymous", "stack", "files", "written", "shared", "lazy_free", *OWNERS)
"""The fields of `Kernel` that add up to resident memory."""


def kernel_of(**sizes):
    parts = dict.fromkeys(Kernel.__struct_fields__, 0) | sizes
    return Kernel(**parts | {"resident": sum(parts[name] for name in AREAS)})


def walk_of(**fields):
    return Walk(**dict.fromkeys(Walk.__struct_fields__, 0) | {"stamp": 1} | fields)


def around_of(**fields):
    return Around(**{**dict.fromkeys(Around.__struct_fields__, 0), **fields})


def taken_of(kernel, said=None, seconds=1.0, linked=()):
    moment = Moment(pid=1, seconds=seconds, kernel=kernel, said=said, linked=list(linked))
    return analyse.take_apart(moment)


def residence_of(*moments, allocator="glibc", **fields):
    values = {"command": ["server"], "pid": 1, "interval": 0.1, "allocator": allocator, **fields}
    return Residence(moments=list(moments), taken=len(moments), **values)
