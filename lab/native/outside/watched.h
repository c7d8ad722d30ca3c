// What was seen of a program that nothing entered: samples with their functions, page faults, system calls,
// waits, memory.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "outside/awaited.h"
#include "outside/code.h"
#include "outside/outside.h"
#include "outside/places.h"
#include "outside/turns.h"
#include "trace/block_file.h"

namespace reap::native {

// Samples that are alike.
struct SampleKind {
    std::string path; // empty: in no file (code that was made at run time, or what is gone)
    std::string function;
    std::string kernel_function; // empty in user mode, and where the kernel hides its names
    bool kernel = false;
    int64_t call = kNoCall; // in the kernel: the system call; kNoCall: a page fault or an interrupt
    bool inside = false;    // executing in the allocator, or on its behalf
    bool fills = false;     // of those: clearing or copying a block
    auto operator<=>(const SampleKind &) const = default;
};

enum class Touched : uint8_t { allocator, heap, stack, file };
enum class Caller : uint8_t { others, allocator, recorder };

struct CallKind {
    uint64_t number = 0;
    Caller caller = Caller::others;
    auto operator<=>(const CallKind &) const = default;
};

struct WaitKind {
    char state = 'S';
    int64_t call = kNoCall;
    uint64_t what = 0; // enum reap_waited_for
    bool allocator = false;
    auto operator<=>(const WaitKind &) const = default;
};

struct StackFrame {
    std::string function;
    std::string path;
    bool inside = false;
    auto operator<=>(const StackFrame &) const = default;
};

// A process's memory when it was polled.
struct MemorySeen {
    uint64_t ticks = 0;
    uint32_t pid = 0;
    uint64_t peak = 0;
    uint64_t heap = 0; // resident in what brk has grown
    uint64_t lazy_free = 0;
    bool known = false; // the latter two
};

// Whether a source was watched: 0, or the errno for which not; and how much the kernel had no room for.
struct Source {
    uint64_t error = 0;
    uint64_t lost = 0;
};

struct Watched {
    std::map<SampleKind, uint64_t> samples;
    uint64_t recorder = 0; // samples in the recorder: not among the others
    std::vector<StackFrame> frames;
    std::map<std::vector<uint32_t>, uint64_t> stacks; // outermost first, as places in `frames`
    uint64_t uncalled = 0;                            // samples whose callers are not known
    std::map<Touched, uint64_t> faults;
    std::map<CallKind, uint64_t> calls;
    std::map<WaitKind, uint64_t> waits;
    Awaited on_lock;  // what others waited for in a mutex or the like
    Awaited on_other; // in another futex call: a condition, a semaphore, the end of a thread
    Turns turns;
    uint64_t polls = 0;
    uint64_t busy_polls = 0; // in which some thread ran, or would have if it had had a CPU
    uint64_t most_processes = 0;
    uint64_t most_threads = 0;
    std::vector<ResidentPoint> resident;
    std::vector<MemorySeen> memory;
    Source sampled, faulted, called;
    bool ended = false; // the launcher wrote its last words
    bool kernel_names = false;
    std::set<std::string> files;
};

// Reads all of it. Memory is bounded by the number of distinct functions and stacks.
Watched read_watched(BlockFile &file, const Definitions &definitions, Symbolizer &symbols,
                     const std::string &recorder, const Allocators &allocators);

} // namespace reap::native
