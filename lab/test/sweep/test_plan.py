"""What a plan may say, and the one message for what it may not."""

import pytest

from reap.base.errors import ExitCode, ReapError
from reap.base.files import digest_of
from reap.sweep import plan

GOOD = """
allocators = ["glibc", "reap"]
levels = ["adv0", "adv3"]
rounds = 4
worth = 2
[[programs]]
command = ["./prog", "in/words"]
files = ["prog", "in/words"]
environment = { A = "1" }
[[programs]]
name = "espresso-small"
card = "espresso"
variant = "custom"
scale = 1
[[settings]]
name = "plain"
[[settings]]
name = "thp"
environment = { GLIBC_TUNABLES = "glibc.malloc.hugetlb=1" }
[[machines]]
name = "zen4"
processor = "AMD EPYC 9*"
"""


def read(folder, text):
    (folder / "plan.toml").write_text(text)
    return plan.read(folder / "plan.toml")


def test_a_plan_gives_a_cell_for_each_program_and_setting(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "prog").write_bytes(b"one")
    (tmp_path / "in/words").write_bytes(b"two")
    made = plan.sweep(read(tmp_path, GOOD), tmp_path)
    names = ["prog, plain", "prog, thp", "espresso-small, plain", "espresso-small, thp"]
    assert [cell.name for cell in made.cells] == names
    assert made.cells[1].environment == {"A": "1", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    assert made.cells[0].worth == 0.02
    assert made.cells[0].files["prog"] == digest_of(tmp_path / "prog")
    assert set(made.cells[0].files) == {"prog", "in/words"}
    assert not made.cells[2].files


@pytest.mark.parametrize(
    ("before", "after", "said", "hint"),
    [
        ("rounds = 4", "round = 4", "unknown key 'round'", "did you mean rounds?"),
        ("scale = 1", "scales = 1", "'scales' in number 2 of [[programs]]", "did you mean scale?"),
        ("processor =", "procesor =", "'procesor' in number 1 of [[machines]]", "did you mean processor?"),
        ('"reap"]', '"jemaloc"]', "unknown allocator 'jemaloc'", "did you mean jemalloc?"),
        ('"reap"]', '"glibc"]', "names glibc twice in allocators", "name of its own"),
        ('"glibc", "reap"', '"glibc"', "one allocator", "jemalloc"),
        ("rounds = 4", "rounds = 1", "$.rounds", "docs/sweep.md"),
        ("rounds = 4", 'rounds = "4"', "$.rounds", "docs/sweep.md"),
        ("rounds = 4", "rounds = ", "is not TOML", "example"),
        ('"adv3"', '"adv33"', "no level is called 'adv33'", "adv3"),
        ('card = "espresso"', "", "number 2 of [[programs]] needs either command or card", "command ="),
        ('"prog", "in/words"]\n', '"../prog"]\n', "../prog of prog is not inside the plan's folder", "copy"),
        ('name = "thp"', 'name = "plain"', "names plain twice in settings", "name of its own"),
    ],
)
def test_what_is_wrong_gets_one_message(tmp_path, before, after, said, hint):
    assert GOOD.count(before) >= 1
    files = f"files = [{after}" if after.startswith('"../') else after
    text = GOOD.replace(f"files = [{before}" if files != after else before, files)
    with pytest.raises(ReapError) as caught:
        read(tmp_path, text)
    assert said in caught.value.what
    assert str(tmp_path / "plan.toml") in caught.value.what
    assert hint in caught.value.hint
    assert caught.value.code == ExitCode.USAGE


def test_a_file_that_is_not_there_is_named_with_its_program(tmp_path):
    with pytest.raises(ReapError, match="the file prog of prog cannot be read"):
        plan.sweep(read(tmp_path, GOOD), tmp_path)
