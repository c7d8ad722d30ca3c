#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/misuse.h"
#include "reap/core/mode.h"
#include "reap/core/seal.h"
#include "reap/core/size.h"

// Checked mode: the guard zones around each object, and the fill of free memory.
//
//   raw                                   p                    p + size
//   | unused (large alignments) | Header | the object's bytes | back zone |
//
// A layer's plain code handles raw blocks. In its public functions, in checked mode only, it asks for
// `padded(size)` bytes instead of `size`, and has a Ledger turn the raw block into the object and back:
//
//   void *p = ledger_.admit(raw, size, alignment, "Region");
//   if (!ledger_.discharge(p, size, owns(p), "Region")) return;   // a misuse, and it is reported
//   void *raw = guard::raw_of(p);
//
// Header and back zone are filled with known bytes, which are verified when the object ends. Free memory is
// filled as well, and verified when it is allocated again. Invalid writes are thus found without any tool, if
// late. With AddressSanitizer or memcheck built in, the same zones are poisoned, and reads are found too, at
// once.
//
// The first word of the Header is free for a layer's own link while the block is free. While the object lives
// it is the Header's seal, so that no overwritten link is followed.

namespace reap::inline REAP_MODE::guard {

/// Fill bytes of free memory, by how it was freed. Any two differ in more than one bit.
enum class Fill : unsigned char {
    fresh = 0xC5,   ///< never an object
    freed = 0xDB,   ///< freed by itself
    rewound = 0xE3, ///< a region was rewound past it
    reset = 0xF6,   ///< its layer was reset
};

/// Known bytes behind each object.
inline constexpr std::size_t back_zone = 16;

namespace detail {

struct Header {
    Seal seal;     // holds a layer's own link while the block is free
    Header *older; // in the ledger
    Header *newer;
    std::size_t size;
    std::uint32_t lead;  // offset of the object in the raw block
    std::uint32_t state; // live, ended, or anything else: not a header
    std::uint64_t zone;  // known bytes, directly before the object: other ones in each ledger

    [[nodiscard]] std::uint64_t seal_of() const noexcept { return Seal::of(this, older, newer, size, lead); }
};
inline constexpr std::uint32_t live = 0x11FE0B1E;
inline constexpr std::uint32_t ended = 0xDEAD0B1E;
/// The known bytes before the objects of a ledger. None is that of a fill.
inline std::uint64_t front_zone(const void *ledger) noexcept {
    return 0xA6A6A6A6A6A6A6A6 ^ reinterpret_cast<std::uintptr_t>(ledger) >> 3U;
}
inline constexpr unsigned char back_byte = 0xA9;
inline Header *header_of(const void *object) noexcept {
    return reinterpret_cast<Header *>(static_cast<std::byte *>(const_cast<void *>(object)) - sizeof(Header));
}

/// Gives this header access to poisoned memory.
class Window {
  public:
    Window(const void *data, std::size_t size) noexcept : data_(data), size_(size) {
        annotate::defined(data, size);
    }
    ~Window() { annotate::no_access(data_, size_); }
    Window(const Window &) = delete;
    Window &operator=(const Window &) = delete;

