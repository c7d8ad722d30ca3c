"""The sources that library/bench measures: library/bench/suite.py."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "library" / "bench"))
import suite


def counts(name: str, folder: Path) -> list[str]:
    """A program that works for a time and says how much it did; the preload decides how long each takes."""
    script = folder / f"{name}.py"
    script.write_text(
        "import os, time\n"
        "work = 30000 if os.environ.get('LD_PRELOAD') else 10000\n"
        "end, done = time.process_time() + 0.1, 0\n"
        "while time.process_time() < end:\n"
        "    sum(range(work))\n"
        "    done += 1\n"
        "print(done, 'iterations')\n"
    )
    return [sys.executable, str(script)]


@pytest.mark.timed
def test_what_works_for_a_time_costs_cpu_time_an_operation(tmp_path: Path) -> None:
    words = counts("glibc-thread", tmp_path)
    # A preload that is not there is no more than a variable, and a line on standard error.
    costs = suite.costs("glibc-thread", words, {"one": "", "three": "/nowhere.so"}, 3)
    middle, least, most = suite.ratio(costs["three"], costs["one"])
    assert least <= middle <= most
    assert 2 < middle < 4.5, costs


def test_a_program_that_does_not_say_its_rate_is_an_error() -> None:
    with pytest.raises(ValueError, match="larson does not say"):
        suite.costs("larson", ["/bin/true"], {"glibc": ""}, 1)


def git(*words: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *names, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_a_clone_without_the_commit_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "mimalloc-bench"
    git("init", "--quiet", str(source))
    (source / "bench").mkdir()
    (source / "bench" / "CMakeLists.txt").write_text("")
    git("-C", str(source), "add", ".")
    git("-C", str(source), "commit", "--quiet", "-m", "other")
    monkeypatch.setenv("REAP_SOURCES", str(tmp_path))
    build = tmp_path / "build"
    for _ in range(2):
        with pytest.raises(subprocess.CalledProcessError):
            suite.fetch(build)
    monkeypatch.setattr(suite, "COMMIT", git("-C", str(source), "rev-parse", "HEAD"))
    assert (suite.fetch(build) / "CMakeLists.txt").is_file()
    monkeypatch.setenv("REAP_SOURCES", str(tmp_path / "nowhere"))
    assert suite.fetch(build).is_dir()
