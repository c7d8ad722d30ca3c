"""Shares of sites, with the interval that samples leave."""

from reap.base.records import Estimate, exactly
from reap.recording.analyse import estimates
from reap.recording.records import Profile, Site

ENOUGH_SAMPLES = 100
"""With fewer, shares of sites are not reported."""


def few_samples(profile: Profile) -> bool:
    """Whether too few allocations were sampled for shares of sites."""
    return profile.depth == "triage" and profile.attached is None and profile.samples < ENOUGH_SAMPLES


def of_objects(profile: Profile, site: Site) -> Estimate:
    """The site's share of all objects."""
    variance = sum(each.objects_variance for each in profile.sites)
    return _share(profile, site.objects, site.objects_variance, profile.totals.total_objects, variance)


def of_temporaries(profile: Profile, site: Site) -> Estimate:
    """The share of all objects that are temporaries of the site."""
    variance = sum(each.objects_variance for each in profile.sites)
    return _share(profile, site.temporary, site.objects_variance, profile.totals.total_objects, variance)


def of_bytes(profile: Profile, site: Site) -> Estimate:
    """The site's share of all bytes."""
    variance = sum(each.bytes_variance for each in profile.sites)
    return _share(profile, site.bytes, site.bytes_variance, profile.totals.total_bytes, variance)


def _share(profile: Profile, part: float, variance: float, whole: float, all_variance: float) -> Estimate:
    """A ratio of two sums over samples: its variance by linearisation, its interval that of a proportion.

    The proportion is of as many equal observations as have this variance, and of no more than were sampled.
    Of a recording from outside, whose calls are seen in few windows of time, the interval is not known.
    """
    share = min(1.0, part / whole) if whole > 0 else 0.0
    if profile.depth == "full" or profile.attached is not None:
        return exactly(share)
    count = float(profile.samples)
    spread = (1 - share) ** 2 * variance + share**2 * max(all_variance - variance, 0.0)
    if spread > 0:
        count = min(count, share * (1 - share) * whole**2 / spread)
    return estimates.proportion(share * count, count)
