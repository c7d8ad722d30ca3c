#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <span>
#include <string>
#include <string_view>

// What the study asks this program, and how it answers: words `NAME KEY VALUE ...` and a line of JSON.

namespace ask {

/// `KEY VALUE` pairs of a command line.
class Words {
  public:
    explicit Words(std::span<char *const> words) {
        for (std::size_t at = 0; at + 1 < words.size(); at += 2) said_[words[at]] = words[at + 1];
    }
    /// The number that a key has, or what is usual.
    [[nodiscard]] std::size_t number(std::string_view key, std::size_t usual) const {
        const std::string found = word(key, "");
        if (found.empty()) return usual;
        char *end = nullptr;
        errno = 0;
        const unsigned long long read = std::strtoull(found.c_str(), &end, 10);
        if (*end != '\0' || errno != 0) {
            const std::string name(key);
            std::fprintf(stderr, "request-driver: cannot read %s '%s'; give a number\n", name.c_str(),
                         found.c_str());
            std::exit(2);
        }
        return read;
    }
    [[nodiscard]] std::string word(std::string_view key, std::string_view usual) const {
        const auto found = said_.find(std::string(key));
        return found == said_.end() ? std::string(usual) : found->second;
    }

  private:
    std::map<std::string, std::string> said_;
};

/// Numbers by name, said as one line of JSON on standard error, where a captured program's last words are
/// kept.
class Answer {
  public:
    ~Answer() { std::fprintf(stderr, "{%s}\n", said_.c_str()); }
    Answer() = default;
    Answer(const Answer &) = delete;
    Answer &operator=(const Answer &) = delete;
    void add(const char *name, double value) {
        char text[128];
        std::snprintf(text, sizeof text, "%s\"%s\": %.9g", said_.empty() ? "" : ", ", name, value);
        said_ += text;
    }

  private:
    std::string said_;
};

inline double seconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
/// What this thread has used of a processor, in nanoseconds.
inline double cpu_ns() { return seconds(CLOCK_THREAD_CPUTIME_ID) * 1e9; }
inline double wall_ns() { return seconds(CLOCK_MONOTONIC) * 1e9; }

} // namespace ask
