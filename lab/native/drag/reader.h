// A drag recording as a file: its events one after another, with a table of the objects in use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drag/file.h"
#include "drag/live.h"
#include "files/file.h"
#include "trace/record_reader.h"

namespace reap::native {

// A file's bytes as they were when it was opened. Its process may go on: what it may still write to, or cut
// off, is copied.
class DragBytes {
  public:
    // Throws std::system_error when it cannot be read and BadTrace when it is not a regular file.
    explicit DragBytes(const std::string &path);

    [[nodiscard]] size_t size() const noexcept { return size_; }

    // Copies bytes of the file. Throws BadTrace where it was cut off meanwhile by more than engines do.
    void read(unsigned char *out, size_t offset, size_t length) const;

  private:
    static constexpr size_t kTail = size_t{1} << 20; // the engines write to no more of a file's end

    File file_;
    size_t size_;
    std::vector<unsigned char> tail_;
};

// Takes a file apart and tells of steps, carvings and ends as they come, and of all else.
template <class Teller>
class DragReader {
  public:
    DragReader(const DragBytes &file, uint32_t base, Teller &teller)
        : teller_(teller), file_(file), next_(sizeof(reap_drag_header)),
          buffer_(std::make_unique_for_overwrite<unsigned char[]>(std::min(2 * kLongest, file.size()) +
                                                                  kReaderPadding)),
          base_(base) {}

    void run() {
        refill();
        bool more = true;
        while (more && !in_.done()) {
            more = event();
            if (end_ - in_.at() < static_cast<ptrdiff_t>(kLongest) && next_ < file_.size() && more) refill();
        }
        close();
    }
    [[nodiscard]] bool good() const noexcept { return in_.good(); }
    [[nodiscard]] size_t steps() const noexcept { return steps_; }

  private:
    // Beyond these a size is damage: no address space has it, no process lives to allocate so much.
    static constexpr uint64_t kLargest = UINT64_C(1) << 47;
    static constexpr uint64_t kMostBytes = UINT64_C(1) << 62;
    static constexpr uint64_t kDeepest = 4096;
    static constexpr uint64_t kMostSteps = UINT32_MAX - 1;
    static constexpr uint8_t kTouched = REAP_DRAG_READ | REAP_DRAG_WRITTEN;
    // No event is longer than half of the buffer: Linux lets the words of a command have 6 MB at most.
    static constexpr size_t kLongest = size_t{1} << 23;

    struct Object {
        uint64_t size; // of a mapping what is left
        uint32_t stack;
        DragKind kind;
        bool carved;
    };

    // Moves what was not read yet to the front of the buffer, and fills it from the file.
    void refill() {
        const auto rest = static_cast<size_t>(end_ - in_.at());
        if (rest > 0) std::memmove(buffer_.get(), in_.at(), rest);
        const size_t more = std::min(2 * kLongest - rest, file_.size() - next_);
        file_.read(buffer_.get() + rest, next_, more);
        next_ += more;
        end_ = buffer_.get() + rest + more;
        std::memset(buffer_.get() + rest + more, 0, kReaderPadding);
        in_ = RecordReader(buffer_.get(), end_);
    }

    bool event() {
        const uint8_t tag = in_.byte();
        const auto flags = static_cast<uint8_t>(tag >> REAP_DRAG_KIND_BITS);
        switch (tag & ((1 << REAP_DRAG_KIND_BITS) - 1)) {
        case REAP_DRAG_NOTHING:
            return false;
        case REAP_DRAG_ALLOC:
            allocated(DragKind::Block);
            break;
        case REAP_DRAG_POOLED:
            allocated(DragKind::Pooled);
            break;
        case REAP_DRAG_MAPPED:
            allocated(DragKind::Mapping);
            break;
        case REAP_DRAG_FREE:
        case REAP_DRAG_LIVE:
        case REAP_DRAG_UNMAPPED:
        case REAP_DRAG_LIVE_MAPPED:
            gone(tag & ((1 << REAP_DRAG_KIND_BITS) - 1), flags);
            break;
        case REAP_DRAG_CARVED:
            carved();
            break;
        case REAP_DRAG_STACK:
            stack();
            break;
        case REAP_DRAG_MODULE:
            module();
            break;
        case REAP_DRAG_COMMAND:
            command();
            break;
        case REAP_DRAG_END:
            teller_.end(in_.varint() == REAP_DRAG_EXEC ? DragEnd::Exec : DragEnd::Exited, in_.good());
            break;
        case REAP_DRAG_RESUME:
            // What was said to be in use at an exec that failed goes on being in use.
            at_end_.clear();
            teller_.end(DragEnd::Killed, true);
            break;
        case REAP_DRAG_FULL:
            teller_.full();
            break;
        default:
            in_.fail();
        }
        return in_.good();
    }

