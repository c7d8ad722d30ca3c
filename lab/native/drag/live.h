// The objects in use while a drag recording is walked through, by the place of their step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reap::native {

// Open addressing. Four objects that were allocated one after another lie side by side; more would make runs
// of those that stay, which all others that belong there would have to walk along.
template <class Value>
class DragLive {
  public:
    struct Entry {
        uint32_t key = 0; // the place and one more; 0: empty
        Value value{};
    };

    DragLive() : entries_(kLeast) {}

    [[nodiscard]] size_t size() const noexcept { return size_; }

    // The place must be new.
    void add(size_t place, const Value &value) {
        if ((size_ + 1) * 2 > entries_.size()) grow();
        insert(static_cast<uint32_t>(place + 1), value);
        ++size_;
    }

    // Null where there is none; valid until the next change.
    [[nodiscard]] Value *find(size_t place) noexcept {
        Entry *entry = look(static_cast<uint32_t>(place + 1));
        return entry->key == 0 ? nullptr : &entry->value;
    }

    // The place must be there. Those behind it move up, as far as each may.
    void remove(size_t place) noexcept {
        const size_t mask = entries_.size() - 1;
        size_t hole = static_cast<size_t>(look(static_cast<uint32_t>(place + 1)) - entries_.data());
        for (size_t at = (hole + 1) & mask; entries_[at].key != 0; at = (at + 1) & mask) {
            if (((at - home(entries_[at].key)) & mask) < ((at - hole) & mask)) continue;
            entries_[hole] = entries_[at];
            hole = at;
        }
        entries_[hole].key = 0;
        --size_;
    }

    template <class Action>
    void each(Action action) const {
        for (const Entry &entry : entries_)
            if (entry.key != 0) action(entry.key - 1, entry.value);
    }

  private:
    static constexpr size_t kLeast = 1024;

    [[nodiscard]] size_t home(uint32_t key) const noexcept {
        const size_t mixed = static_cast<size_t>((key >> 2) * UINT64_C(0x9E3779B97F4A7C15) >> 20);
        return (mixed << 2 | (key & 3)) & (entries_.size() - 1);
    }

    Entry *look(uint32_t key) noexcept {
        const size_t mask = entries_.size() - 1;
        size_t at = home(key);
        while (entries_[at].key != 0 && entries_[at].key != key) at = (at + 1) & mask;
        return &entries_[at];
    }

    void insert(uint32_t key, const Value &value) { *look(key) = {key, value}; }

    void grow() {
        std::vector<Entry> old(entries_.size() * 2);
        old.swap(entries_);
        for (const Entry &entry : old)
            if (entry.key != 0) insert(entry.key, entry.value);
    }

    std::vector<Entry> entries_;
    size_t size_ = 0;
};

} // namespace reap::native
