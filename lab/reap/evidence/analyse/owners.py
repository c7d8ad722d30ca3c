"""Owners of sampled functions: the allocator, a collector, a lock, the kernel. Pure tables."""

import re
from dataclasses import dataclass

from reap.evidence.records import CollectorKind, Owner


@dataclass(frozen=True)
class Sample:
    """Samples that are alike, as `native.Watched.samples` gives them."""

    path: str
    function: str
    kernel_function: str
    kernel: bool
    call: int | None
    """The system call; None where there was none, -1 where its number is not known."""
    inside: bool
    fills: bool
    """Of those inside: in a function that clears or copies a block for the allocator."""
    count: int


ALLOCATOR_FUNCTIONS = [
    # C and C++, where a program brings them itself: linked statically, or of its own.
    "malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "posix_memalign", "aligned_alloc",
    "__libc_malloc", "__libc_free", "__libc_calloc", "__libc_realloc", "__libc_memalign",
    "_int_malloc", "_int_free*", "_int_realloc", "_int_memalign", "sysmalloc*", "malloc_consolidate",
    "unlink_chunk*", "systrim*", "heap_trim*", "new_heap*", "arena_get*", "tcache_*", "munmap_chunk",
    "__libc_malloc_impl", "__malloc_alloc_meta",
    "_Znwm*", "_Znam*", "_ZdlPv*", "_ZdaPv*",
    # Go
    "runtime.mallocgc*", "runtime.newobject", "runtime.makeslice*", "runtime.nextFreeFast*",
    "runtime.(*mcache)*", "runtime.(*mcentral)*", "runtime.(*mheap)*", "runtime.(*pageAlloc)*",
    "runtime.(*mspan).nextFree*", "runtime.(*mspan).init*", "runtime.(*mspan).writeHeapBits*",
    "runtime.heapSetType*", "runtime.sysAlloc*", "runtime.sysUsed*", "runtime.sysUnused*", "runtime.sysMap*",
    # CPython's own, in front of malloc
    "_PyObject_Malloc", "_PyObject_Free", "_PyObject_Calloc", "_PyObject_Realloc", "PyObject_Malloc",
    "PyObject_Free", "PyObject_Calloc", "PyObject_Realloc", "pymalloc_*", "_PyMem_Raw*", "PyMem_Malloc",
    "PyMem_Free", "PyMem_Calloc", "PyMem_Realloc",
]  # fmt: skip
"""The allocator's functions in files that are no allocator as a whole, for `native.Watched`, beside those of
allocators that are linked in, which it knows."""

ALLOCATOR_FILES = [
    "libjemalloc*", "libtcmalloc*", "libgoogle-tcmalloc*", "libmimalloc*", "libsnmalloc*", "librpmalloc*",
    "libhoard*", "libtbbmalloc*", "libscudo*", "libhardened_malloc*", "libdlmalloc*", "libclang_rt.scudo*",
]  # fmt: skip
"""Files that are an allocator as a whole, by their names, for `native.Watched`."""

_SERVES = (
    (re.compile(r"^runtime\."), "go"),
    (re.compile(r"^(_?Py|pymalloc)"), "cpython"),
    (re.compile(r"^_?_?(rjem|je)_"), "jemalloc"),
    (re.compile(r"^_?mi_"), "mimalloc"),
    (re.compile(r"^(tc_|tcmalloc)"), "tcmalloc"),
    (re.compile(r"^(snmalloc|sn_)"), "snmalloc"),
    (re.compile(r"^_?rp(malloc|calloc|realloc|free|aligned)"), "rpmalloc"),
)
"""Allocators that give themselves away by a function's name."""

_FILES = re.compile(
    r"^lib(jemalloc|(?:google-)?tcmalloc|mimalloc|snmalloc|rpmalloc|hoard|tbbmalloc|scudo|hardened_malloc|dlmalloc)"
    r"|^libclang_rt\.(scudo)"
)
_LIBC = re.compile(r"^libc(\.so|-2)")

