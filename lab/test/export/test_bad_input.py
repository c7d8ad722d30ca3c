"""Bad input of `reap show`, `reap export` and `reap diff`: one message, what, where and what to do next."""

import os
import re

import pytest
from programs import compile_c, reap
from recorded import recorded, target

from reap.base.errors import ExitCode
from reap.export.formats import FORMATS

VERSION_AT = 8
VERBS = {
    "show": ["show"],
    "diff": ["diff", "sound.reap"],
    **{form: ["export", "--to", form] for form in FORMATS},
}
SAID = {
    "newer": "its format has version",
    "empty": "it is empty",
    "text": "it is not a recording made by reap",
    "none": "No such file",
    "folder": "it is not a regular file",
    "pipe": "it is not a regular file",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("bad")
    sound = recorded(made, "full", target("stacks")).path.rename(made / "sound.reap")
    data = bytearray(sound.read_bytes())
    (made / "cut").write_bytes(data[: -65536 - 100])
    data[VERSION_AT] += 1
    (made / "newer").write_bytes(data)
    (made / "empty").write_bytes(b"")
    (made / "text").write_bytes(b"no recording\n" * 1000)
    (made / "folder").mkdir()
    os.mkfifo(made / "pipe")
    idle = compile_c("idle", "int main(void) { return 0; }", ["-O1"])
    recorded(made, "full", idle).path.rename(made / "idle")
    return made


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_recording_gets_one_message(folder, verb, name):
    done = reap(*VERBS[verb], name, *(["-o", "out"] if verb in ("parquet", "fleet") else []), cwd=folder)
    assert (done.returncode, done.stdout) == (ExitCode.INTERNAL, "")
    assert SAID[name] in " ".join(done.stderr.split())
    assert len(re.findall(r"^reap: ", done.stderr, re.MULTILINE)) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_one_that_was_cut_short_is_read_and_said_to_be(folder, tmp_path, verb):
    output = ["-o", str(tmp_path / "out")] if VERBS[verb][0] == "export" else []
    done = reap(*VERBS[verb], "cut", *output, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "damaged" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_one_without_stacks_is_read(folder, tmp_path, verb):
    output = ["-o", str(tmp_path / "out")] if VERBS[verb][0] == "export" else []
    done = reap(*VERBS[verb], "idle", *output, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
