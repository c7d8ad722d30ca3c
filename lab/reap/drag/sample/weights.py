"""Weight of one sample of drag, and how far that may be off."""

from reap.base.distributions import student_quantile
from reap.drag.sample.samples import DragSample


class Drawn:
    """A sample and what it stands for. An object takes part in the step of its own allocation, too."""

    def __init__(self, sample: DragSample, clock: int) -> None:
        self.stack = sample.stack
        self.weight = sample.stands / sample.size
        """For so many objects of its size; 1 for one that is drawn always."""
        self.size = sample.size
        self.life = (sample.death or clock) - sample.birth + sample.size
        self.used = sample.used + sample.size
        self.live = self.weight * self.size * self.life
        self.needed = self.weight * self.size * self.used
        self.looks = (self.weight * self.size) ** 2 * _variance_of_used(sample) / self.weight
        """The variance of `needed` that comes of the looks, as far as one sample tells."""

    @property
    def left_out(self) -> float:
        """The chance (0 to 1) that it had not to be drawn."""
        return 1 - 1 / self.weight


def _variance_of_used(sample: DragSample) -> float:
    """Of `used`, which is a number of intervals; from the sums of these and of their squares.

    For one interval h it is h f (h - h f), where f is the part of an interval by which the truth exceeds a
    whole number of them: h^2 / 6 on average. What is used for less than an interval has a look in it with the
    probability f, so that h^2 a look is not too little.
    """
    if not sample.used > 0:
        return 0.0
    interval = sample.used_squares / sample.used
    return interval**2 / (6 if sample.used > 1.5 * interval else 1)


def quantile(freedom: float) -> float:
    """Number of standard errors that a 95 % CI reaches to each side: Student's t."""
    return student_quantile(freedom, 0.975)