  private:
    const void *data_;
    std::size_t size_;
};

inline bool is_fill(unsigned char byte) noexcept {
    return byte == static_cast<unsigned char>(Fill::fresh) ||
           byte == static_cast<unsigned char>(Fill::freed) ||
           byte == static_cast<unsigned char>(Fill::rewound) ||
           byte == static_cast<unsigned char>(Fill::reset);
}

inline Misuse written_after(Fill fill) noexcept {
    if (fill == Fill::fresh) return Misuse::overflow;
    if (fill == Fill::rewound) return Misuse::use_after_rewind;
    if (fill == Fill::reset) return Misuse::use_after_reset;
    return Misuse::use_after_free;
}

} // namespace detail

/// Offset of the object in the raw block, in bytes: a multiple of the alignment.
[[nodiscard]] constexpr std::size_t lead(std::size_t alignment) noexcept {
    return round_up(sizeof(detail::Header), alignment < 16 ? 16 : alignment);
}

/// Bytes that guards add to the object.
[[nodiscard]] constexpr std::size_t extra(std::size_t alignment) noexcept {
    return lead(alignment) + back_zone;
}

/// Size of the raw block that an object needs. The block must be aligned to `alignment`, and to 16.
[[nodiscard]] constexpr std::size_t padded(std::size_t size, std::size_t alignment) noexcept {
    return size + extra(alignment);
}

/// Fills free memory and poisons it.
inline void close(void *data, std::size_t size, Fill fill) noexcept {
    annotate::undefined(data, size);
    std::memset(data, static_cast<int>(fill), size);
    annotate::no_access(data, size);
}

/// Whether poisoned memory is unchanged; a write to it is reported. Unpoisons it, for the layer to use or to
/// return.
inline bool open(void *data, std::size_t size, const char *layer) noexcept {
    annotate::defined(data, size);
    const auto *const bytes = static_cast<const unsigned char *>(data);
    for (std::size_t at = 0; at < size; ++at) {
        if (detail::is_fill(bytes[at])) continue;
        // The neighbours tell what was there before.
        Fill before = Fill::freed;
        if (at > 0) {
            before = static_cast<Fill>(bytes[at - 1]);
        } else {
            for (std::size_t next = 1; next < size; ++next) {
                if (!detail::is_fill(bytes[next])) continue;
                before = static_cast<Fill>(bytes[next]);
                break;
            }
        }
        report_misuse({detail::written_after(before), bytes + at, 0, layer});
        return false;
    }
    return true;
}

/// The raw block of a live object, or of one that was just discharged.
[[nodiscard]] inline void *raw_of(void *object) noexcept {
    auto *const header = detail::header_of(object);
    const detail::Window window(header, sizeof *header);
    return static_cast<std::byte *>(object) - header->lead;
}

/// The size with which a live object was requested.
[[nodiscard]] inline std::size_t size_of(const void *object) noexcept {
    const auto *const header = detail::header_of(object);
    const detail::Window window(header, sizeof *header);
    return header->size;
}

/// Passed to discharge() by a layer that is not told sizes.
inline constexpr std::size_t any_size = static_cast<std::size_t>(-1);

/// The live objects of one layer. Not thread-safe: the layer's own synchronization covers it.
class Ledger {
  public:
    Ledger() = default;
    Ledger(const Ledger &) = delete;
    Ledger &operator=(const Ledger &) = delete;

    /// Turns a raw block of padded(size, alignment) bytes into an object, and returns the object.
    void *admit(void *raw, std::size_t size, std::size_t alignment) noexcept {
        std::byte *const object = static_cast<std::byte *>(raw) + lead(alignment);
        auto *const header = detail::header_of(object);
        annotate::undefined(raw, padded(size, alignment));
        ::new (header) detail::Header{{},
                                      newest_,
                                      nullptr,
                                      size,
                                      static_cast<std::uint32_t>(lead(alignment)),
                                      detail::live,
                                      detail::front_zone(this)};
        Seal::set(*header);
        set_newer(newest_, header);
        newest_ = header;
        std::memset(object + size, detail::back_byte, back_zone);
        annotate::no_access(raw, lead(alignment));
        annotate::no_access(object + size, back_zone);
        annotate::undefined(object, size);
        return object;
    }

    /// Checks an object that should be live. Returns false if it is not, or if something around it was
    /// overwritten: that is reported, and the layer does nothing with it. `owned`: whether the address lies
    /// in the layer's memory at all. any_size: for a layer that is not told sizes.
    bool check(const void *object, std::size_t size, bool owned, const char *layer) const noexcept {
        if (!owned || reinterpret_cast<std::uintptr_t>(object) % 16 != 0) {
            report_misuse({Misuse::foreign_free, object, 0, layer});
            return false;
        }
        const auto *const header = detail::header_of(object);
        const detail::Window window(header, sizeof *header);
        if (header->state != detail::live) {
            const auto last = static_cast<unsigned char>(header->state >> 24U);
            const bool twice = header->state == detail::ended || detail::is_fill(last);
            report_misuse({twice ? Misuse::double_free : Misuse::foreign_free, object, 0, layer});
            return false;
        }
        if (header->zone != detail::front_zone(this) && Seal::holds(*header) && !has(header)) {
            report_misuse({Misuse::foreign_free, object, 0, layer}); // a layer's above or below
            return false;
        }
        if (!intact(header, layer)) return false;
        if (size != any_size && size != header->size) {
            report_misuse({Misuse::wrong_size, object, header->size, layer});
            return false;
        }
        return true;
    }

