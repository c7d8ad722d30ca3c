#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <malloc.h>

#include <reap/layer/locked.h>
#include <reap/layer/reap.h>
#include <reap/layer/region.h>
#include <reap/source/malloc.h>

// The three kinds of memory that are compared: a region, a reap, malloc. Each is asked the same, frees as far
// as it can, and says how many bytes it holds.

/// Chunks come from malloc. What is freed stays, unless it was allocated last.
class InRegion {
  public:
    void *allocate(std::size_t size) { return region_.allocate(size); }
    void deallocate(void *object, std::size_t size) { region_.deallocate(object, size); }
    [[nodiscard]] std::size_t held() {
        return region_.with([](Region &region) { return region.statistics().held; });
    }

  private:
    using Region = reap::Region<reap::Malloc>;
    reap::Locked<Region> region_;
};

class InReap {
  public:
    void *allocate(std::size_t size) { return reap_.allocate(size); }
    void deallocate(void *object, std::size_t size) { reap_.deallocate(object, size); }
    [[nodiscard]] std::size_t held() {
        return reap_.with([](Reap &reap) { return reap.statistics().held; });
    }

  private:
    using Reap = reap::Reap<reap::Malloc>;
    reap::Locked<Reap> reap_;
};

/// What it holds is known of glibc's alone, and is the whole program's.
class InMalloc {
  public:
    void *allocate(std::size_t size) {
        void *const object = reap::Malloc::try_allocate(size, alignof(std::max_align_t));
        if (object == nullptr) std::abort();
        return object;
    }
    void deallocate(void *object, std::size_t /*size*/) { reap::Malloc::deallocate(object); }
    [[nodiscard]] static std::size_t held() {
        const struct mallinfo2 known = mallinfo2();
        return known.arena + known.hblkhd;
    }
};

/// Any of them, with an account of what is asked for and not freed.
template <class Kind>
class Memory {
  public:
    void *allocate(std::size_t size) {
        live_ += size;
        return kind_.allocate(size);
    }
    void deallocate(void *object, std::size_t size) {
        live_ -= size;
        kind_.deallocate(object, size);
    }
    /// Another size for an object, elsewhere.
    void *reallocate(void *object, std::size_t old_size, std::size_t new_size) {
        void *const larger = allocate(new_size);
        if (object != nullptr) {
            std::memcpy(larger, object, std::min(old_size, new_size));
            deallocate(object, old_size);
        }
        return larger;
    }
    [[nodiscard]] std::size_t live() const { return live_; }
    [[nodiscard]] std::size_t held() { return kind_.held(); }

  private:
    Kind kind_;
    std::atomic<std::size_t> live_ = 0; // of both threads
};
