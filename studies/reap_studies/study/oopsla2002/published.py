"""What OOPSLA 2002 published of each program, to stand beside ours: Tables 3 and 4, drag. Facts."""

from reap.api import Record


class Published(Record):
    """A program of the paper, with malloc in the place of its own allocator."""

    program: str
    allocator: str
    """Its own; empty for malloc."""
    objects: int
    most_objects: int
    average: int
    """Bytes."""
    total: int
    """Bytes."""
    most: int
    """Bytes in use at once."""
    total_over_most: float
    share: float
    """Of its time in the Windows allocator, 0 to 1."""
    here: str
    """The workload that stands for it, if one does."""


def _program(program: str, allocator: str, figures: tuple[float, ...], here: str = "") -> Published:
    objects, most_objects, average, total, most, total_over_most, percent = figures
    return Published(
        program=program,
        allocator=allocator,
        objects=int(objects),
        most_objects=int(most_objects),
        average=int(average),
        total=int(total),
        most=int(most),
        total_over_most=total_over_most,
        share=percent / 100,
        here=here,
    )


PROGRAMS = (
    _program(
        "197.parser",
        "custom pattern",
        (9_334_022, 230_919, 38, 351_772_626, 3_207_529, 109.7, 41.8),
        "chart-parser",
    ),
    _program("boxed-sim", "per-class", (52_203, 4_865, 15, 777_913, 301_987, 2.6, 0.2), "bouncing-balls"),
    _program(
        "C-Breeze",
        "per-class (STL)",
        (5_090_805, 2_177_173, 23, 118_996_917, 60_053_789, 1.9, 17.4),
        "flow-optimizer",
    ),
    _program("175.vpr", "region", (3_897, 3_813, 44, 172_967, 124_636, 1.4, 0.1), "fpga-placer"),
    _program(
        "176.gcc",
        "obstack region",
        (9_065_285, 2_538_005, 54, 487_711_209, 112_753_774, 4.3, 6.7),
        "expression-compiler",
    ),
    _program("apache", "nested region", (149_275, 3_749, 208, 30_999_123, 754_492, 41, 0.1), "apache"),
    _program("lcc", "region", (1_465_416, 92_696, 57, 83_217_416, 3_875_780, 21.5, 24.2), "lcc"),
    _program("mudlle", "region", (1_687_079, 38_645, 29, 48_699_895, 662_964, 73.5, 33.7), "mudlle"),
    _program("espresso", "", (4_483_621, 4_885, 249, 1_116_708_854, 373_348, 2991.1, 10.8), "espresso"),
    _program("lindsay", "", (108_861, 297, 64, 6_981_030, 1_509_088, 4.6, 2.8)),
    _program("164.gzip", "", (1_307, 72, 6_108, 7_983_304, 6_615_288, 1.2, 0.1), "gzip"),
    _program("181.mcf", "", (54, 52, 1_789_028, 96_607_514, 96_601_049, 1.0, 1.5)),
    _program("186.crafty", "", (87, 86, 10_206, 887_944, 885_520, 1.0, 0.0), "stockfish"),
    _program("252.eon", "", (1_647, 803, 31, 51_563, 33_200, 1.6, 0.4)),
    _program("253.perlbmk", "", (8_888_870, 5_813, 16, 144_514_214, 284_029, 508.8, 12.6), "perl"),
    _program("254.gap", "", (50, 48, 1_343_614, 67_180_715, 67_113_782, 1.0, 0.0), "gap"),
    _program("255.vortex", "", (186_483, 53_087, 357, 66_617_881, 17_784_239, 3.7, 1.9), "sqlite"),
    _program("300.twolf", "", (9_458, 1_725, 56, 532_177, 66_891, 8.0, 0.9), "graywolf"),
)
"""In the paper's order: with allocators of their own, and without."""
ORIGINALS = ("apache", "lcc", "mudlle", "espresso", "gzip", "perl", "gap")
"""The workloads that are the paper's own programs, in later versions."""


class Footprint(Record):
    """A program with regions: its line of Table 4, and its total drag where section 7.3 says it."""

    program: str
    peak: int
    """Bytes, with regions."""
    needed: int
    """Bytes at most, each object freed right after its last access."""
    drag: float | None
    here: str
    """The workload that stands for it, if one does."""

    @property
    def peak_ratio(self) -> float:
        """With regions to freed at once."""
        return self.peak / self.needed


FOOTPRINTS = (
    Footprint(program="175.vpr", peak=131_274, needed=123_823, drag=None, here="fpga-placer"),
    Footprint(program="176.gcc", peak=67_117_548, needed=56_944_950, drag=1.16, here="expression-compiler"),
    Footprint(program="apache", peak=564_440, needed=527_770, drag=None, here="request-server"),
    Footprint(program="lcc", peak=4_717_603, needed=2_886_903, drag=3.34, here="lcc"),
    Footprint(program="mudlle", peak=662_964, needed=551_060, drag=1.23, here="mudlle"),
)
"""Table 4, in the paper's order."""
AVERAGE_DRAG = {"ordinary": 1.1, "custom": 1.0, "region": 1.6}
"""Figure 7(a): of general-purpose, other custom and region allocation."""
AVERAGE_WITHOUT_LCC = 1.1
"""Of region allocation."""
