"""The gate that locks of some allocators pass: a child that is forked beside other threads can take them."""

import subprocess

import pytest

from reap.allocators import recipe

PROGRAM = r"""
#include "fork-gate.h"
#include <sys/wait.h>
#include <unistd.h>
static std::atomic_flag taken = ATOMIC_FLAG_INIT;
static void enter() { if (GATE) ForkGate::enter(); }
static void leave() { if (GATE) ForkGate::leave(); }
static void lock() {
    enter();
    while (taken.test_and_set()) sched_yield();
}
static void unlock() {
    taken.clear();
    leave();
}
static void *worker(void *) {
    for (;;) {
        lock();
        enter(); // as for a second lock
        for (volatile int spent = 0; spent < 2000; spent = spent + 1) {}
        leave();
        unlock();
    }
}
int main() {
    for (int number = 0; number < 3; number++) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, worker, nullptr) != 0) return 2;
    }
    for (int forks = 0; forks < 100; forks++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(5);
            lock();
            unlock();
            _exit(0);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child) _exit(2);
        if (status != 0) _exit(1);
        lock();
        unlock();
    }
    _exit(0);
}
"""
HUNG = 1


@pytest.mark.parametrize(("gate", "ends"), [("true", 0), ("false", HUNG)])
def test_a_child_that_is_forked_beside_threads_takes_a_lock_that_they_held(gate, ends, tmp_path):
    """Without the gate it waits for a thread that it does not have: the program can tell the two apart."""
    source, program = tmp_path / "forks.cpp", tmp_path / "forks"
    source.write_text(PROGRAM)
    words = ["g++", "-std=c++17", "-O1", "-pthread", f"-DGATE={gate}", f"-I{recipe.FOLDER}"]
    subprocess.run([*words, str(source), "-o", str(program)], check=True, capture_output=True)
    done = subprocess.run([str(program)], check=False, timeout=60)
    assert done.returncode == ends
