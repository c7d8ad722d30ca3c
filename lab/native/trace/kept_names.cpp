#include "trace/kept_names.h"

#include "reap_trace.h"

namespace reap::native {
namespace {

std::string key(std::string_view path, std::string_view build_id) {
    std::string out(path);
    out.push_back('\0');
    return out.append(build_id);
}

} // namespace

void KeptNames::read_string(RecordReader &fields) {
    const uint64_t number = fields.varint();
    const std::string_view text = fields.string();
    if (fields.good() && number != 0 && number <= UINT32_MAX)
        strings_.insert_or_assign(static_cast<uint32_t>(number), text);
}

void KeptNames::read_names(RecordReader &fields) {
    const uint64_t kind = fields.varint();
    if (kind == REAP_NAMES_ADDRESS) {
        read_address(fields);
    } else if (kind == REAP_NAMES_SAMPLES) {
        Samples samples{};
        for (uint64_t &sum : samples) sum = fields.varint();
        if (!fields.good()) return;
        samples_ = samples;
        has_samples_ = true;
    }
}

void KeptNames::read_address(RecordReader &fields) {
    const auto path = static_cast<uint32_t>(fields.varint());
    const auto build_id = static_cast<uint32_t>(fields.varint());
    const uint64_t address = fields.varint();
    const uint64_t count = fields.varint();
    const auto first = static_cast<uint32_t>(frames_.size());
    for (uint64_t i = 0; i < count && fields.good(); ++i) {
        const auto function = static_cast<uint32_t>(fields.varint());
        const auto file = static_cast<uint32_t>(fields.varint());
        const auto line = static_cast<uint32_t>(fields.varint());
        frames_.push_back({function, file, line, fields.varint() != 0});
    }
    const bool known = strings_.contains(path) && (build_id == 0 || strings_.contains(build_id));
    if (!fields.good() || count == 0 || count > UINT32_MAX || !known) {
        frames_.resize(first);
        return;
    }
    modules_[key(string(path), string(build_id))].insert_or_assign(
        address, std::pair(first, static_cast<uint32_t>(count)));
}

const KeptModule *KeptNames::module(const std::string &path, const std::string &build_id) const {
    const auto found = modules_.find(key(path, build_id));
    return found == modules_.end() ? nullptr : &found->second;
}

std::string_view KeptNames::string(uint32_t number) const {
    const auto found = strings_.find(number);
    return found == strings_.end() ? std::string_view() : std::string_view(found->second);
}

} // namespace reap::native
