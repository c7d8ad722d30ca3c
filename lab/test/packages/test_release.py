"""What a release agrees with, and what its wheel carries; what is installed and run is the next file's."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RELEASE = ROOT / "setup" / "release"


def git(repository, *arguments):
    identity = ["-c", "user.name=Reap", "-c", "user.email=reap@localhost"]
    subprocess.run(["git", *identity, *arguments], cwd=repository, check=True, capture_output=True)


@pytest.fixture(scope="module")
def versions():
    """The module setup/release/versions.py."""
    sys.path.insert(0, str(RELEASE))
    try:
        import versions as module
    finally:
        sys.path.remove(str(RELEASE))
    yield module
    del sys.modules["versions"]


@pytest.fixture
def sources(tmp_path, versions):
    """A repository that has the version in every place, and a changelog with one change."""
    for name in versions.PLACES:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n### Added\n- a thing\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "all")
    return tmp_path


def test_the_version_is_the_same_everywhere(versions):
    assert versions.VERSION.fullmatch(versions.current())


def test_a_release_from_the_first_change_to_the_tag(versions, sources):
    with pytest.raises(
        versions.NotReadyError, match=r"no section \[0\.1\.0\].*\n.*under \[Unreleased\].*\n.*no tag v0\.1\.0"
    ):
        versions.check(sources)
    versions.prepare("0.2.0", "2026-11-30", sources)
    assert versions.current(sources) == "0.2.0"
    assert (
        "## [Unreleased]\n\n## [0.2.0] - 2026-11-30\n\n### Added\n- a thing\n"
        in (sources / "CHANGELOG.md").read_text()
    )
    assert versions.notes("0.2.0", sources) == "### Added\n- a thing\n"
    with pytest.raises(versions.NotReadyError, match="6 files are not committed"):
        versions.check(sources)
    git(sources, "commit", "--quiet", "--all", "--message", "Reap 0.2.0")
    git(sources, "tag", "--annotate", "v0.2.0", "--message", "Reap 0.2.0")
    assert versions.check(sources) == "0.2.0"
    git(sources, "commit", "--quiet", "--allow-empty", "--message", "one more")
    with pytest.raises(versions.NotReadyError, match=r"the tag v0\.2\.0 is of"):
        versions.check(sources)


def test_places_that_differ_are_named(versions, sources):
    path = sources / "CMakeLists.txt"
    path.write_text(path.read_text().replace("VERSION 0.1.0", "VERSION 0.3.0"))
    with pytest.raises(
        versions.NotReadyError, match=r"CMakeLists.txt has 0\.3\.0, pyproject.toml has 0\.1\.0"
    ):
        versions.check(sources)


@pytest.mark.parametrize(
    ("version", "message"),
    [("0.2", "0.2 is not a version: three numbers"), ("0.1.0", r"CHANGELOG.md has \[0\.1\.0\] already")],
)
def test_what_cannot_be_prepared_changes_nothing(versions, sources, version, message):
    versions.prepare("0.1.0", "2026-11-30", sources)
    with (sources / "CHANGELOG.md").open("r+") as file:
        text = file.read().replace("## [Unreleased]\n", "## [Unreleased]\n\n### Fixed\n- another\n")
        file.seek(0)
        file.write(text)
    with pytest.raises(versions.NotReadyError, match=message):
        versions.prepare(version, "2026-11-30", sources)
    assert (sources / "CHANGELOG.md").read_text() == text


def test_nothing_unreleased_cannot_be_released(versions, sources):
    (sources / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-01\n- all\n"
    )
    with pytest.raises(versions.NotReadyError, match=r"nothing under \[Unreleased\]"):
        versions.prepare("0.2.0", "2026-11-30", sources)


def test_the_port_asks_for_the_systems_that_the_library_is_for():
    port = json.loads((ROOT / "setup/packages/vcpkg/reap/vcpkg.json").read_text())
    assert port["supports"] == "linux & x64"
    assert {each["name"] for each in port["dependencies"]} == {"vcpkg-cmake", "vcpkg-cmake-config"}


def test_each_package_of_the_image_is_known_to_the_lists():
    """What builds in the image is what setup/apt/build.txt has, so that a new need is met in both."""
    text = re.sub(r" *\\\n *", " ", (ROOT / "setup/packages/image/Dockerfile").read_text())
    (built, _) = (set(found.split()) for found in re.findall(r"--no-install-recommends ([^&]*) &&", text))
    lines = re.sub(r" *#.*", "", (ROOT / "setup/apt/build.txt").read_text()).split("\n")
    missing = [line for line in lines if line and not built & {*re.split(r" \| ", line)}]
    assert missing == ["ccache"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["setup/platforms", "plan9"], "there is no platform plan9; there are debian11 debian12"),
        ([".ci/bare-root", "--sweet", "sid"], "there is no option --sweet"),
    ],
)
def test_an_unknown_name_stops_before_a_root_is_made(command, message):
    done = subprocess.run([ROOT / command[0], *command[1:]], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert message in done.stderr


def test_the_page_and_the_check_promise_the_same_glibc():
    """The table of docs/how-to/install.md and what setup/release accepts."""
    (python,) = re.findall(r'^PYTHON = "(cp3\d+-abi3)"$', (RELEASE / "__main__.py").read_text(), re.MULTILINE)
    (limits,) = re.findall(
        r"^PRELOADS, MODULE = (\d+), (\d+)$", (RELEASE / "older.py").read_text(), re.MULTILINE
    )
    page = (ROOT / "docs/how-to/install.md").read_text()
    ((tag, minor),) = re.findall(r"`(cp3\d+-\w+)-manylinux_2_(\d+)_x86_64`", page)
    assert tag == python
    assert int(minor) <= int(limits[1])
    systems = re.findall(r"^\| (?:Debian|Ubuntu) [\d.]+ \| 2\.(\d+) \|", page, re.MULTILINE)
    assert sorted(systems) == ["31", "31", "35", "36", "39", "41"]
    assert int(limits[1]) <= min(map(int, systems))
