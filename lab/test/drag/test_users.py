"""Drag of programs of root that become another user, as servers do."""

import os
import tempfile
from pathlib import Path

import msgspec
import pytest
from programs import NOBODY, reap
from recorded import drag_compiled, target

from reap.base.files import folder_for_programs
from reap.drag.exact.valgrind import for_all_users

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

SETPRIV = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
PERL = "my @a = map {q(x) x 50} 1 .. 3000; print scalar @a"


def processes(folder, engine, *command):
    """The result's processes, of a program that does what it does alone."""
    file = folder / "drag.json"
    done = reap("drag", "--engine", engine, "--json", str(file), "--force", "--", *command)
    assert file.exists(), done.stderr
    return done, msgspec.json.decode(file.read_bytes())["processes"]


def test_what_is_executed_as_another_user_is_measured(tmp_path):
    done, seen = processes(tmp_path, "exact", *SETPRIV, "/usr/bin/perl", "-e", PERL)
    assert (done.returncode, done.stdout) == (0, "3000"), done.stderr
    assert any("perl" in each["command"][0] for each in seen), seen
    assert len(seen) == 2


def test_what_is_executed_as_another_user_is_sampled(tmp_path):
    done, seen = processes(tmp_path, "sample", *SETPRIV, "/usr/bin/perl", "-e", PERL)
    assert (done.returncode, done.stdout) == (0, "3000"), done.stderr
    assert any("perl" in str(each) for each in seen), seen


@pytest.mark.parametrize("engine", ["exact", "recompiled", "sample"])
def test_a_program_that_becomes_another_user_is_measured_to_its_end(tmp_path, engine):
    program = drag_compiled("drag/user") if engine == "recompiled" else target("drag/user")
    done, seen = processes(tmp_path, engine, program, str(NOBODY))
    assert done.returncode == 0, done.stderr
    if engine == "sample":
        return
    objects = sorted(each["levels"][0]["total"]["objects"] for each in seen)
    assert objects == [40000, 301000]
    assert not any("recording stopped" in note for each in seen for note in each["notes"])


def test_the_folder_of_root_is_listed_by_nobody_else():
    with folder_for_programs("reap-test-") as folder:
        assert folder.stat().st_mode & 0o7777 == 0o1733
        assert folder.parent.stat().st_mode & 0o777 == 0o711
        assert folder.parent.parent == Path(tempfile.gettempdir())
    assert not folder.parent.exists()


def test_the_engine_is_copied_where_others_may_not_look(tmp_path):
    home = tmp_path / "home"
    (home / "engine").mkdir(parents=True)
    (home / "engine" / "drag").write_text("x")
    (home / "engine" / "link").symlink_to("/usr")
    home.chmod(0o700)
    copy = for_all_users(home / "engine", tmp_path)
    assert copy == tmp_path / "engine"
    assert (copy / "drag").stat().st_mode & 0o777 == 0o755
    assert (copy / "link").is_symlink()
    assert for_all_users(Path("/usr/bin"), tmp_path) == Path("/usr/bin")
