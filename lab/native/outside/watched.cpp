#include "outside/watched.h"

#include <algorithm>
#include <optional>
#include <sys/syscall.h>
#include <utility>

#include "outside/kernel_names.h"
#include "outside/records.h"

namespace reap::native {
namespace {

constexpr size_t kMostWords = 64;
constexpr size_t kMostStacks = 200000;
// A fault this near to the stack pointer is the stack's.
constexpr uint64_t kBelowStack = 65536;
constexpr uint64_t kAboveStack = 262144;
constexpr int64_t kFutex = SYS_futex;

std::vector<uint64_t> read_words(RecordReader &fields) {
    std::vector<uint64_t> words;
    const uint64_t count = fields.varint();
    for (uint64_t i = 0; i < count && i < kMostWords && fields.good(); ++i) words.push_back(fields.varint());
    return words;
}

class Reader {
  public:
    Reader(const Definitions &definitions, Symbolizer &symbols, std::string recorder,
           const Allocators &allocators, uint64_t ticks_per_second)
        : places_(definitions, symbols, allocators), symbols_(symbols), recorder_(std::move(recorder)),
          awaited_(ticks_per_second) {}

    // What later records need wherever they stand: rings of several processors are read one after another.
    void first_pass(uint8_t tag, uint32_t pid, RecordReader fields) {
        if (tag == REAP_TAG_MAPPING) {
            const uint64_t start = fields.varint();
            const uint64_t length = fields.varint();
            const uint64_t offset = fields.varint();
            const std::string_view path = fields.string();
            if (fields.good()) places_.map(pid, {start, start + length, offset, std::string(path)});
        } else if (tag == REAP_TAG_SEEN) {
            const uint64_t kind = fields.varint();
            if (kind == REAP_SEEN_FORK) {
                const auto parent = static_cast<uint32_t>(fields.varint());
                if (fields.good()) places_.fork(pid, parent);
            } else if (kind == REAP_SEEN_FILE) {
                const uint64_t start = fields.varint();
                const uint64_t length = fields.varint();
                if (fields.good()) file_ranges_[pid][start] = start + length;
            }
        }
    }

    void second_pass(uint8_t tag, uint64_t ticks, uint32_t pid, RecordReader fields) {
        if (tag == REAP_TAG_IP) sample(ticks, pid, fields);
        if (tag == REAP_TAG_RESIDENT) {
            const uint64_t bytes = fields.varint();
            if (fields.good()) out_.resident.push_back({ticks, bytes, 0});
        }
        if (tag != REAP_TAG_SEEN) return;
        switch (fields.varint()) {
        case REAP_SEEN_FAULT:
            return fault(pid, fields);
        case REAP_SEEN_CALL:
            return call(pid, fields);
        case REAP_SEEN_WAIT:
            return wait(ticks, pid, fields);
        case REAP_SEEN_LOOK:
            return poll(fields);
        case REAP_SEEN_MEMORY:
            return memory(ticks, pid, fields);
        case REAP_SEEN_WATCHED:
            return last_words(fields);
        default:
            return; // of a later version
        }
    }

    Watched finish() {
        out_.files = places_.files();
        out_.on_lock = awaited_.of(Awaits::lock);
        out_.on_other = awaited_.of(Awaits::other);
        out_.kernel_names = KernelNames::here().known();
        std::stable_sort(out_.resident.begin(), out_.resident.end(),
                         [](const ResidentPoint &a, const ResidentPoint &b) { return a.ticks < b.ticks; });
        return std::move(out_);
    }

  private:
    const std::string &function(const Place &place) {
        const auto [entry, fresh] = functions_.try_emplace({place.path, place.address});
        if (fresh) entry->second = symbols_.function(place.path, place.address);
        return entry->second;
    }

    bool in_recorder(const Place &place) const { return place.path.ends_with(recorder_); }

