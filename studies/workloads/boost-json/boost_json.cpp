// Repeatedly parses a JSON text into a document, walks it, changes it and writes it. Each document has a
// monotonic_resource, Boost.JSON's region: nothing in it is freed individually.
//
// Naive: the default storage, operator new and delete for each object, array and string. Reap: a reap::Region
// as the storage. Scale: passes.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

// The library's sources, compiled with the program's options.
#include <boost/json/src.hpp>

#include <reap/layer/region.h>
#include <reap/mark.h>
#include <reap/source/malloc.h>

#include "common/json_text.h"
#include "common/workload.h"

namespace json = boost::json;

namespace {

constexpr std::size_t orders = 9000;

/// A region as Boost.JSON's storage; it ignores deallocations.
class RegionResource final : public json::memory_resource {
  public:
    void reset() noexcept { region_.reset(); }

  private:
    void *do_allocate(std::size_t size, std::size_t alignment) override {
        return region_.allocate(size, alignment);
    }
    void do_deallocate(void *object, std::size_t size, std::size_t alignment) override {
        region_.deallocate(object, size, alignment);
    }
    [[nodiscard]] bool do_is_equal(const json::memory_resource &other) const noexcept override {
        return this == &other;
    }

    reap::Region<reap::Malloc, 8> region_;
};

/// The program's own, which reports what it allocates.
class MarkedResource final : public json::memory_resource {
  public:
    MarkedResource() { reap_mark_pool_create(this, "monotonic_resource"); }
    MarkedResource(const MarkedResource &) = delete;
    MarkedResource &operator=(const MarkedResource &) = delete;
    ~MarkedResource() final { reap_mark_pool_destroy(this); }

  private:
    void *do_allocate(std::size_t size, std::size_t alignment) override {
        void *const object = resource_.allocate(size, alignment);
        reap_mark_pool_alloc(this, object, size);
        return object;
    }
    void do_deallocate(void * /*object*/, std::size_t /*size*/, std::size_t /*alignment*/) override {}
    [[nodiscard]] bool do_is_equal(const json::memory_resource &other) const noexcept override {
        return this == &other;
    }

    json::monotonic_resource resource_;
};
using Own = std::conditional_t<REAP_MARK_POOLS, MarkedResource, json::monotonic_resource>;

} // namespace

template <>
struct boost::json::is_deallocate_trivial<RegionResource> {
    static constexpr bool value = true;
};
template <>
struct boost::json::is_deallocate_trivial<MarkedResource> {
    static constexpr bool value = true;
};

namespace {

/// The sum of all numbers and strings in a value.
std::uint64_t sum(const json::value &value) {
    switch (value.kind()) {
    case json::kind::object: {
        std::uint64_t total = 0;
        for (const auto &member : value.get_object()) total += member.key().size() + sum(member.value());
        return total;
    }
    case json::kind::array: {
        std::uint64_t total = 0;
        for (const auto &each : value.get_array()) total = total * 3 + sum(each);
        return total;
    }
    case json::kind::string:
        return value.get_string().size();
    case json::kind::int64:
        return static_cast<std::uint64_t>(value.get_int64());
    default:
        return 1;
    }
}

void pass(const std::string &text, const json::storage_ptr &storage, workload::Checksum &checksum) {
    json::value document = json::parse(text, storage);
    checksum.add(sum(document));
    for (auto &each : document.get_array()) {
        json::object &order = each.get_object();
        std::int64_t total = 0;
        json::array parts(storage);
        for (const auto &item : order["items"].get_array()) {
            const json::object &fields = item.get_object();
            total += fields.at("count").get_int64() * fields.at("price").get_int64();
            parts.push_back(fields.at("part"));
        }
        order.emplace("total", total);
        order.emplace("parts", std::move(parts));
    }
    checksum.add(sum(document));
    const std::string out = json::serialize(document);
    for (std::size_t at = 0; at + 8 <= out.size(); at += 512) {
        std::uint64_t word = 0;
        std::memcpy(&word, out.data() + at, sizeof word);
        checksum.add(word);
    }
    checksum.add(out.size());
}

} // namespace

// An exception ends the program: the text is its own, so only memory can run out.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int count, char **words) {
    workload::Options options{.scale = 20, .may_reap = true};
    if (!workload::read(count, words, options)) return 2;
    const std::string text = workload::json_text(orders);
    workload::Checksum checksum;
    RegionResource ours; // one for all documents, reset after each: it keeps its chunks
    for (std::size_t n = 0; n < options.scale; ++n) {
        if (options.naive) {
            pass(text, json::storage_ptr(), checksum);
        } else if (options.reap) {
            pass(text, json::storage_ptr(&ours), checksum);
            ours.reset();
        } else {
            pass(text, json::make_shared_resource<Own>(), checksum);
        }
    }
    std::printf("%zu passes over %zu bytes\n", options.scale, text.size());
    workload::print(checksum);
    return 0;
}
