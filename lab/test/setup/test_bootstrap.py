"""What a bare machine meets first: a bootstrap that may not install."""

import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.bare

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def machine(tmp_path):
    """A PATH whose first folder says what the machine is; the rest of it is this one's."""
    stubs = {
        "id": "echo 1000",
        "sudo": "exit 1",
        "apt-get": "echo apt-get was run; exit 9",
        "apt-cache": '[[ "${@: -1}" == libmimalloc2.0 ]] || echo Package: "${@: -1}"',
        "dpkg-query": "echo installed perl; echo not-installed sed",
    }
    for name, body in stubs.items():
        stub = tmp_path / name
        stub.write_text(f"#!/bin/bash\n{body}\n")
        stub.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def bootstrap(purpose, environment):
    return subprocess.run(
        [ROOT / "setup" / "bootstrap", purpose], env=environment, capture_output=True, text=True, check=False
    )


def test_who_may_not_install_is_shown_the_line(machine):
    answer = bootstrap("demo", machine)
    assert answer.returncode == 1
    line = re.search(r"^    (sudo apt-get update && sudo apt-get install .*)$", answer.stderr, re.MULTILINE)
    words = line[1].split()
    assert {"cmake", "g++", "ninja-build", "python3-venv", "sed"} <= set(words)
    assert "perl" not in words
    assert "apt-get was run" not in answer.stdout


def test_an_alternative_is_taken_where_the_first_is_unknown(machine):
    words = bootstrap("demo", machine).stderr.split()
    assert "libmimalloc3" in words
    assert "libmimalloc2.0" not in words


@pytest.fixture
def without_allocators(machine, tmp_path):
    """A machine of root's that has all but the allocators, of which two cannot be had."""
    lists = [ROOT / "setup" / "apt" / f"{name}.txt" for name in ("build", "demo")]
    lines = [
        line.partition("#")[0].replace("|", " ") for each in lists for line in each.read_text().splitlines()
    ]
    stubs = {
        "id": "echo 0",
        # Another package breaks it, which is all that is known of it.
        "apt-cache": '[[ "${@: -1}" == libtcmalloc* ]] || echo Package: "${@: -1}"',
        "apt-get": f'echo "$*" >>{tmp_path}/asked; [[ "$*" != *libjemalloc2* ]]',
        "dpkg-query": "".join(f"echo installed {word}\n" for line in lines for word in line.split()),
    }
    for name, body in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
    return machine


def test_an_allocator_that_cannot_be_had_is_named_and_never_fatal(without_allocators, tmp_path):
    answer = bootstrap("demo", without_allocators)
    assert answer.returncode == 0, answer.stderr
    assert (
        "left out: this system has no package libtcmalloc-minimal4 or libtcmalloc-minimal4t64"
        in answer.stdout
    )
    assert "left out: libjemalloc2 could not be installed" in answer.stdout
    # Together, then each by itself, so that one that fails takes no other along.
    asked = [line.partition("Use-Pty=0 ")[2] for line in (tmp_path / "asked").read_text().splitlines()]
    assert asked == ["libjemalloc2 libmimalloc2.0", "libjemalloc2", "libmimalloc2.0"]


def test_who_may_not_install_goes_on_without_optional_allocators(without_allocators, tmp_path):
    (tmp_path / "id").write_text("#!/bin/bash\necho 1000\n")
    answer = bootstrap("demo", without_allocators)
    assert answer.returncode == 0, answer.stderr
    assert "sudo apt-get install --no-install-recommends libjemalloc2 libmimalloc2.0" in answer.stdout
    assert not (tmp_path / "asked").exists()


def test_the_demo_needs_neither_browser_nor_clang(machine):
    packages = bootstrap("demo", machine).stderr
    assert not re.search(r"chrom|clang|llvm|valgrind", packages)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/library/install.md"])
def test_the_library_is_installed_as_the_page_has_it(page, tmp_path):
    lines = re.findall(
        r"^    (cmake -S .*|cmake --build build.*|cmake --install .*)$",
        (ROOT / page).read_text(),
        re.MULTILINE,
    )
    assert len(lines) == 3
    for line in lines:
        said = line.replace("build/install", f"{tmp_path}/build").replace("/usr/local", f"{tmp_path}/there")
        subprocess.run(said, shell=True, cwd=ROOT, check=True, capture_output=True)  # noqa: S602
    installed = {file.name for file in (tmp_path / "there").rglob("*")}
    assert {"libreap.a", "region.h", "reap.pc", "ReapConfig.cmake"} <= installed
    # Nor does it need GoogleTest.
    assert not re.search(r"gtest|GTest", (tmp_path / "build" / "CMakeCache.txt").read_text())


def test_a_purpose_that_is_none_is_refused(machine):
    answer = bootstrap("lunch", machine)
    assert answer.returncode == 2
    assert "demo|test|more" in answer.stderr
