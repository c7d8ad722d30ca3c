"""nginx and gunicorn in the study of the allocator wall: what is judged, and that they run."""

import shutil
import sys

import pytest
from studies.test.study.allocator_wall.test_allocator_wall import ALLOCATORS, sampled, wall

from reap.allocators.records import Allocator
from reap.launch.records import Launch
from reap_studies.study.allocator_wall import asks, services
from reap_studies.study.allocator_wall import rounds as running
from reap_studies.study.allocator_wall.judge.claims import judge
from reap_studies.workloads import card


def serving(service, **costs):
    """CPU time of a request over each allocator."""
    return [each for arm, cost in costs.items()
            for each in sampled("services", arm, service, per_request_ns=cost)]  # fmt: skip


def test_services_are_judged_by_the_article_s_allocators():
    more = [*ALLOCATORS, Allocator(name="other", library="/other")]
    gains = serving("nginx", glibc=100, jemalloc=80, tcmalloc=85, mimalloc=70, other=300)
    (found,) = [one for one in judge(wall(gains), more) if one.id == "service-gains"]
    assert (found.standing, len(found.findings)) == ("holds", 3)
    even = serving("gunicorn", glibc=100, jemalloc=101, tcmalloc=99, mimalloc=102)
    (found,) = [one for one in judge(wall(even), more) if one.id == "service-gains"]
    assert found.standing == "does not hold"


def test_a_worker_that_is_replaced_is_held_to_one_that_grows():
    grown = sampled("services", "glibc", "gunicorn", early=40e6, resident=80e6)
    fresh = sampled("services", "glibc", services.REPLACED, early=40e6, resident=44e6)
    found = {one.id: one.standing for one in judge(wall(grown, fresh), ALLOCATORS)}
    assert (found["worker-grows"], found["max-requests"]) == ("holds", "holds")
    stays = sampled("services", "glibc", "gunicorn", early=40e6, resident=40.1e6)
    found = {one.id: one.standing for one in judge(wall(stays, fresh), ALLOCATORS)}
    assert (found["worker-grows"], found["max-requests"]) == ("does not hold", "does not hold")


@pytest.mark.slow
@pytest.mark.parametrize("service", ["nginx", "gunicorn"])
def test_a_service_is_started_asked_and_stopped(service, monkeypatch):
    if shutil.which(service) is None:
        pytest.skip(f"sudo apt-get install --no-install-recommends {service}")
    monkeypatch.setattr(services, "SERVICES", {service: 120})
    script = card.find("request-driver") / "json_requests.py"
    bench = asks.Bench(
        program=Launch(argv=[], program=""),
        allocators=ALLOCATORS[:1],
        mode="quick",
        cores=2,
        script=Launch(argv=[sys.executable, str(script)], program=sys.executable),
    )
    asked = services.asks(bench)
    assert [each.place.setting for each in asked] == (
        ["nginx"] if service == "nginx" else ["gunicorn", services.REPLACED]
    )
    for each in asked:
        sample = running.take(each, 0)
        assert sample.problem == ""
        assert sample.values["per_request_ns"] > 1000
        assert sample.values["resident"] >= 1e6
