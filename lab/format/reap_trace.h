/* The trace format, version 5. Described in `docs/trace-format.md`; this header is normative.
 *
 * SPDX-License-Identifier: MIT
 *
 * One file holds a whole process tree. It is a sequence of blocks of REAP_BLOCK_BYTES. Block 0 holds the
 * file header; every other block belongs to one thread of one process image and is either a stream of
 * records (EVENTS, DEFINITIONS, OUTSIDE) or a table of counters (COUNTS, REQUESTS). A block of zeros was
 * reserved and never used.
 *
 * All integers are little-endian. Freestanding C11 / C++20; depends on nothing else in the project.
 */
#ifndef REAP_TRACE_H
#define REAP_TRACE_H

#include <stdint.h>

#define REAP_TRACE_MAGIC UINT64_C(0x3145434152545052) /* "RPTRACE1" */
#define REAP_BLOCK_MAGIC UINT32_C(0x4b4c4252)         /* "RBLK" */
#define REAP_TRACE_VERSION 5u
#define REAP_TRACE_OLDEST                                                                                    \
    3u /* that readers read: it has no packed records; before 5 several threads have none                    \
        * without a stamp */
#define REAP_BLOCK_BYTES 65536u

/* Where in block 0 the labels are that a user gave the recording: key, zero byte, value, zero byte, and so
 * on. */
#define REAP_LABELS_OFFSET 4096u

/* The environment variable by which a recorded process finds its file (an absolute path). */
#define REAP_TRACE_ENV "REAP_TRACE"

/* The environment variable by which a process that cannot open the file (another root, another user) gets it
 * from the launcher: twice REAP_SOCKET_NAME bytes. The first half, after REAP_SOCKET_PREFIX, names a datagram
 * socket in the abstract namespace. A process that sends the second half to it receives an open descriptor of
 * the trace. */
#define REAP_SOCKET_ENV "REAP_TRACE_SOCKET"
#define REAP_SOCKET_PREFIX "reap-trace-"
#define REAP_SOCKET_NAME 32u

/* A phase's name (reap/mark.h), padded with NULs. */
#define REAP_PHASE_BYTES 64u

enum reap_depth { REAP_DEPTH_TRIAGE = 1, REAP_DEPTH_FULL = 2 };

/* The unit of stamps. TSC only if it is invariant and the kernel itself uses it. */
enum reap_clock { REAP_CLOCK_TSC = 1, REAP_CLOCK_MONOTONIC_NS = 2 };

/* Why recording stopped somewhere in the tree before the program did. */
enum reap_stop {
    REAP_STOP_NONE = 0,
    REAP_STOP_NO_SPACE = 1,  /* the file could not grow: disk full, quota, file size limit */
    REAP_STOP_OPEN = 2,      /* the file could not be reopened, for a block beyond `file_blocks` */
    REAP_STOP_MAP = 3,       /* no address space or no memory for a block */
    REAP_STOP_SANDBOX = 4,   /* under a system call filter, with all blocks reserved before it full */
    REAP_STOP_TRUNCATED = 5, /* another program truncated the file */
    REAP_STOP_SIZE = 6       /* the file reached max_blocks: events end, counters go on */
};

/* The first 4 KB of block 0. Mapped by every process of the tree; fields marked (atomic) are shared by them.
 */