    void allocated(DragKind kind) {
        const uint64_t stack = in_.varint();
        const uint64_t size = in_.varint();
        bytes_ += size <= kLargest ? size : kMostBytes;
        if (!in_.good() || base_ + steps_ >= kMostSteps || bytes_ >= kMostBytes) {
            in_.fail();
            return;
        }
        const Object object = {size, static_cast<uint32_t>(stack), kind, false};
        teller_.step({steps_, size, object.stack, kind}, live_.size());
        live_.add(steps_++, object);
    }

    // The place of an object from how many steps ago it was made; with damage none that is in use.
    Object *take(uint64_t age, size_t &place) {
        place = steps_ - 1 - age;
        Object *object = in_.good() && age < steps_ ? live_.find(place) : nullptr;
        if (object == nullptr) in_.fail();
        return object;
    }

    void gone(unsigned kind, uint8_t flags) {
        const uint64_t age = in_.varint();
        const uint64_t since = in_.varint();
        const bool mapped = kind == REAP_DRAG_UNMAPPED || kind == REAP_DRAG_LIVE_MAPPED;
        const bool freed = kind == REAP_DRAG_FREE || kind == REAP_DRAG_UNMAPPED;
        const uint64_t unused = freed && since == 0 && age != 0 ? in_.varint() : since;
        const uint64_t part = mapped ? in_.varint() : 0;
        size_t place = 0;
        Object *object = take(age, place);
        // Its last access is not before its birth, and of a mapping no more goes than there is.
        if (object == nullptr || since > age || unused > age ||
            mapped != (object->kind == DragKind::Mapping) || part > object->size) {
            in_.fail();
            return;
        }
        const DragLife life = {.size = mapped ? part : object->size,
                               .birth = static_cast<uint32_t>(place),
                               .last = static_cast<uint32_t>(steps_ - 1 - since),
                               .used = static_cast<uint32_t>(steps_ - 1 - unused),
                               .freed = static_cast<uint32_t>(steps_ - 1),
                               .stack = object->stack,
                               .flags = flags,
                               .kind = object->kind,
                               .carved = object->carved,
                               .whole = false};
        if (kind == REAP_DRAG_LIVE || kind == REAP_DRAG_LIVE_MAPPED)
            at_end_.push_back(life);
        else
            end(life, *object);
    }

    void carved() {
        size_t place = 0;
        Object *object = take(in_.varint(), place);
        if (object == nullptr || object->carved) return;
        object->carved = true;
        teller_.carved(place, object->kind, object->size);
    }

    void stack() {
        const uint64_t number = in_.varint();
        const uint64_t depth = in_.varint();
        if (depth > kDeepest) in_.fail();
        std::vector<DragFrame> frames;
        for (uint64_t i = 0; in_.good() && i < depth; ++i) {
            const uint64_t module = in_.varint();
            frames.push_back({static_cast<uint32_t>(module), in_.varint()});
        }
        if (in_.good()) teller_.stack(static_cast<uint32_t>(number), std::move(frames));
    }

    void module() {
        const uint64_t number = in_.varint();
        const std::string_view path = in_.string();
        if (in_.good()) teller_.module(static_cast<uint32_t>(number), path);
    }

    void command() {
        const std::string_view words = in_.string();
        if (in_.good()) teller_.command(words);
    }

    void end(DragLife life, Object &object) {
        object.size -= life.size;
        life.whole = object.size == 0 || life.kind != DragKind::Mapping;
        teller_.ended(life);
        if (life.whole) live_.remove(life.birth);
    }

    // First what was said to be in use at the end; then what nothing was said of, since the process was
    // killed: it counts as needed until then.
    void close() {
        for (const DragLife &life : at_end_) {
            Object *object = live_.find(life.birth);
            if (object != nullptr && life.size <= object->size) end(life, *object);
        }
        live_.each([this](uint32_t place, const Object &object) {
            const auto now = static_cast<uint32_t>(steps_ - 1);
            teller_.ended({.size = object.size,
                           .birth = place,
                           .last = now,
                           .used = now,
                           .freed = now,
                           .stack = object.stack,
                           .flags = kTouched,
                           .kind = object.kind,
                           .carved = object.carved,
                           .whole = true});
        });
    }

    Teller &teller_;
    const DragBytes &file_;
    size_t next_; // the first byte of the file that is not in the buffer yet
    std::unique_ptr<unsigned char[]> buffer_;
    RecordReader in_;
    const unsigned char *end_ = nullptr; // of what is in the buffer
    uint32_t base_;
    size_t steps_ = 0;
    uint64_t bytes_ = 0;
    DragLive<Object> live_;
    std::vector<DragLife> at_end_;
};

} // namespace reap::native
