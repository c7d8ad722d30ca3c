"""What threads wait for, by programs that wait for one thing alone."""

import pytest
from lab.test.evidence.measuring import measured
from programs import compile_c

VFORKS = r"""
    #include <time.h>
    #include <unistd.h>
    int main() {
        struct timespec time = {0, 300000000};
        if (vfork() == 0) { nanosleep(&time, NULL); _exit(0); }
        return 0;
    }"""


@pytest.mark.timed
def test_a_parent_of_vfork_does_not_wait_for_the_disk(tmp_path):
    """The kernel lets it sleep uninterruptibly, as one that waits for the disk."""
    waiting = measured(tmp_path, compile_c("vforks", VFORKS, [])).wall.waiting
    assert waiting.disk < 0.1
    assert waiting.other > 0.2
