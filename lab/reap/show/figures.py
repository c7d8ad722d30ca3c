"""Figures that the page has, and what each says in words to those who do not see it."""

from reap.base import units
from reap.draw.figure import Figure
from reap.recording.records import Profile
from reap.show.records import Flame


def of_profile(profile: Profile) -> list[Figure]:
    """The figures that a profile has something for."""
    estimated = "" if profile.depth == "full" else " Estimated from samples."
    figures = []
    if profile.live or profile.resident:
        tops = [max((p.bytes for p in points), default=0.0) for points in (profile.live, profile.resident)]
        figures.append(
            Figure(
                "memory",
                "Live and resident memory over time",
                "Live is what the program asked for and has not freed; resident is what the kernel holds for "
                "it. Drag the handles below, or hold Ctrl and scroll, to zoom.",
                f"live memory peaks at {units.size(tops[0])}, resident memory at {units.size(tops[1])}",
                wide=True,
            )
        )
    if profile.rates:
        top = max(point.bytes for point in profile.rates)
        summary = f"at most {units.count(top)} a second"
        figures.append(Figure("rates", "Allocations per second", "", summary, wide=True))
    if any(held.objects for held in profile.sizes):
        most = max(profile.sizes, key=lambda held: held.objects)
        figures.append(
            Figure(
                "sizes",
                "Size distribution",
                "Objects by size in bins of powers of two, on a log scale.",
                f"most objects are of {most.low} to {most.high} bytes",
            )
        )
    if any(held.objects for held in profile.lifetimes):
        figures.append(
            Figure(
                "lifetimes",
                "Lifetimes",
                f"How long objects lived.{estimated}",
                "objects by how long they lived",
            )
        )
    if profile.sites:
        figures.append(
            Figure(
                "sites",
                "Top allocation sites",
                f"Share of all, by where the program allocates.{estimated}",
                "the sites with most bytes; the table below has them all",
            )
        )
    return figures


def of_flame(flame: Flame) -> Figure | None:
    """Bytes in use over time by site, where something was in use."""
    if flame.slices is None or not any(flame.slices.values["peak"]):
        return None
    slice_of = units.duration(flame.slices.seconds)
    estimated = " Estimated from samples." if flame.estimated else ""
    return Figure(
        "live",
        "Live bytes by allocation site",
        f"In use at the highest moment of each {slice_of}, by the innermost function of the program itself. "
        "Drag over it with the mouse, or use the sliders below, to choose the time of the flame graph."
        f"{estimated}",
        "the sites that had most in use at once; the data below it has their bytes over time",
        wide=True,
    )
