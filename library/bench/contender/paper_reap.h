#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include "reap/core/failure.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/layer/region.h"
#include "reap/source/cached_pages.h"

// The reap of 2002 (Berger, Zorn, McKinley, OOPSLA 2002, figure 3), put together from our layers as theirs
// was from Heap Layers. It is what reap::Reap is measured against, and kept small: no checked mode, no
// growing in place.
//
//   theirs                                       here
//   NestedHeap                                   Region::nest()
//   ClearOptimizedHeap                           ClearOptimized: region until the first free, then heap
//     CoalesceableHeap                           Coalesceable: a boundary tag in front of each object
//       RegionHeap                               reap::Region, chunks growing from 8 KB
//     LeaHeap                                    Bins: freed objects by size, merged with free neighbours

namespace bench::paper {

/// In front of each object, 8 bytes: how far the neighbours are, and whether they are there.
struct alignas(8) Tag {
    std::uint32_t before = 0; ///< bytes of the block before, its tag included; 0: there is none
    std::uint32_t size_and_flags = 0;

    static constexpr std::uint32_t free = 1;
    static constexpr std::uint32_t has_next = 2;
    static constexpr std::uint32_t flags = 7;

    [[nodiscard]] std::size_t size() const noexcept { return size_and_flags & ~flags; }
    [[nodiscard]] bool is_free() const noexcept { return (size_and_flags & free) != 0; }
    [[nodiscard]] Tag *next() noexcept { return (size_and_flags & has_next) != 0 ? at(size()) : nullptr; }
    [[nodiscard]] Tag *previous() noexcept { return before != 0 ? at(0 - std::size_t{before}) : nullptr; }

    /// Changes how long the block is; the one behind it is told.
    void resize(std::size_t size) noexcept {
        size_and_flags = static_cast<std::uint32_t>(size) | (size_and_flags & flags);
        if (Tag *const after = next()) after->before = static_cast<std::uint32_t>(size);
    }
    [[nodiscard]] Tag *at(std::size_t distance) noexcept {
        return reinterpret_cast<Tag *>(reinterpret_cast<std::byte *>(this) + distance);
    }
};

/// Adds a tag to each object of a region. Objects of 4 GB and more are refused.
template <class Region>
class Coalesceable {
  public:
    explicit Coalesceable(Region &region) noexcept : region_(region) {}

    /// A block with its tag, at least `size` bytes in all: a multiple of 8.
    Tag *try_allocate(std::size_t size) noexcept {
        void *const data = region_.try_allocate(size, alignof(Tag));
        if (data == nullptr) return nullptr;
        Tag *const tag = ::new (data) Tag;
        tag->size_and_flags = static_cast<std::uint32_t>(size);
        if (newest_ != nullptr && newest_->at(newest_->size()) == tag) {
            newest_->size_and_flags |= Tag::has_next;
            tag->before = static_cast<std::uint32_t>(newest_->size());
        }
        newest_ = tag;
        return tag;
    }
    /// `into` took the block in that was behind it.
    void merged(Tag *into, const Tag *gone) noexcept {
        if (newest_ == gone) newest_ = into;
    }
    /// `rest` was cut off from the end of `block`.
    void split(const Tag *block, Tag *rest) noexcept {
        if (newest_ == block) newest_ = rest;
    }
    void forget() noexcept { newest_ = nullptr; }

  private:
    Region &region_;
    Tag *newest_ = nullptr;
};

/// Freed blocks: a list for each size up to 512 B, one for each power of two above, and a bit for each that
/// is not empty. A large list is searched for what fits best.
class Bins {
  public:
    [[nodiscard]] bool empty() const noexcept { return filled_[0] == 0 && filled_[1] == 0; }
    void clear() noexcept { filled_ = {}; }

    void insert(Tag *tag) noexcept {
        const std::size_t bin = bin_of(tag->size());
        const std::uint64_t bit = std::uint64_t{1} << bin % 64;
        Link *const next = (filled_[bin / 64] & bit) != 0 ? heads_[bin] : nullptr;
        auto *const link = ::new (tag + 1) Link{next, nullptr};
        if (next != nullptr) next->previous = link;
        heads_[bin] = link;
        filled_[bin / 64] |= bit;
    }
    void remove(Tag *tag) noexcept {
        const auto *const link = std::launder(reinterpret_cast<Link *>(tag + 1));
        if (link->next != nullptr) link->next->previous = link->previous;
        if (link->previous != nullptr) {
            link->previous->next = link->next;
            return;
        }
        const std::size_t bin = bin_of(tag->size());
        heads_[bin] = link->next;
        if (link->next == nullptr) filled_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
    }
    /// The smallest block of at least `size` bytes, which stays where it is; or null.
    [[nodiscard]] Tag *find(std::size_t size) const noexcept {
        for (std::size_t bin = next_filled(bin_of(size)); bin < bins; bin = next_filled(bin + 1)) {
            Tag *best = nullptr;
            for (Link *link = heads_[bin]; link != nullptr; link = link->next) {
                Tag *const tag = reinterpret_cast<Tag *>(link) - 1;
                if (tag->size() < size || (best != nullptr && tag->size() >= best->size())) continue;
                best = tag;
                if (bin < small) break; // all of one size
            }
            if (best != nullptr) return best;
        }
        return nullptr;
    }

