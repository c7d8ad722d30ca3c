"""Real programs say the same on fragmented heaps, under every allocator."""

import functools
import shutil

import msgspec
import pytest

from reap.allocators import catalog
from reap.base.errors import ReapError
from reap.experiment.littering import litter_of
from reap.fragment import run
from reap.launch import program as programs
from reap.launch import spawn
from reap.launch.litter import run as littering
from reap.launch.litter.level import LEVELS
from reap.launch.records import Launch
from reap.recording.analyse.size_profile import SizeProfile
from reap_studies.workloads import card, preparation

pytestmark = pytest.mark.slow

PYTHON = """
import ast, json, threading
source = "".join(f"def f{n}(a, b={n}):\\n    return [a * b for _ in range({n})]\\n" for n in range(300))
words = [ast.dump(ast.parse(source))]
def work(n):
    for i in range(200):
        words.append(json.dumps({"n": n, "list": list(range(i % 50))}))
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(words), sum(map(len, words)))
"""
SQL = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, printf('%d-%d', i, i * 7919 % 1009) from n;
create index u on t(b);
select count(*), sum(length(b)), min(b), max(b) from t where b like '%1%';
select b, count(*) from t group by substr(b, -2) order by 2, 1 limit 5;
"""
AWK = (
    "BEGIN { for (i = 0; i < 60000; i++) a[i % 977] = a[i % 977] i; for (k in a) n += length(a[k]); print n }"
)
PERL = r'$h{$_ % 977} .= $_ for 1..60000; print join(",", map {length} @h{sort keys %h})'

PROGRAMS = {
    "CPython": ["/usr/bin/python3", "-c", PYTHON],
    "CPython, naive": ["/usr/bin/env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-c", PYTHON],
    "gawk": ["/usr/bin/gawk", AWK],
    "sqlite3": ["/usr/bin/sqlite3", ":memory:", SQL],
    "perl": ["/usr/bin/perl", "-e", PERL],
    "sort": ["/bin/sh", "-c", "seq 50000 | sort -r --parallel=4 | md5sum"],
}


ALLOCATORS = ("glibc", "jemalloc", "mimalloc", "tcmalloc")


@functools.cache
def launched(name: str) -> Launch:
    argv = PROGRAMS[name]
    if shutil.which(argv[0]) is None:
        pytest.fail(f"{argv[0]} is missing; setup/bootstrap test installs it")
    return Launch(argv=argv, program=argv[0])


@functools.cache
def launched_card(name: str, variant: str) -> Launch:
    ready = preparation.prepare(name, variant)
    found = programs.resolve(ready.argv, directory=ready.directory)
    programs.require_preloadable(found)
    return Launch(
        argv=ready.argv, program=found.path, directory=ready.directory, environment=ready.environment
    )


_known: dict[str, tuple[SizeProfile, str]] = {}


def known(launch: Launch) -> tuple[SizeProfile, str]:
    """The program's profile, and the digest of what it prints on a clean heap; taken once in a session."""
    key = repr(launch)
    if key not in _known:
        clean = spawn.run(launch)
        assert clean.status == 0, clean.stderr_tail
        _known[key] = run.take_profile(launch, cut_off=4096), clean.stdout_digest
    return _known[key]


def unharmed(launch: Launch, allocator: str, level: str) -> None:
    """Throws if the program does anything else on a littered heap, or it was not littered."""
    profile, digest = known(launch)
    how = litter_of(profile, LEVELS[level], children=True)
    # A shell with its children: each gets all of the litter, so that some of it has to do.
    how = msgspec.structs.replace(how, peak=min(how.peak, 200_000))
    library = catalog.parse(allocator)[0].library
    done = littering.run(msgspec.structs.replace(launch, allocator=library), how)
    assert (done.outcome.status, done.outcome.stdout_digest) == (0, digest), done.outcome.stderr_tail
    assert [one.failure for one in done.litterings if one.failure] == []
    assert done.litterings
    assert (sum(one.kept for one in done.litterings) > 0) == (level != "adv0")
    assert not done.deepbind


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_the_same_on_a_fragmented_heap(name, allocator):
    unharmed(launched(name), allocator, "adv3")


@pytest.mark.long
@pytest.mark.parametrize("level", [level for level in LEVELS if level != "adv3"])
@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_the_same_at_every_level(name, allocator, level):
    unharmed(launched(name), allocator, level)


CARDS = [(name, variant) for name in card.names() for variant in card.load(name).variants]


@pytest.mark.long
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize(("name", "variant"), CARDS)
def test_a_workload_says_the_same_at_every_level(name, variant, allocator, level):
    unharmed(launched_card(name, variant), allocator, level)


def test_other_allocators_that_are_installed_serve_a_littered_heap():
    for name in catalog.names():
        try:
            library = catalog.parse(name)[0].library
        except ReapError:
            continue
        launch = launched("perl")
        profile, digest = known(launch)
        how = litter_of(profile, LEVELS["adv1"])
        done = littering.run(msgspec.structs.replace(launch, allocator=library), how)
        assert (done.outcome.status, done.outcome.stdout_digest) == (0, digest), (name, done.outcome)
        assert done.litterings[0].failure == "", name
