#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

namespace detail {

/// Writes one JSON object of numbers and plain words into a caller's buffer. Output that does not fit is
/// counted, not written.
class JsonObject {
  public:
    JsonObject(char *buffer, std::size_t size) noexcept : buffer_(buffer), size_(size) {}

    void add(const char *name, std::uint64_t value) noexcept {
        begin(name);
        char digits[20]; // as many as 64 bits can need
        const char *const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
        for (const char *at = digits; at != end; ++at) put(*at);
    }
    /// Neither name nor word may contain characters that JSON requires to be escaped.
    void add(const char *name, const char *word) noexcept {
        begin(name);
        put_quoted(word);
    }
    /// Ends the object, and null-terminates the text. Returns the length without the null, truncated or not.
    [[nodiscard]] std::size_t end() noexcept {
        if (length_ == 0) put('{');
        put('}');
        if (size_ > 0) buffer_[std::min(length_, size_ - 1)] = '\0';
        return length_;
    }

  private:
    void begin(const char *name) noexcept {
        put(length_ == 0 ? '{' : ',');
        put_quoted(name);
        put(':');
    }
    void put_quoted(const char *word) noexcept {
        put('"');
        for (; *word != '\0'; ++word) put(*word);
        put('"');
    }
    void put(char character) noexcept {
        if (length_ + 1 < size_) buffer_[length_] = character;
        ++length_;
    }

    char *buffer_;
    std::size_t size_;
    std::size_t length_ = 0; // of all output, written or not
};

/// Calls use(name, value) for each member of a layer's statistics.
template <class Statistics, class Use>
constexpr void each_figure(const Statistics &of, Use use) noexcept {
    if constexpr (requires { of.held; }) use("held", of.held);
    if constexpr (requires { of.used; }) use("used", of.used);
    if constexpr (requires { of.live; }) use("live", of.live);
    if constexpr (requires { of.free; }) use("free", of.free);
    if constexpr (requires { of.largest_hole; }) use("largest_hole", of.largest_hole);
    if constexpr (requires { of.spare; }) use("spare", of.spare);
    if constexpr (requires { of.chunks; }) use("chunks", of.chunks);
    if constexpr (requires { of.large; }) use("large", of.large);
    if constexpr (requires { of.purged; }) use("purged", of.purged);
    if constexpr (requires { of.large_objects; }) use("large_objects", of.large_objects);
    if constexpr (requires { of.pieces; }) use("pieces", of.pieces);
    if constexpr (requires { of.mappings; }) use("mappings", of.mappings);
    if constexpr (requires { of.threads; }) use("threads", of.threads);
    if constexpr (requires { of.objects; }) use("objects", of.objects);
    if constexpr (requires { of.records; }) use("records", of.records);
    if constexpr (requires { of.allocations; }) use("allocations", of.allocations);
    if constexpr (requires { of.deallocations; }) use("deallocations", of.deallocations);
    if constexpr (requires { of.failures; }) use("failures", of.failures);
    if constexpr (requires { of.bytes; }) use("bytes", of.bytes);
    if constexpr (requires { of.live_blocks; }) use("live_blocks", of.live_blocks);
    if constexpr (requires { of.live_bytes; }) use("live_bytes", of.live_bytes);
    if constexpr (requires { of.peak_bytes; }) use("peak_bytes", of.peak_bytes);
}

} // namespace detail

/// Writes the statistics of any layer or source as one JSON object:
///
///     char text[512];
///     reap::to_json(region.statistics(), text, sizeof text);   // {"held":8192,"used":100,...}
///
/// Each member is a key, its value an unsigned number; all are present, in a fixed order, without spaces.
/// Returns the length of the whole text, as snprintf() does: if that is not less than `size`, the text was
/// truncated. It is null-terminated in either case, unless `size` is 0. 256 bytes are enough for any layer
/// here. Allocates nothing; linear in the length.
template <class Statistics>
std::size_t to_json(const Statistics &statistics, char *buffer, std::size_t size) noexcept {
    constexpr std::size_t written = [] {
        std::size_t bytes = 0;
        detail::each_figure(Statistics{}, [&bytes](const char *, auto value) { bytes += sizeof value; });
        return bytes;
    }();
    static_assert(written == sizeof(Statistics), "a member has no name in each_figure(), or is no number");
    detail::JsonObject object(buffer, size);
    detail::each_figure(statistics,
                        [&object](const char *name, std::uint64_t value) { object.add(name, value); });
    return object.end();
}

} // namespace reap::inline REAP_MODE