    /// Ends an object, after check(). The block stays as it is, apart from its state: the layer poisons it.
    bool discharge(void *object, std::size_t size, bool owned, const char *layer) noexcept {
        if (!check(object, size, owned, layer)) return false;
        auto *const header = detail::header_of(object);
        const detail::Window window(header, sizeof *header);
        unlink(header);
        header->state = detail::ended;
        annotate::ended(object, header->size);
        return true;
    }

    /// The object that was admitted last, or null. Serves as a mark for end_newer_than(). If the object is
    /// discharged, the holder of the mark must replace it by older_than().
    [[nodiscard]] const void *newest() const noexcept { return newest_ == nullptr ? nullptr : newest_ + 1; }

    /// The object admitted before this one, which lives or was just discharged; or null.
    [[nodiscard]] static const void *older_than(const void *object) noexcept {
        const auto *const header = detail::header_of(object);
        const detail::Window window(header, sizeof *header);
        return header->older == nullptr ? nullptr : header->older + 1;
    }

    /// Ends all objects newer than `object` (null: all), checking each. After the first overwritten one, the
    /// rest end unchecked.
    void end_newer_than(const void *object, const char *layer) noexcept {
        while (newest_ != nullptr && newest() != object) {
            auto *const header = newest_;
            const detail::Window window(header, sizeof *header);
            if (!intact(header, layer) && !Seal::holds(*header)) {
                newest_ = object == nullptr ? nullptr : detail::header_of(object);
                set_newer(newest_, nullptr);
                return;
            }
            unlink(header);
            header->state = detail::ended;
        }
    }

    /// Whether a live object begins there. The address must lie in the layer's memory.
    [[nodiscard]] static bool is_live(const void *object) noexcept {
        if (reinterpret_cast<std::uintptr_t>(object) % 16 != 0) return false;
        const auto *const header = detail::header_of(object);
        const detail::Window window(header, sizeof *header);
        return header->state == detail::live;
    }
    /// The live object, guard zones included, that contains the address, or null. Unpoisons what is_live()
    /// may have poisoned. Linear in the number of objects.
    [[nodiscard]] const void *holder_of(const void *address) const noexcept {
        for (const auto *header = newest_; header != nullptr;) {
            const detail::Window window(header, sizeof *header);
            if (!Seal::holds(*header)) return nullptr;
            if (reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(header) <
                sizeof *header + header->size + back_zone) {
                annotate::defined(header + 1, header->size);
                return header + 1;
            }
            header = header->older;
        }
        return nullptr;
    }

    /// Changes the size of a live object whose raw block has room for the new size.
    void resize(void *object, std::size_t size) noexcept {
        auto *const header = detail::header_of(object);
        const detail::Window window(header, sizeof *header);
        auto *const end = static_cast<std::byte *>(object) + size;
        if (size > header->size)
            annotate::undefined(static_cast<std::byte *>(object) + header->size, size - header->size);
        annotate::undefined(end, back_zone);
        header->size = size;
        Seal::set(*header);
        std::memset(end, detail::back_byte, back_zone);
        annotate::no_access(end, back_zone);
    }

