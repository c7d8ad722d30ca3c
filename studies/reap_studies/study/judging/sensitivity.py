"""What a verdict rests on: how it stands with other evidence. Pure functions."""

from collections.abc import Iterator, Sequence

from reap_studies.study.judging import exclusions, programs
from reap_studies.study.judging.standing import Question
from reap_studies.study.records import Finding, Standing, Variation

TOYS = "toys alone"
"""Programs that were written for the studies, apart from all others."""
ORIGINALS = "originals alone"


def flips(findings: Sequence[Finding], question: Question) -> dict[str, Standing]:
    """How a conclusion stands without one program of those that count, by program, where that differs.

    Whether what is left is enough makes no difference here.
    """
    counted = exclusions.counted(findings)
    own = question.standing(counted)
    left = {
        name: [each for each in counted if each.workload != name]
        for name in dict.fromkeys(each.workload for each in counted)
    }
    stands = {name: question.standing(rest) for name, rest in left.items() if rest}
    return {name: standing for name, standing in stands.items() if standing != own}


def variations(findings: Sequence[Finding], question: Question) -> list[Variation]:
    """By originals alone, by toys alone, and without each exclusion; where that is other evidence.

    `findings` are all, each with what excludes it.
    """
    counted = exclusions.counted(findings)
    return [
        Variation(
            what=what,
            programs=question.number(other),
            standing=question.verdict(other),
            mean=programs.mean(other) if question.of_mean is None else None,
        )
        for what, other in _others(findings, counted)
        if other and other != counted
    ]


def _others(findings: Sequence[Finding], counted: Sequence[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    yield ORIGINALS, [each for each in counted if each.original]
    yield TOYS, [each for each in findings if each.excluded == ["toy"]]
    for each in exclusions.TABLE:
        yield f"without the exclusion {each.name}", exclusions.counted(findings, (each.name,))