struct reap_file_header {
    uint64_t magic;
    uint32_t version;
    uint32_t block_bytes;
    uint32_t depth;              /* enum reap_depth */
    uint32_t clock;              /* enum reap_clock */
    uint64_t start_ticks;        /* the same time on three clocks: stamp, ... */
    uint64_t start_monotonic_ns; /* ... CLOCK_MONOTONIC, ... */
    uint64_t start_unix_ns;      /* ... and CLOCK_REALTIME */
    uint64_t end_ticks;          /* the same at the end; 0 in a recording that was not finished */
    uint64_t end_monotonic_ns;
    uint64_t ticks_per_second; /* the creator's first estimate; start and end together give it exactly */
    uint64_t period_bytes;     /* mean gap between sampled allocations; 0: adjusted to about 500 a second */
    uint32_t sampler;          /* enum reap_sampler: who samples instruction pointers */
    uint32_t sampler_period_us;
    uint32_t sampler_kernel; /* 1: time in the kernel is sampled, too */
    uint32_t next_block;     /* (atomic) number of allocated blocks, block 0 included */
    uint32_t next_image;     /* (atomic) number of process images that have started */
    uint32_t stop_reason;    /* (atomic) enum reap_stop, the first that happened */
    uint32_t stop_errno;     /* (atomic) its errno */
    uint32_t stop_count;     /* (atomic) how often a thread or process had to stop recording */
    uint32_t finished;       /* 1: the tree ended and every block of a dead process was sealed */
    uint32_t
        file_blocks;    /* for so many blocks the file is long enough, with holes where none is yet; grows */
    uint32_t deepbind;  /* (atomic) how often RTLD_DEEPBIND was removed from a call of dlopen */
    uint32_t stamp_all; /* 1: every event has a stamp, also while a process has one thread */
    uint32_t native_only; /* 1: stacks have no Python functions, but the interpreter's own calls */
    uint32_t max_blocks;  /* from this block on no events are written; 0: no limit */
    uint64_t stop_ticks;  /* (atomic) where the first thread stopped for that */
    uint32_t attached;    /* enum reap_attached: whether it was made from outside, see `attach` */
    uint32_t label_bytes; /* of the labels at REAP_LABELS_OFFSET; 0 in recordings without */
    struct {
        uint64_t windows;        /* how often calls were watched, ... */
        uint64_t window_ns;      /* ... how long in all, ... */
        uint64_t watched_ns;     /* ... of this time */
        uint64_t window_cpu_ns;  /* CPU time of the process within windows, ... */
        uint64_t watched_cpu_ns; /* ... and in all */
        uint64_t calls;          /* calls that met a probe */
        uint64_t cost_ns;        /* CPU time that the probes cost the process, by calibration */
        uint64_t lost;           /* samples that there was no room for */
        uint64_t slowed;    /* windows in which probes took most of the CPU time: their calls are too few */
        uint32_t broken;    /* samples whose stack does not reach the thread's first function */
        uint32_t unsampled; /* windows in which the kernel did not sample CPU time: that of the process itself
                               is known by `cost_ns` alone */
    } attach; /* Of an attached recording. Its counters are estimates, each sample says itself what it stands
                 for, and when blocks are freed is not known. */
    struct {
        uint32_t gate;         /* (atomic) enum reap_gate */
        uint32_t start_signal; /* it opens when the launcher gets this signal, ... */
        uint32_t stop_signal;  /* ... and closes when it gets this one; 0: none does that */
        uint32_t ring_blocks;  /* about so many blocks of the file are kept; 0: all */
        uint64_t ring_ticks;   /* what happened in so many ticks is kept; 0: all */
        uint64_t began_ticks;  /* (atomic) what was before is not recorded, or no longer; 0: all is */
        uint64_t ended_ticks;  /* (atomic) nor what came after; 0: all is */
        char start_phase[REAP_PHASE_BYTES]; /* it opens when a process enters this phase, ... */
        char stop_phase[REAP_PHASE_BYTES];  /* ... and closes at this one; empty: at none */
    } part;                                 /* Of a recording of a part of the run. */
    struct {
        uint64_t most_events; /* triage writes every event, too, up to about so many; 0: none */
        uint64_t events;      /* (atomic) events written, as threads have reported them */
        uint64_t cost_ns;     /* (atomic) CPU time that this took, by estimate */
        uint32_t over;        /* (atomic) 1: no longer every event; samples alone are to be used */
        uint32_t reserved;
    } exact;
    uint32_t beside; /* enum reap_attached: whether calls of allocators that are linked into files of the
                        program, which the recorder cannot see, were watched from outside; then `attach` is of
                        these, in blocks with REAP_BLOCK_BESIDE */
    uint32_t loads;  /* (atomic) how often a process was about to open a library, wraps around */
};

/* Whether calls are recorded now. It opens and closes once, for all processes. */
enum reap_gate {
    REAP_GATE_NONE = 0, /* from start to end */
    REAP_GATE_SHUT = 1, /* not yet: threads record nothing and count nothing */
    REAP_GATE_OPEN = 2,
    REAP_GATE_ENDED = 3 /* no longer */
};

enum reap_attached {
    REAP_ATTACHED_NOT = 0,       /* the recorder was in the program */
    REAP_ATTACHED_RUNNING = 1,   /* of a process that ran already */
    REAP_ATTACHED_FROM_START = 2 /* of a program since its first instruction */
};

enum reap_sampler { REAP_SAMPLER_NONE = 0, REAP_SAMPLER_PERF = 1, REAP_SAMPLER_TIMER = 2 };

