"""`reap allocators install`: recipes, what is built from them, and what goes wrong on the way.

But for the one of the registry, the recipe is a small one of our own, whose crate lies in a folder: cargo,
the compiler and the check are real, and no registry is asked.
"""

import os
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import msgspec
import pytest
from lab.test.allocators.shop import RECIPE, Shop
from programs import LIBRARIES, ends, reap

from reap.allocators import catalog, recipe, store
from reap.allocators.records import Missing
from reap.base.errors import ExitCode, ReapError


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


def test_every_recipe_is_whole():
    debian = {entry.name for entry in catalog.ENTRIES}
    assert len(recipe.recipes()) >= 8
    for name, each in recipe.recipes().items():
        assert len(recipe.crate(each).checksum) == 64, name
        assert name not in debian
        assert all((recipe.FOLDER / file).is_file() for file in each.files), name
        assert f"{recipe.FOLDER}" not in each.build
        assert "lib$NAME.so" in each.build


def test_the_locks_are_of_a_format_that_old_cargos_read():
    for folder in {each.lock for each in recipe.recipes().values()}:
        assert tomllib.loads((recipe.FOLDER / folder / recipe.LOCK).read_text())["version"] == 3


def test_a_fingerprint_follows_from_recipe_and_source():
    each = recipe.recipes()["dlmalloc"]
    assert recipe.fingerprint(each) == recipe.fingerprint(each)
    prints = {recipe.fingerprint(other) for other in recipe.recipes().values()}
    assert len(prints) == len(recipe.recipes())


