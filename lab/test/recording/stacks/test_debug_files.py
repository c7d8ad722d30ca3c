"""Files of debug information are opened only if they are files: whoever owns a program names them."""

import os
import subprocess
from pathlib import Path

import pytest
from programs import compile_c, reap

PROGRAM = """
#include <stdlib.h>
__attribute__((noinline)) void *taken(int size) { void *volatile block = malloc(size); return block; }
int main(void) { for (int i = 0; i < 1000; ++i) free(taken(i)); }
"""


def linked(folder: Path, how: str) -> Path:
    """A program that names `shared` or `program.debug` in the folder, which is there."""
    path = folder / "program"
    path.write_bytes(Path(compile_c("reap_test_debug_files", PROGRAM, ["-O1", "-g"])).read_bytes())
    path.chmod(0o755)
    if how == "altlink":
        # dwz finds something to share in two programs that are the same.
        (folder / "other").write_bytes(path.read_bytes())
        words = ["dwz", "-m", "shared", "-M", folder / "shared", "program", "other"]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
        return folder / "shared"
    subprocess.run(["objcopy", "--only-keep-debug", path, folder / "program.debug"], check=True)
    link = f"--add-gnu-debuglink={folder / 'program.debug'}"
    subprocess.run(["objcopy", "--strip-all", link, path], check=True)
    return folder / "program.debug"


@pytest.mark.parametrize("how", ["debuglink", "altlink"])
def test_a_debug_file_is_found_and_a_pipe_of_its_name_is_not_waited_for(tmp_path, how):
    named = linked(tmp_path, how)
    done = reap("record", "-d", "full", "-o", "a.reap", "--", "./program", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "taken" in reap("show", "a.reap", cwd=tmp_path).stdout
    named.unlink()
    os.mkfifo(named)
    # Names are kept at the end of a recording.
    done = reap("record", "-d", "full", "-o", "b.reap", "--", "./program", cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    shown = reap("show", "--resolve", "b.reap", cwd=tmp_path, timeout=60)
    assert shown.returncode == 0
    if how == "altlink":
        assert "taken" in shown.stdout, "the program has its own symbols"


def test_a_program_is_not_its_own_debug_file(tmp_path):
    """A link by the program's own name leads to the file in .debug, not to the program beside it."""
    named = linked(tmp_path, "debuglink")
    (tmp_path / ".debug").mkdir()
    whole = tmp_path / ".debug" / "program"
    named.rename(whole)
    words = ["--remove-section=.gnu_debuglink", tmp_path / "program"]
    subprocess.run(["objcopy", *words], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={whole}", tmp_path / "program"], check=True)
    reap("record", "-d", "full", "-o", "a.reap", "--", "./program", cwd=tmp_path)
    assert "taken" in reap("show", "a.reap", cwd=tmp_path).stdout


def test_what_programs_share_is_that_of_their_build(tmp_path):
    """Another file of that name has other names at the same places."""
    named = linked(tmp_path, "altlink")
    named.write_bytes((tmp_path / "other").read_bytes())
    reap("record", "-d", "full", "-o", "a.reap", "--", "./program", cwd=tmp_path)
    assert "taken" in reap("show", "a.reap", cwd=tmp_path).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's link")
def test_another_users_link_leads_to_no_debug_file(tmp_path):
    named = linked(tmp_path, "debuglink")
    named.rename(tmp_path / "elsewhere")
    named.symlink_to("elsewhere")
    os.lchown(named, 65534, 65534)
    reap("record", "-d", "full", "-o", "a.reap", "--", "./program", cwd=tmp_path)
    assert "taken" not in reap("show", "a.reap", cwd=tmp_path).stdout


def test_a_debug_file_of_another_build_is_not_taken(tmp_path):
    """The program has no build id: the debug file is told by its checksum."""
    named = linked(tmp_path, "debuglink")
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", tmp_path / "program"], check=True)
    reap("record", "-d", "full", "-o", "a.reap", "--", "./program", cwd=tmp_path)
    assert "taken" in reap("show", "a.reap", cwd=tmp_path).stdout
    named.write_bytes(named.read_bytes() + b" ")
    done = reap("record", "-d", "full", "-o", "b.reap", "--", "./program", cwd=tmp_path)
    assert done.stderr.count(f"note: {named} is not used: it is another build") == 1
    assert "taken" not in reap("show", "b.reap", cwd=tmp_path).stdout


def test_a_debug_file_of_another_build_is_said_once(tmp_path):
    """Wherever it is found: by the name that the program gives, and in a folder that the user names."""
    named = linked(tmp_path, "debuglink")
    other = ["gcc", "-g", "-shared", "-x", "c", "-", "-o", named]
    subprocess.run(other, input=b"int other;", check=True)
    done = reap("record", "-d", "full", "-o", "a.reap", "--", "./program", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count(f"note: {named} is not used: it is another build") == 1
    for more in ([], ["--debug-folder", "."]):
        shown = reap("show", "--resolve", "a.reap", *more, cwd=tmp_path)
        assert shown.stderr.count("is not used: it is another build") == 1
        assert "program+0x" in shown.stdout


@pytest.mark.parametrize("where", ["beside the program", "where it was compiled"])
def test_split_debug_information_is_found_and_a_pipe_of_its_name_is_not_waited_for(tmp_path, where):
    """Found by review: of the two names that libdw opens one was looked at."""
    compiled, moved = tmp_path / "compiled", tmp_path / "moved"
    for folder in (compiled, moved):
        folder.mkdir()
    (compiled / "program.c").write_text(PROGRAM)
    words = ["gcc", "-O1", "-g", "-gsplit-dwarf", "-o", "program", "program.c"]
    subprocess.run(words, cwd=compiled, check=True)
    (split,) = compiled.glob("*.dwo")
    (compiled / "program").rename(moved / "program")
    reap("record", "-d", "full", "-o", "a.reap", "--", "./program", cwd=moved)
    assert "program.c:3" in reap("show", "a.reap", cwd=moved).stdout
    if where == "where it was compiled":
        split.rename(moved / split.name)
    os.mkfifo({"beside the program": moved, "where it was compiled": compiled}[where] / split.name)
    done = reap("record", "-d", "full", "-o", "b.reap", "--", "./program", cwd=moved, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "taken" in reap("show", "--resolve", "b.reap", cwd=moved, timeout=60).stdout
