"""What can be set of allocators: the data, what a version knows of it, and the page that lists it."""

from pathlib import Path

import msgspec
import pytest

from reap.allocators import knobs
from reap.allocators.knobs import Milder
from reap.allocators.records import Allocator
from reap.launch import program as programs
from reap.launch.host import machine
from reap.tune import spec as tune_spec

GLIBC = Allocator(name="glibc")


@pytest.mark.parametrize("name", knobs.families())
def test_settings_are_told_apart(name):
    settings = knobs.families()[name].setting
    every = [each.name for setting in settings for each in (setting, *setting.milder)]
    assert len(every) == len(set(every))
    assert all(setting.may and setting.words and setting.about for setting in settings)


def test_words_are_merged_with_what_is_set_already():
    glibc, mimalloc = knobs.families()["glibc"], knobs.families()["mimalloc"]
    held = {"GLIBC_TUNABLES": "glibc.malloc.mxfast=9", "HOME": "/", "MIMALLOC_VERBOSE": "1"}
    assert glibc.environment({"mxfast": "0", "arena_max": "1"}, held) == {
        "GLIBC_TUNABLES": "glibc.malloc.mxfast=0:glibc.malloc.arena_max=1"
    }
    assert glibc.environment({}, {}) == {}
    assert glibc.environment({}, held) == glibc.held(held) == {"GLIBC_TUNABLES": "glibc.malloc.mxfast=9"}
    assert mimalloc.environment({"PURGE_DELAY": "0"}, held) == {"MIMALLOC_PURGE_DELAY": "0"}
    assert mimalloc.held(held) == {"MIMALLOC_VERBOSE": "1"}


def test_the_first_form_that_a_version_knows_counts(tmp_path):
    library = tmp_path / "libmimalloc.so"
    library.write_bytes(b"\0\0arena_reset_delay\0deprecated_purge_delay\0")
    installed = Allocator(name="mimalloc", library=str(library))
    new, old, none = {"PURGE_DELAY": "0"}, {"RESET_DELAY": "0"}, {"ELSE": "0"}
    assert knobs.known_form(installed, Milder(name="", about="", words=[new, old])) == (old, "")
    assert knobs.known_form(installed, Milder(name="", about="", words=[new, none])) == (None, "PURGE_DELAY")


def test_the_c_library_says_what_it_knows():
    loader = programs.resolve(["/bin/true"]).loader
    known = Milder(name="", about="", words=[{"tcache_count": "9"}])
    assert knobs.known_form(GLIBC, known, loader=loader) == ({"tcache_count": "9"}, "")
    unknown = Milder(name="", about="", words=[{"tcache_cuont": "9"}])
    assert knobs.known_form(GLIBC, unknown, loader=loader) == (None, "tcache_cuont")


def test_the_page_has_the_settings():
    page = (Path(__file__).parents[3] / "docs" / "tuning.md").read_text()
    lines = ["", "| allocator | setting | effect | variables |", "|---|---|---|---|"]
    for name, family in knobs.families().items():
        for setting in family.setting:
            for number, each in enumerate((setting, *setting.milder)):
                words = " ".join(
                    f"`{family.prefix}{word}{family.assigns}{each.words[0][word]}`" for word in each.words[0]
                )
                milder = "milder: " if number else ""
                lines.append(f"| {name} | {milder}{each.name} | {each.about} | {words} |")
    wanted = "\n".join([*lines, "", ""])
    assert page.partition("knobs.toml -->\n")[2].partition("<!-- end")[0] == wanted, wanted


def test_what_this_machine_lacks_is_left_out_and_told(monkeypatch):
    here = machine.describe()
    for libc, pages, lacking in (("glibc 2.36", "always", 2), ("glibc 2.42", "madvise", 0)):
        described = msgspec.structs.replace(here, libc=libc, huge_pages=pages)
        monkeypatch.setattr(tune_spec.machine, "describe", lambda described=described: described)
        spec = tune_spec.specify_search(["/bin/true"], GLIBC, ["cpu"])
        names = {each.name for each in spec.tune.options}
        assert len(spec.tune.notes) == lacking
        assert ({"huge pages", "large blocks in thread caches"} <= names) == (lacking == 0)


def test_what_sets_allocators_in_an_environment_is_known():
    ours = ["GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_ARENA_MAX", "MALLOC_CONF", "MIMALLOC_VERBOSE",
            "PYTHONMALLOC", "SCUDO_OPTIONS", "TCMALLOC_SAMPLE_PARAMETER"]  # fmt: skip
    assert knobs.variables([*ours, "HOME", "LD_LIBRARY_PATH", "PATH"]) == ours
