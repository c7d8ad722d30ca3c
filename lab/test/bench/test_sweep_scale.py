"""What a sweep costs its scheduler and its driver, scaled down: 40 workers, 800 rounds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCALE = Path(__file__).resolve().parents[2] / "bench" / "sweep" / "scale.py"


@pytest.mark.slow
@pytest.mark.timed
def test_scheduler_and_driver_take_milliseconds_a_round_and_bounded_memory():
    """The docs have at most 3 ms for 1,000 workers; here, beside busy processes, no more than twice that."""
    words = ["--workers", "40", "--rounds", "800", "--processes", "1", "--json"]
    answer = subprocess.run([sys.executable, SCALE, *words], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    early, *_, late = json.loads(answer.stdout.splitlines()[-1])
    assert late["rounds"] == 800
    assert late["scheduler_ms_a_round"] + late["driver_ms_a_round"] < 6
    for name in ("scheduler", "driver"):
        assert late[f"{name}_mib"] < early[f"{name}_mib"] + 40
