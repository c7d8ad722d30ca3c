from typing import TypedDict

TRIAGE: int
FULL: int
TSC: int
MONOTONIC_NS: int
SAMPLER_NONE: int
SAMPLER_PERF: int
SAMPLER_TIMER: int
STOP_NO_SPACE: int
STOP_OPEN: int
STOP_MAP: int
STOP_SANDBOX: int
SOCKET_ENV: str
SOCKET_NAME: int
UNRECORDED_NOT_LOADED: int
UNRECORDED_NO_TRACE: int
UNRECORDED_FOREIGN: int
UNRECORDED_OUT_OF_REACH: int
IMAGE_FORKED: int
IMAGE_BYPASSED: int
TRACE_ENV: str

class BadTraceError(ValueError): ...

class Header(TypedDict):
    depth: int
    start_unix_ns: int
    sampler: int
    sampler_period_us: int
    sampler_kernel: bool
    finished: bool
    ended: bool
    stop_reason: int
    deepbind: int
    stop_errno: int
    stop_count: int
    seconds: float

class Damage:
    @property
    def empty(self) -> int: ...
    @property
    def foreign(self) -> int: ...
    @property
    def corrupt(self) -> int: ...
    @property
    def truncated(self) -> int: ...
    @property
    def malformed(self) -> int: ...
    def __bool__(self) -> bool: ...

class InUse(TypedDict):
    max_objects: float
    max_objects_variance: float
    counted_objects: float
    counted_low: float
    counted_bound: float
    max_bytes: float
    max_bytes_variance: float

class Image(InUse):
    image: int
    objects: int
    bytes: int
    frees: int
    threads: int
    pid: int
    ppid: int
    parent: int
    flags: int
    executable: str
    provider: str
    command: list[str]

class Totals(InUse):
    frees: int
    failures: int
    skipped: int
    unmatched_frees: int
    events: int
    samples: int
    weight: float
    weight_squares: float
    temporary: float
    immortal_objects: float
    immortal_bytes: float
    calls: list[int]

class InstructionSamples:
    @property
    def all(self) -> int: ...
    @property
    def inside(self) -> int: ...
    @property
    def kernel_inside(self) -> int: ...
    @property
    def kernel(self) -> int: ...
    @property
    def recorder(self) -> int: ...
    @property
    def unknown(self) -> int: ...

class HeapCell:
    @property
    def litter(self) -> int: ...
    @property
    def program(self) -> int: ...
    @property
    def pages(self) -> int: ...

