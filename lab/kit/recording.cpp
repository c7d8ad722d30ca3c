#include "recording.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "files/file.h"
#include "leftovers.h"
#include "names/keep.h"
#include "names/perf_maps.h"
#include "refusal.h"
#include "scratch.h"
#include "trace/process.h"
#include "trace/writer.h"

namespace reap::kit {
namespace {

namespace fs = std::filesystem;

constexpr char kAnother[] = "name another file with -o";

std::string whole_path(const std::string &path) {
    std::error_code failed;
    const fs::path whole = fs::absolute(path, failed);
    if (failed) throw Refusal("the current folder is not there any more", "go to another one");
    return whole;
}

// Removes what is at `path` with `force`: never a device, a pipe, a socket or a link.
void make_room(const std::string &path, bool force) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0) return;
    if (!force)
        throw Refusal(path + " exists already", "give another name with -o, or --force to replace it");
    if (!S_ISREG(found.st_mode))
        throw Refusal(path + " is no regular file, so --force does not replace it", kAnother);
    ::unlink(path.c_str());
}

// Processes share a mapping of the file.
bool can_map(const std::string &path) {
    const native::Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    void *const page = ::mmap(nullptr, REAP_BLOCK_BYTES, PROT_READ, MAP_SHARED, file.get(), 0);
    return page != MAP_FAILED && ::munmap(page, REAP_BLOCK_BYTES) == 0;
}

void create(const std::string &path, uint32_t depth, bool perf) {
    native::TraceOptions trace;
    trace.depth = depth;
    trace.clock = native::choose_clock();
    trace.sampler = perf ? REAP_SAMPLER_PERF : REAP_SAMPLER_TIMER;
    trace.sampler_period_us = perf ? native::kPerfPeriodUs : native::kTimerPeriodUs;
    trace.exact_events = depth == REAP_DEPTH_TRIAGE ? native::kExactEvents : 0;
    try {
        native::create_trace(path, trace);
    } catch (const std::system_error &error) {
        throw Refusal("the recording " + path + " cannot be written: " + error.code().message(), kAnother);
    }
    if (can_map(path)) return;
    ::unlink(path.c_str());
    throw Refusal("the recording " + path + " cannot be written: files in its folder cannot be mapped",
                  kAnother);
}

// Its first half is a name that anybody may learn, its second a word for the program's processes alone.
std::string socket_name() {
    unsigned char bytes[REAP_SOCKET_NAME];
    if (::getentropy(bytes, sizeof bytes) != 0)
        throw Refusal(std::string("the kernel gives no random bytes: ") + std::strerror(errno), "try again");
    return native::hexadecimal({reinterpret_cast<const char *>(bytes), sizeof bytes});
}

// Words for the launcher. `recorder` has no character that the loader splits LD_PRELOAD at, or expands.
std::vector<std::string> words_of(const std::string &trace, const std::string &socket,
                                  const std::string &recorder, const Scratch &scratch) {
    const char *const theirs = std::getenv("LD_PRELOAD");
    const std::string others = theirs != nullptr && *theirs != '\0' ? std::string(":") + theirs : "";
    std::vector<std::string> words = {"--trace", trace,          "--trace-socket",
                                      socket,    "--held-files", scratch.held()};
    const auto set = [&words](const std::string &name, const std::string &value) {
        words.insert(words.end(), {"--set", name + "=" + value});
    };
    set("LD_PRELOAD", recorder + others);
    set("REAP_LAST_PRELOAD", recorder);
    const char *const keep = std::getenv("REAP_KEEP_ENVIRONMENT");
    if (keep == nullptr || *keep == '\0') set("REAP_PRELOADS", recorder);
    set(REAP_TRACE_ENV, trace);
    set(REAP_SOCKET_ENV, socket);
    return words;
}

// Why names could not be kept; empty where they were.
std::string keep_names(const std::string &trace, const std::string &recorder, const Scratch &scratch) {
    try {
        native::keep_names(trace, {fs::path(recorder).filename(), {}, native::held_in(scratch.held())});
        return "";
    } catch (const native::BadTrace &) {
        throw;
    } catch (const std::system_error &error) {
        return error.code().message();
    } catch (const std::bad_alloc &) {
        return "not enough memory";
    }
}

void finish(const std::string &trace, const std::string &socket, const std::string &recorder,
            Scratch &scratch, Recorded &recorded) {
    end_leftovers();
    try {
        recorded.running = native::started_with(REAP_SOCKET_ENV "=" + socket);
        native::finish_trace(trace, !recorded.running.empty());
        native::keep_perf_maps(trace, "/tmp");
        recorded.nameless = keep_names(trace, recorder, scratch);
    } catch (const std::system_error &error) {
        recorded.lost = "cannot be completed: " + error.code().message();
    } catch (const native::BadTrace &error) {
        recorded.lost = std::string("was truncated or overwritten while it was made: ") + error.what();
    } catch (const std::exception &error) {
        recorded.lost = std::string("cannot be completed: ") + error.what();
    }
    if (!recorded.running.empty()) scratch.keep_link();
}

} // namespace

Recorded record(const Options &options, const std::string &path, const Folder &folder) {
    const std::string trace = whole_path(options.output);
    const bool perf = samples(folder.launcher);
    const Waiting waiting;
    Scratch scratch;
    const std::string socket = socket_name();
    const std::string recorder = scratch.without_separators(folder.recorder);
    make_room(options.output, options.force);
    create(trace, options.depth, perf);
    std::vector<std::string> words = words_of(trace, socket, recorder, scratch);
    words.insert(words.end(), {"--program", path, "--"});
    words.insert(words.end(), options.command.begin(), options.command.end());
    Recorded recorded;
    try {
        recorded.outcome = launch(folder.launcher, words, waiting);
    } catch (const Refusal &) {
        finish(trace, socket, folder.recorder, scratch, recorded);
        throw;
    }
    if (recorded.outcome.failed_step.empty()) {
        finish(trace, socket, folder.recorder, scratch, recorded);
        return recorded;
    }
    ::unlink(trace.c_str());
    const std::string why = std::generic_category().message(recorded.outcome.error);
    if (recorded.outcome.failed_step != "exec")
        throw Refusal("the launcher failed at " + recorded.outcome.failed_step + ": " + why, "try again");
    throw Refusal(path + " cannot be executed: " + why, "run it by itself to see more",
                  recorded.outcome.error == ENOENT ? kNotFound : kNotExecutable);
}

} // namespace reap::kit
