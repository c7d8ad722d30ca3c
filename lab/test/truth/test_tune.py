"""`reap tune` on programs of which one setting is wrong by construction: one pass."""

from pathlib import Path

import pytest
from settings import SETTINGS, Setting, of_tune, search

pytestmark = [pytest.mark.verdict, pytest.mark.timed]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name.replace(" ", "-"))
def test_the_setting_that_helps_wins_and_no_other(setting: Setting, tmp_path: Path) -> None:
    tuned = search(setting, tmp_path)
    assert of_tune(tuned, setting).outcome == "right", tuned.findings
    assert tuned.runs < 37