    /// Takes over the objects of `other`, as newer ones.
    void splice(Ledger &other) noexcept {
        detail::Header *oldest = other.newest_;
        if (oldest == nullptr) return;
        for (;;) {
            const detail::Window window(oldest, sizeof *oldest);
            if (oldest->zone == detail::front_zone(&other)) oldest->zone = detail::front_zone(this);
            if (oldest->older == nullptr || !Seal::holds(*oldest)) break;
            oldest = oldest->older;
        }
        set_older(oldest, newest_);
        set_newer(newest_, oldest);
        newest_ = std::exchange(other.newest_, nullptr);
    }

    /// Checks every live object and reports what it finds. Returns true if nothing was found.
    bool verify(const char *layer) const noexcept {
        bool good = true;
        for (const auto *header = newest_; header != nullptr;) {
            const detail::Window window(header, sizeof *header);
            good &= intact(header, layer);
            if (!Seal::holds(*header)) return false;
            header = header->older;
        }
        return good;
    }

    /// Forgets all objects. They stay as they are.
    void forget() noexcept { newest_ = nullptr; }

  private:
    /// Whether it is on this ledger. Linear in the number of objects.
    bool has(const detail::Header *header) const noexcept {
        for (const detail::Header *mine = newest_; mine != nullptr;) {
            if (mine == header) return true;
            const detail::Window window(mine, sizeof *mine);
            if (!Seal::holds(*mine)) return true; // what is behind it cannot be told
            mine = mine->older;
        }
        return false;
    }
    /// Whether nothing around the object was overwritten. The header must be unpoisoned.
    bool intact(const detail::Header *header, const char *layer) const noexcept {
        const auto *const object = reinterpret_cast<const unsigned char *>(header + 1);
        const bool sealed = Seal::holds(*header);
        if (header->zone != detail::front_zone(this) || !sealed) {
            report_misuse({Misuse::underflow, object, sealed ? header->size : 0, layer});
            return false;
        }
        const unsigned char *const back = object + header->size;
        const detail::Window window(back, back_zone);
        for (std::size_t at = 0; at < back_zone; ++at) {
            if (back[at] == detail::back_byte) continue;
            report_misuse({Misuse::overflow, object, header->size, layer});
            return false;
        }
        return true;
    }

    // An overwritten one stays as it is, to be found.
    static void set_newer(detail::Header *header, detail::Header *newer) noexcept {
        if (header == nullptr) return;
        const detail::Window window(header, sizeof *header);
        if (!Seal::holds(*header)) return;
        header->newer = newer;
        Seal::set(*header);
    }
    static void set_older(detail::Header *header, detail::Header *older) noexcept {
        const detail::Window window(header, sizeof *header);
        if (!Seal::holds(*header)) return;
        header->older = older;
        Seal::set(*header);
    }

    /// The header must be unpoisoned and intact.
    void unlink(detail::Header *header) noexcept {
        if (header->newer == nullptr)
            newest_ = header->older;
        else
            set_older(header->newer, header->older);
        set_newer(header->older, header->newer);
    }

    detail::Header *newest_ = nullptr;
};

/// Replaces a Ledger where nothing is checked: takes no room as a [[no_unique_address]] member, and no time.
class NoLedger {
  public:
    void *admit(void *raw, std::size_t /*size*/, std::size_t /*alignment*/) const noexcept { return raw; }
    bool check(const void *, std::size_t, bool, const char *) const noexcept { return true; }
    bool discharge(void *, std::size_t, bool, const char *) const noexcept { return true; }
    const void *newest() const noexcept { return nullptr; }
    static const void *older_than(const void *) noexcept { return nullptr; }
    static bool is_live(const void *) noexcept { return true; }
    const void *holder_of(const void *) const noexcept { return nullptr; }
    void end_newer_than(const void *, const char *) const noexcept {}
    void resize(void *, std::size_t) const noexcept {}
    void splice(NoLedger &) const noexcept {}
    bool verify(const char *) const noexcept { return true; }
    void forget() const noexcept {}
};

} // namespace reap::inline REAP_MODE::guard

namespace reap::inline REAP_MODE {

/// The checked-mode member of a layer.
using Ledger = std::conditional_t<checked, guard::Ledger, guard::NoLedger>;

} // namespace reap::inline REAP_MODE
