// SPDX-License-Identifier: MIT
#include "options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>

namespace reap::spawn {
namespace {

constexpr const char *usage =
    "usage: reap-spawn [--program FILE] [--set NAME=VALUE]... [--unset NAME]...\n"
    "                  [--ignore SIGNAL]... [--stdin FILE] [--capture [--keep FILE]] [--timeout-ms N]\n"
    "                  [--grace-ms N] [--result-fd N] [--core N] [--ready-fd N --start-fd N]\n"
    "                  [--private-at EMPTY_FOLDER --private FOLDER... [--copied FILE]...]\n"
    "                  [--trace FILE [--trace-socket NAME [--held-files EMPTY_FOLDER]] [--watch LIST] | "
    "--count TYPE:CONFIG | "
    "--resident FILE] [--no-huge-pages]\n"
    "                  -- CMD [ARGUMENT]...\n"
    "       reap-spawn --attach PID --timeout-ms N --trace FILE --watch LIST [--result-fd N]\n"
    "       reap-spawn --check-sampling [--result-fd N]\n";

bool refuse(const char *what, const char *which) {
    std::fprintf(stderr, "reap-spawn: %s: %s\n%s", what, which, usage);
    return false;
}

bool parse_number(const char *text, std::int64_t max, std::int64_t &value) {
    char *end = nullptr;
    errno = 0;
    const long long parsed = std::strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || parsed < 0 || parsed > max) return false;
    value = parsed;
    return true;
}

/// TYPE:CONFIG, two numbers as in perf_event_attr.
bool parse_event(const char *text, Event &event) {
    char *colon = nullptr;
    char *end = nullptr;
    errno = 0;
    const unsigned long long type = std::strtoull(text, &colon, 10);
    if (errno != 0 || colon == text || *colon != ':' || type > UINT32_MAX) return false;
    const unsigned long long config = std::strtoull(colon + 1, &end, 10);
    if (errno != 0 || end == colon + 1 || *end != '\0') return false;
    event = {static_cast<std::uint32_t>(type), config};
    return true;
}

/// Names separated by commas: waits (always on), samples, faults, calls.
bool parse_watch(const char *text, Watch &watch) {
    watch.any = true;
    while (*text != '\0') {
        const std::size_t length = std::strcspn(text, ",");
        const auto is = [&](const char *name) {
            return std::strlen(name) == length && std::strncmp(text, name, length) == 0;
        };
        if (is("samples")) {
            watch.samples = true;
        } else if (is("faults")) {
            watch.faults = true;
        } else if (is("calls")) {
            watch.calls = true;
        } else if (!is("waits")) {
            return false;
        }
        text += length;
        if (*text == ',') ++text;
    }
    return true;
}

/// Whether `entry` (NAME=VALUE) sets the variable of `edit` (NAME or NAME=VALUE).
bool same_variable(const char *entry, const char *edit) {
    const std::size_t length = std::strcspn(edit, "=");
    return std::strncmp(entry, edit, length) == 0 && entry[length] == '=';
}

/// The environment with edits applied in order. Sized for all entries, all edits and the final null.
class Environment {
  public:
    Environment(char **base, int edits) {
        std::size_t size = 0;
        while (base[size] != nullptr) ++size;
        entries_ =
            static_cast<char **>(std::calloc(size + static_cast<std::size_t>(edits) + 1, sizeof(char *)));
        if (entries_ == nullptr) return;
        for (; count_ < size; ++count_) entries_[count_] = base[count_];
    }

    void unset(const char *name) {
        std::size_t left = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            if (!same_variable(entries_[i], name)) entries_[left++] = entries_[i];
        }
        count_ = left;
        entries_[count_] = nullptr;
    }

    void set(char *assignment) {
        unset(assignment);
        entries_[count_++] = assignment;
        entries_[count_] = nullptr;
    }

    /// Never freed: passed to exec.
    char **entries() const { return entries_; }

  private:
    char **entries_ = nullptr;
    std::size_t count_ = 0;
};

} // namespace