  private:
    struct Link {
        Link *next;
        Link *previous;
    };
    static constexpr std::size_t small = 65; // by eights, up to 512
    static constexpr std::size_t bins = 128;

    static std::size_t bin_of(std::size_t size) noexcept {
        return size <= 512 ? size / 8 : small + static_cast<std::size_t>(std::bit_width(size) - 10);
    }
    [[nodiscard]] std::size_t next_filled(std::size_t bin) const noexcept {
        for (; bin < bins; bin = (bin / 64 + 1) * 64) {
            if (const std::uint64_t rest = filled_[bin / 64] >> bin % 64; rest != 0)
                return bin + static_cast<std::size_t>(std::countr_zero(rest));
        }
        return bins;
    }

    std::array<Link *, bins> heads_; // only those whose bit is set have a value: a short life zeroes none
    std::array<std::uint64_t, bins / 64> filled_{};
};

/// Bumps as long as nothing was freed; from the first free on looks among the freed objects, until there is
/// none.
template <reap::Source Upstream = reap::CachedPages>
class ClearOptimized {
  public:
    ClearOptimized()
        requires std::default_initializable<Upstream>
    = default;
    explicit ClearOptimized(Upstream source) : region_(source) {}
    ClearOptimized(const ClearOptimized &) = delete;
    ClearOptimized &operator=(const ClearOptimized &) = delete;
    ~ClearOptimized() = default;

    /// An object aligned to 8, or null.
    void *try_allocate(std::size_t size) noexcept {
        if (size > largest) return nullptr;
        const std::size_t whole = size < least ? least + sizeof(Tag) : reap::round_up(size, 8) + sizeof(Tag);
        Tag *tag = nothing_on_heap_ ? nullptr : reuse(whole);
        if (tag == nullptr) tag = tagged_.try_allocate(whole);
        return tag == nullptr ? nullptr : tag + 1;
    }
    void *allocate(std::size_t size) {
        void *const object = try_allocate(size);
        return object != nullptr ? object : reap::fail<reap::Failure::throws>();
    }
    /// Null is none.
    void deallocate(void *object) noexcept {
        if (object == nullptr) return;
        nothing_on_heap_ = false;
        Tag *tag = static_cast<Tag *>(object) - 1;
        if (Tag *const next = tag->next(); next != nullptr && next->is_free()) {
            heap_.remove(next);
            absorb(tag, next);
        }
        if (Tag *const previous = tag->previous(); previous != nullptr && previous->is_free()) {
            heap_.remove(previous);
            absorb(previous, tag);
            tag = previous;
        }
        tag->size_and_flags |= Tag::free;
        heap_.insert(tag);
    }
    void reset() noexcept {
        if (!heap_.empty()) heap_.clear();
        nothing_on_heap_ = true;
        tagged_.forget();
        region_.reset();
    }

  private:
    static constexpr std::size_t least = 16; // for the links of a freed one
    static constexpr std::size_t largest = std::numeric_limits<std::uint32_t>::max() / 2;

    Tag *reuse(std::size_t whole) noexcept {
        Tag *const tag = heap_.find(whole);
        if (tag == nullptr) {
            nothing_on_heap_ = heap_.empty();
            return nullptr;
        }
        heap_.remove(tag);
        tag->size_and_flags &= ~Tag::free;
        if (const std::size_t rest = tag->size() - whole; rest >= least + sizeof(Tag)) {
            Tag *const cut = ::new (tag->at(whole)) Tag;
            cut->size_and_flags = (tag->size_and_flags & Tag::has_next) | Tag::free;
            cut->resize(rest);
            tagged_.split(tag, cut);
            tag->size_and_flags |= Tag::has_next;
            tag->resize(whole);
            heap_.insert(cut);
        }
        return tag;
    }
    /// Makes the block behind `into` a part of it.
    void absorb(Tag *into, Tag *gone) noexcept {
        const std::size_t whole = into->size() + gone->size();
        if (gone->next() == nullptr) into->size_and_flags &= ~Tag::has_next;
        tagged_.merged(into, gone);
        into->resize(whole);
    }

    reap::Region<Upstream, alignof(Tag)> region_;
    Coalesceable<reap::Region<Upstream, alignof(Tag)>> tagged_{region_};
    Bins heap_;
    bool nothing_on_heap_ = true;
};

/// The reap of 2002.
template <reap::Source Upstream = reap::CachedPages>
using Reap = ClearOptimized<Upstream>;

} // namespace bench::paper
