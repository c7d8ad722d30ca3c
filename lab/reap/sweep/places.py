"""Places where rounds run: the option that names one, and its pool."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import click

_COUNTED = ("local", "slurm", "pbs", "lsf")
_ADDRESSES = ("tcp", "tls", "ws", "wss", "ucx")
"""Schemes of a scheduler's address."""
_FORMS = "local:N, ssh:HOST,HOST, slurm:N, pbs:N, lsf:N, or the address of a Dask scheduler (tcp://HOST:PORT)"


class _Place(click.ParamType[str]):
    name = "where"

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        """The words as they are, once they name a place."""
        kind, _, rest = value.partition(":")
        counted = kind in _COUNTED and rest.isascii() and rest.isdigit() and int(rest) > 0
        named = kind in ("ssh", *_ADDRESSES) and any(each.strip(" /") for each in rest.split(","))
        if not counted and not named:
            self.fail(f"{value!r} names no place: give {_FORMS}", parameter, context)
        return value


option = click.option(
    "--on",
    type=_Place(),
    metavar="WHERE",
    help="Run on N workers of this machine (local:N), on hosts by ssh (ssh:HOST,HOST), in N jobs of a "
    "batch system (slurm:N, pbs:N, lsf:N), or on the workers of a Dask scheduler (tcp://HOST:PORT).",
)
"""Gives a verb the option; it hands that to `Places.taken`."""


@dataclass(frozen=True)
class Places:
    """The option as it was given; empty: here."""

    on: str = ""

    @classmethod
    def taken(cls, given: dict[str, Any], *, dask_on_cores: bool = True) -> Self:
        """Takes it out of what click gives. Throws ReapError without Dask where that is used.

        It is not used on the cores of this machine unless `dask_on_cores`.
        """
        found = cls(given.pop("on") or "")
        if found.on and (dask_on_cores or not found.local):
            from reap.sweep import cluster

            cluster.require()
        return found

    @property
    def local(self) -> int:
        """Workers on this machine; 0: elsewhere, or none."""
        return int(self._rest) if self._kind == "local" else 0

    @contextlib.contextmanager
    def client(self) -> Iterator[tuple[Any, int]]:
        """A client of the cluster, and how many workers it has or is to have. Throws ReapError."""
        from reap.sweep import cluster

        if self.local:
            made = cluster.local(self.local)
        elif self._kind == "ssh":
            made = cluster.ssh([each.strip() for each in self._rest.split(",") if each.strip()])
        elif self._kind in _COUNTED:
            made = cluster.jobs(self._kind, int(self._rest))
        else:
            made = cluster.scheduler(self.on)
        with made as found:
            yield found

    @property
    def _kind(self) -> str:
        return self.on.partition(":")[0]

    @property
    def _rest(self) -> str:
        return self.on.partition(":")[2]
