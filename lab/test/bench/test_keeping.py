"""Results that benches keep: lab/bench/keeping.py."""

import sys
from pathlib import Path

import pytest

from reap.base.errors import ReapError
from reap.base.records import Record

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import keeping


class Row(Record):
    name: str


ONE, TWO, THREE = (Row(name=name) for name in ("one", "two", "three"))


def test_a_bench_goes_on_after_a_kill_in_the_midst_of_a_line(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    assert keeping.resume(file, Row) == []
    keeping.append(file, ONE)
    keeping.append(file, TWO)
    with file.open("ab") as torn:
        torn.write(b'{"name": "thr')
    assert keeping.resume(file, Row) == [ONE, TWO]
    keeping.append(file, THREE)
    assert keeping.resume(file, Row) == [ONE, TWO, THREE]


def test_an_earlier_line_that_is_damaged_is_named(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    file.write_text('{"name": "on\n{"name": "two"}\n')
    with pytest.raises(ReapError, match="kept, line 1, is damaged"):
        keeping.resume(file, Row)