class HeapMap:
    @property
    def pages(self) -> int: ...
    @property
    def program_pages(self) -> int: ...
    @property
    def litter_pages(self) -> int: ...
    @property
    def litter_bytes(self) -> int: ...
    @property
    def program_bytes(self) -> int: ...
    @property
    def program_objects(self) -> int: ...
    @property
    def allocations(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def longest_run(self) -> int: ...
    @property
    def cells(self) -> list[HeapCell]: ...

class RequestCounts(TypedDict):
    phase: str
    count: int
    allocations: tuple[int, int, int, int]
    bytes: tuple[int, int, int, int]

class Recording:
    def __init__(
        self,
        path: str,
        recorder: str,
        allocators: list[str] = ...,
        left_out: list[tuple[int, int, int]] = ...,
    ) -> None: ...
    def header(self) -> Header: ...
    def damage(self) -> Damage: ...
    def images(self) -> list[Image]: ...
    def unrecorded(self) -> list[tuple[int, int, str]]: ...
    def totals(self) -> Totals: ...
    def sizes(self) -> list[tuple[int, int, int, int]]: ...
    def sizes_at_peak(self) -> list[tuple[int, int, int, int]]: ...
    def lifetimes(self) -> list[tuple[float, float, float, float]]: ...
    def timeline(self) -> tuple[float, list[tuple[float, float, float]]]: ...
    def levels(self) -> list[tuple[float, float]]: ...
    def resident(self) -> list[tuple[float, int]]: ...
    def instruction_samples(self) -> InstructionSamples: ...
    def requests(self) -> list[RequestCounts]: ...
    def latencies(self) -> list[tuple[int, int, float, float, float, float]]: ...
    def stacks(self, most: int) -> list[tuple[int, int, float, float, float, float]]: ...
    def frames(self, image: int, stack: int) -> list[tuple[str, int, str, str, int, bool]]: ...

class Source:
    @property
    def errno(self) -> int: ...
    @property
    def lost(self) -> int: ...

class Sources:
    @property
    def sampler_kernel(self) -> bool: ...
    @property
    def kernel_names(self) -> bool: ...
    @property
    def ended(self) -> bool: ...
    @property
    def samples(self) -> Source: ...
    @property
    def faults(self) -> Source: ...
    @property
    def calls(self) -> Source: ...

class Looks(TypedDict):
    uncalled: int
    recorder: int
    looks: int
    busy_looks: int
    processes: int
    threads: int

class Watched:
    def __init__(self, path: str, recorder: str, files: list[str], functions: list[str]) -> None: ...
    def sources(self) -> Sources: ...
    def samples(self) -> list[tuple[str, str, str, bool, int | None, bool, bool, int]]: ...
    def frames(self) -> list[tuple[str, str, bool]]: ...
    def stacks(self) -> list[tuple[list[int], int]]: ...
    def totals(self) -> Looks: ...
    def faults(self) -> list[tuple[str, int]]: ...
    def calls(self) -> list[tuple[int, str, int]]: ...
    def waits(self) -> list[tuple[str, int | None, str, bool, int]]: ...
    def resident(self) -> list[tuple[float, int]]: ...
    def memory(self) -> list[tuple[float, int, int, int | None, int | None]]: ...
    def files(self) -> list[str]: ...

class DragHeader(TypedDict):
    pid: int
    parent: int
    forked: bool
    end: str
    full: bool
    malformed: bool
    pooled: bool
    released: bool
    objects: int
    command: list[str]

class DragTotals(TypedDict):
    all: tuple[int, int]
    never: tuple[int, int]
    write_only: tuple[int, int]
    released: tuple[int, int]
    live: int
    needed: int

class DragPeaks(DragTotals):
    peak_live: int
    peak_needed: int
    peak_at: int

class DragSite(DragTotals):
    live_at_peak: int
    dragged_at_peak: int

class DragLevel:
    def totals(self) -> DragPeaks: ...
    def curve(self) -> list[tuple[float, float, int, int]]: ...
    def sites(self) -> dict[int, DragSite]: ...
    def freed_early(self, groups: list[list[int]], drawn: int) -> list[tuple[int, list[float]]]: ...

def frames_at(path: str, address: int) -> list[tuple[str, int, str, str, int, bool]]: ...

class Drag:
    def __init__(self, path: str) -> None: ...
    def before_free(self) -> Drag: ...
    def header(self) -> DragHeader: ...
    def level(self, chunks: bool, bins: int) -> DragLevel: ...
    def frames(self, stack: int) -> list[tuple[str, int, str, str, int, bool]]: ...

def create_trace(
    path: str, depth: int, clock: int, sampler: int, sampler_period_us: int, period_bytes: int = 0
) -> None: ...
def clock_cost(clock: int) -> float: ...
def finish_trace(path: str) -> int: ...
def heap_map(path: str, pid: int, littered: list[tuple[int, int]], cells: int) -> HeapMap: ...

LITTER_ENV: str
LITTER_MOST_SIZES: int
LITTER_MOST_COUNT: int
LITTER_BEGUN: int
LITTER_REFUSED: int
LITTER_NO_BOOKKEEPING: int
LITTER_NO_MEMORY: int
RESIDENT_ENV: str
REQUESTS_ENV: str

class LitterReport:
    state: int
    failure: int

class LitterReports:
    lost: int
    deepbind: int
    overwritten: bool
    reports: list[LitterReport]

def write_litter(
    path: str,
    sizes: list[tuple[int, int]],
    *,
    objects: int,
    kept: int,
    seed: int,
    needed_bytes: int,
    order: int,
    touch: bool,
    children: bool,
    threads: int,
    device: int,
    inode: int,
    event: tuple[int, int] | None,
    over_glibc: bool,
) -> int: ...
def read_litter(path: str, offset: int) -> LitterReports: ...

class ResidentAnswer: ...

def read_resident(path: str) -> ResidentAnswer | None: ...

class RequestTimes: ...

def create_requests(path: str) -> None: ...
def read_requests(path: str) -> RequestTimes: ...

class Collections:
    pid: int
    count: int
    ns: int
    longest_ns: int

def read_collections(data: bytes) -> list[Collections]: ...

class DragSampleFile: ...

def read_drag_samples(path: str) -> DragSampleFile: ...
def named_symbols(table: bytes, strings: bytes, names: list[str]) -> tuple[list[str], list[str]]: ...