def test_where_they_are_installed(monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/x/y")
    assert store.root() == Path("/x/y/reap/allocators")
    monkeypatch.setenv("HOME", "/home/me")
    for nothing in ("", "relative/is/ignored"):
        monkeypatch.setenv("XDG_DATA_HOME", nothing)
        assert store.root() == Path("/home/me/.local/share/reap/allocators")


def test_what_is_not_built_comes_with_the_line_that_builds_it(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(catalog, "FOLDERS", ("/nonexistent",))
    found = catalog.find("mimalloc-v3")
    assert isinstance(found, Missing)
    assert found.install == "reap allocators install mimalloc-v3"
    with pytest.raises(ReapError) as caught:
        catalog.parse("mimalloc-v3,jemalloc,dlmalloc")
    assert "libjemalloc2 && reap allocators install mimalloc-v3 dlmalloc" in caught.value.hint


def test_without_a_name_it_says_what_there_is(shop):
    done = shop.reap("install")
    assert done.returncode == 0
    assert "mine" in done.stdout
    assert "MIT" in done.stdout
    assert shop.left() == set()


def test_one_that_is_installed_is_found_by_name(shop, tmp_path):
    done = shop.reap("install", "mine")
    assert done.returncode == 0, done.stderr
    assert "next: reap compare --allocators glibc,mine -- CMD" in done.stderr
    assert shop.reap("path", "mine").stdout.strip() == str(shop.root / "mine/1.0")
    assert shop.reap("--json", str(tmp_path / "list.json")).returncode == 0
    listed = msgspec.json.decode((tmp_path / "list.json").read_bytes())["allocators"]
    (found,) = (each for each in listed if each["name"] == "mine")
    assert found["library"] == str(shop.root / "mine/1.0/libmine.so")
    assert (found["version"], found["crate"]) == ("1.0", "mine-sys 0.1.0")
    assert shop.root.stat().st_mode & 0o777 == 0o700
    assert shop.left() == {"mine"}


@pytest.mark.slow
def test_a_second_time_nothing_is_done_unless_something_changed(shop):
    shop.reap("install", "mine")
    again = shop.reap("install", "mine")
    assert "was there already" in again.stdout
    assert shop.built() == 1
    assert shop.reap("install", "--force", "mine").returncode == 0
    assert shop.built() == 2
    shop.offer(before=": another recipe")
    assert shop.reap("install", "mine").returncode == 0
    assert shop.built() == 3
    (shop.root / "mine/1.0/libmine.so").unlink()
    assert shop.reap("path", "mine").returncode == ExitCode.USAGE
    assert shop.reap("install", "mine").returncode == 0
    assert shop.built() == 4


def test_options_stand_after_the_word_that_they_belong_to(shop):
    done = shop.reap("--force", "install", "mine")
    assert done.returncode == ExitCode.USAGE
    assert "put the options of install after it" in done.stderr


def test_names_that_cannot_be_built(shop):
    unknown = shop.reap("install", "nosuch")
    assert unknown.returncode == ExitCode.USAGE
    assert "no recipe to build an allocator called 'nosuch'" in unknown.stderr
    assert "mine" in unknown.stderr
    assert "did you mean mine? these" in shop.reap("install", "mien").stderr
    assert shop.reap("install", "mine", "nosuch").returncode == ExitCode.USAGE
    assert shop.built() == 0, "names are judged before anything is built"


APT = """#!/bin/sh
echo "apt-get $*" >>"$LOG"
case "$*" in *--simulate*) [ -z "$REMOVES" ] || echo "Remv $REMOVES [1]" ;; esac
"""


@pytest.fixture
def debian(shop, tmp_path):
    """apt and dpkg that note what they are asked for: jemalloc's package is not installed, as they say."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("apt-get", APT), ("dpkg-query", "#!/bin/sh\nexit 1\n"), ("sudo", APT)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    log = tmp_path / "apt-log"
    log.write_text("")
    shop.environment |= {"PATH": f"{tools}:{os.environ['PATH']}", "LOG": str(log), "REMOVES": ""}
    return log


def test_what_debian_brings_is_said_and_installed_when_asked(shop, debian):
    said = shop.reap("install", "mine", "jemalloc")
    assert said.returncode == ExitCode.USAGE
    assert "apt-get install --no-install-recommends libjemalloc2" in said.stderr
    assert "or: reap allocators install --yes mine jemalloc" in said.stderr
    assert shop.built() == 0, "nothing is done before all of it can be"
    assert debian.read_text() == ""
    shop.reap("install", "--yes", "jemalloc")
    installs = [line for line in debian.read_text().splitlines() if "install -y" in line]
    assert len(installs) == 1
    assert "libjemalloc2" in installs[0]


def test_what_would_remove_something_is_left_to_the_user(shop, debian):
    shop.environment["REMOVES"] = "precious"
    done = shop.reap("install", "--yes", "jemalloc")
    assert done.returncode == ExitCode.FAILED
    assert "precious would have to be removed" in done.stderr
    assert all("--simulate" in line for line in debian.read_text().splitlines())


MISALIGNED = (
    "void *aligned_alloc(size_t a, size_t n) { return a == 256 ? (char *)__libc_memalign(a, n + 16) + 16 :"
    " __libc_memalign(a, n); }"
)


@pytest.mark.slow
def test_each_fault_is_told_from_the_others(shop, tmp_path):
    good = "void *aligned_alloc(size_t a, size_t n) { return __libc_memalign(a, n); }"
    assert good in LIBRARIES["good"]
    files = {"fine": LIBRARIES["good"], "bent": LIBRARIES["good"].replace(good, MISALIGNED)}
    for name, source in files.items():
        (tmp_path / f"{name}.c").write_text(source)
        words = ["gcc", "-shared", "-fPIC", "-o", str(tmp_path / f"{name}.so"), str(tmp_path / f"{name}.c")]
        subprocess.run(words, check=True, capture_output=True)
    fine, bent = (f"{name}={tmp_path}/{name}.so" for name in files)
    done = shop.reap("check", "glibc", fine)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2), done.stdout
    assert "fine: serves (malloc is replaced, aligned blocks, threads and fork, C++ new)" in done.stdout
    done = shop.reap("check", bent)
    assert done.returncode == ExitCode.FAILED
    assert "aligned blocks: a program fails under it: aligned_alloc gave a block of 256 bytes" in done.stdout
    assert "not aligned to 256" in done.stdout
    assert "leave bent out of --allocators" in done.stderr


def test_what_is_not_there_cannot_be_checked(shop):
    done = shop.reap("check", "mine")
    assert done.returncode == ExitCode.FAILED
    assert "mine: not installed here: mine" in done.stdout
    assert "reap allocators install mine" in done.stdout


def test_one_wrong_file_keeps_no_other_from_being_checked(shop, tmp_path):
    (tmp_path / "text.so").write_text("no library")
    done = shop.reap("check", f"wrong={tmp_path}/text.so", "gone=/nonexistent.so,nosuch", "glibc")
    assert done.returncode == ExitCode.FAILED
    wrong, gone, nosuch = (f"{name}: " for name in ("wrong", "gone", "nosuch"))
    assert f"{wrong}allocator wrong: {tmp_path}/text.so is not an ELF file" in done.stdout
    assert f"{gone}allocator gone: /nonexistent.so does not exist" in done.stdout
    assert f"{nosuch}no allocator is called" in done.stdout
    assert "glibc: serves (" in done.stdout
    assert "leave wrong, gone, nosuch out of --allocators" in done.stderr


def test_what_must_be_installed_first_is_named(shop, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    shop.environment["PATH"] = str(tools)
    done = shop.reap("install", "mine")
    assert done.returncode == ExitCode.INTERNAL
    assert "cargo and gcc must be installed" in done.stderr
    assert "apt-get install --no-install-recommends gcc libc6-dev" in done.stderr
    assert "cargo-web" in done.stderr


def test_an_unreachable_registry(shop, tmp_path):
    shop.environment |= {"CARGO_HOME": str(tmp_path / "cargo"), "CARGO_NET_OFFLINE": "true"}
    (shop.recipes / "Cargo.toml").write_bytes((recipe.FOLDER / "Cargo.toml").read_bytes())
    (shop.recipes / "Cargo.lock").write_bytes((recipe.FOLDER / "Cargo.lock").read_bytes())
    (shop.recipes / "mine.toml").write_text(RECIPE.format(before="").replace("mine-sys", "libffi-sys"))
    done = shop.reap("install", "mine")
    assert done.returncode == ExitCode.INTERNAL
    assert "cargo could not fetch crate libffi-sys" in done.stderr
    assert "offline" in done.stderr, "cargo's own words"
    assert "~/.cargo/config.toml" in done.stderr
    assert shop.left() == {"mine.log"}


def test_a_failed_build_shows_its_end_keeps_its_log_and_what_was_there(shop):
    shop.reap("install", "mine")
    before = (shop.root / "mine/1.0/libmine.so").stat().st_ino
    shop.offer(source="this is not C")
    done = shop.reap("install", "--force", "mine")
    assert done.returncode == ExitCode.INTERNAL
    assert "mine could not be built" in done.stderr
    assert "error: " in done.stderr
    assert f"all of it is in {shop.root}/mine.log" in done.stderr
    assert "this is not C" in (shop.root / "mine.log").read_text()
    assert (shop.root / "mine/1.0/libmine.so").stat().st_ino == before
    assert shop.left() == {"mine", "mine.log"}
    shop.offer()
    assert shop.reap("install", "--force", "mine").returncode == 0
    assert shop.left() == {"mine"}, "the log of the failure goes when it works"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (LIBRARIES["lacks_aligned"], "lacks posix_memalign"),
        (LIBRARIES["no_malloc"], "exports no malloc"),
        (
            LIBRARIES["good"].replace("return __libc_realloc(p, n);", "free(p); return __libc_malloc(n);"),
            "realloc lost what was in the block",
        ),
        (
            LIBRARIES["good"].replace(
                "void *calloc(size_t n, size_t m) { return __libc_calloc(n, m); }",
                "void *calloc(size_t n, size_t m) {"
                " char *p = __libc_malloc(n * m); for (size_t i = 0; i < n * m; i++) p[i] = 1; return p; }",
            ),
            "calloc gave a block that is not zero",
        ),
        (
            LIBRARIES["good"].replace("void free(void *p) {", "void free(void *p) { if (p) *(char **)0 = p;"),
            "SIGSEGV",
        ),
    ],
    ids=["lacks", "none", "realloc", "calloc", "crashes"],
)
def test_what_does_not_serve_a_program_is_not_installed(shop, source, said):
    assert source != LIBRARIES["good"]
    shop.offer(source=source)
    done = shop.reap("install", "mine")
    assert done.returncode == ExitCode.FAILED, done.stderr
    assert "does not work here, so it was not installed" in done.stderr
    assert said in done.stderr
    assert shop.left() == {"mine.log"}


def test_the_users_flags_make_no_other_allocator(shop):
    shop.environment |= {"CFLAGS": "-bad", "LD_PRELOAD": "", "MAKEFLAGS": "-n"}
    shop.offer(before='test -z "${CFLAGS:-}${MAKEFLAGS:-}"')
    assert shop.reap("install", "mine").returncode == 0


def test_two_at_once_build_once(shop):
    first = begun(shop, UNTIL_TOLD)
    second = waiting(shop)
    (shop.recipes / "go").touch()
    told, said = (child.communicate(timeout=60)[0] for child in (first, second))
    assert (first.returncode, second.returncode) == (0, 0)
    assert "was there already" not in told
    assert "was there already" in said
    assert shop.built() == 1


UNTIL_TOLD = 'until test -e "$RECIPES/go"; do sleep 0.02; done'


def begun(shop: Shop, stay: str) -> subprocess.Popen:
    """An install that is in the midst of building, where it does `stay`."""
    shop.offer(before=f'touch "$RECIPES/begun"; {stay}')
    child = shop.start("install", "mine")
    deadline = time.monotonic() + 60
    while not (shop.recipes / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return child


def waiting(shop: Shop) -> subprocess.Popen:
    """An install that waits for another."""
    child = shop.start("install", "mine")
    while "waiting for another install to end" not in (line := child.stderr.readline()):
        assert line, "it did not wait"
    return child


@pytest.mark.timed
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_that_is_stopped_ends_what_it_started_and_leaves_nothing(shop, number):
    nap = f"47.{os.getpid()}"  # told from another run of the tests
    child = begun(shop, f"sleep {nap}")
    child.send_signal(number)
    _, err = child.communicate(timeout=60)
    assert child.returncode == ExitCode.SIGNALLED + signal.SIGINT
    assert "stopped" in err
    assert shop.left() == set()
    assert ends(f"sleep {nap}")


def test_one_that_is_killed_leaves_nothing_that_counts(shop):
    child = begun(shop, UNTIL_TOLD)
    child.kill()
    child.communicate()
    assert shop.reap("path", "mine").returncode == ExitCode.USAGE
    shop.offer()
    second = waiting(shop)  # for what the killed one had started, which holds the lock
    (shop.recipes / "go").touch()
    _, said = second.communicate(timeout=60)
    assert second.returncode == 0, said
    assert shop.left() == {"mine"}


def test_a_folder_that_cannot_be_written(shop, tmp_path):
    (tmp_path / "file").touch()
    shop.environment["XDG_DATA_HOME"] = str(tmp_path / "file")
    done = shop.reap("install", "mine")
    assert done.returncode == ExitCode.INTERNAL
    assert f"could not be installed in {tmp_path}/file/reap/allocators: Not a directory" in done.stderr
    assert "XDG_DATA_HOME" in done.stderr


def test_a_folder_that_the_loader_cannot_name(shop, tmp_path):
    shop.environment["XDG_DATA_HOME"] = str(tmp_path / "a b")
    done = shop.reap("install", "mine")
    assert done.returncode == ExitCode.INTERNAL
    assert "a space or a colon ends a name for it" in done.stderr
    assert not (tmp_path / "a b").exists()


def test_a_source_that_cannot_be_copied_is_told_in_one_line(shop):
    for name in ("one", "two"):
        (shop.crate / name).symlink_to("/nonexistent")
    done = shop.reap("install", "mine")
    assert done.returncode == ExitCode.INTERNAL
    assert "could not be installed in" in done.stderr
    assert len(done.stderr.splitlines()) == 3
    assert shop.left() == set()


def test_a_file_that_cannot_grow_as_on_a_full_disk(shop):
    shop.offer(before='head -c 100000 /dev/zero >"$OUT/large"')
    shop.prefix = ["prlimit", "--fsize=8192"]
    done = shop.reap("install", "mine")
    assert done.returncode == ExitCode.INTERNAL
    assert "mine could not be built" in done.stderr
    assert "mine" not in shop.left()


@pytest.mark.slow
def test_dlmalloc_from_the_registry(tmp_path):
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    for _ in range(3):  # in one of some 15 checks dlmalloc crashes in a fork beside threads
        done = reap("allocators", "install", "dlmalloc", env=environment)
        if "threads and fork" not in done.stderr and "SIGSEGV" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    folder = Path(reap("allocators", "path", "dlmalloc", env=environment).stdout.strip())
    compared = reap(
        "compare",
        "-n",
        "2",
        "-o",
        str(tmp_path / "c"),
        "-a",
        "glibc,dlmalloc",
        "--details",
        "--",
        "perl",
        "-e",
        "print 1",
        env=environment,
    )
    assert compared.returncode == 0, compared.stderr
    assert "dlmalloc: verified" in compared.stdout
    # Its heaps, linked beside the C library's malloc.
    source = tmp_path / "heaps.c"
    source.write_text(
        "#include <dlmalloc.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "int main(void) {\n"
        "    mspace space = create_mspace(0, 0);\n"
        "    for (int i = 0; i < 1000; ++i) memset(mspace_malloc(space, 100), i, 100);\n"
        '    printf("%d", destroy_mspace(space) > 100000);\n'
        "    free(malloc(1));\n"
        "    return 0;\n}\n"
    )
    flags = [f"-I{folder}/include", f"{folder}/libdlmalloc.a", "-pthread", "-o", str(tmp_path / "heaps")]
    subprocess.run(["gcc", source, *flags], check=True)
    assert subprocess.run([tmp_path / "heaps"], capture_output=True, text=True, check=True).stdout == "1"
