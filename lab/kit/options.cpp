#include "options.h"

#include <algorithm>
#include <cstdio>
#include <getopt.h>
#include <iterator>
#include <string_view>

#include "plain.h"
#include "refusal.h"

namespace reap::kit {
namespace {

constexpr char kHelp[] =
    "Usage: reap-record [OPTIONS] -- CMD...\n"
    "\n"
    "  Record every allocation of a program into a file, for reap show on any machine.\n"
    "\n"
    "  Needs the folder that it is in, and nothing else: neither Reap nor Python. CMD runs once, on this\n"
    "  terminal, with its children and threads. Exits with CMD's own status.\n"
    "\n"
    "Options:\n"
    "  -o, --output FILE        Output file (default: NAME.reap in the current folder).\n"
    "  -d, --depth triage|full  triage counts every event and samples stacks; full writes every event.\n"
    "                           [default: triage]\n"
    "  -f, --force              Replace the file if it exists.\n"
    "  --version                Show the version and exit.\n"
    "  -h, --help               Show this message and exit.\n";
constexpr char kTry[] = "reap-record --help";

// A short name for a command, good for a file.
std::string name_of(std::string_view command) {
    command.remove_prefix(command.rfind('/') + 1);
    const size_t first = command.find_first_not_of(".-");
    return first == std::string_view::npos ? "program" : plain(command.substr(first), '_');
}

uint32_t depth_of(std::string_view text) {
    if (text == "triage") return REAP_DEPTH_TRIAGE;
    if (text == "full") return REAP_DEPTH_FULL;
    throw Refusal("--depth is triage or full, not " + std::string(text), kTry, kUsage);
}

// The option that getopt_long refused, in the word `last` if it is a long one: one of a word of short ones is
// known by its letter alone.
template <size_t Size>
std::string refused_option(const option (&known)[Size], const char *last) {
    const bool is_long = std::any_of(std::begin(known), std::end(known),
                                     [](const option &each) { return each.val == optopt; });
    return is_long ? last : std::string{'-', static_cast<char>(optopt)};
}

} // namespace

std::optional<Options> parse_options(int argc, char **argv) {
    enum : int { kVersion = 256 };
    constexpr option kLong[] = {
        {"output", required_argument, nullptr, 'o'}, {"depth", required_argument, nullptr, 'd'},
        {"force", no_argument, nullptr, 'f'},        {"help", no_argument, nullptr, 'h'},
        {"version", no_argument, nullptr, kVersion}, {nullptr, 0, nullptr, 0},
    };
    Options options;
    int found = 0;
    opterr = 0;
    while ((found = getopt_long(argc, argv, "+:o:d:fh", kLong, nullptr)) != -1) {
        switch (found) {
        case 'o':
            options.output = optarg;
            break;
        case 'd':
            options.depth = depth_of(optarg);
            break;
        case 'f':
            options.force = true;
            break;
        case 'h':
            std::fputs(kHelp, stdout);
            return std::nullopt;
        case kVersion:
            std::puts("reap-record " REAP_VERSION);
            return std::nullopt;
        case ':':
            throw Refusal(std::string(argv[optind - 1]) + " needs a value", kTry, kUsage);
        default:
            throw Refusal("no such option: " + refused_option(kLong, argv[optind - 1]), kTry, kUsage);
        }
    }
    options.command.assign(argv + optind, argv + argc);
    if (options.command.empty() || options.command[0].empty())
        throw Refusal("no command to run", "put it at the end, as in: -- ./program", kUsage);
    if (options.output.empty()) options.output = name_of(options.command[0]) + ".reap";
    return options;
}

} // namespace reap::kit
