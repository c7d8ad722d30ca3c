"""`reap doctor` says what makes programs of several threads take turns, and what to do for the freezer."""

from collections.abc import Callable, Iterator

import msgspec
import pytest
from programs import as_nobody

from reap.doctor import run
from reap.doctor.records import Check
from reap.launch import freezer

needs_freezer = pytest.mark.skipif(freezer.here() is None, reason="no cgroup with a freezer can be made here")


def checked() -> Check:
    freezer.search.cache_clear()
    return run._turns()


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Leaves out lines of /proc/self/mountinfo that have a text."""
    read = freezer._lines

    def without(text: str) -> None:
        monkeypatch.setattr(freezer, "_lines", lambda name: [each for each in read(name) if text not in each])

    yield without
    freezer.search.cache_clear()


@needs_freezer
def test_the_freezer_that_is_used_is_named() -> None:
    check, found = checked(), freezer.here()
    assert found is not None
    assert check.state == "good"
    assert f"by the freezer of cgroups (version {found.version}, in {found.folder})" in check.says
    assert not check.mend


def test_version_1_serves_where_version_2_is_not(lines: Callable[[str], None]) -> None:
    lines(" cgroup2 ")
    found = freezer.search.__wrapped__()
    if isinstance(found, str):
        pytest.skip(f"no freezer of version 1: {found}")
    assert found.version == 1
    assert "(version 1, in " in checked().says


def test_without_a_cgroup_in_view_they_take_turns_by_signals(lines: Callable[[str], None]) -> None:
    lines(" - cgroup")
    check = checked()
    assert check.state == "poor"
    assert "by SIGSTOP and SIGCONT" in check.says
    assert check.says.endswith("our cgroup is not mounted here")
    assert check.mend


def test_a_user_is_told_how_to_have_a_cgroup_of_their_own() -> None:
    found = as_nobody(lambda: msgspec.json.encode(checked()).decode())
    check = msgspec.json.decode(found, type=run.Check)
    assert check.state == "poor"
    assert "may not be written" in check.says
    assert "Delegate=yes" in check.mend
    assert not run.summary([check])[0].startswith("Something")
