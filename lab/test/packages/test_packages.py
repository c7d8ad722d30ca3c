"""What users install: the wheel in a clean environment, pipx, Conan, vcpkg's port, FetchContent, image."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from reap import native

pytestmark = pytest.mark.package

ROOT = Path(__file__).resolve().parents[3]
CONSUMERS = ROOT / "library" / "test" / "consumers"
BIN = Path(sys.executable).parent


def run(*command, cwd, **environment):
    """What a command prints; a failure shows it."""
    environment = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The folder that `setup/release build --trial` makes, without a network where one can be taken away."""
    out = tmp_path_factory.mktemp("release") / "out"
    run(sys.executable, ROOT / "setup/release", "older", cwd="/")
    offline = ["unshare", "--net"]
    if subprocess.run([*offline, "true"], capture_output=True, check=False).returncode != 0:
        offline = []
    run(*offline, sys.executable, ROOT / "setup/release", "build", "--trial", "--out", out, cwd="/")
    return out


@pytest.fixture(scope="module")
def wheel(release):
    (found,) = release.glob("reap_lab-*.whl")
    return found


@pytest.fixture(scope="module")
def clean(release, wheel, tmp_path_factory):
    """A virtual environment that has the wheel and its dependencies alone."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    run(sys.executable, "-m", "venv", folder, cwd="/")
    run(folder / "bin/pip", "install", "--quiet", wheel, cwd=release)
    return folder


@pytest.fixture
def without_compiler(tmp_path):
    """A PATH of a few tools that every system has, none of which compiles."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("cat", "env", "grep", "mktemp", "perl", "rm", "sh", "test", "true"):
        (folder / name).symlink_to(shutil.which(name))
    return folder


def test_the_release_is_whole(release, wheel):
    version = wheel.name.split("-")[1]
    assert {path.name for path in release.iterdir()} == {
        wheel.name,
        f"reap_studies-{version}-py3-none-any.whl",
        f"reap_lab-{version}.tar.gz",
        f"reap_lab-{version}.cdx.json",
        "notes.md",
        "SHA256SUMS",
    }
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=release)
    assert "### Added" in (release / "notes.md").read_text()
    with tarfile.open(release / f"reap_lab-{version}.tar.gz") as source:
        assert not [name for name in source.getnames() if "/docs/results" in name or "/studies/" in name]