_COLLECTORS: tuple[tuple[CollectorKind, re.Pattern[str]], ...] = (
    (
        "cpython",
        re.compile(
            r"^(gc_collect|gc_alloc_collect|deduce_unreachable|subtract_refs|update_refs|visit_decref|"
            r"visit_reachable|move_unreachable|untrack_tuples|delete_garbage|handle_weakrefs|PyGC_Collect|"
            r"_PyGC_Collect|move_legacy_finalizer|collect_with_callback)"
        ),
    ),
    (
        "go",
        re.compile(
            r"^runtime\.(gc[A-Z]|gcmark|\(\*gc|scan|grey|mark|sweep|bgsweep|bgscavenge|\(\*sweep|"
            r"\(\*mspan\)\.(sweep|moveInline|mergeInline)|"
            r"\(\*scavenge|findObject|wbBuf|\(\*wbBuf|bulkBarrier|drainGC|tryDeferToSpanScan|spanOf|"
            r"\(\*lfstack\)|typePointers|\(\*spanSet\)|freeSomeWbufs)|^internal/runtime/gc"
        ),
    ),
    (
        "jvm",
        re.compile(
            r"^(void )?(G1|PS[A-Z]|Parallel.*GC|MarkSweep|MutableSpace|Shenandoah|Z[A-Z][a-z]|GenCollected|"
            r"Serial|DefNew|Card[A-Z]|OopOop|StringDedup|TaskTerminator|ReferenceProcessor|Epsilon)"
        ),
    ),
    (
        "v8",
        re.compile(
            r"(?!.*\bcompiler::).*\b(v8|cppgc)::internal::.*(Scaveng|Evacuat|Mark(Compact|ing|er\b)|Sweeper|"
            r"RememberedSetUpdat|RecordMigratedSlot|GCTracer|WeakObjects)"
        ),
    ),
)
_LOCKS = re.compile(
    r"^(_*pthread_(mutex|rwlock|spin|cond|barrier)_|_*lll_(un)?lock|_*sem_(wait|post|timed)|futex|"
    r"runtime\.(lock2?|unlock2?|futex\w*|semacquire|semrelease|\(\*mutex)|sync\.\(\*(RW)?Mutex|"
    r"std::sys::.*(mutex|futex)|parking_lot)"
)

FUTEX = 202
_MEMORY_CALLS = {9: "mmap", 10: "mprotect", 11: "munmap", 12: "brk", 25: "mremap", 28: "madvise"}
_IO_CALLS = {
    0: "read", 1: "write", 3: "close", 5: "fstat", 7: "poll", 8: "lseek", 16: "ioctl",
    17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev", 22: "pipe", 23: "select",
    26: "msync", 32: "dup", 33: "dup2", 40: "sendfile", 41: "socket", 42: "connect", 43: "accept",
    44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 48: "shutdown", 49: "bind", 53: "socketpair",
    54: "setsockopt", 55: "getsockopt", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync",
    77: "ftruncate", 78: "getdents", 162: "sync", 213: "epoll_create", 217: "getdents64", 221: "fadvise64",
    232: "epoll_wait", 233: "epoll_ctl", 270: "pselect6", 271: "ppoll", 275: "splice", 277: "sync_file_range",
    281: "epoll_pwait", 285: "fallocate", 288: "accept4", 291: "epoll_create1", 292: "dup3", 293: "pipe2",
    295: "preadv", 296: "pwritev", 299: "recvmmsg", 306: "syncfs", 307: "sendmmsg", 326: "copy_file_range",
    426: "io_uring_enter", 436: "close_range", 441: "epoll_pwait2",
}  # fmt: skip
_PATH_CALLS = {
    2: "open", 4: "stat", 6: "lstat", 21: "access", 76: "truncate", 79: "getcwd", 80: "chdir", 82: "rename",
    83: "mkdir", 84: "rmdir", 85: "creat", 86: "link", 87: "unlink", 88: "symlink", 89: "readlink",
    90: "chmod", 92: "chown", 132: "utime", 137: "statfs", 161: "chroot", 188: "setxattr", 191: "getxattr",
    192: "lgetxattr", 194: "listxattr", 254: "inotify_add_watch", 257: "openat", 258: "mkdirat",
    262: "newfstatat", 263: "unlinkat", 264: "renameat", 265: "linkat", 266: "symlinkat", 267: "readlinkat",
    268: "fchmodat", 269: "faccessat", 280: "utimensat", 316: "renameat2", 332: "statx", 437: "openat2",
    439: "faccessat2",
}  # fmt: skip
"""Calls whose work is to look up the name of a file."""
_OTHER_CALLS = {13: "rt_sigaction", 14: "rt_sigprocmask", 15: "rt_sigreturn", 24: "sched_yield",
                35: "nanosleep", 39: "getpid", 56: "clone", 57: "fork", 58: "vfork", 59: "execve",
                60: "exit", 61: "wait4", 62: "kill", 96: "gettimeofday", 186: "gettid", 201: "time",
                228: "clock_gettime", 230: "clock_nanosleep", FUTEX: "futex", 231: "exit_group",
                234: "tgkill", 247: "waitid", 318: "getrandom", 334: "rseq", 435: "clone3"}  # fmt: skip