enum reap_block_kind {
    REAP_BLOCK_EVENTS = 1,      /* what one thread did, in its own order */
    REAP_BLOCK_DEFINITIONS = 2, /* images, modules, frames of one process image; read these first */
    REAP_BLOCK_COUNTS = 3,      /* struct reap_counts: exact counters of triage */
    REAP_BLOCK_OUTSIDE = 4,     /* what the launcher saw: resident memory, sampled instruction pointers */
    REAP_BLOCK_REQUESTS = 5     /* struct reap_requests: what marked requests allocated */
};

/* Added to the kind of blocks from outside in a recording whose header says so in `beside`. They are
 * read alone, as a recording from outside, and by a reader that does not know them not at all: their stamps
 * are nanoseconds of CLOCK_MONOTONIC, and their calls, estimated, are none of those that are counted. */
#define REAP_BLOCK_BESIDE 0x100u

enum reap_block_flags { REAP_BLOCK_SEALED = 1u };

/* The head of every block but block 0. */
struct reap_block_header {
    uint32_t magic;
    uint16_t kind;  /* enum reap_block_kind, perhaps with REAP_BLOCK_BESIDE */
    uint16_t flags; /* enum reap_block_flags */
    uint32_t pid;
    uint32_t tid;           /* 0: of the whole process; else the thread that began the block */
    uint64_t process_start; /* as in /proc/PID/stat, or 1 less after a fork: tells uses of a pid apart */
    uint32_t image;         /* number of the process image, from next_image */
    uint32_t sequence;      /* 0, 1, 2, ... within (image, thread, kind) */
    uint64_t base_ticks;    /* stamps in the block are differences, starting here */
    uint32_t thread;        /* number of the thread within its image; one that begins after another has ended
                               may go on under its number (a REAP_MARK_THREAD says so), so that short-lived threads
                               do not fill the file */
    uint32_t committed;     /* (release store) bytes of payload that are whole */
    uint64_t checksum;      /* XXH3-64 of the payload up to `committed`, seeded with `image`; if sealed */
    uint64_t last_ticks;    /* of a sealed block: its last stamp, or 0; until then the writer's own */
};

#define REAP_BLOCK_HEADER_BYTES 64u
#define REAP_PAYLOAD_BYTES (REAP_BLOCK_BYTES - REAP_BLOCK_HEADER_BYTES)

/* Which function was called. */
enum reap_call {
    REAP_CALL_MALLOC = 0,
    REAP_CALL_CALLOC = 1,
    REAP_CALL_REALLOC = 2,
    REAP_CALL_REALLOCARRAY = 3,
    REAP_CALL_POSIX_MEMALIGN = 4,
    REAP_CALL_ALIGNED_ALLOC = 5,
    REAP_CALL_MEMALIGN = 6,
    REAP_CALL_VALLOC = 7,
    REAP_CALL_PVALLOC = 8,
    REAP_CALL_NEW = 9,
    REAP_CALL_FREE = 10,
    REAP_CALL_DELETE = 11,
    REAP_CALL_USABLE_SIZE = 12,
    REAP_CALLS = 16
};

/* Sizes up to REAP_EXACT_SIZES - 1 are counted one by one; larger ones in four bins an octave. */
#define REAP_EXACT_SIZES 4096u
#define REAP_LARGE_BINS 208u /* (64 - 12) octaves x 4 */
#define REAP_WRITER_WORDS 12u
#define REAP_RARE_SIZES 11u

/* Within a COUNTS block are two short blocks, each with a head of its own whose magic is 0 until it is used:
 * the first DEFINITIONS of a process, and the first EVENTS of a thread. */
#define REAP_INNER_DEFINITIONS_BYTES 1024u
#define REAP_INNER_EVENTS_BYTES 512u

/* A size with few allocations. */
struct reap_rare {
    uint64_t size;
    uint64_t objects; /* 0: not used */
};

/* Payload of a COUNTS block. Owned by one thread at a time; a thread that ends hands it on, and one that has
 * just begun borrows it for a call. What a thread needs that allocates little comes first, so that it takes
 * one page of the file. */
