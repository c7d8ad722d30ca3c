// Values as the bytes of a message between a process and its sandbox. What comes out of a sandbox may be
// hostile: whoever takes values from it gets no more than the message has.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace reap::native {

// The message is not what it should be.
class BadMessage : public std::runtime_error {
  public:
    BadMessage() : std::runtime_error("a message of a sandbox is damaged") {}
};

class MessageReader {
  public:
    explicit MessageReader(std::string_view bytes) noexcept : rest_(bytes) {}

    std::string_view take(size_t length) {
        if (length > rest_.size()) throw BadMessage();
        const std::string_view taken = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return taken;
    }

    // How many of something follow, each of at least a byte.
    size_t take_count() {
        uint64_t count = 0;
        const std::string_view bytes = take(sizeof count);
        std::memcpy(&count, bytes.data(), bytes.size());
        if (count > rest_.size()) throw BadMessage();
        return count;
    }

  private:
    std::string_view rest_;
};

template <std::integral Number>
void put(std::string &out, Number value) {
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

template <std::integral Number>
void take(MessageReader &in, Number &value) {
    const std::string_view bytes = in.take(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
}

inline void take(MessageReader &in, bool &value) { value = in.take(1).front() != 0; }

inline void put(std::string &out, const std::string &value) {
    put(out, uint64_t{value.size()});
    out.append(value);
}

inline void take(MessageReader &in, std::string &value) { value = in.take(in.take_count()); }

// A record names its fields, in order: `static auto fields(auto &record) { return std::tie(record.a, ...);
// }`.
template <class Record>
concept HasFields = requires(Record &record) { Record::fields(record); };

template <HasFields Record>
void put(std::string &out, const Record &record);
template <HasFields Record>
void take(MessageReader &in, Record &record);
template <class First, class Second>
void put(std::string &out, const std::pair<First, Second> &pair);
template <class First, class Second>
void take(MessageReader &in, std::pair<First, Second> &pair);
template <class Item>
void put(std::string &out, const std::vector<Item> &items);
template <class Item>
void take(MessageReader &in, std::vector<Item> &items);
template <class Key, class Value>
void put(std::string &out, const std::map<Key, Value> &entries);
template <class Key, class Value>
void take(MessageReader &in, std::map<Key, Value> &entries);

template <HasFields Record>
void put(std::string &out, const Record &record) {
    std::apply([&out](const auto &...each) { (put(out, each), ...); }, Record::fields(record));
}

template <HasFields Record>
void take(MessageReader &in, Record &record) {
    std::apply([&in](auto &...each) { (take(in, each), ...); }, Record::fields(record));
}

template <class First, class Second>
void put(std::string &out, const std::pair<First, Second> &pair) {
    put(out, pair.first);
    put(out, pair.second);
}

template <class First, class Second>
void take(MessageReader &in, std::pair<First, Second> &pair) {
    take(in, pair.first);
    take(in, pair.second);
}

template <class Item>
void put(std::string &out, const std::vector<Item> &items) {
    put(out, uint64_t{items.size()});
    for (const Item &item : items) put(out, item);
}

template <class Item>
void take(MessageReader &in, std::vector<Item> &items) {
    for (size_t left = in.take_count(); left > 0; --left) take(in, items.emplace_back());
}

template <class Key, class Value>
void put(std::string &out, const std::map<Key, Value> &entries) {
    put(out, uint64_t{entries.size()});
    for (const auto &entry : entries) {
        put(out, entry.first);
        put(out, entry.second);
    }
}

template <class Key, class Value>
void take(MessageReader &in, std::map<Key, Value> &entries) {
    for (size_t left = in.take_count(); left > 0; --left) {
        std::pair<Key, Value> entry;
        take(in, entry);
        entries.insert_or_assign(std::move(entry.first), std::move(entry.second));
    }
}

} // namespace reap::native