    void sample(uint64_t ticks, uint32_t pid, RecordReader &fields) {
        fields.varint(); // thread
        const bool kernel = fields.varint() != 0;
        const uint64_t pointer = fields.varint();
        const std::vector<uint64_t> words = read_words(fields);
        uint64_t kernel_pointer = 0;
        std::vector<uint64_t> callers;
        if (!fields.done()) {
            kernel_pointer = fields.varint();
            callers = read_words(fields);
        }
        if (!fields.good()) return;
        SampleKind kind;
        kind.kernel = kernel;
        if (kernel) kind.kernel_function = KernelNames::here().at(kernel_pointer);
        const std::optional<Place> place = places_.find(pid, pointer);
        if (place) {
            if (in_recorder(*place)) {
                ++out_.recorder;
                return;
            }
            kind.path = place->path;
            kind.function = function(*place);
            if (kernel && place->offset != kNoOffset)
                kind.call = code_.call_before(place->path, place->offset);
            kind.fills = places_.fills_for_allocator(pid, *place, words, recorder_);
            kind.inside = kind.fills || (kernel ? places_.called_by_allocator(pid, *place, words)
                                                : places_.in_allocator(*place));
        }
        awaited_.ran(pid, ticks, kind.inside);
        add_stack(pid, kind, callers);
        ++out_.samples[std::move(kind)];
    }

    uint32_t frame(StackFrame frame) {
        const auto [entry, fresh] =
            frame_places_.try_emplace(std::move(frame), static_cast<uint32_t>(out_.frames.size()));
        if (fresh) out_.frames.push_back(entry->first);
        return entry->second;
    }

    void add_stack(uint32_t pid, const SampleKind &kind, const std::vector<uint64_t> &callers) {
        std::vector<uint32_t> stack;
        for (const uint64_t caller : callers) {
            const std::optional<Place> place = places_.find(pid, caller - 1);
            if (!place) break; // no code: the frame pointer was none
            stack.push_back(frame({function(*place), place->path, places_.in_allocator(*place)}));
        }
        if (stack.empty()) ++out_.uncalled;
        std::reverse(stack.begin(), stack.end());
        stack.push_back(frame({kind.function, kind.path, kind.inside}));
        if (kind.kernel) {
            stack.push_back(
                frame({kind.call == kNoCall ? "[kernel]" : "[call " + std::to_string(kind.call) + "]",
                       "[kernel]", kind.inside}));
        }
        if (out_.stacks.size() < kMostStacks || out_.stacks.contains(stack)) ++out_.stacks[std::move(stack)];
    }

    bool in_file(uint32_t pid, uint64_t address) const {
        const auto known = file_ranges_.find(pid);
        if (known == file_ranges_.end()) return false;
        const auto after = known->second.upper_bound(address);
        return after != known->second.begin() && address < std::prev(after)->second;
    }

    void fault(uint32_t pid, RecordReader &fields) {
        fields.varint(); // thread
        const uint64_t pointer = fields.varint();
        const uint64_t address = fields.varint();
        const uint64_t stack = fields.varint();
        fields.varint(); // period
        const std::vector<uint64_t> words = read_words(fields);
        if (!fields.good()) return;
        const std::optional<Place> place = places_.find(pid, pointer);
        if (place && in_recorder(*place)) return;
        Touched touched = Touched::heap;
        if (place && places_.called_by_allocator(pid, *place, words)) {
            touched = Touched::allocator;
        } else if (address + kBelowStack >= stack && address < stack + kAboveStack) {
            touched = Touched::stack;
        } else if (places_.find(pid, address) || in_file(pid, address)) {
            touched = Touched::file;
        }
        ++out_.faults[touched];
    }

    void call(uint32_t pid, RecordReader &fields) {
        fields.varint(); // thread
        CallKind kind;
        kind.number = fields.varint();
        const uint64_t pointer = fields.varint();
        const std::vector<uint64_t> words = read_words(fields);
        if (!fields.good()) return;
        const std::optional<Place> place = places_.find(pid, pointer);
        if (place) kind.caller = caller(pid, *place, words);
        ++out_.calls[kind];
    }

    // The nearest of the allocator and the recorder on the stack: each calls the other.
    Caller caller(uint32_t pid, const Place &place, const std::vector<uint64_t> &words) {
        if (in_recorder(place)) return Caller::recorder;
        if (places_.in_allocator(place)) return Caller::allocator;
        for (const uint64_t word : words) {
            const std::optional<Place> found = places_.find(pid, word);
            if (found && in_recorder(*found)) return Caller::recorder;
            if (found && places_.in_allocator(*found)) return Caller::allocator;
        }
        return Caller::others;
    }

