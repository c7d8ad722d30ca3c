"""reap-drag-cc as a compiler: options, sources, failures, dependencies."""

import os
import shutil
import subprocess

import pytest
from lab.test.drag.recompiled import BIN

from reap.base.errors import ReapError
from reap.drag.exact import recompiled as drag_recompiled


def test_a_build_that_compiles_and_links_is_taken_apart(tmp_path):
    words = ["-O2", "-I", "include", "a.c", "b.cpp", "c.o", "-lm", "-o", "out"]
    one, other, link = drag_recompiled.commands(["gcc"], words, tmp_path)
    assert one[:4] == ["gcc", "-O2", "-I", "include"]
    assert "a.c" in one
    assert "-fsanitize=thread" in one
    assert "-lm" not in one
    assert "b.cpp" in other
    assert "-fsanitize=thread" not in link
    kept = [word for word in link if word not in drag_recompiled.linked()]
    assert kept[1:7] == [
        "-O2",
        "-I",
        "include",
        one[one.index("-o") + 1],
        other[other.index("-o") + 1],
        "c.o",
    ]
    assert any("-lreap-drag-callbacks" in word for word in link[1:4])  # before all libraries
    (only,) = drag_recompiled.commands(["clang-19"], ["-c", "a.c"], tmp_path)
    assert "-mllvm" in only
    assert drag_recompiled.commands(["gcc"], ["--version"], tmp_path) == [["gcc", "--version"]]
    with pytest.raises(ReapError, match="-x"):
        drag_recompiled.commands(["gcc"], ["-x", "c", "a"], tmp_path)


def test_options_may_come_from_a_file(tmp_path):
    (tmp_path / "more").write_text('-c "a b.c"\n-DWORD=\\"x\\"')
    (only,) = drag_recompiled.commands(["gcc"], ["-O2", f"@{tmp_path}/more", "@none"], tmp_path)
    assert only[1:6] == ["-O2", "-c", "a b.c", '-DWORD="x"', "@none"]
    (tmp_path / "more").write_text('"')
    with pytest.raises(ReapError, match="more"):
        drag_recompiled.commands(["gcc"], [f"@{tmp_path}/more"], tmp_path)


def test_the_values_of_options_are_no_sources_and_stay_with_them(tmp_path):
    words = ["--param", "inline-unit-growth=20", "-Xlinker", "-O1", "-u", "f.c", "a.c", "-o", "out"]
    one, link = drag_recompiled.commands(["gcc"], words, tmp_path)
    assert one[1:5] == ["--param", "inline-unit-growth=20", "-c", "a.c"]
    kept = [word for word in link if word not in drag_recompiled.linked()]
    assert kept[1:7] == ["--param", "inline-unit-growth=20", "-Xlinker", "-O1", "-u", "f.c"]


def test_what_is_linked_again_has_no_runtime(tmp_path):
    """`ld -r` takes no shared library."""
    (tmp_path / "a.c").write_text("int a;")
    words = [BIN / "reap-drag-cc", "-r", tmp_path / "a.c", "-o", tmp_path / "r.o"]
    subprocess.run(words, check=True)
    assert (tmp_path / "r.o").exists()


@pytest.mark.parametrize(
    ("options", "file", "of"),
    [
        (["-MD", "-o", "bin/prog"], "bin/prog.d", "bin/prog"),
        (["-MMD"], "a.d", "a.o"),
        (["-MMD", "-MF", "x.dep"], "x.dep", "a.o"),
        (["-MD", "-MT", "it", "-obin/prog"], "bin/prog.d", "it"),
    ],
)
def test_dependencies_are_those_of_what_is_made(options, file, of, tmp_path):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }")
    (tmp_path / "bin").mkdir()
    subprocess.run([BIN / "reap-drag-cc", "a.c", *options], cwd=tmp_path, check=True)
    assert (tmp_path / file).read_text().startswith(f"{of}: a.c")


def test_an_assembly_by_hand_keeps_its_name_and_lines(tmp_path):
    (tmp_path / "by hand.s").write_text("\tnop\n\tbogus\n")
    words = [BIN / "reap-drag-cc", "-c", "by hand.s"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "by hand.s:2:" in done.stderr


def test_a_compiler_that_fails_passes_its_status_on(tmp_path):
    (tmp_path / "x.c").write_text("int main(void) { return }")
    done = subprocess.run([BIN / "reap-drag-cc", tmp_path / "x.c"], capture_output=True, check=False)
    assert done.returncode == 1
    missing = {**os.environ, "REAP_CC": "no-such-compiler"}
    done = subprocess.run(
        [BIN / "reap-drag-cc", "--version"], capture_output=True, text=True, env=missing, check=False
    )
    assert done.returncode == 125
    assert "REAP_CC" in done.stderr


def test_a_compiler_may_be_several_words(tmp_path, monkeypatch):
    (tmp_path / "x.c").write_text("int x;")
    words = [BIN / "reap-drag-cc", "-c", tmp_path / "x.c", "-o", tmp_path / "x.o"]
    subprocess.run(words, env={**os.environ, "REAP_CC": "env A=b gcc"}, check=True)
    assert (tmp_path / "x.o").exists()
    (only,) = drag_recompiled.commands(["ccache", "/usr/bin/clang-19"], ["-c", "a.c"], tmp_path)
    assert only[:2] == ["ccache", "/usr/bin/clang-19"]
    assert "-mllvm" in only
    monkeypatch.setenv("REAP_CC", "ccache 'gcc")
    with pytest.raises(ReapError, match="REAP_CC"):
        drag_recompiled.compiler("c")


@pytest.mark.workloads
def test_clang_and_the_assembler_say_nothing(tmp_path):
    """Of a section that LLVM alone knows."""
    if shutil.which("clang++-19") is None:
        pytest.skip("clang++-19 is not installed")
    (tmp_path / "x.cpp").write_text("int main() {}")
    words = [BIN / "reap-drag-c++", "-std=c++20", "-c", tmp_path / "x.cpp", "-o", tmp_path / "x.o"]
    variables = {**os.environ, "REAP_CXX": "clang++-19"}
    done = subprocess.run(words, env=variables, check=True, capture_output=True, text=True)
    assert done.stdout + done.stderr == ""
