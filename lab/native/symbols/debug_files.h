// Finding the file of debug information that a program names. elfutils opens whatever has the name, and would
// wait for the writer of a pipe.
#pragma once

#include <elfutils/libdwfl.h>

#include <string>
#include <vector>

namespace reap::native {

// Folders to search beside a file's own, its .debug and /usr/lib/debug.
void search_debug_files(const std::vector<std::string> &folders);

// Finds debug files through `open_for_reader`: by build id, else by the name in .gnu_debuglink or
// .gnu_debugaltlink. Without a build id a debug file must have the program's CRC. Folders above a file's own,
// and servers for a .gnu_debugaltlink, are not searched, unlike by dwfl_standard_find_debuginfo.
extern const Dwfl_Callbacks kFindDebugFiles;

// Debug files that this thread has found under the name that a module gives, and not taken, as they are of
// another build. It forgets them.
std::vector<std::string> refused_debug_files(const std::string &module);

// Loads a module's debug information. To be called before any of it is read: libdw opens a .gnu_debugaltlink
// that was not found by itself, whatever it is.
void load_debug_file(Dwfl_Module *module);

// Opens the debug file, or the file, of this build id, that servers have where a NetworkAllowed lives: in
// this process elfutils, which calls it `name`, asks for it, and parses it. Returns -1 where it finds none.
int open_by_build_id(const std::string &name, const std::string &build_id);

// From now on elfutils asks no server, but where a NetworkAllowed lives.
void forbid_network();

} // namespace reap::native
