"""`next: ...`: a command that can be pasted."""

import shlex
import subprocess

import pytest
from building import OUT, compiled
from programs import reap

from reap.launch.process import smaps

TITLE = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
    char *end = words[count - 1] + strlen(words[count - 1]);
    memset(words[0], 0, (size_t)(end - words[0]));
    strcpy(words[0], "nginx: worker");
    puts("ready");
    fflush(stdout);
    for (volatile unsigned n = 0; getppid() != 1; ++n) {}
    return 0;
}
"""


@pytest.fixture
def titled():
    """A process that shows a title, padded with zeros, where its words were."""
    path = compiled("title", ["gcc", "-x", "c", "-w", "-", "-o", OUT], text=TITLE)
    with subprocess.Popen([path, "x" * 40], stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("verb", ["rss", "wall"])
def test_next_of_a_process_with_a_title_can_be_pasted(titled, tmp_path, verb):
    done = reap(verb, "--pid", str(titled.pid), "--seconds", "0.3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "''" not in done.stdout + done.stderr
    words = shlex.split(done.stderr.splitlines()[-1].removeprefix("next: "))
    assert words[:4] == ["reap", verb, "--pid", str(titled.pid)]


def test_a_title_is_told_from_a_command(titled):
    words = smaps.command(titled.pid)
    assert words == ["nginx: worker"]
    assert smaps.titled(titled.pid, words)
    with subprocess.Popen(["sleep", "5"]) as process:
        assert not smaps.titled(process.pid, ["sleep", "5"])
        process.kill()
