"""Settings are merged with those of the user: other words stay, the same key is replaced."""

import pytest

from reap.allocators import settings

TUNABLES = "GLIBC_TUNABLES"


@pytest.mark.parametrize(
    ("name", "before", "ours", "after"),
    [
        (TUNABLES, "", "glibc.malloc.tcache_count=9", "glibc.malloc.tcache_count=9"),
        (
            TUNABLES,
            "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=2:glibc.malloc.tcache_count=1",
            "glibc.malloc.tcache_count=9:glibc.malloc.mxfast=0",
            "glibc.malloc.arena_max=2:glibc.malloc.tcache_count=9:glibc.malloc.mxfast=0",
        ),
        ("MALLOC_CONF", "narenas:1,thp:never", "thp:always", "narenas:1,thp:always"),
        ("_RJEM_MALLOC_CONF", "narenas:1", "narenas:2", "narenas:2"),
        ("MIMALLOC_PURGE_DELAY", "10", "0", "0"),
        ("GOGC", "50", "400", "400"),
        ("GODEBUG", "gctrace=1,madvdontneed=0", "madvdontneed=1", "gctrace=1,madvdontneed=1"),
        (
            "NODE_OPTIONS",
            "--require a --max-semi-space-size=8 --no-warnings",
            "--max-semi-space-size=64",
            "--require a --no-warnings --max-semi-space-size=64",
        ),
        ("NODE_OPTIONS", "--require a", "--require b", "--require a --require b"),
        ("JAVA_TOOL_OPTIONS", "-Xmx1g -Dx=y", "-Xmx2g", "-Xmx1g -Dx=y -Xmx2g"),
    ],
)
def test_what_the_user_set_stays(name: str, before: str, ours: str, after: str) -> None:
    held = {name: before, "HOME": "/"}
    assert settings.merged({name: ours}, held) == {name: after}


def test_a_tunable_does_not_override_an_older_variable() -> None:
    held = {TUNABLES: "glibc.malloc.arena_max=8:glibc.malloc.mxfast=0"}
    assert settings.merged({"MALLOC_ARENA_MAX": "2"}, held) == {
        "MALLOC_ARENA_MAX": "2",
        TUNABLES: "glibc.malloc.mxfast=0",
    }
    assert settings.merged({"MALLOC_TRIM_THRESHOLD_": "2"}, held) == {"MALLOC_TRIM_THRESHOLD_": "2"}


def test_without_changes_nothing_is_set() -> None:
    assert settings.merged({}, {TUNABLES: "glibc.malloc.arena_max=8"}) == {}
