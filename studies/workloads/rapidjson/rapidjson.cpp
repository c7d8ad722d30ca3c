// Repeatedly parses a JSON text into a document, walks it, changes it and writes it. RapidJSON gives each
// document a MemoryPoolAllocator, a region: values are never freed individually.
//
// Naive: CrtAllocator, RapidJSON's name for malloc and free. Reap: a reap::Region through the same template
// argument. Scale: passes.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <reap/layer/region.h>
#include <reap/mark.h>
#include <reap/source/malloc.h>

#include "common/json_text.h"
#include "common/workload.h"

namespace {

constexpr std::size_t orders = 9000;

/// A region as an allocator of RapidJSON's concept.
class RegionAllocator {
  public:
    static constexpr bool kNeedFree = false;
    static constexpr bool kRefCounted = false;

    void *Malloc(std::size_t size) { return size == 0 ? nullptr : region_.allocate(size); }
    void *Realloc(void *old, std::size_t old_size, std::size_t size) {
        if (old == nullptr) return Malloc(size);
        if (size <= old_size || region_.resize(old, old_size, size)) return old;
        void *const larger = region_.allocate(size);
        std::memcpy(larger, old, old_size);
        return larger;
    }
    static void Free(void * /*object*/) {}
    static void reset() { region_.reset(); }

  private:
    // One for all documents, reset after each, so that it keeps its chunks. MemoryPoolAllocator only keeps a
    // buffer of fixed size.
    static inline reap::Region<reap::Malloc, 8> region_;
};

/// The program's own, which reports what it allocates.
class MarkedAllocator : public rapidjson::MemoryPoolAllocator<> {
  public:
    MarkedAllocator() { reap_mark_pool_create(this, "MemoryPoolAllocator"); }
    MarkedAllocator(const MarkedAllocator &) = delete;
    MarkedAllocator &operator=(const MarkedAllocator &) = delete;
    ~MarkedAllocator() { reap_mark_pool_destroy(this); }

    void *Malloc(std::size_t size) {
        void *const object = MemoryPoolAllocator::Malloc(size);
        if (object != nullptr) reap_mark_pool_alloc(this, object, size);
        return object;
    }
    void *Realloc(void *old, std::size_t old_size, std::size_t size) {
        void *const object = MemoryPoolAllocator::Realloc(old, old_size, size);
        if (object == old && size <= old_size) return object;
        // The old storage stays until the document ends.
        if (object == old && old != nullptr) reap_mark_pool_free(this, old);
        if (object != nullptr) reap_mark_pool_alloc(this, object, size);
        return object;
    }
};
using Own = std::conditional_t<REAP_MARK_POOLS, MarkedAllocator, rapidjson::MemoryPoolAllocator<>>;

/// The sum of all numbers and strings in a value.
template <class Value>
std::uint64_t sum(const Value &value) {
    if (value.IsObject()) {
        std::uint64_t total = 0;
        for (const auto &member : value.GetObject())
            total += member.name.GetStringLength() + sum(member.value);
        return total;
    }
    if (value.IsArray()) {
        std::uint64_t total = 0;
        for (const auto &each : value.GetArray()) total = total * 3 + sum(each);
        return total;
    }
    if (value.IsString()) return value.GetStringLength();
    return value.IsUint() ? value.GetUint() : 1;
}

template <class Allocator>
void pass(const std::string &text, workload::Checksum &checksum) {
    using Document = rapidjson::GenericDocument<rapidjson::UTF8<>, Allocator>;
    using Value = typename Document::ValueType;
    Document document;
    document.Parse(text.data(), text.size());
    if (document.HasParseError()) std::abort(); // the text is ours
    auto &memory = document.GetAllocator();
    checksum.add(sum(static_cast<const Value &>(document)));
    for (auto &order : document.GetArray()) {
        std::uint64_t total = 0;
        Value parts(rapidjson::kArrayType);
        for (const auto &item : order["items"].GetArray()) {
            total += std::uint64_t{item["count"].GetUint()} * item["price"].GetUint();
            parts.PushBack(Value(item["part"], memory), memory);
        }
        order.AddMember("total", total, memory);
        order.AddMember("parts", parts, memory);
    }
    checksum.add(sum(static_cast<const Value &>(document)));
    rapidjson::StringBuffer out;
    rapidjson::Writer<rapidjson::StringBuffer> writer(out);
    document.Accept(writer);
    for (std::size_t at = 0; at + 8 <= out.GetSize(); at += 512) {
        std::uint64_t word = 0;
        std::memcpy(&word, out.GetString() + at, sizeof word);
        checksum.add(word);
    }
    checksum.add(out.GetSize());
}

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 20, .may_reap = true};
    if (!workload::read(count, words, options)) return 2;
    const std::string text = workload::json_text(orders);
    workload::Checksum checksum;
    for (std::size_t n = 0; n < options.scale; ++n) {
        if (options.naive)
            pass<rapidjson::CrtAllocator>(text, checksum);
        else if (options.reap) {
            pass<RegionAllocator>(text, checksum);
            RegionAllocator::reset();
        } else
            pass<Own>(text, checksum);
    }
    std::printf("%zu passes over %zu bytes\n", options.scale, text.size());
    workload::print(checksum);
    return 0;
}
