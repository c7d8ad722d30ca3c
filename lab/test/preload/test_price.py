"""The preloads that measure the price of allocation are correct mallocs, and their own cost is subtracted."""

import shutil

import msgspec
import pytest
from recorded import target

from reap import native
from reap.allocators.verify import judge
from reap.base.files import native_name
from reap.launch import native_files, price, spawn, together
from reap.launch.records import Ahead, Launch, Outcome

NAMES = ("bump", "cache", "placed", "recycle")
MB = 1 << 20


def launch(name: str, *words: str, **variables: str) -> Launch:
    library = str(native_files.preload(f"price-{name}")) if name else ""
    return Launch(argv=[*words], program=words[0], allocator=library, environment=variables)


def sound(name: str, *words: str, **variables: str) -> Outcome:
    outcome = spawn.run(launch(name, *words, **variables))
    assert outcome.status == 0, outcome
    return outcome


@pytest.mark.parametrize("seed", ["1", "2"])
@pytest.mark.parametrize("name", NAMES)
def test_random_calls_in_threads_and_forks_agree_with_a_model(name, seed):
    assert sound(name, target("price/stress"), seed, "3", "6000").stdout_bytes == len("sound\n")


@pytest.mark.parametrize("most", ["0", "3000000"])
def test_a_program_goes_on_where_memory_ends_and_that_is_reported(most):
    outcome = sound("bump", target("price/stress"), "3", "2", "6000", REAP_PRICE_BYTES=most)
    assert outcome.ahead is not None
    assert outcome.ahead.ended
    assert outcome.ahead.bytes <= int(most)


COMMANDS = {
    "perl": [
        "-e",
        "my %h; $h{$_ % 999} .= 'x' x ($_ % 50) for 1..20000; print join ',', map length, map $h{$_}, 1..9",
    ],
    "sort": ["-r", __file__],
    "python3": ["-c", "print(sum(len(str(i)) for i in range(20000)), [[]] * 9)"],
    "sh": ["-c", "for i in 1 2 3; do echo $(echo $i); done | cat"],
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_programs_print_the_same(name, command):
    path = shutil.which(command)
    if path is None:
        pytest.skip(f"{command} is not installed")
    alone, under = (sound(each, path, *COMMANDS[command]) for each in ("", name))
    assert under.stdout_digest == alone.stdout_digest
    assert under.stdout_bytes > 0


def test_touching_memory_ahead_is_not_charged_to_the_program():
    program = target("price/touches")
    outcome = sound("bump", program, "256")
    ahead = outcome.ahead
    assert ahead is not None
    assert not ahead.ended
    assert ahead.bytes >= 250 * MB
    assert ahead.faults > 0
    assert outcome.cpu_ns < ahead.cpu_ns / 2
    assert outcome.minor_faults < 1000


def test_runs_at_the_same_time_are_net_too():
    program = target("price/touches")
    gross, net = together.run([launch("", program, "64"), launch("bump", program, "64")], 0)
    assert gross.ahead is None
    assert net.ahead is not None
    assert net.cpu_ns < net.ahead.cpu_ns


def test_a_report_that_was_overwritten_subtracts_nothing(tmp_path):
    report = tmp_path / "price"
    native.create_price(native_name(report))
    gross = Outcome(exit_code=0, wall_ns=10, user_ns=3, system_ns=4, minor_faults=5)
    assert price.net(gross, report) == msgspec.structs.replace(gross, ahead=Ahead())
    report.write_bytes(b"x" * report.stat().st_size)
    assert price.net(gross, report) == msgspec.structs.replace(gross, ahead=Ahead(overwritten=True))
    report.unlink()
    assert price.net(gross, report) == msgspec.structs.replace(gross, ahead=Ahead(overwritten=True))


def test_every_arm_is_an_allocator_and_says_what_it_removes():
    assert [each.name for each in price.arms()] == [each.name for each in price.PRICES]
    assert all(each.removes.endswith(".") for each in price.PRICES)


def test_a_thread_has_an_arena_of_its_own_where_the_program_allows_one():
    (arm,) = (each for each in price.arms() if each.name == "price: arenas")
    assert judge(arm, {"/program": {"malloc": "/lib/libc.so.6"}}).verified
    program = target("price/arenas")
    alone = Launch(argv=[program], program=program)
    digests = [
        spawn.run(msgspec.structs.replace(alone, environment=environment)).stdout_digest
        for environment in ({}, arm.environment)
    ]
    assert digests == [spawn.run(Launch(argv=["echo", n], program="/bin/echo")).stdout_digest for n in "12"]
