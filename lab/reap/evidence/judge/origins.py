"""Sentences of `reap run` on where objects come from. Every estimate has its interval beside it."""

from reap.answer.words import place
from reap.base import units
from reap.base.records import Estimate
from reap.recording.analyse import shares
from reap.recording.records import Profile, Site

_NONE = 0.0005
"""A share that is estimated to be less than this is named by the upper end of its interval."""


def origin(profile: Profile) -> str:
    """Number of allocations, their average size, how many are short-lived, and where most come from."""
    totals = profile.totals
    made = (
        f"{units.number(totals.total_objects, 'allocation')} of {units.size(totals.average_size)} on average"
    )
    died = f"{about(profile.temporary)} of them were freed before the same thread allocated again"
    text = f"The program made {made}; {died}"
    site = busiest(profile)
    if site is None:
        return text + "."
    return f"{text}. Most objects come from {place(site)}: {site_part(profile, site)}."


def about(estimate: Estimate) -> str:
    """A share with its interval, or alone where it was counted."""
    if estimate.exact:
        return units.percent(estimate.value)
    if estimate.value < _NONE:
        return f"at most {units.percent(estimate.high)}"
    return f"about {units.percent(estimate.value)} ({units.percent_span(estimate.low, estimate.high)})"


def busiest(profile: Profile) -> Site | None:
    """The site with most objects: calls cost time, bytes hardly do."""
    return max(profile.sites, key=lambda site: site.objects, default=None)


def site_part(profile: Profile, site: Site) -> str:
    """A site's part of all objects, with its interval where it is an estimate."""
    return f"{about(shares.of_objects(profile, site))} of all"
