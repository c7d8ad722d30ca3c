#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "reap/face/json.h"
#include "reap/interpose/statistics.h"

namespace reap::inline REAP_MODE::interpose {

/// A figure by its name. `Of` is HeapStatistics or HeapSettings.
template <class Of>
struct NamedFigure {
    const char *name;
    std::size_t (*value)(const Of &of) noexcept;
};

using Statistics = HeapStatistics;
inline constexpr NamedFigure<Statistics> statistics_by_name[] = {
    {"allocated", [](const Statistics &now) noexcept { return now.allocated(); }},
    {"mapped", [](const Statistics &now) noexcept { return now.mapped(); }},
    {"chunks", [](const Statistics &now) noexcept { return now.chunks; }},
    {"freed", [](const Statistics &now) noexcept { return now.freed(); }},
    {"large", [](const Statistics &now) noexcept { return now.large; }},
    {"large_objects", [](const Statistics &now) noexcept { return now.large_objects; }},
    {"kept", [](const Statistics &now) noexcept { return now.kept; }},
    {"heaps", [](const Statistics &now) noexcept { return now.heaps; }},
    {"idle_heaps", [](const Statistics &now) noexcept { return now.idle; }},
    {"thread_held", [](const Statistics &now) noexcept { return now.mine; }},
    {"thread_freed", [](const Statistics &now) noexcept { return now.mine_freed; }},
};
inline constexpr NamedFigure<HeapSettings> settings_by_name[] = {
    {"alignment", [](const HeapSettings &built) noexcept { return built.alignment; }},
    {"large_object", [](const HeapSettings &built) noexcept { return built.large_object; }},
    {"keep", [](const HeapSettings &built) noexcept { return built.keep; }},
};

/// One call of reap_mallctl(), whose contract is in mallctl.h. Allocates nothing.
class Control {
  public:
    Control(void *old_value, std::size_t *old_size, const void *new_value, std::size_t new_size) noexcept
        : value_(old_value), size_(old_size), sets_(new_value != nullptr || new_size != 0) {}

    /// `Served` is the heap to query, as malloc.cpp defines it.
    template <class Served>
    [[nodiscard]] int ask(const char *name, const char *version) noexcept {
        if (name == nullptr) return EINVAL;
        if (is(name, "version")) return give(version);
        if (is(name, "library")) return give(Served::library);
        if (is(name, "purge")) return purge<Served>();
        if (is(name, "stats.json")) return give_json(Served::library, version, Served::statistics());
        if (const char *const figure = behind("stats.", name); figure != nullptr) {
            for (const auto &known : statistics_by_name)
                if (is(figure, known.name)) return give(known.value(Served::statistics()));
        }
        if (const char *const setting = behind("settings.", name); setting != nullptr) {
            for (const auto &known : settings_by_name)
                if (is(setting, known.name)) return give(known.value(Served::settings));
        }
        return ENOENT;
    }

  private:
    static bool is(const char *name, const char *known) noexcept { return std::strcmp(name, known) == 0; }
    /// What follows a prefix, or null.
    static const char *behind(const char *prefix, const char *name) noexcept {
        const std::size_t length = std::strlen(prefix);
        return std::strncmp(name, prefix, length) == 0 ? name + length : nullptr;
    }

    /// Whether a value of that size fits the request. Stores the size.
    [[nodiscard]] int check(std::size_t size) noexcept {
        if (sets_) return EPERM;
        const bool fits = value_ == nullptr || (size_ != nullptr && *size_ == size);
        if (size_ != nullptr) *size_ = size;
        return fits ? 0 : EINVAL;
    }
    template <class Value>
    [[nodiscard]] int give(Value value) noexcept {
        const int error = check(sizeof value);
        if (error == 0 && value_ != nullptr)
            std::memcpy(value_, static_cast<const void *>(&value), sizeof value);
        return error;
    }
    [[nodiscard]] int give_json(const char *library, const char *version, const Statistics &now) noexcept {
        if (sets_) return EPERM;
        if (value_ != nullptr && size_ == nullptr) return EINVAL;
        const std::size_t room = value_ == nullptr ? 0 : *size_;
        detail::JsonObject object(static_cast<char *>(value_), room);
        object.add("library", library);
        object.add("version", version);
        for (const auto &known : statistics_by_name) object.add(known.name, known.value(now));
        const std::size_t length = object.end();
        if (size_ != nullptr) *size_ = length + 1;
        return value_ == nullptr || length < room ? 0 : EINVAL;
    }
    template <class Served>
    [[nodiscard]] int purge() noexcept {
        if (const int error = check(sizeof(std::size_t)); error != 0) return error;
        const std::size_t before = Served::statistics().mapped();
        Served::trim();
        const std::size_t after = Served::statistics().mapped();
        // Other threads may have allocated meanwhile.
        return give(before > after ? before - after : std::size_t{0});
    }

    void *value_;
    std::size_t *size_;
    bool sets_;
};

} // namespace reap::inline REAP_MODE::interpose