bool parse_options(int argc, char **argv, char **environment, Options &options) {
    Environment variables(environment, argc);
    if (variables.entries() == nullptr) return refuse("out of memory", "environment");
    options.environment = variables.entries();
    constexpr std::int64_t max_ms = INT64_MAX / 2'000'000;
    int at = 1;
    for (; at < argc; ++at) {
        const char *option = argv[at];
        if (std::strcmp(option, "--") == 0) break;
        if (std::strcmp(option, "--capture") == 0) {
            options.capture = true;
            continue;
        }
        if (std::strcmp(option, "--check-sampling") == 0) {
            options.check_sampling = true;
            continue;
        }
        if (std::strcmp(option, "--no-huge-pages") == 0) {
            options.huge_pages = false;
            continue;
        }
        if (at + 1 >= argc) return refuse("unknown option, or missing value", option);
        char *value = argv[++at];
        std::int64_t number = 0;
        if (std::strcmp(option, "--program") == 0) {
            options.program = value;
        } else if (std::strcmp(option, "--set") == 0) {
            if (std::strchr(value, '=') == nullptr) return refuse("--set requires NAME=VALUE", value);
            variables.set(value);
        } else if (std::strcmp(option, "--unset") == 0) {
            variables.unset(value);
        } else if (std::strcmp(option, "--ignore") == 0) {
            if (!parse_number(value, 64, number) || number == 0) return refuse("not a signal", value);
            options.ignored |= std::uint64_t{1} << (number - 1);
        } else if (std::strcmp(option, "--stdin") == 0) {
            options.input = value;
        } else if (std::strcmp(option, "--keep") == 0) {
            options.keep = value;
        } else if (std::strcmp(option, "--resident") == 0) {
            options.resident = value;
        } else if (std::strcmp(option, "--trace") == 0) {
            options.trace = value;
        } else if (std::strcmp(option, "--trace-socket") == 0) {
            options.socket = value;
        } else if (std::strcmp(option, "--held-files") == 0) {
            options.held = value;
        } else if (std::strcmp(option, "--count") == 0) {
            if (!parse_event(value, options.event)) return refuse("not an event, as TYPE:CONFIG", value);
            options.count = true;
        } else if (std::strcmp(option, "--watch") == 0) {
            if (!parse_watch(value, options.watch))
                return refuse("--watch takes waits, samples, faults, calls", value);
        } else if (std::strcmp(option, "--attach") == 0) {
            if (!parse_number(value, INT32_MAX, number) || number == 0) return refuse("not a pid", value);
            options.attach = static_cast<pid_t>(number);
        } else if (std::strcmp(option, "--timeout-ms") == 0) {
            if (!parse_number(value, max_ms, number)) return refuse("not a time in milliseconds", value);
            options.timeout_ns = number * 1'000'000;
        } else if (std::strcmp(option, "--grace-ms") == 0) {
            if (!parse_number(value, max_ms, number)) return refuse("not a time in milliseconds", value);
            options.grace_ns = number * 1'000'000;
        } else if (std::strcmp(option, "--result-fd") == 0) {
            if (!parse_number(value, 1'000'000, number)) return refuse("not a file descriptor", value);
            options.result_fd = static_cast<int>(number);
        } else if (std::strcmp(option, "--private-at") == 0) {
            options.private_at = value;
        } else if (std::strcmp(option, "--private") == 0) {
            if (options.private_folders == Options::max_private_folders) return refuse("too many", option);
            options.private_folder[options.private_folders++] = value;
        } else if (std::strcmp(option, "--copied") == 0) {
            if (options.copied_files == Options::max_copied_files) return refuse("too many", option);
            options.copied_file[options.copied_files++] = value;
        } else if (std::strcmp(option, "--core") == 0) {
            if (!parse_number(value, CPU_SETSIZE - 1, number)) return refuse("not a core", value);
            options.core = static_cast<int>(number);
        } else if (std::strcmp(option, "--ready-fd") == 0) {
            if (!parse_number(value, 1'000'000, number)) return refuse("not a file descriptor", value);
            options.ready_fd = static_cast<int>(number);
        } else if (std::strcmp(option, "--start-fd") == 0) {
            if (!parse_number(value, 1'000'000, number)) return refuse("not a file descriptor", value);
            options.start_fd = static_cast<int>(number);
        } else {
            return refuse("unknown option", option);
        }
    }
    if (options.check_sampling) return true;
    if ((options.ready_fd < 0) != (options.start_fd < 0)) {
        return refuse("must be used together", "--ready-fd and --start-fd");
    }
    if (options.keep != nullptr && !options.capture) return refuse("requires --capture", "--keep");
    if (options.private_folders > 0 && options.private_at == nullptr) {
        return refuse("requires --private-at", "--private");
    }
    if (options.attach != 0) {
        return (options.trace != nullptr && options.timeout_ns > 0) ||
               refuse("--attach requires --trace and --timeout-ms", "--attach");
    }
    if (at + 1 >= argc) return refuse("no program to run", "put it after --");
    options.argv = argv + at + 1;
    if (options.program == nullptr) options.program = options.argv[0];
    return true;
}

} // namespace reap::spawn
