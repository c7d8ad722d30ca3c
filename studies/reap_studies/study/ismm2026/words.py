"""The three research questions of ISMM 2026, answered from the conclusions. Pure functions."""

from collections.abc import Sequence

from reap_studies.study.judging import words
from reap_studies.study.records import Answer, Conclusion

ASKED = {
    "RQ1": "Do per-class custom allocators provide meaningful performance benefits?",
    "RQ2": "Have high-performance general-purpose allocators closed the gap with region allocators?",
    "RQ3": "Do region allocators offer more resilience to heap fragmentation?",
}
PUBLISHED = {
    "RQ1": "The paper: no.",
    "RQ2": "The paper: they have significantly closed it.",
    "RQ3": "The paper: yes, strong resilience, while naive allocation takes up to twice as long.",
}


def answers(conclusions: Sequence[Conclusion]) -> list[Answer]:
    """What was measured for each conclusion of a question, and how that stands, in sentences."""
    found = []
    for question, asked in ASKED.items():
        own = [each for each in conclusions if each.question == question]
        said = [PUBLISHED[question], *(_sentence(each) for each in own)]
        found.append(Answer(question=question, asked=asked, words=said))
    return found


def _sentence(conclusion: Conclusion) -> str:
    claim = conclusion.claim.removesuffix(".")
    said = f"{claim}: nothing was measured that says anything of it."
    if conclusion.findings:
        said = f"{claim}: {conclusion.standing} here. {words.figures(conclusion)}"
    return f"{said} {words.sensitivity(conclusion)}".rstrip()
