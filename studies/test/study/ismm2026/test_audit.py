"""The artefact's second machine and its counters, beside its first machine and ours."""

import msgspec
from fragmented_samples import fragmented_of
from samples import exactly_paired
from studies.test.study.ismm2026.test_ismm2026 import measured, study_of

from reap.api import LEVELS
from reap.launch.records import Misses
from reap_studies.study.ismm2026 import artefact, audit
from reap_studies.study.ismm2026.view import view


def farthest(machine, programs):
    """The largest factor between another allocator and glibc, of these programs."""
    ratios = [
        ratio.value
        for each in machine.program
        if each.program in programs
        for variant in (each.naive, each.custom)
        for *_, ratio in audit.to_glibc(variant)
    ]
    assert len(ratios) == len(programs) * 2 * (4 + 2)
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def test_the_second_machine_has_glibc_s_times_over_every_allocator():
    """What `audit.second_machine` asks the authors about rests on this."""
    programs = [each.program for each in artefact.second_machine().program]
    assert programs == ["175.vpr", "176.gcc", "197.parser", "Clang"]
    assert farthest(artefact.second_machine(), programs) < 1.02
    assert farthest(artefact.published(), programs) > 1.5
    table = audit.second_machine()
    assert "were they loaded there?" in table.title
    assert len(table.rows) == 4 * (4 + 2)
    assert {len(row) for row in table.rows} == {len(table.columns)}


def test_counters_stand_beside_misses_in_simulated_caches():
    misses = {"adv0": (100, 10), "adv3": (150, 25)}
    result = fragmented_of(("naive",), ("jemalloc",), tuple(misses))
    arms = [
        msgspec.structs.replace(
            arm,
            slowdown={"cpu": exactly_paired(1.0 if arm.level == "adv0" else 1.4)},
            misses=Misses(1, *misses[arm.level]),
        )
        for arm in result.arms
    ]
    occupied = msgspec.structs.replace(LEVELS["adv3"], multiplier=10, occupancy=0.8)
    result = msgspec.structs.replace(result, arms=arms, levels=[LEVELS["adv0"], occupied])
    study = study_of(occupancy=[msgspec.structs.replace(measured(), result=result)])
    table = audit.counters(study)
    rows = {tuple(row[:3]): row for row in table.rows}
    assert len(rows) == 2 * 3 * 3
    row = rows["197.parser", "jemalloc", "0.8"]
    assert row[3].startswith("1.205")
    assert row[-3:] == ["1.400", "1.500", "2.50"]
    assert rows["197.parser", "glibc", "0.8"][-3:] == [""] * 3
    assert table.title in [each.title for each in view(study).tables]
