"""The sources that library/bench measures: library/bench/suite.py."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "library" / "bench"))
import suite


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
