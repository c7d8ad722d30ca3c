"""What a JVM says of its own memory, where its native memory tracking is on."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab.test.rss.moments import kernel_of, residence_of, taken_of
from lab.test.rss.waiting import waiting
from programs import reap

from reap.launch.process import jvm
from reap.launch.process.records import Native
from reap.rss.judge import judge

MB = 1 << 20

TOLD = """4711:

Native Memory Tracking:

Total: reserved=7895301KB, committed=1310229KB

-                 Java Heap (reserved=6172672KB, committed=1142784KB)
                            (mmap: reserved=6172672KB, committed=1142784KB)

-                     Class (reserved=1048813KB, committed=1517KB)
                            (classes #2625)
                            (malloc=237KB #4384) (at peak)
                            (mmap: reserved=1048576KB, committed=1280KB)
                            (  Metadata:   )
                            (    reserved=65536KB, committed=8384KB)

-                    Thread (reserved=20533KB, committed=917KB)
                            (thread #20)
                            (stack: reserved=20480KB, committed=864KB)
                            (malloc=31KB #124) (peak=39KB #128)
                            (arena=22KB #38) (peak=914KB #34)

-                     Other (reserved=49162KB, committed=49162KB)
                            (malloc=49162KB #50) (at peak)
"""


def test_categories_are_read_by_where_they_lie():
    assert jvm.parse(TOLD) == [
        Native(name="Java Heap", malloc=0, mapped=1142784 << 10),
        Native(name="Class", malloc=237 << 10, mapped=1280 << 10),
        Native(name="Thread", malloc=(31 + 22) << 10, mapped=864 << 10),
        Native(name="Other", malloc=49162 << 10, mapped=0),
    ]


LINES = st.sampled_from(TOLD.splitlines())


@given(st.lists(LINES | st.text(max_size=80)))
def test_any_text_is_read(lines):
    """It is the JVM's, which may be anybody's."""
    for each in jvm.parse("\n".join(lines)):
        assert each.malloc >= 0 <= each.mapped
        assert each.name.isascii()
        assert each.name.replace(" ", "").isalpha()


BUFFERS = """
import java.nio.ByteBuffer;
public class Buffers {
    static ByteBuffer[] kept = new ByteBuffer[48];
    public static void main(String[] words) throws Exception {
        for (int at = 0; at < kept.length; ++at) {
            kept[at] = ByteBuffer.allocateDirect(1 << 20);
            for (int page = 0; page < 1 << 20; page += 4096) kept[at].put(page, (byte) 1);
        }
        System.out.println("ready");
        if (words.length == 0) System.in.read();
        else Thread.sleep(Long.parseLong(words[0]));
        System.out.println("done");
    }
}
"""


@pytest.fixture(scope="module")
def buffers(tmp_path_factory):
    """A folder with a program that keeps 48 MiB in direct buffers."""
    for tool in ("java", "javac", "jcmd"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    folder = tmp_path_factory.mktemp("jvm")
    (folder / "Buffers.java").write_text(BUFFERS)
    subprocess.run(["javac", "Buffers.java"], cwd=folder, check=True)
    return folder


def watched(folder, *words, out="x"):
    done = reap("rss", "--force", "-o", f"{out}.csv", "--json", f"{out}.json", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    answer = json.loads((folder / f"{out}.json").read_text())
    return done, answer


def account(answer):
    return {each["name"]: each for each in answer["processes"][0]["native"]}


def threads(pid):
    return {each.read_text().strip() for each in Path(f"/proc/{pid}/task").glob("*/comm")}


ON = ["-XX:NativeMemoryTracking=summary", "-XX:+UseSerialGC", "-Xmx64m"]


def test_a_jvm_that_runs_says_what_its_memory_is_for(buffers):
    with waiting("java", *ON, "-cp", str(buffers), "Buffers") as pid:
        done, answer = watched(buffers, "--pid", str(pid), "--seconds", "4", out="running")
    of = account(answer)
    assert of["Other"]["malloc"] >= 48 * MB
    assert of["Java Heap"]["malloc"] == 0 < of["Java Heap"]["mapped"]
    assert "Other (direct buffers" in " ".join(done.stdout.split())


def test_a_jvm_that_reap_starts_says_so_too(buffers):
    done, answer = watched(buffers, "--", "java", *ON, "-cp", str(buffers), "Buffers", "6000", out="begun")
    assert done.stdout.startswith("ready\ndone\n"), "it prints what it prints alone"
    assert account(answer)["Other"]["malloc"] >= 48 * MB


def test_a_jvm_that_does_not_track_is_not_attached_to(buffers):
    with waiting("java", "-cp", str(buffers), "Buffers") as pid:
        _, answer = watched(buffers, "--pid", str(pid), "--seconds", "1.5", out="untracked")
        assert "Attach Listener" not in threads(pid)
    assert account(answer) == {}


def test_a_jvm_that_leaves_the_signal_to_others_is_not_asked(buffers):
    """Without a handler, the signal by which the JDK attaches would end it."""
    with waiting("java", *ON, "-Xrs", "-cp", str(buffers), "Buffers") as pid:
        _, answer = watched(buffers, "--pid", str(pid), "--seconds", "1.5", out="reduced")
        assert threads(pid), "it runs"
    assert account(answer) == {}


def test_a_jvm_without_an_account_is_advised_to_keep_one():
    residence = residence_of(
        taken_of(kernel_of(anonymous=100 * MB, java=20 * MB, arenas=80 * MB)), allocator=""
    )
    assert any("-XX:NativeMemoryTracking" in each for each in judge(residence).sentences)
