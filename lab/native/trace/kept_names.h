// The names of addresses that a trace has itself: REAP_TAG_STRING and REAP_TAG_NAMES.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/record_reader.h"

namespace reap::native {

// Of strings the numbers; 0 is the empty one.
struct KeptFrame {
    uint32_t function;
    uint32_t file;
    uint32_t line;
    bool inlined;
};

// The names of one build of a module: by address, where its frames begin and how many there are.
using KeptModule = std::unordered_map<uint64_t, std::pair<uint32_t, uint32_t>>;

// Memory is that of the records.
class KeptNames {
  public:
    // Take the fields of a record; fields that make no sense are skipped.
    void read_string(RecordReader &fields);
    void read_names(RecordReader &fields);

    // What is known of a module; null: nothing. Valid until more is read.
    [[nodiscard]] const KeptModule *module(const std::string &path, const std::string &build_id) const;
    [[nodiscard]] const KeptFrame *frames(uint32_t first) const noexcept { return frames_.data() + first; }
    [[nodiscard]] std::string_view string(uint32_t number) const;

    [[nodiscard]] const std::unordered_map<uint32_t, std::string> &strings() const noexcept {
        return strings_;
    }

    // The sums of REAP_NAMES_SAMPLES; null where there is no such record.
    using Samples = std::array<uint64_t, 6>;
    [[nodiscard]] const Samples *samples() const noexcept { return has_samples_ ? &samples_ : nullptr; }

  private:
    void read_address(RecordReader &fields);

    std::unordered_map<uint32_t, std::string> strings_;
    std::unordered_map<std::string, KeptModule> modules_; // by `key`
    std::vector<KeptFrame> frames_;
    Samples samples_{};
    bool has_samples_ = false;
};

} // namespace reap::native