def test_the_studies_are_a_package_of_their_own(release, wheel, clean, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if "reap_studies" in name or "card.toml" in name]
    reap = clean / "bin" / "reap"
    assert "  study " not in run(reap, "--help", cwd=tmp_path)
    (tmp_path / "plan.toml").write_text('allocators = ["glibc", "reap"]\n[[programs]]\ncard = "sed"\n')
    done = subprocess.run(
        [reap, "compare", "--plan", "plan.toml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "pip install reap-studies" in done.stdout + done.stderr
    studies = tmp_path / "studies"
    (built,) = release.glob("reap_studies-*.whl")
    run(clean / "bin/pip", "install", "--quiet", "--no-deps", "--target", studies, built, cwd=release)
    said = run(reap, "--help", cwd=tmp_path, PYTHONPATH=studies)
    assert all(f"\n  {name} " in said for name in ("study", "workloads"))
    assert "region-compiler" in run(reap, "workloads", "list", cwd=tmp_path, PYTHONPATH=studies)


def test_the_bill_names_what_comes_along(release):
    (path,) = release.glob("*.cdx.json")
    bill = json.loads(path.read_text())
    names = {each["name"] for each in bill["components"]}
    locked = re.findall(r"^([a-z][\w.-]*)==", (ROOT / "setup/python/runtime.lock").read_text(), re.MULTILINE)
    linked = {"libdw-dev", "liblzma-dev", "libzstd-dev", "glibc"}
    assert {*locked, *linked, "echarts", "d3", "d3-flame-graph"} <= names
    assert bill["metadata"]["component"]["name"] == "reap-lab"


def test_the_wheel_s_libraries_have_their_licences(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert not [name for name in names if re.match(r"reap_lab\.libs/[^/]+\.so", name)]
    licences = [name for name in names if name.startswith("reap_lab.libs/licenses/")]
    assert len(licences) == 6
    assert any(name.endswith("licenses/lab/drag/valgrind/COPYING") for name in names)


def test_what_enters_programs_needs_glibc_2_17_and_the_rest_2_28(wheel):
    said = run(sys.executable, ROOT / "setup/release", "needs", wheel, cwd="/")
    needed = {name: int(minor) for minor, name in re.findall(r"^glibc 2\.(\d+) +(\S+)$", said, re.MULTILINE)}
    assert {"reap/native.abi3.so", "reap/lib/libreap-record.so", "reap/bin/reap-record"} <= needed.keys()
    assert max(minor for name, minor in needed.items() if name.startswith("reap/lib/")) <= 17
    assert max(needed.values()) <= 28
    (tag,) = re.findall(r"manylinux_2_\d+_x86_64", (ROOT / "docs/how-to/install.md").read_text())
    assert wheel.name.endswith(f"-{tag}.whl")


def test_a_file_that_needs_a_newer_glibc_is_refused(wheel, tmp_path):
    """As the module of a plain build does. The wheel's name does not say so."""
    other = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(other, "w") as new:
        for each in old.infolist():
            new.writestr(each, old.read(each))
        new.write(native.__file__, "reap/lib/plain.so")
    done = subprocess.run(
        [sys.executable, ROOT / "setup/release", "needs", other], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "reap/lib/plain.so needs " in done.stderr


@pytest.mark.parametrize("change", ["another version", "a newer glibc", "an unknown Python", "no wheel"])
def test_a_wheel_that_does_not_belong_is_refused(wheel, tmp_path, change):
    python = wheel.name.split("-")[2]
    names = {
        "another version": (wheel.name.replace("-0.", "-9."), "is not of version"),
        "a newer glibc": (re.sub(r"manylinux_2_\d+", "manylinux_2_99", wheel.name), "needs glibc 2.99"),
        "an unknown Python": (wheel.name.replace(python, "cp399"), "the wheel is for cp311-abi3"),
        "no wheel": ("missing.whl", "there is no wheel"),
    }
    name, message = names[change]
    if change != "no wheel":
        shutil.copy(wheel, tmp_path / name)
    command = [sys.executable, ROOT / "setup/release", "build", "--trial", "--out", tmp_path / "out"]
    done = subprocess.run([*command, "--with", tmp_path / name], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr


def test_the_wheel_answers_in_a_clean_environment(clean, without_compiler, tmp_path):
    """run, record, show and compare, of perl."""
    said = run(
        ROOT / "setup/packages/smoke",
        clean / "bin/reap",
        cwd=tmp_path,
        PATH=without_compiler,
        PYTHONPATH="",
        XDG_CACHE_HOME=tmp_path,
    )
    assert said.count("smoke: ") == 7
    assert "Verdict: " in said


def test_the_environment_has_nothing_of_the_repository(clean):
    assert "No broken requirements" in run(clean / "bin/pip", "check", cwd="/")
    said = run(clean / "bin/python", "-c", "import reap; print(reap.__file__)", cwd="/")
    assert said.startswith(str(clean))
    installed = Path(said).parent
    found = [path for path in installed.rglob("*") if path.is_file() and bytes(ROOT) in path.read_bytes()]
    assert found == []


def test_pipx_runs_the_wheel(wheel, tmp_path):
    said = run(
        BIN / "pipx", "run", "--spec", wheel, "reap", "--version", cwd=tmp_path, PIPX_HOME=tmp_path / "pipx"
    )
    assert "reap, version" in said


def test_a_consumer_of_the_conan_package_builds(tmp_path):
    """The recipe's test package is library/test/consumers/find_package."""
    home = {"CONAN_HOME": tmp_path}
    run(BIN / "conan", "profile", "detect", cwd="/", **home)
    recipe = ROOT / "setup/packages/conan"
    settings = ["-s", "compiler.cppstd=20", "-c", "tools.cmake.cmake_layout:test_folder=$TMP"]
    run(BIN / "conan", "create", recipe, "--no-remote", *settings, cwd="/", TMPDIR=tmp_path, **home)
    assert [*tmp_path.rglob("libreap-malloc.so")]
    assert not [*tmp_path.rglob("libreap-apr.so")], "APR is not among its requirements"


def test_a_consumer_fetches_the_source_distribution(release, tmp_path):
    """As FetchContent does with the archive of a release and its sum."""
    (archive,) = release.glob("*.tar.gz")
    digest = next(
        line.split()[0]
        for line in (release / "SHA256SUMS").read_text().splitlines()
        if line.endswith(".tar.gz")
    )
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(consumer LANGUAGES C CXX)\ninclude(FetchContent)\n"
        f"FetchContent_Declare(Reap URL {archive} URL_HASH SHA256={digest} DOWNLOAD_EXTRACT_TIMESTAMP ON)\n"
        "FetchContent_MakeAvailable(Reap)\n"
        f"add_executable(consumer {CONSUMERS}/consumer.cpp)\n"
        "target_link_libraries(consumer PRIVATE Reap::headers)\n"
        f"add_executable(consumer-c {CONSUMERS}/consumer.c)\n"
        "target_link_libraries(consumer-c PRIVATE Reap::reap)\n"
    )
    run("cmake", "-S", ".", "-B", "build", "-G", "Ninja", cwd=tmp_path)
    run("cmake", "--build", "build", "--target", "consumer", "consumer-c", cwd=tmp_path)
    run(tmp_path / "build/consumer", cwd=tmp_path)
    run(tmp_path / "build/consumer-c", cwd=tmp_path)


def test_a_consumer_of_the_port_builds(tmp_path):
    """The portfile, with vcpkg's functions as plain CMake has them; vcpkg itself is not tried."""
    run("cmake", f"-DPACKAGES={tmp_path}", "-P", Path(__file__).parent / "vcpkg.cmake", cwd=tmp_path)
    package = tmp_path / "reap"
    assert not (package / "debug/include").exists()
    assert (package / "lib/libreap-malloc.so").exists()
    assert not [*package.rglob("libreap-apr.so")], "APR is not among its dependencies"
    assert (package / "share/reap/copyright").read_text() == (ROOT / "LICENSE").read_text()
    consumer = tmp_path / "consumer"
    prefix = f"-DCMAKE_PREFIX_PATH={package}"
    run("cmake", "-S", CONSUMERS / "find_package", "-B", consumer, "-G", "Ninja", prefix, cwd=tmp_path)
    run("cmake", "--build", consumer, cwd=tmp_path)
    run(consumer / "consumer", cwd=tmp_path)


def test_the_dockerfile_has_no_finding():
    said = run(BIN / "hadolint", "--ignore", "DL3008", ROOT / "setup/packages/image/Dockerfile", cwd="/")
    assert said == ""


def test_the_image_s_steps_are_those_of_its_file(tmp_path):
    run(sys.executable, ROOT / "setup/packages/image/steps.py", tmp_path, cwd="/")
    build, final = ((tmp_path / f"{name}.sh").read_text() for name in ("build", "final"))
    assert "pip wheel" in build
    assert "--find-links /wheels reap-lab" in final
    for script in ("build.sh", "final.sh"):
        run("bash", "-n", tmp_path / script, cwd="/")
