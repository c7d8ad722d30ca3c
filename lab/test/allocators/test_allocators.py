"""Allocators: what is found, which files are refused, and whether one really served a program."""

import os
from pathlib import Path

import pytest
from programs import library, program

from reap.allocators import catalog, checking, elf, settings
from reap.allocators.records import FUNCTIONS, OWN, Allocator, Missing
from reap.allocators.verify import judge
from reap.base import installation
from reap.base.errors import ExitCode, ReapError
from reap.launch import spawn
from reap.launch.records import Launch

pytestmark = pytest.mark.bare

LIBC = Allocator(name="glibc")
HERE = [each for each in catalog.survey() if isinstance(each, Allocator)]


def heap(name, allocator=LIBC, **options):
    launch = Launch(argv=[name], program=name, allocator=allocator.library, probe=True, **options)
    return spawn.run(launch).heap


def refused(text):
    with pytest.raises(ReapError) as caught:
        catalog.parse(text)
    assert caught.value.code == ExitCode.USAGE
    assert caught.value.hint
    return caught.value.what


def test_names_and_files_are_parsed_in_order():
    chosen = catalog.parse(f"glibc, mine={library('good')}")
    assert [each.name for each in chosen] == ["glibc", "mine"]
    assert chosen[1].library == library("good")
    assert chosen[0].library == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nosuch", "no allocator is called 'nosuch'"),
        ("glibc,glibc", "named twice"),
        ("glibc=/lib/x.so", "always means"),
        ("=/lib/x.so", "names no allocator"),
        ("../x", "names no allocator"),
        ("a=/no/such/file.so", "does not exist"),
        ("a=/tmp", "is a folder"),
        ("a=/etc/passwd", "is not an ELF file"),
        ("a=/dev/null", "is no regular file"),
    ],
)
def test_refusals(text, message):
    assert message in refused(text)


def test_the_allocator_that_was_meant_is_named():
    with pytest.raises(ReapError) as caught:
        catalog.parse("glibc,Jemaloc")
    assert caught.value.hint.startswith("did you mean jemalloc? known are glibc, ")


