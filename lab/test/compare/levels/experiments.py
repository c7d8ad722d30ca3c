"""A program with a list in a region or in malloc, experiments on it, and results computed from given runs."""

import functools
from pathlib import Path

import msgspec
from programs import compile_c

from reap.allocators import catalog
from reap.base.records import exactly
from reap.compare.levels import run as levels_run
from reap.experiment import arms
from reap.experiment.folder import Folder, read_runs
from reap.experiment.records import BARE, Laid, Run, Samples
from reap.experiment.specify import AskedFragment, Conditions, specify
from reap.launch.litter import level
from reap.launch.records import Outcome
from reap.recording.analyse.size_profile import SizeProfile

# A list of 20 000 nodes, walked ten times: from a region of its own, or with NAIVE set by malloc each.
LIST = r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    struct node { struct node *next; long value[5]; };
    int main(int count, char **words) {
        char *naive = getenv("NAIVE");
        if (naive && !strcmp(naive, "crash")) abort();
        struct node *region = naive ? 0 : malloc(20000 * sizeof *region), *first = 0;
        for (int i = 0; i < 20000; i++) {
            struct node *node = naive ? malloc(sizeof *node) : region + i;
            node->next = first;
            node->value[0] = i;
            first = node;
        }
        long sum = naive && !strcmp(naive, "other");
        for (int round = 0; round < 10; round++)
            for (struct node *node = first; node; node = node->next) sum += node->value[0];
        printf("%ld\n", sum);
        return 0;
    }"""

THREADS = r"""
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    static void *work(void *given) {
        void *blocks[3000];
        for (int i = 0; i < 3000; i++) blocks[i] = malloc(48);
        for (int i = 0; i < 3000; i++) free(blocks[i]);
        return given;
    }
    int main(void) {
        pthread_t all[3];
        for (int i = 0; i < 3; i++) pthread_create(all + i, 0, work, 0);
        for (int i = 0; i < 3; i++) pthread_join(all[i], 0);
        puts("joined");
        return 0;
    }"""

PROFILE = SizeProfile(
    format="reap size profile",
    version=1,
    program="",
    command=[],
    counted="allocations",
    cut_off=4096,
    sizes=[(48, 20000), (500, 10)],
    left_out=0,
    left_out_bytes=0,
    peak=exactly(20000),
)


@functools.cache
def target() -> str:
    return compile_c("list", LIST, ["-O1", "-fno-builtin"])


def fragmented(levels="adv0,adv3", **options) -> AskedFragment:
    return AskedFragment(levels=level.parse(levels), **{"layouts": 1, **options})


def spec_of(allocators="glibc,jemalloc", how=None, **options):
    how = how or fragmented(naive_environment={"NAIVE": "1"})
    conditions = Conditions(**{"runs": 2, **options})
    return specify([target()], catalog.parse(allocators), fragmented=how, conditions=conditions)


def measured(where: Path, profile=PROFILE, **options):
    with Folder.create(where / "e", spec_of(**options)) as folder:
        if profile:
            levels_run.keep_profile(folder, profile)
        return levels_run.run(folder)


def runs_of(where: Path) -> list[Run]:
    return read_runs(where / "e" / "runs.jsonl")[0]


def drawn(cpu, resident=lambda _cell: 0, rounds=6, spec=None, dropped=None, change=lambda run: run, more=()):
    """The result of runs whose CPU time in milliseconds and litter in bytes are what the functions say.

    `change` makes of each run what it likes, and `more` are kinds of runs beyond the rounds, as `sampled`.
    """
    spec = spec or spec_of("glibc")
    runs = []
    for number in range(-1, rounds):
        cells = arms.arms(spec)
        beyond = [kind(arm) for kind in more for arm in arms.wanted(spec, spec.fragment)]
        control = msgspec.structs.replace(cells[0], control=True)
        for cell in [*cells, *([control] if number >= 0 else beyond)]:
            here = msgspec.structs.replace(cell, repeat=max(number, 0))
            added = resident(cell)
            outcome = Outcome(
                exit_code=0,
                user_ns=int(cpu(cell) * 1e6 * (1 + 0.001 * ((number * 7 + len(runs) * 3) % 5))),
                peak_resident=10_000_000 + added,
                stdout_digest="d",
            )
            laid = (
                None
                if cell.level == BARE
                else Laid(objects=1, kept_bytes=1, cpu_ns=1, wall_ns=1, resident=added, threads=1)
            )
            run = Run(
                cell=here,
                outcome=outcome,
                order=len(runs),
                started=0.0,
                warmup=number < 0 and cell not in beyond,
                laid=laid,
                samples=Samples(all=1000, inside=200, kernel=True) if cell.sampled else None,
            )
            runs.append(change(run))
    return levels_run.draw(spec, PROFILE, runs, dropped or {})


def slow(cell):
    """Naive takes 20 % more, and at adv3 twice that; layouts do nothing."""
    if cell.variant == "custom":
        return 100
    return 240 if cell.level == "adv3" else 120
