"""Programs of the tests are compiled again when what they are made from changes, and only then."""

import subprocess
from pathlib import Path

import building
import pytest
from building import OUT, compiled

PROGRAM = '#include "answer.h"\nint main(void) { return ANSWER; }'


@pytest.fixture
def include(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a header, and nothing kept yet."""
    monkeypatch.setattr(building, "KEPT", tmp_path / "kept")
    (tmp_path / "answer.h").write_text('#include "more.h"\n')
    (tmp_path / "more.h").write_text("#define ANSWER 3\n")
    return tmp_path


def status(include: Path, *flags: str, text: str = PROGRAM) -> int:
    command = ["gcc", "-x", "c", *flags, f"-I{include}", "-o", OUT, "-"]
    return subprocess.run([compiled("answers", command, text=text)], check=False).returncode


def kept(include: Path) -> int:
    return len(list((include / "kept").iterdir()))


def test_what_is_kept_is_not_compiled_again(include: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert status(include) == 3
    monkeypatch.setenv("PATH", str(include))  # where no compiler is
    assert status(include) == 3
    assert kept(include) == 1


def test_a_change_to_any_source_compiles_again(include: Path) -> None:
    assert status(include) == 3
    assert status(include, text=PROGRAM.replace("ANSWER;", "ANSWER + 1;")) == 4
    assert status(include, "-DMORE") == 3
    (include / "more.h").write_text("#define ANSWER 5\n")
    assert status(include) == 5
    (include / "more.h").write_text("#define ANSWER 3\n")
    assert status(include) == 3, "which was kept"
    assert kept(include) == 4


def test_another_compiler_compiles_again(include: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert status(include) == 3
    monkeypatch.setattr(building, "_version", lambda _: "gcc 99")
    assert status(include) == 3
    assert kept(include) == 2


def test_what_the_compiler_is_made_of_and_told_counts_too(include: Path) -> None:
    wrapper = include / "wrapper"

    def built(answer: str) -> int:
        command = ["gcc", "-x", "c", "-o", OUT, "-"]
        told = {"CPATH": str(include / answer)}
        path = compiled(
            "answers", command, text="#include <own.h>", compiler_files=[wrapper], environment=told
        )
        return subprocess.run([path], check=False).returncode

    for answer in ("6", "7"):
        (include / answer).mkdir()
        (include / answer / "own.h").write_text(f"int main(void) {{ return {answer}; }}")
    wrapper.write_text("as it was")
    assert [built("6"), built("7"), built("6")] == [6, 7, 6]
    assert kept(include) == 2
    wrapper.write_text("changed")
    assert built("6") == 6
    assert kept(include) == 3


def test_the_files_of_a_tree_are_sources(include: Path) -> None:
    (include / "tree").mkdir()
    (include / "tree" / "main.c").write_text("int main(void) { return 6; }")

    def built() -> int:
        path = compiled("of-a-tree", ["gcc", "main.c", "-o", OUT], tree=include / "tree")
        return subprocess.run([path], check=False).returncode

    assert built() == 6
    (include / "tree" / "main.c").write_text("int main(void) { return 7; }")
    assert built() == 7


def test_what_does_not_compile_is_not_kept(include: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        status(include, text="int main(void) { return }")
    assert kept(include) == 0


def test_a_program_that_is_changed_stays_as_it_was_for_the_next(include: Path) -> None:
    command = ["gcc", "-x", "c", f"-I{include}", "-o", OUT, "-"]
    Path(compiled("answers", command, text=PROGRAM)).write_text("#!/bin/sh\nexit 9\n")
    assert status(include) == 3


def test_programs_of_one_name_do_not_replace_each_other() -> None:
    command = ["gcc", "-x", "c", "-o", OUT, "-"]
    first = compiled("answers", command, text="int main(void) { return 1; }")
    compiled("answers", command, text="int main(void) { return 2; }")
    assert subprocess.run([first], check=False).returncode == 1
