"""Sentences of `reap run` on where objects come from. Every estimate has its interval beside it."""

import msgspec

from reap.answer.words import place
from reap.base import units
from reap.base.records import Estimate
from reap.base.text import shortened
from reap.recording.analyse import shares
from reap.recording.records import Profile, Site

_NONE = 0.0005
"""A share that is estimated to be less than this is named by the upper end of its interval."""
_MOST = 0.5
_MUCH = 0.25
"""The minimum share of objects that is worth a change at one line."""
_WIDTH = 60
"""Characters of a function's name: templates and their arguments fill lines."""


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
    part = shares.of_objects(profile, site)
    most = "Most objects come" if part.value >= _MOST else "The largest part of the objects comes"
    return f"{text}. {most} from {place(_short(site))}: {about(part)} of all."


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


def main(profile: Profile) -> Site | None:
    """The site with most objects; None where it may have few of them."""
    site = busiest(profile)
    return site if site and shares.of_objects(profile, site).low >= _MUCH else None


def _short(site: Site) -> Site:
    return msgspec.structs.replace(site, function=shortened(site.function, _WIDTH))
