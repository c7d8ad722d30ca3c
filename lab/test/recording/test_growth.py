"""Whether memory grew until the end, from curves whose truth is known."""

from msgspec.structs import replace
from samples import MIB, profile_of

from reap.base.records import exactly
from reap.recording.analyse.growth import growth
from reap.recording.records import Point, Profile, Site


def recorded(levels: list[float], live: float = 100 * MIB, sites: tuple[Site, ...] = ()) -> Profile:
    whole = profile_of()
    return replace(
        whole,
        resident=[Point(seconds=float(at), bytes=level) for at, level in enumerate(levels)],
        totals=replace(whole.totals, max_bytes=exactly(live)),
        sites=list(sites),
    )


def site(name: str, live: float, allocated: float = 1) -> Site:
    return Site(
        function=name,
        location="a.c:1",
        module="a",
        stack=[],
        objects=1,
        bytes=allocated,
        temporary=0,
        live_at_peak=live,
    )


STEADY = [at * 10.0 * MIB for at in range(1, 21)]


def test_steady_growth_is_seen_with_its_site() -> None:
    found = growth(recorded(STEADY, sites=(site("handle", 10.0), site("make_session", 90.0))))
    assert found is not None
    assert found.end == 200 * MIB
    assert 90 * MIB <= found.half <= 120 * MIB
    assert found.site is not None
    assert (found.site.function, found.part) == ("make_session", 0.9)


def test_a_busy_site_whose_blocks_are_freed_is_not_where_memory_grows() -> None:
    """Two of its sampled blocks, each for many, happened to be in use at the peak."""
    busy, leaks = site("batch", 70.0, allocated=1700.0), site("make_session", 30.0, allocated=30.0)
    found = growth(recorded(STEADY, sites=(busy, leaks)))
    assert found is not None
    assert found.site is not None
    assert found.site.function == "make_session"


def test_memory_that_is_built_first_and_used_then_is_no_growth() -> None:
    assert growth(recorded([*STEADY, *[200.0 * MIB] * 60])) is None


def test_memory_that_is_freed_at_the_end_is_no_growth() -> None:
    assert growth(recorded([*STEADY, 20.0 * MIB])) is None


def test_growth_that_malloc_did_not_serve_is_not_its_own() -> None:
    assert growth(recorded(STEADY, live=MIB)) is None


def test_little_growth_and_few_points_say_nothing() -> None:
    assert growth(recorded([level / 10 for level in STEADY])) is None
    assert growth(recorded(STEADY[:5])) is None
    assert growth(recorded([])) is None
