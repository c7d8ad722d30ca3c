"""What the study of the allocator wall asks services: nginx, and gunicorn with and without --max-requests.

Starts none of them itself: `services.py` beside the workload does.
"""

import shutil

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Launch
from reap_studies.study.allocator_wall.asks import Ask, Bench
from reap_studies.study.allocator_wall.records import Place

PART = "services"
SERVICES = {"nginx": 4000, "gunicorn": 600}
"""Requests of a run of a quick study: a second."""
REPLACED = "gunicorn --max-requests"
_PATIENCE = 300


def asks(bench: Bench) -> list[Ask]:
    """Each that is installed over every allocator; gunicorn that replaces its worker over glibc."""
    times = 1 if bench.mode == "quick" else 5
    here = {name: count * times for name, count in SERVICES.items() if shutil.which(name)}
    asked = [
        _ask(bench, each.name, name, f"requests={count}", each.library)
        for name, count in here.items()
        for each in bench.allocators
    ]
    if count := here.get("gunicorn"):
        # Its last worker has served a fifth of them when it is looked at.
        words = f"requests={count} max_requests={2 * count // 5}"
        asked.append(_ask(bench, DEFAULT, REPLACED, words, ""))
    return asked


def _ask(bench: Bench, arm: str, setting: str, words: str, library: str) -> Ask:
    interpreter, script = bench.script.argv[:2]
    service = setting.partition(" ")[0]
    launch = Launch(
        argv=[interpreter, script.replace("json_requests", "services"), service, *words.split()],
        program=bench.script.program,
        allocator=library,
        environment={"PYTHONHASHSEED": "0", "LC_ALL": "C"},
        remove=["LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_CONF", "PYTHONMALLOC"],
        timeout=_PATIENCE,
    )
    return Ask(Place(part=PART, arm=arm, setting=setting), launch)
