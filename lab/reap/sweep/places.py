"""Places where rounds run: the options that name one, and its pool."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar

import click

from reap.base.errors import ExitCode, ReapError
from reap.commandline.experiments import decorated_by

_COUNT = click.IntRange(min=1)
_Verb = TypeVar("_Verb", bound=Callable[..., Any])

OPTIONS = (
    click.option("--local", type=_COUNT, metavar="N", help="Run on N worker processes of this machine."),
    click.option(
        "--scheduler", default="", metavar="ADDRESS", help="Run on the workers of this Dask scheduler."
    ),
    click.option(
        "--ssh", default="", metavar="HOSTS", help="Run on these hosts, separated by commas, started by ssh."
    ),
    click.option(
        "--slurm", type=_COUNT, metavar="N", help="Run in N jobs of SLURM, as jobqueue.yaml describes them."
    ),
    click.option("--pbs", type=_COUNT, metavar="N", help="Run in N jobs of PBS."),
    click.option("--lsf", type=_COUNT, metavar="N", help="Run in N jobs of LSF."),
)


def options(verb: _Verb) -> _Verb:
    """Gives a verb these options; it hands them to `Places.taken`."""
    return decorated_by(verb, *OPTIONS)


@dataclass(frozen=True, kw_only=True)
class Places:
    """The options as they were given."""

    scheduler: str = ""
    ssh: str = ""
    local: int | None = None
    slurm: int | None = None
    pbs: int | None = None
    lsf: int | None = None

    @classmethod
    def taken(cls, given: dict[str, Any], *, dask_on_cores: bool = True) -> Self:
        """Takes them out of what click gives. Throws ReapError for two, or without Dask where that is used.

        It is not used on the cores of this machine unless `dask_on_cores`.
        """
        found = cls(**{each.name: given.pop(each.name) for each in fields(cls)})
        if len(found.chosen) > 1:
            raise ReapError(
                f"{' and '.join(found.chosen)} do not go together", "name one place to run", ExitCode.USAGE
            )
        if found.chosen and (dask_on_cores or not found.local):
            from reap.sweep import cluster

            cluster.require()
        return found

    @property
    def chosen(self) -> list[str]:
        """The option that names a place; none: here."""
        return [f"--{each.name}" for each in fields(self) if getattr(self, each.name)]

    @property
    def shared(self) -> bool:
        """Whether all workers are on one machine."""
        return bool(self.local)

    @contextlib.contextmanager
    def client(self) -> Iterator[tuple[Any, int]]:
        """A client of the cluster, and how many workers it has or is to have. Throws ReapError."""
        from reap.sweep import cluster

        if self.scheduler:
            made = cluster.scheduler(self.scheduler)
        elif self.ssh:
            made = cluster.ssh(_hosts(self.ssh))
        elif self.local:
            made = cluster.local(self.local)
        else:
            system = self.chosen[0].removeprefix("--")
            made = cluster.jobs(system, getattr(self, system))
        with made as found:
            yield found


def _hosts(written: str) -> Sequence[str]:
    return [each.strip() for each in written.split(",") if each.strip()]
