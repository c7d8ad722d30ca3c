"""The program of a recording has the name that it was started by, where that is a link to its file."""

from pathlib import Path

from programs import compile_c, reap

PROGRAM = "#include <stdlib.h>\nint main() { for (int i = 0; i < 50000; ++i) free(malloc(i)); return 0; }"


def shown(where: Path, command: str) -> str:
    done = reap("record", "-f", "-o", "x.reap", "--", command, cwd=where)
    assert done.returncode == 0, done.stderr
    return str(reap("show", "x.reap", cwd=where).stdout)


def test_a_link_names_the_program(tmp_path: Path) -> None:
    file = Path(compile_c("reap_test_named", PROGRAM, ["-O0", "-g0"]))
    (tmp_path / "server").symlink_to(file)
    said = shown(tmp_path, str(tmp_path / "server"))
    assert "server+0x" in said
    assert file.name not in said
    assert f"{file.name}+0x" in shown(tmp_path, str(file))


def test_a_link_that_is_no_longer_here_names_nothing(tmp_path: Path) -> None:
    file = Path(compile_c("reap_test_named", PROGRAM, ["-O0", "-g0"]))
    link = tmp_path / "server"
    link.symlink_to(file)
    shown(tmp_path, str(link))
    link.unlink()
    assert f"{file.name}+0x" in reap("show", "x.reap", cwd=tmp_path).stdout
