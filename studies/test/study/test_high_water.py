"""What a program asked the system for at most: by lines of a tracer, and of programs of which it is known."""

import os
import random
import shutil

import pytest
from programs import program

from reap.base.errors import ReapError
from reap.launch import spawn
from reap.launch.records import Launch
from reap.launch.tools import syscalls
from reap_studies.study import high_water as seen
from reap_studies.study.address_space import AddressSpace, Mapping

MIB = 1 << 20
PAGE = 4096


def high_water(lines):
    return seen.high_water(lines, PAGE)


def line(call, result, process=10):
    return f"{process} {call:<40} = {result}"


def mapped(size, at, flags="MAP_PRIVATE|MAP_ANONYMOUS", protection="PROT_READ|PROT_WRITE", process=10):
    return line(f"mmap(NULL, {size}, {protection}, {flags}, -1, 0)", hex(at), process)


def test_what_is_given_back_is_not_counted_again():
    lines = [
        line("brk(NULL)", "0x1000000"),
        line("brk(0x1100000)", "0x1100000"),
        mapped(3 * MIB, 0x70000000),
        line(f"munmap(0x70000000, {2 * MIB})", "0"),
        line("brk(0x1000000)", "0x1000000"),
        mapped(2 * MIB, 0x60000000),
    ]
    assert high_water(lines) == 4 * MIB
    assert high_water(lines[:2]) == MIB
    assert high_water([]) == 0


@pytest.mark.parametrize(
    ("flags", "protection", "asked"),
    [
        ("MAP_PRIVATE|MAP_ANONYMOUS", "PROT_READ|PROT_WRITE", MIB),
        ("MAP_PRIVATE|MAP_ANONYMOUS|MAP_NORESERVE", "PROT_READ|PROT_WRITE", MIB),
        ("MAP_PRIVATE|MAP_ANONYMOUS|MAP_STACK", "PROT_READ|PROT_WRITE", 0),
        ("MAP_PRIVATE|MAP_ANONYMOUS", "PROT_NONE", 0),
        ("MAP_SHARED|MAP_ANONYMOUS", "PROT_READ|PROT_WRITE", 0),
        ("MAP_PRIVATE", "PROT_READ|PROT_WRITE", 0),
    ],
)
def test_only_what_allocators_ask_for_counts(flags, protection, asked):
    assert high_water([mapped(MIB - 5, 0x70000000, flags, protection)]) == asked


def test_the_static_data_of_a_library_is_not_asked_for():
    fixed = "MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS"
    library = [
        line("mmap(NULL, 1048576, PROT_READ, MAP_PRIVATE|MAP_DENYWRITE, 3, 0)", "0x70000000"),
        mapped(65536, 0x70080000, fixed),
    ]
    assert high_water(library) == 0
    reserved = [mapped(MIB, 0x70000000, protection="PROT_NONE"), mapped(65536, 0x70080000, fixed)]
    assert high_water(reserved) == 65536


def test_what_becomes_writable_counts_from_then_on():
    reserved = mapped(64 * MIB, 0x70000000, protection="PROT_NONE")
    opened = line(f"mprotect(0x70000000, {MIB}, PROT_READ|PROT_WRITE)", "0")
    closed = line(f"mprotect(0x70000000, {MIB}, PROT_NONE)", "0")
    second = line(f"mprotect(0x70200000, {MIB}, PROT_READ|PROT_WRITE)", "0")
    assert high_water([reserved, opened]) == MIB
    assert high_water([reserved, opened, second]) == 2 * MIB
    assert high_water([reserved, opened, closed, second]) == MIB


def test_pages_that_move_are_counted_once():
    first = mapped(2 * MIB, 0x70000000)
    failed = line(f"mremap(0x70000000, {2 * MIB}, {8 * MIB}, 0)", "-1 ENOMEM (Cannot allocate memory)")
    moved = line(f"mremap(0x70000000, {2 * MIB}, {8 * MIB}, MREMAP_MAYMOVE)", "0x60000000")
    assert high_water([first, failed, mapped(MIB, 0x50000000)]) == 3 * MIB
    assert high_water([first, moved]) == 8 * MIB
    assert high_water([first, moved, mapped(MIB, 0x70000000)]) == 9 * MIB


def test_a_call_that_another_thread_came_into_is_put_together():
    thread = "clone3({flags=CLONE_VM|CLONE_THREAD}, 88)"
    lines = [
        mapped(4 * MIB, 0x70000000),
        line(thread, "11"),
        f"10 munmap(0x70000000, {4 * MIB} <unfinished ...>",
        mapped(MIB, 0x70000000, process=11),  # where that one was
        "10 <... munmap resumed>)             = 0",
        f"11 mmap(NULL, {4 * MIB}, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0 <unfinished ...>",
        mapped(MIB, 0x60000000),
        "11 <... mmap resumed>)               = 0x50000000",
    ]
    assert high_water(lines) == 6 * MIB