struct reap_counts {
    uint64_t
        calls[REAP_CALLS];   /* by enum reap_call; malloc itself is the rest: allocations less the others */
    uint64_t frees;          /* blocks freed by free, delete or realloc */
    uint64_t failures;       /* allocations that returned null */
    uint64_t skipped;        /* calls that could not be sampled: made inside the recorder's own work */
    uint64_t fresh_reallocs; /* calls of realloc and reallocarray that freed no block */
    uint64_t final_reallocs; /* and those that freed one and requested none */
    uint64_t writer[REAP_WRITER_WORDS];     /* the writer's own; means nothing to a reader */
    struct reap_rare rare[REAP_RARE_SIZES]; /* added to by_size, large_objects and large_bytes */
    unsigned char definitions[REAP_INNER_DEFINITIONS_BYTES]; /* a short block: a head, then its payload */
    unsigned char events[REAP_INNER_EVENTS_BYTES];           /* the same */
    uint64_t by_size[REAP_EXACT_SIZES]; /* allocations of exactly this many bytes, any function */
    uint64_t large_objects[REAP_LARGE_BINS];
    uint64_t large_bytes[REAP_LARGE_BINS];
};

/* Of requests, numbers below REAP_REQUEST_EXACT are counted one by one, larger ones in 64 bins an octave up
 * to 2^40, and what is larger in the last of them. */
#define REAP_REQUEST_EXACT 2048u
#define REAP_REQUEST_BINS 3904u /* 2048 + 29 octaves x 64 */

/* Payload of a REQUESTS block: the requests of one phase that ended in one thread, or in several one after
 * another. A request's allocations are those of its own thread between its begin and its end. */
struct reap_requests {
    char phase[REAP_PHASE_BYTES]; /* its name, padded with NULs; empty: before the first was set */
    uint64_t count;
    uint64_t allocations; /* of all of them, realloc's included */
    uint64_t bytes;       /* as requested */
    uint64_t most_allocations;
    uint64_t most_bytes;
    uint64_t by_allocations[REAP_REQUEST_BINS]; /* requests, by how many blocks each allocated */
    uint64_t by_bytes[REAP_REQUEST_BINS];       /* the same, by bytes */
};

/* The unit of a sample that says itself how many allocations it stands for. */
#define REAP_WEIGHT_UNIT 1024u

/* A stack of so many frames is recorded whole. A deeper one has its outermost frames, the mark
 * REAP_FRAMES_LEFT_OUT, and its innermost. */
#define REAP_MOST_FRAMES 1024u
#define REAP_OUTER_FRAMES 128u
#define REAP_INNER_FRAMES 128u

/* A block has so many places for stacks; each is 0 where the block begins. */
#define REAP_STACK_PLACES 256u

/* A record: one tag byte, then fields. Varints are LEB128, at most 10 bytes.
 *
 *   stamp    varint: ticks since the stamp before it in this block (the first: since base_ticks)
 *   address  varint: the difference to the address before it in this block (the first: to 0), folded so that
 *            multiples of 16 are short: m = |d|; fold = (m >> 4) | ((m & 15) << 53); fold * 2 + (d < 0)
 *   string   varint length, then that many bytes (UTF-8 by habit, any bytes by right)
 *
 *   packed   1 to 4 bytes, little-endian, as the tag byte says
 *   step     packed: as address, of a difference that is a multiple of 16: s = d / 16; s < 0 ? -2s - 1 : 2s
 *
 * The short records are the hot ones: the low four bits of the tag byte are 1 to 14 and say which, the high
 * four bits are the enum reap_call, or in packed records how many bytes their fields have. In the long
 * records the low four bits are 0 and a varint length of the rest follows the tag, so that a reader can pass
 * over what it does not know; to make that safe their stamps count from base_ticks, their addresses are plain
 * varints, and neither is what a later one is relative to. Low bits of 15 are kept for later. */
