#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/testkit/failing_source.h"

// Allocators with one fault each, for the kit to find: it has to be seen to find something.

namespace reap::test {

enum class Fault : unsigned char {
    none,
    overlaps,         ///< every hundredth object reaches into the next
    misaligns,        ///< aligns the offset and not the address
    wraps,            ///< adds before it compares
    forgets_to_throw, ///< returns null where it has to throw
    owns_too_much,    ///< says of everything that it owns it
    scribbles,        ///< writes its own bookkeeping into live memory when something is freed
    leaks,            ///< never gives the third block back
    gives_back_wrong, ///< tells the source another size
    loses_on_failure, ///< a failed request of the source loses the object before
    shrinks_wrong,    ///< says that it resized what it has no room for
    rewinds_too_far,  ///< a rewind also ends the object before the mark
};

/// A simple one: each object is a block of the source. The fault is built in on top.
class Broken {
  public:
    Broken(testkit::FailingSource<> &upstream, Fault fault) : upstream_(upstream), fault_(fault) {}
    Broken(const Broken &) = delete;
    Broken &operator=(const Broken &) = delete;
    ~Broken() { reset(); }

    Allocation allocate(std::size_t size, std::size_t alignment) {
        if (!is_alignment(alignment)) return {};
        const std::size_t whole = size + room;
        if (fault_ == Fault::wraps ? whole > largest : size > largest) return {};
        void *const data = upstream_.try_allocate(whole, alignment);
        if (data == nullptr) {
            if (fault_ == Fault::loses_on_failure && !blocks_.empty()) blocks_.back().at[0] = std::byte{7};
            return {};
        }
        std::size_t shift = 0;
        if (fault_ == Fault::misaligns && alignment == 64) shift = 32;
        blocks_.push_back({static_cast<std::byte *>(data), size, alignment, shift});
        if (fault_ == Fault::overlaps && blocks_.size() % 10 == 0)
            return {blocks_[blocks_.size() - 2].at, size};
        return {blocks_.back().at + shift, std::max(size, std::size_t{1})};
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment) {
        const Allocation got = allocate(size, alignment);
        if (got.data == nullptr && fault_ != Fault::forgets_to_throw) throw std::bad_alloc();
        return got;
    }
    void deallocate(void *data, std::size_t /*size*/, std::size_t /*alignment*/) {
        const auto found =
            std::ranges::find_if(blocks_, [&](auto &one) { return one.at + one.shift == data; });
        if (found == blocks_.end()) return;
        give_back(*found);
        blocks_.erase(found);
        if (fault_ == Fault::scribbles && !blocks_.empty()) *blocks_.front().at = std::byte{9};
    }
    bool resize(void *data, std::size_t /*old_size*/, std::size_t new_size, std::size_t /*alignment*/) {
        const auto found =
            std::ranges::find_if(blocks_, [&](auto &one) { return one.at + one.shift == data; });
        if (fault_ != Fault::shrinks_wrong || found == blocks_.end() || new_size > found->size + room)
            return false;
        found->at[0] = std::byte{3};
        return true;
    }
    bool owns(const void *address) {
        if (fault_ == Fault::owns_too_much) return true;
        return std::ranges::any_of(
            blocks_, [&](auto &one) { return address >= one.at && address < one.at + one.size + room; });
    }
    std::size_t mark() {
        marks_.push_back(blocks_.size());
        return marks_.size() - 1;
    }
    bool rewind(std::size_t number) {
        // The blocks are in order only while none was freed: marks are for those who free none.
        std::size_t keep = std::min(marks_[number], blocks_.size());
        if (fault_ == Fault::rewinds_too_far && keep > 0) {
            --keep;
            *blocks_[keep].at = std::byte{1};
        }
        return true;
    }
    void reset() {
        for (std::size_t at = 0; at < blocks_.size(); ++at) {
            if (fault_ != Fault::leaks || at != 2) give_back(blocks_[at]);
        }
        blocks_.clear();
    }

  private:
    static constexpr std::size_t room = 64;
    static constexpr std::size_t largest = max_object / 8;
    struct Block {
        std::byte *at;
        std::size_t size;
        std::size_t alignment;
        std::size_t shift;
    };
    void give_back(const Block &block) {
        const std::size_t whole = block.size + room - (fault_ == Fault::gives_back_wrong ? 1 : 0);
        upstream_.deallocate(block.at, whole, block.alignment);
    }

    testkit::FailingSource<> &upstream_;
    Fault fault_;
    std::vector<Block> blocks_;
    std::vector<std::size_t> marks_;
};

[[nodiscard]] inline testkit::Factory broken(Fault fault) {
    return testkit::factory([fault](testkit::FailingSource<> &upstream) { return Broken(upstream, fault); });
}

} // namespace reap::test
