"""Questions to the store: totals of groups, and two versions beside each other."""

from collections.abc import Sequence
from typing import Any

from reap.base.errors import ExitCode, ReapError
from reap.fleet.analyse import LEAST_HOSTS, Rates, Side
from reap.fleet.records import By, Fleet, Group, Measure, Skipped
from reap.fleet.run.files import MOST
from reap.fleet.run.store import Store

_KEYS = {"service": "service", "version": "service, version", "host": "host"}
_TOTALS = """
select count(*), count(distinct host), sum(seconds), sum(allocations), sum(bytes),
    count(*) filter (depth <> 'full'), count(peak_bytes),
    strftime(min(time), '%Y-%m-%dT%H:%M:%SZ'), strftime(max(time), '%Y-%m-%dT%H:%M:%SZ')
from chosen
"""
_GROUPS = """
select {keys}, count(*), count(distinct host), sum(seconds), sum(allocations), sum(bytes), avg(peak_bytes)
from chosen group by {keys} order by sum(bytes) desc, {keys} limit ?
"""
_SITES = """
select function, module, arg_max(location, sites.bytes), count(distinct nullif(build_id, '')),
    count(distinct number), count(distinct host), sum(sites.allocations), sum(sites.bytes),
    sum(sites.peak_bytes)
from sites join chosen using (number)
group by function, module order by sum(sites.bytes) desc, function, module limit ?
"""
_VALUES: dict[Measure, tuple[str, str]] = {
    "bytes": ("bytes", "seconds"),
    "allocations": ("allocations", "seconds"),
    "peak": ("peak_bytes", "1"),
}
"""What is summed up over a unit, and what it is divided by."""
_UNITS = """
units as (select version, {unit} as unit, sum({over}) as size, sum({value}) / sum({over}) as rate
    from chosen where {value} is not null group by all having sum({over}) > 0)
"""
_SIDES = """
with {units} select version, count(*), sum(rate), sum(rate * rate) from units group by version
"""
_RATES = """
with {units},
of_units as (select version, {unit} as unit, function, module, sum(sites.{value}) as value,
        arg_max(location, sites.{value}) as place
    from sites join chosen using (number) group by all),
rates as (select version, function, module, place, value / size as rate
    from of_units join units using (version, unit) where value is not null)
select function, module, version, sum(rate), sum(rate * rate), arg_max(place, rate)
from rates group by function, module, version
"""


class Questions:
    """Of the recordings that `where` selects."""

    def __init__(self, store: Store, where: Sequence[tuple[str, str]]) -> None:
        self._store = store
        self._where = list(where)

    def totals(self, by: By, files: int, skipped: list[Skipped]) -> Fleet:
        """Totals of the recordings, in groups. Throws ReapError where none is selected."""
        ((count, hosts, seconds, allocations, size, sampled, peaks, first, last),) = self._ask(_TOTALS)
        if not count:
            said = " and ".join(f"{key}={value}" for key, value in self._where)
            raise ReapError(f"no recording has {said}", self._known("service"), ExitCode.USAGE)
        groups = self._sites(seconds, peaks) if by == "site" else self._groups(by)
        of = (
            "function, module from sites join chosen using (number)"
            if by == "site"
            else f"{_KEYS[by]} from chosen"
        )
        ((every,),) = self._ask(f"select count(*) from (select distinct {of})")  # noqa: S608 - of constants
        return Fleet(
            files=files,
            skipped=skipped,
            duplicates=self._store.duplicates,
            recordings=count,
            hosts=hosts,
            seconds=seconds,
            allocations=allocations,
            bytes=size,
            sampled=sampled,
            first=first,
            last=last,
            by=by,
            groups=groups,
            left_out=every - len(groups),
        )

    def service_of(self, versions: tuple[str, str]) -> str:
        """The one service that has both versions. Throws ReapError where there is none, or more."""
        found = self._ask(
            "select service from chosen where version in (?, ?) "
            "group by service having count(distinct version) = ? order by service",
            *versions,
            len(set(versions)),
        )
        if len(found) == 1:
            return str(found[0][0])
        if not found:
            said = " and ".join(versions)
            raise ReapError(f"no service has the versions {said}", self._known("version"), ExitCode.USAGE)
        names = ", ".join(str(service) for (service,) in found[:5])
        raise ReapError(
            f"{len(found)} services have these versions: {names}",
            f"choose one: --where service={found[0][0]}",
            ExitCode.USAGE,
        )

    def by_host(self, service: str, versions: tuple[str, str]) -> bool:
        """Whether each version has enough hosts to take means over."""
        hosts = self._ask(
            "select count(distinct host) from chosen where service = ? and version in (?, ?) "
            "group by version",
            service,
            *versions,
        )
        return all(count >= LEAST_HOSTS for (count,) in hosts)

    def rates(
        self, service: str, versions: tuple[str, str], measure: Measure, unit: str
    ) -> tuple[dict[str, Side], list[Rates]]:
        """Of each version the whole, and what each site has of it."""
        value, over = _VALUES[measure]
        column = "host" if unit == "host" else "number"
        units = _UNITS.format(unit=column, value=value, over=over)
        only = [("service", service)]
        sides = {
            version: Side(units=count, total=total, squares=squares)
            for version, count, total, squares in self._ask(_SIDES.format(units=units), only=only)
            if version in versions
        }
        found: dict[tuple[str, str], Rates] = {}
        asked = self._ask(_RATES.format(units=units, unit=column, value=value), only=only)
        for function, module, version, total, squares, place in asked:
            if version in versions:
                rates = found.setdefault((function, module), Rates(function=function, module=module))
                rates.sides[version] = (total, squares, place)
        return sides, list(found.values())

    def _groups(self, by: By) -> list[Group]:
        return [
            Group(
                **dict(zip(_KEYS[by].split(", "), row, strict=False)),
                recordings=row[-6],
                hosts=row[-5],
                seconds=row[-4],
                allocations=row[-3],
                bytes=row[-2],
                peak_bytes=row[-1],
            )
            for row in self._ask(_GROUPS.format(keys=_KEYS[by]), MOST)
        ]

    def _sites(self, seconds: float, peaks: int) -> list[Group]:
        return [
            Group(
                function=function,
                module=module,
                location=location,
                build_ids=builds,
                recordings=recordings,
                hosts=hosts,
                seconds=seconds,
                allocations=allocations,
                bytes=size,
                peak_bytes=None if peak is None else peak / peaks,
            )
            for function, module, location, builds, recordings, hosts, allocations, size, peak in self._ask(
                _SITES, MOST
            )
        ]

    def _known(self, key: str) -> str:
        found = self._ask(f"select distinct {key} from chosen order by 1 limit 10", only=None)  # noqa: S608 - of constants
        names = ", ".join(str(value) or "(none)" for (value,) in found)
        return f"there are these, for example: {names}"

    def _ask(
        self, text: str, *values: object, only: Sequence[tuple[str, str]] | None = ()
    ) -> list[tuple[Any, ...]]:
        """An answer of the chosen recordings, of those that `only` selects too; None: of all of them."""
        conditions = [] if only is None else [*self._where, *only]
        where = " and ".join(f"{key} = ?" for key, _ in conditions) or "true"
        chosen = f"with chosen as (select * from recordings where {where})"  # noqa: S608 - keys are of KEYS
        joined = (
            f"{chosen}, {text.lstrip().removeprefix('with ')}"
            if text.lstrip().startswith("with ")
            else f"{chosen} {text}"
        )
        return self._store.query(joined, *(value for _, value in conditions), *values)
