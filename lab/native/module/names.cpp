#include "module/names.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module/text.h"
#include "names/keep.h"
#include "sandbox/sandbox.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {

void bind_names(nb::module_ &m) {
    m.attr("NAMES_UNCHECKED") = static_cast<int>(Naming::Unchecked);
    m.attr("NAMES_OTHER_BUILD") = static_cast<int>(Naming::OtherBuild);
    m.attr("NAMES_CHANGED") = static_cast<int>(Naming::Changed);
    m.attr("NAMES_MISSING") = static_cast<int>(Naming::Missing);
    m.attr("NAMES_UNREADABLE") = static_cast<int>(Naming::Unreadable);
    nb::class_<Folders>(m, "Folders", "Where to look for the files that have a recording's names.")
        .def(
            "__init__",
            [](Folders *self, const std::vector<std::string> &sysroots, const std::vector<std::string> &debug,
               bool ask_servers) { new (self) Folders{sysroots, debug, ask_servers}; },
            "sysroots"_a = std::vector<std::string>(), "debug"_a = std::vector<std::string>(),
            "ask_servers"_a = false,
            "`sysroots` have a module at its path below them; `debug` are folders of debug files, by build "
            "id "
            "or name; `ask_servers` asks those of DEBUGINFOD_URLS.");
    nb::class_<KeepOutcome>(m, "KeptNames", "What came of keeping names.")
        .def_ro("complete", &KeepOutcome::complete,
                "The trace takes names: it is closed, no process writes to it, it is not compressed.")
        .def_ro("addresses", &KeepOutcome::addresses, "Distinct addresses in modules that stacks have.")
        .def_ro("kept", &KeepOutcome::kept, "Of these, how many got a name now.")
        .def_prop_ro(
            "refused", [](const KeepOutcome &outcome) { return texts(outcome.refused); },
            "Files, also of debug information, that are of another build than the module whose name they "
            "have.");
    m.def(
        "confinement",
        [] {
            Sandbox sandbox([] { return [](std::string_view) { return std::string(); }; },
                            [](const std::string &) { return -1; });
            try {
                sandbox.call({});
                return std::pair(sandbox.confinement().unprivileged, sandbox.confinement().filtered);
            } catch (const SandboxFailure &) {
                return std::pair(false, false);
            }
        },
        "Whether a process that reads files of others has no privileges here, and a filter of system calls.");
    m.def(
        "keep_names",
        [](const std::string &path, const std::string &recorder, const Folders &folders,
           const HeldFiles &held, const std::string &held_folder, bool again) {
            KeepOptions options{recorder, folders, held, again};
            if (!held_folder.empty()) {
                const HeldFiles more = held_in(held_folder);
                options.held.insert(options.held.begin(), more.begin(), more.end());
            }
            return keep_names(path, options);
        },
        "path"_a, "recorder"_a, "folders"_a = Folders(), "held"_a = HeldFiles(), "held_folder"_a = "",
        "again"_a = false, nb::call_guard<nb::gil_scoped_release>(),
        "Look up the functions and lines of all stacks of a trace and keep them in it, those that are "
        "certain; "
        "`held` are (path of a module, a file that was there), and the launcher put more into `held_folder`; "
        "with `again` also those that it has. A trace that is not complete stays as it is. Raises OSError "
        "and "
        "BadTrace.");
}

} // namespace reap::native