def test_files_that_are_no_allocator(tmp_path):
    assert "exports no malloc" in refused(f"a={library('no_malloc')}")
    assert "not a shared library" in refused(f"a={program('peak_static')}")
    whole = Path(library("good")).read_bytes()
    (tmp_path / "cut.so").write_bytes(whole[: len(whole) // 3])
    assert "truncated" in refused(f"a={tmp_path}/cut.so")
    (tmp_path / "narrow.so").write_bytes(whole[:18] + b"\xb7\0" + whole[20:])
    assert "another machine" in refused(f"a={tmp_path}/narrow.so")


def test_an_allocator_that_would_mix_heaps_is_refused():
    message = refused(f"a={library('lacks_aligned')}")
    assert "lacks posix_memalign" in message
    assert "two heaps" in message


@pytest.mark.parametrize("instead", ["memalign", "posix_memalign"])
def test_aligned_alloc_falls_back_on_what_the_allocator_has(instead):
    (hoard,) = catalog.parse(f"hoard={library(instead)}")
    assert f"hoard lacks aligned_alloc, which is served by its {instead}" in hoard.notes
    # It asks for aligned blocks and frees them.
    seen = heap(program("busy"), hoard)
    assert Path(next(iter(seen.values()))["aligned_alloc"]).name == "libreap-aligned.so"
    judged = judge(hoard, seen)
    assert (judged.verified, judged.problem) == (True, "")
    checked = next(iter(checking.check([hoard])))
    assert checked.problems["aligned"] == ""
    assert checked.problems["threads"] == ""


@pytest.mark.parametrize(("name", "file"), OWN.items())
def test_our_own_come_with_reap_and_serve(name, file):
    own = catalog.find(name)
    assert isinstance(own, Allocator)
    assert own.origin == f"comes with Reap {own.version}"
    assert not own.notes
    assert catalog.with_package(own) == own
    seen = judge(own, heap(program("busy"), own))
    assert seen.verified
    assert Path(seen.provider).name == file
    with pytest.raises(ReapError, match="no recipe"):
        catalog.recipe_of(name)


def test_our_own_may_be_missing(monkeypatch):
    monkeypatch.setattr(catalog, "OWN_LIBRARIES", Path("/nonexistent"))
    missing = [catalog.find(name) for name in OWN]
    assert all(isinstance(each, Missing) for each in missing)
    assert catalog.install_command(missing) == installation.again()
    with pytest.raises(ReapError) as caught:
        catalog.parse("reap")
    assert installation.again() in caught.value.hint


def test_what_is_missing_comes_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr(catalog, "FOLDERS", ("/nonexistent",))
    assert isinstance(catalog.find("jemalloc"), Missing)
    with pytest.raises(ReapError) as caught:
        catalog.parse("jemalloc,mimalloc")
    assert "not installed here: jemalloc, mimalloc" in caught.value.what
    assert "apt-get install --no-install-recommends libjemalloc2 libmimalloc2.0" in caught.value.hint


def test_a_damaged_allocator_spoils_no_list(monkeypatch, tmp_path):
    (tmp_path / "libjemalloc.so.2").write_text("no library")
    monkeypatch.setattr(catalog, "FOLDERS", (str(tmp_path),))
    listed = {each.name: each for each in catalog.survey()}
    assert isinstance(listed["jemalloc"], Missing)
    assert "is not an ELF file" in listed["jemalloc"].install
    assert "is not an ELF file" in catalog.install_command([listed["jemalloc"]])
    assert isinstance(listed["glibc"], Allocator)


def test_a_package_has_the_name_of_this_release(monkeypatch, tmp_path):
    monkeypatch.setattr(catalog, "FOLDERS", ("/nonexistent",))
    stub = tmp_path / "apt-cache"
    # Debian 13: libmimalloc3 breaks libmimalloc2.0, which is all that apt knows of that.
    stub.write_text('#!/bin/sh\ncase "$3" in *2.0 | *l4 | *s4) ;; *) echo "Package: $3" ;; esac\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    missing = [catalog.find(name) for name in ("mimalloc", "tcmalloc", "tcmalloc-full")]
    assert [each.package for each in missing] == [
        "libmimalloc3",
        "libtcmalloc-minimal4t64",
        "libgoogle-perftools4t64",
    ]


def test_the_newest_of_several_versions_is_taken(monkeypatch, tmp_path):
    for version in ("9", "14", "19"):
        folder = tmp_path / f"llvm-{version}/lib/clang/{version}/lib/linux"
        folder.mkdir(parents=True)
        name = Path(catalog.ENTRIES[-1].files[0]).name
        (folder / name).write_bytes(Path(library("good")).read_bytes())
    monkeypatch.setattr(catalog, "FOLDERS", (str(tmp_path),))
    assert "llvm-19" in catalog.find("scudo").library


def test_packages_are_named():
    libc = next(each for each in HERE if each.name == "glibc")
    if Path("/var/lib/dpkg/status").exists():
        assert libc.origin.startswith("Debian package libc6 2.")


@pytest.mark.parametrize("allocator", HERE, ids=lambda each: each.name)
def test_every_allocator_that_is_here_really_serves_a_program(allocator):
    judged = judge(allocator, heap(program("busy"), allocator))
    assert judged.verified, judged.problem
    if allocator.library:
        assert os.path.realpath(judged.provider) == os.path.realpath(allocator.library)


def test_children_are_seen_too():
    launch = Launch(argv=["sh", "-c", f"{program('busy')}; true"], program="/bin/sh", probe=True)
    assert program("busy") in spawn.run(launch).heap


def test_the_probe_is_there_only_when_asked_for():
    outcome = spawn.run(Launch(argv=[program("busy")], program=program("busy")))
    assert (outcome.heap, outcome.malloc_provider) == ({}, "")


def test_a_program_with_its_own_malloc_is_not_served_by_another():
    mine = Allocator(name="mine", library=library("good"))
    judged = judge(mine, heap(program("own_malloc"), mine))
    assert not judged.verified
    assert judged.provider == program("own_malloc")
    assert "brings its own malloc" in judged.problem


def test_a_position_dependent_program_that_takes_mallocs_address_is_judged_right():
    mine = Allocator(name="mine", library=library("good"))
    judged = judge(mine, heap(program("takes_address"), mine))
    assert judged.verified, judged.problem
    assert judged.provider == library("good")


def test_mixed_heaps_are_seen():
    mine = Allocator(name="mine", library=library("lacks_aligned"))
    judged = judge(mine, heap(program("busy"), mine))
    assert not judged.verified
    assert "two heaps are mixed" in judged.problem
    assert "aligned_alloc" in judged.problem


def test_another_preload_that_comes_first_is_noticed():
    seen = heap(program("busy"), environment={"LD_PRELOAD": library("good")})
    judged = judge(LIBC, seen)
    assert not judged.verified
    assert library("good") in judged.problem


def test_a_program_that_no_preload_enters():
    judged = judge(LIBC, {})
    assert not judged.verified
    assert "malloc comes from is unknown" in judged.problem


def test_the_probe_needs_libc_alone():
    from reap.launch import native_files

    facts = elf.read(native_files.preload("probe"), frozenset(FUNCTIONS))
    assert facts.needed == ["libc.so.6"]
    assert not facts.defines


def test_a_name_that_shares_the_end_of_another_is_found():
    facts = elf.read(
        "/proc/self/exe"
        if not Path("/lib/x86_64-linux-gnu/libc.so.6").exists()
        else "/lib/x86_64-linux-gnu/libc.so.6",
        frozenset({"malloc", "no_such_function"}),
    )
    assert facts.exports == {"malloc"}


def test_the_build_id_is_the_linkers():
    assert len(elf.build_id(program("busy"))) == 40
    with pytest.raises(elf.NotElfError):
        elf.build_id("/etc/passwd")


def test_the_switch_for_huge_pages_is_added_to_what_is_set_already():
    def switch(name, **environment):
        return settings.huge_pages(Allocator(name=name, library="/x.so"), environment)

    assert switch("glibc") == {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    held = switch("glibc", GLIBC_TUNABLES="glibc.malloc.tcache_count=0")
    assert held == {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.hugetlb=1"}
    assert switch("jemalloc-5.3.1", MALLOC_CONF="thp:never") == {"MALLOC_CONF": "thp:always"}
    assert switch("mimalloc", MIMALLOC_LARGE_OS_PAGES="0")["MIMALLOC_LARGE_OS_PAGES"] == "1"
    assert switch("tcmalloc") is None