def test_a_child_has_what_its_parent_had_until_it_executes_another():
    forked = "clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD)"
    lines = [
        mapped(4 * MIB, 0x70000000),
        f"10 {forked[:-1]} <unfinished ...>",
        mapped(3 * MIB, 0x60000000, process=11),  # heard before its parent says that it is there
        "10 <... clone resumed>)              = 11",
        mapped(MIB, 0x60000000),
        line('execve("/bin/true", ["true"], 0x1 /* 1 var */)', "0", 11),
        mapped(6 * MIB, 0x60000000, process=11),
    ]
    assert high_water(lines[:4]) == 7 * MIB
    assert high_water(lines[:3] + lines[3:5]) == 7 * MIB
    assert high_water(lines) == 7 * MIB
    assert high_water([*lines, mapped(2 * MIB, 0x50000000, process=11)]) == 8 * MIB
    started = [mapped(4 * MIB, 0x70000000), line("vfork()", "11"), lines[5]]
    assert high_water([*started, mapped(MIB, 0x60000000, process=11)]) == 4 * MIB


def test_an_address_space_is_what_a_page_by_page_account_says():
    seeded = random.Random(1)
    space, pages = AddressSpace(PAGE), {}
    most = 0
    for _ in range(3000):
        start = seeded.randrange(64)
        end = start + 1 + seeded.randrange(12)
        among = range(start, end)
        writable = seeded.random() < 0.5
        match seeded.randrange(3):
            case 0:
                made = Mapping(end * PAGE, asked=seeded.random() < 0.7, writable=writable)
                space.add(start * PAGE, made)
                pages |= dict.fromkeys(among, (made.asked, writable))
            case 1:
                space.remove(start * PAGE, end * PAGE)
                pages = {page: known for page, known in pages.items() if page not in among}
            case _:
                space.protect(start * PAGE, end * PAGE, writable=writable)
                pages |= {page: (pages[page][0], writable) for page in among if page in pages}
        counted = sum(PAGE for known in pages.values() if known == (True, True))
        most = max(most, counted)
        assert space.copy().most == counted
        assert space.most == most
        probed = seeded.randrange(80)
        assert (space.at(probed * PAGE) is not None) == (probed in pages)


def asked(*words):
    launch = Launch(argv=["asks", *words], program=program("asks"))
    with syscalls.traced(launch) as (outcome, lines):
        assert outcome.status == 0
        return high_water(lines)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_mark_of_a_program_is_what_it_asked_for():
    nothing = asked()  # what the loader asks for before main()
    assert nothing < 100_000
    assert asked("brk", "4") - nothing == 4 * MIB
    assert asked("map", "8") - nothing == 8 * MIB
    assert asked("map", "8", "unmap", "8", "map", "4", "brk", "2") - nothing == 8 * MIB
    assert asked("reserve", "64") == nothing
    assert asked("reserve", "64", "open", "3") - nothing == 3 * MIB
    assert asked("map", "2", "move", "16") - nothing == 16 * MIB
    rest = asked("map", "4", "thread", "8") - nothing - 12 * MIB
    assert 0 <= rest < 300_000  # what the C library's malloc asks for, by which a thread is made; no stack
    assert asked("map", "4", "child", "8") - nothing == 12 * MIB
    assert asked("map", "4", "unmap", "4", "again", "map", "1") - nothing == 4 * MIB


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_program_does_and_says_what_it_does_without_a_tracer():
    launch = Launch(argv=["busy"], program=program("busy"))
    alone = spawn.run(launch)
    with syscalls.traced(launch) as (outcome, _):
        assert (outcome.status, outcome.stdout_digest) == (alone.status, alone.stdout_digest)
    with syscalls.traced(Launch(argv=["sh", "-c", "exit 3"], program="/bin/sh")) as (outcome, _):
        assert outcome.status == 3


def test_who_has_no_strace_is_told_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ReapError, match="strace") as caught, syscalls.traced(Launch(argv=["a"], program="a")):
        pass
    assert "apt-get install" in caught.value.hint


def test_who_may_not_trace_is_told_so(monkeypatch, tmp_path):
    refusing = tmp_path / "strace"
    refusing.write_text("#!/bin/sh\necho 'strace: PTRACE_TRACEME: Operation not permitted' >&2; exit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    launch = Launch(argv=["busy"], program=program("busy"))
    with pytest.raises(ReapError, match="not permitted") as caught, syscalls.traced(launch):
        pass
    assert "SYS_PTRACE" in caught.value.hint