CALL_NAMES = {**_IO_CALLS, **_PATH_CALLS, **_MEMORY_CALLS, **_OTHER_CALLS}
"""System calls of x86-64 that are told by name."""

_SLAB = re.compile(
    r"kmem_cache|^_*kmalloc|^kfree|^kvfree|slab|^get_partial|^put_cpu_partial|^get_from_partial|^kvmalloc"
)


def owner(sample: Sample) -> Owner:
    """Owner of the code that was executing, or on whose behalf the kernel was."""
    if sample.inside:
        return "allocator"
    if sample.kernel:
        return _kernel_owner(sample)
    if collector(sample.function):
        return "collector"
    return "lock" if waits_for_lock(sample) else "other"


def _kernel_owner(sample: Sample) -> Owner:
    if sample.call == FUTEX:
        return "lock"
    if sample.call is None:
        return "kernel_fault"
    if in_slab(sample):
        return "kernel_slab"
    if sample.call in _PATH_CALLS:
        return "kernel_path"
    if sample.call in _MEMORY_CALLS:
        return "kernel_memory"
    unknown_io = sample.call == -1 and "yscall" in sample.function  # Go's general wrapper: files and sockets
    return "kernel_io" if sample.call in _IO_CALLS or unknown_io else "kernel_other"


def waits_for_lock(sample: Sample) -> bool:
    """Whether it puts a thread to sleep, or wakes one, that waits for a lock."""
    return sample.call == FUTEX if sample.kernel else bool(_LOCKS.match(sample.function))


def collector(function: str) -> CollectorKind | None:
    """Kind of garbage collector that a function belongs to; None for any other function."""
    return next((kind for kind, pattern in _COLLECTORS if pattern.match(function)), None)


def serves(sample: Sample) -> str:
    """The name of the allocator that a sample inside one is in; the file's where it has no known name."""
    name = sample.path.rpartition("/")[2]
    if _LIBC.match(name):
        return "glibc"
    if found := _FILES.match(name):
        return found[1] or found[2]
    return next((who for pattern, who in _SERVES if pattern.match(sample.function)), name)


def in_slab(sample: Sample) -> bool:
    """Whether the kernel was in its own allocator."""
    return bool(_SLAB.search(sample.kernel_function))


def call_name(number: int) -> str:
    """The name of a system call of x86-64, or its number where that has none here."""
    return CALL_NAMES.get(number, f"call {number}")


def label(sample: Sample) -> str:
    """Name of a function in a table: the system call beside the wrapper that makes it."""
    if not sample.kernel:
        return sample.function
    where = sample.function or sample.path.rpartition("/")[2] or "(no symbol)"
    if sample.call is None:
        return f"{where} [fault or interrupt]"
    called = call_name(sample.call) if sample.call >= 0 else "a system call"
    return f"{where} [{called}]" if where not in {called, f"__{called}"} else f"{called} [kernel]"