    void wait(uint64_t ticks, uint32_t pid, RecordReader &fields) {
        const uint64_t thread = fields.varint();
        WaitKind kind;
        kind.state = static_cast<char>(fields.varint());
        const uint64_t number = fields.varint();
        kind.call = number == 0 ? kNoCall : static_cast<int64_t>(number) - 1;
        kind.what = fields.varint();
        const uint64_t pointer = fields.varint();
        const std::vector<uint64_t> words = read_words(fields);
        if (!fields.good()) return;
        if (kind.state == 'R') {
            runs_ = true;
            out_.turns.see(pid, thread, true, false);
            return;
        }
        const std::optional<Place> place = places_.find(pid, pointer);
        const bool parked = kind.call == kFutex && place && of_runtime(pid, *place, words);
        if (parked) kind.what = REAP_WAITED_OTHER;
        const bool waits = kind.call == kFutex && !parked;
        out_.turns.see(pid, thread, false, waits);
        if (waits) awaited_.waited(pid, ticks, kind.what == REAP_WAITED_LOCK ? Awaits::lock : Awaits::other);
        kind.allocator = place && places_.called_by_allocator(pid, *place, words);
        ++out_.waits[kind];
    }

    // Go parks idle threads as others wait for locks, and so does the JVM.
    bool of_runtime(uint32_t pid, const Place &place, const std::vector<uint64_t> &words) {
        if (function(place).starts_with("runtime.")) return true;
        return std::any_of(words.begin(), words.end(), [&](uint64_t word) {
            const std::optional<Place> caller = places_.find(pid, word);
            return caller && base_name(caller->path).starts_with("libjvm");
        });
    }

    void poll(RecordReader &fields) {
        const uint64_t processes = fields.varint();
        const uint64_t threads = fields.varint();
        if (!fields.good()) return;
        ++out_.polls;
        out_.busy_polls += runs_ ? 1 : 0;
        runs_ = false;
        out_.turns.end_poll();
        out_.most_processes = std::max(out_.most_processes, processes);
        out_.most_threads = std::max(out_.most_threads, threads);
    }

    void memory(uint64_t ticks, uint32_t pid, RecordReader &fields) {
        const uint64_t peak = fields.varint();
        const uint64_t heap = fields.varint();
        const uint64_t lazy = fields.varint();
        if (!fields.good() || peak == 0) return;
        const bool known = heap > 0 && lazy > 0;
        out_.memory.push_back({ticks, pid, peak - 1, known ? heap - 1 : 0, known ? lazy - 1 : 0, known});
    }

    void last_words(RecordReader &fields) {
        for (Source *source : {&out_.sampled, &out_.faulted, &out_.called}) {
            source->error = fields.varint();
            source->lost = fields.varint();
        }
        out_.ended = fields.good();
    }

    Places places_;
    Symbolizer &symbols_;
    std::string recorder_;
    Code code_;
    std::map<std::pair<std::string, uint64_t>, std::string> functions_;
    std::map<StackFrame, uint32_t> frame_places_;
    std::map<uint32_t, std::map<uint64_t, uint64_t>> file_ranges_;
    AwaitedThreads awaited_;
    Watched out_;
    bool runs_ = false; // whether some thread of the current poll does
};

} // namespace

Watched read_watched(BlockFile &file, const Definitions &definitions, Symbolizer &symbols,
                     const std::string &recorder, const Allocators &allocators) {
    Reader reader(definitions, symbols, recorder, allocators, file.header().ticks_per_second);
    each_record(file, [&](uint8_t tag, uint64_t, uint32_t pid, const RecordReader &fields) {
        reader.first_pass(tag, pid, fields);
    });
    each_record(file, [&](uint8_t tag, uint64_t ticks, uint32_t pid, const RecordReader &fields) {
        reader.second_pass(tag, ticks, pid, fields);
    });
    return reader.finish();
}

} // namespace reap::native