enum reap_tag {
    REAP_TAG_END = 0,        /* never written: what is behind the committed length */
    REAP_TAG_ALLOC = 1,      /* stamp (after the call returned), size, address, stack */
    REAP_TAG_FREE = 2,       /* stamp (before the call was made), address */
    REAP_TAG_REALLOC = 3,    /* stamp before, stamp after, old address, new address, size, stack */
    REAP_TAG_ALIGNED = 4,    /* as ALLOC, then varint log2 of the alignment */
    REAP_TAG_FREE_SIZED = 5, /* as FREE, then varint size given at free */
    REAP_TAG_FAILED = 6,     /* stamp, size, stack: the call returned null */
    /* Without a stamp: events between the stamps before and behind them in the block; in the order of all
     * threads directly behind the record before them */
    REAP_TAG_QUICK_ALLOC = 7, /* size, address, stack, which is kept in place stack % REAP_STACK_PLACES */
    REAP_TAG_QUICK_KNOWN = 8, /* size, address, a byte: the place where the stack was kept */
    REAP_TAG_QUICK_FREE = 9,  /* address */
    /* Most calls of malloc and free, in fewer bytes and instructions: two bits of the tag byte for each
     * packed field, from bit 4 on, are its number of bytes less 1; the rest are 0. Without a stamp, too: */
    REAP_TAG_PACKED_MALLOC = 10, /* packed size, step, a byte: the place where the stack was kept */
    REAP_TAG_PACKED_FREE = 11,   /* step */
    /* With one */
    REAP_TAG_TIMED_MALLOC = 12, /* as PACKED_MALLOC, then two bytes: the stamp */
    REAP_TAG_TIMED_FREE = 13,   /* as PACKED_FREE, then two bytes: the stamp */
    REAP_TAG_KEPT_ALLOC = 14,   /* as ALLOC; the stack is kept as by QUICK_ALLOC */

    REAP_TAG_IMAGE = 0x10,  /* parent image + 1 (0: none), ppid, flags, string executable,
                             string provider of malloc, string command line (NUL-separated) */
    REAP_TAG_MODULE = 0x20, /* module id, start, end, load bias, string path, then string GNU build id (bytes;
                             empty: none is known), then bits of enum reap_own: whose own functions are
                             recorded where this module calls or defines them. Older recordings have
                             neither field */
    REAP_TAG_FRAME = 0x30,  /* frame id, address, parent frame id (0: outermost) */
    REAP_TAG_SAMPLE = 0x40, /* stamp, call, size, address, stack, period, duration in ticks, thread bytes:
                             one allocation drawn with probability 1 - exp(-(size + 16) / period); then how
                          many     blocks were allocated and freed so far under this thread's number. With
                          a period of 0 thread bytes are how many allocations it stands for, times
                          REAP_WEIGHT_UNIT, and the address is 0: unknown */
    REAP_TAG_SAMPLE_END = 0x50, /* stamp, address, duration in ticks, thread number and thread bytes of the
                                 freeing thread: a sampled allocation was freed */
    REAP_TAG_MARK = 0x60,   /* stamp, enum reap_mark, fields by its kind: what is no call of the allocator */
    REAP_TAG_STRING = 0x70, /* id (not 0), string: what REAP_TAG_NAMES refers to; of the whole file */
    REAP_TAG_LATENCY =
        0x80, /* reserved for latencies sampled in a full recording: stamp, call, size, ticks */
    REAP_TAG_RESIDENT = 0x90, /* stamp, pid, resident bytes; then, since version 5, those in no file */
    REAP_TAG_IP = 0xa0,       /* stamp, pid, tid, mode (0 user, 1 kernel), user instruction pointer,
                               count of words, that many words from the top of the user stack; then, where
                               callers were asked for: the kernel's instruction pointer (0: in user mode),
                               count of callers, their return addresses, innermost first */
    REAP_TAG_MAPPING = 0xb0,  /* stamp, pid, start, length, file offset, string path: an executable mapping */
    REAP_TAG_SEEN = 0xc0,     /* stamp, pid, enum reap_seen, fields by its kind */
    REAP_TAG_UNRECORDED =
        0xd0,             /* pid, enum reap_unrecorded, string executable: a process of the tree of which
                            nothing is recorded. In OUTSIDE blocks behind a stamp, else in DEFINITIONS */
    REAP_TAG_CODE = 0xe0, /* enum reap_code, fields by its kind: code that is in no module */
    REAP_TAG_NAMES = 0xf0 /* enum reap_names, fields by its kind: what was looked up in modules when the
                           recording ended; of the whole file. Numbers of strings: 0 is the empty one */
};

/* Allocators with functions of their own (`mallocx`, `mi_malloc`). */
enum reap_own { REAP_OWN_JEMALLOC = 1, REAP_OWN_MIMALLOC = 2, REAP_OWN_TCMALLOC = 4 };

enum reap_mark {
    REAP_MARK_THREAD = 1 /* tid: a thread goes on under the number of one that has ended; what follows in the
                            stream is its own */
};

