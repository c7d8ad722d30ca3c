"""Every remedy stands in one table, and what names one elsewhere names it by that."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from reap.allocators import catalog
from reap.allocators.remedies import table
from reap.evidence.analyse.suspicions import remedies
from reap.evidence.analyse.suspicions.facts import WallFacts
from reap.evidence.analyse.suspicions.records import OF_MEMORY, OF_THE_ALLOCATOR
from reap.evidence.records import Wall
from reap.rss.records import Parts

REAP = Path(str(files("reap")))
SETTINGS = re.compile(
    r"glibc\.malloc\.\w+=|tcache_count|arena_max|trim_threshold|_decay_ms|thp:|MIMALLOC_|TCMALLOC_|GOGC|GOMEMLIMIT"
    r"|semi-space|MALLOC_TRIM|HeapFreeRatio|set_threshold\("
)
"""Words that set an allocator or a runtime."""
DATA = ("allocators",)
"""Folders that have settings as data."""


def test_every_remedy_is_for_something_and_is_told_from_the_others() -> None:
    every = table.all_remedies()
    assert len({each.name for each in every}) == len(every)
    assert all(each.can_be_tried or each.how for each in every)
    assert all(
        each.how for each in every if each.trim or each.huge_pages or each.hook or not each.can_be_tried
    )
    assert {each.allocator for each in every} - {""} <= {*catalog.names()}


def test_owners_and_causes_are_known() -> None:
    every = table.all_remedies()
    assert {name for each in every for name in each.owners} <= {*Parts.__struct_fields__, "huge"}
    causes = {*OF_THE_ALLOCATOR, *OF_MEMORY, "garbage collection"}
    assert {name for each in every for name in each.causes} <= causes
    assert all(each.owners for each in table.of_memory())
    assert not {"larger thread caches", "huge pages"} & {each.name for each in table.of_memory()}


def test_suspicions_take_their_remedies_from_the_table() -> None:
    """In its order, and without what does nothing on the allocator or the runtime."""
    served = [Wall(command=["p"], allocator=name) for name in ("glibc", "jemalloc", "go")]
    glibc, jemalloc, go = map(WallFacts, served)
    for cause in {name for each in table.all_remedies() for name in each.causes}:
        named = [each.name for each in table.against(cause) if not each.on or "glibc" in each.on]
        assert [each.name for each in remedies.against(glibc, cause)] == named
    assert [each.name for each in remedies.against(jemalloc, "page faults")] == ["reuse the buffer"]
    (lazily,) = remedies.against(jemalloc, "lazy free")
    assert lazily.environment == {"MALLOC_CONF": "muzzy_decay_ms:0"}
    (collected,) = remedies.against(go, "garbage collection", runtime="go")
    assert collected.environment == {"GOGC": "400"}
    assert set(remedies.KEEPING) | {remedies.HUGE_PAGES, remedies.LARGER_CACHE} <= {
        each.name for each in table.all_remedies()
    }


def test_no_other_file_names_a_setting() -> None:
    found = [
        f"{path.relative_to(REAP)}: {line.strip()}"
        for path in REAP.rglob("*.py")
        if path.relative_to(REAP).parts[0] not in DATA and "python_hook" not in path.parts
        for line in path.read_text().splitlines()
        if SETTINGS.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(("size", "words"), [(100 << 20, "-Xmx75m"), (1 << 20, None)])
def test_a_size_in_a_setting_is_that_of_the_part(size: int, words: str | None) -> None:
    """A limit too small to start with is none."""
    known = table.named("a smaller Java heap")
    (value,) = known.environment.values()
    assert known.sized(value, {"java": size}.__getitem__) == words


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        table.named("wishful thinking")
