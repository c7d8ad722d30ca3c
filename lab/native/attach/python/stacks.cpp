#include "attach/python/stacks.h"

#include <cstring>
#include <optional>

namespace reap::native {
namespace {

uint8_t byte_of(const SampledFrame &frame, size_t offset) noexcept {
    return static_cast<uint8_t>(frame.kind >> 8 * (offset - kPythonKind));
}

bool is_of_c(const format::PythonLayout &layout, const SampledFrame &frame) noexcept {
    return layout.frame_owner != 0 && byte_of(frame, layout.frame_owner) == format::kPythonOwnedByC;
}

// A word on the C stack; 0 where that was not copied.
uint64_t word_on_stack(const ProbeSample &sample, uint64_t address) noexcept {
    const uint64_t distance = address - sample.registers[ProbeSample::kSp];
    const uint64_t size = uint64_t{sample.chunks} * kStackChunk;
    uint64_t word = 0;
    if (distance < size && size - distance >= sizeof word)
        std::memcpy(&word, sample.stack + distance, sizeof word);
    return word;
}

// Which call of the interpreter executes each function, as the recorder in a process finds it
// (preload/record/python). Of 3.11:
void place_by_flags(const format::PythonLayout &layout, const ProbeSample &sample,
                    const std::vector<const SampledFrame *> &sampled,
                    std::vector<format::PythonFrame> &frames) {
    uint64_t call = sample.python_call;
    for (const SampledFrame *each : sampled) {
        const bool entry = byte_of(*each, layout.frame_entry) != 0;
        frames.push_back({each->frame, each->code, each->instruction, call, entry});
        if (entry && call != 0) call = word_on_stack(sample, call + layout.cframe_previous);
    }
}

// Of later versions: `sampled` has null for a frame of C, and `sample` says where that lies.
void place_by_owners(const ProbeSample &sample, const std::vector<const SampledFrame *> &sampled,
                     std::vector<format::PythonFrame> &frames) {
    size_t placed = 0;
    for (size_t at = 0; at < sampled.size(); ++at) {
        if (sampled[at] != nullptr) {
            frames.push_back({sampled[at]->frame, sampled[at]->code, sampled[at]->instruction, 0, false});
            continue;
        }
        if (placed != frames.size()) frames.back().entry = true;
        for (; placed != frames.size(); ++placed) frames[placed].call = sample.python[at].frame;
    }
}

} // namespace

PythonStacks::PythonStacks(Target &target, bool wanted) : process_(target.process()) {
    if (!wanted) return;
    std::optional<PythonInterpreter> found = find_python(target);
    if (!found) return;
    python_ = *found;
    if (!python_.unknown) codes_ = std::make_unique<PythonCodes>(python_, process_);
}

const PythonPlaces *PythonStacks::places() const noexcept {
    return codes_ != nullptr ? &python_.places : nullptr;
}

void PythonStacks::refuse(reap_unknown_code why) noexcept {
    if (codes_ == nullptr) return;
    codes_.reset();
    python_.unknown = why;
}

uint64_t PythonStacks::main_thread() const {
    return codes_ != nullptr ? kept_main_thread(python_, process_) : 0;
}

void PythonStacks::see(const ProbeSample &sample) {
    if (codes_ == nullptr) return;
    for (uint32_t at = 0; at < sample.python_count; ++at) {
        if (!is_of_c(python_.places.layout, sample.python[at])) (void)codes_->find(sample.python[at]);
    }
    if (codes_->refused()) refuse(REAP_UNKNOWN_MEMORY);
}

void PythonStacks::note(AttachedRecording &recording) {
    if (noted_ || !python_.unknown) return;
    noted_ = true;
    recording.note_python(python_.version, *python_.unknown);
}

const std::vector<uint64_t> &PythonStacks::merge(const ProbeSample &sample, const Unwinder::Stack &stack,
                                                 AttachedRecording &recording) {
    note(recording);
    if (codes_ == nullptr || sample.python_count == 0) return stack.callers;
    const format::PythonLayout &layout = python_.places.layout;
    sampled_.clear();
    frames_.clear();
    for (uint32_t at = 0; at < sample.python_count; ++at)
        sampled_.push_back(is_of_c(layout, sample.python[at]) ? nullptr : &sample.python[at]);
    if (layout.frame_owner == 0) {
        place_by_flags(layout, sample, sampled_, frames_);
    } else {
        place_by_owners(sample, sampled_, frames_);
        std::erase(sampled_, nullptr);
    }
    ranges_.resize(stack.callers.size());
    if (!format::place_python(frames_.data(), frames_.size(), stack.begins.data(), ranges_.size(),
                              ranges_.data()))
        return stack.callers;
    merged_.clear();
    for (size_t at = 0; at < ranges_.size(); ++at) {
        const format::PythonRange range = ranges_[at];
        if (range.end == 0) merged_.push_back(stack.callers[at]);
        for (size_t frame = range.begin; frame != range.end; ++frame)
            merged_.push_back(location(*sampled_[frame], recording));
    }
    return merged_;
}

// As an address of a stack.
uint64_t PythonStacks::location(const SampledFrame &frame, AttachedRecording &recording) {
    const PythonCode *code = codes_->find(frame);
    const uint32_t line = code != nullptr ? code->line_of(frame.instruction) : 0;
    const auto [known, fresh] = locations_.try_emplace({code, line}, 0);
    if (fresh) {
        static const PythonCode gone{0, 0, "(unknown Python function)", {}, {}};
        const PythonCode &named = code != nullptr ? *code : gone;
        known->second = recording.python(named.function, named.file, line);
    }
    return REAP_PYTHON_FRAME | known->second;
}

} // namespace reap::native
