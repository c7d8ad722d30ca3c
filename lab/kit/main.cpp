// reap-record: records a program on a machine without Reap and Python. A static program that reads the folder
// that it is in, the measured program and its files, and what the kernel and that program tell of processes.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "folder.h"
#include "options.h"
#include "plain.h"
#include "program.h"
#include "recording.h"
#include "refusal.h"
#include "standard_streams.h"

// libdw would load the client of debuginfod, which a static program cannot and this one shall not.
extern "C" void *dlopen(const char * /*file*/, int /*mode*/) { return nullptr; }

namespace {

using namespace reap::kit;

void say(const std::string &line) { std::fprintf(stderr, "%s\n", plain(line, '?').c_str()); }

// Makes writing fail where the recording meets a limit of file sizes or a reader is gone, which would end us
// before the recording is complete. The program does not inherit handlers, as it would what we ignore.
void outlive_failed_writes() {
    for (const int number : {SIGXFSZ, SIGPIPE})
        if (std::signal(number, [](int /*number*/) {}) == SIG_IGN) std::signal(number, SIG_IGN);
}

std::string signal_name(int number) {
    const char *const name = ::sigabbrev_np(number);
    return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

int say_end(const Options &options, const Recorded &recorded) {
    const Outcome &outcome = recorded.outcome;
    if (outcome.signal != 0)
        say("reap-record: " + options.command[0] + " was ended by " + signal_name(outcome.signal));
    const int status = outcome.signal != 0 ? kSignalled + outcome.signal : outcome.exit_code;
    if (!recorded.lost.empty()) {
        say("reap-record: the recording " + options.output + " " + recorded.lost);
        return status;
    }
    say("the recording: " + options.output);
    if (!recorded.nameless.empty())
        say("note: the recording has no names of functions (" + recorded.nameless +
            "): keep the program's files as they are until reap show --resolve has kept them");
    for (const std::string &process : recorded.running)
        say("note: still running, and still recorded into it: " + process);
    say("next: reap show " + options.output);
    return status;
}

int run(int argc, char **argv) {
    const std::optional<Options> options = parse_options(argc, argv);
    if (!options) return 0;
    const Folder folder = own_folder();
    const std::string program = find_program(options->command[0]);
    require_recordable(program, folder.recorder);
    return say_end(*options, record(*options, program, folder));
}

} // namespace

int main(int argc, char **argv) {
    reap::spawn::fill_standard_streams();
    outlive_failed_writes();
    try {
        return run(argc, argv);
    } catch (const Refusal &refusal) {
        say(std::string("reap-record: ") + refusal.what());
        say("  " + refusal.hint());
        return refusal.code();
    } catch (const std::exception &error) {
        say(std::string("reap-record: ") + error.what());
        return kInternal;
    }
}