/* Code that is in no module of the loader. */
enum reap_code {
    REAP_CODE_PYTHON = 1,   /* location, line (0: none), string function, string file: in frames the address
                               of the location is REAP_PYTHON_FRAME | location */
    REAP_CODE_COMPILED = 2, /* start, length, string name: compiled at run time, from /tmp/perf-PID.map */
    REAP_CODE_UNKNOWN = 3, /* version (PY_VERSION_HEX), enum reap_unknown_code: an interpreter whose functions
                              are not in stacks */
    REAP_CODE_REFUSED = 4  /* enum reap_refused_map: the process's perf-PID.map was not taken */
};
#define REAP_PYTHON_FRAME (UINT64_C(1) << 63)
/* The address of a frame that stands for frames that were left out. No line of Python has the location 0. */
#define REAP_FRAMES_LEFT_OUT REAP_PYTHON_FRAME

/* What was looked up in files of modules and is kept. Of the same thing the later record holds. */
enum reap_names {
    REAP_NAMES_ADDRESS = 1, /* string path, string build id, address in the file (a return address - 1 - load
                               bias), count, that many functions, innermost first: string name (demangled),
                               string source file, line (0: none), 1 if it is inlined into the next */
    REAP_NAMES_SAMPLES = 2 /* sampled instruction pointers: all, in the allocator, of these in the kernel, all
                              in the kernel, in the recorder (not in all), in no known module */
};

enum reap_refused_map {
    REAP_REFUSED_FOREIGN = 1, /* it is no regular file, or another user's */
    REAP_REFUSED_LONG = 2 /* it is longer than what is read of one: the names of its beginning were taken */
};

enum reap_unknown_code {
    REAP_UNKNOWN_VERSION = 1, /* the recorder does not know this version */
    REAP_UNKNOWN_MEMORY = 2,  /* its memory does not look as that of its version should */
    REAP_UNKNOWN_KERNEL = 3, /* recorded from outside: the kernel does not take the program that reads them */
    REAP_UNKNOWN_ACCESS = 4  /* recorded from outside: its memory may not be read */
};

/* Why a process is not recorded. */
enum reap_unrecorded {
    REAP_UNRECORDED_NOT_LOADED = 1, /* it has no recorder: static, set-user-ID, another environment */
    REAP_UNRECORDED_NO_TRACE = 2,   /* it has one, which could not open the file */
    REAP_UNRECORDED_FOREIGN = 3, /* it is for another C library or processor: started without the recorder */
    REAP_UNRECORDED_OUT_OF_REACH = 4, /* its root, or its user, cannot access the recorder: started without */
    REAP_UNRECORDED_SANITIZED = 5,    /* the runtime of its sanitizer must come first: started without */
    /* In DEFINITIONS alone, of a program that a process of this image executes with the recorder: */
    REAP_UNRECORDED_EXPECTED = 6, /* it is not recorded unless a later image has this pid */
    REAP_UNRECORDED_FAILED = 7    /* it was not executed: takes back the record before of this pid */
};

/* What else the launcher saw. `words`: a count, and that many words from the top of the user stack. */
enum reap_seen {
    REAP_SEEN_FAULT = 1,  /* tid, user instruction pointer, address, stack pointer, period, words: one of
                           about `period` page faults */
    REAP_SEEN_CALL = 2,   /* tid, number, user instruction pointer, words: a system call */
    REAP_SEEN_WAIT = 3,   /* tid, state as /proc has it, number + 1 (0: in none), enum reap_waited_for,
                           instruction pointer, words: a thread that did not run when it was looked at;
                           with the state R one that did, or would have if it had had a processor */
    REAP_SEEN_LOOK = 4,   /* processes, threads: the tree was polled; the waits precede this record */
    REAP_SEEN_FILE = 5,   /* start, length: a mapping of a file, executable or not */
    REAP_SEEN_MEMORY = 6, /* peak resident, resident in the heap that brk grows, lazily freed bytes (each + 1;
                             0: not known) */
    REAP_SEEN_WATCHED = 7, /* of samples, faults, calls each: 0, or the errno for which they were not watched;
                             how many the kernel had no room for */
    REAP_SEEN_FORK = 8     /* parent: the process is its fork */
};

enum reap_waited_for {
    REAP_WAITED_UNKNOWN = 0,
    REAP_WAITED_SOCKET = 1,
    REAP_WAITED_FILE = 2,
    REAP_WAITED_OTHER = 3, /* a pipe, a terminal, an event */
    REAP_WAITED_LOCK = 4
};

enum reap_image_flags {
    REAP_IMAGE_FORKED = 1,  /* began by fork: blocks of the parent live on in it */
    REAP_IMAGE_BYPASSED = 2 /* malloc belongs to the executable or another preload: nothing can be recorded */
};

#endif
