"""Claims about services: what another allocator gives them, and workers that grow. Pure functions."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Estimate
from reap_studies.study.allocator_wall.analyse import At
from reap_studies.study.allocator_wall.judge.rules import Judge, found, judged
from reap_studies.study.allocator_wall.services import PART, REPLACED, SERVICES
from reap_studies.study.records import Conclusion


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""

    def at(arm: str, setting: str, field: str) -> At:
        return At(PART, arm, setting, field)

    def gained(arm: str, service: str) -> Estimate | None:
        cost = [at(each, service, "per_request_ns") for each in (DEFAULT, arm)]
        return judge.figures.ratio(*cost)

    grown = judge.figures.ratio(at(DEFAULT, "gunicorn", "resident"), at(DEFAULT, "gunicorn", "early"))
    left = judge.figures.ratio(at(DEFAULT, REPLACED, "resident"), at(DEFAULT, "gunicorn", "resident"))
    return judged(
        judge,
        {
            "service-gains": lambda it: [
                found(arm, service, gained(arm, service), it.judged)
                for service in SERVICES
                for arm in judge.others
            ],
            "worker-grows": lambda it: [found(DEFAULT, "gunicorn", grown, it.judged)],
            "max-requests": lambda it: [found(DEFAULT, REPLACED, left, it.judged)],
        },
    )
