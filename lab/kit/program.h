// The program that a command names, and whether the recorder can enter it. Nothing of it runs.
#pragma once

#include <string>

namespace reap::kit {

// The file that execvp would execute, absolute. Throws Refusal where there is none, or it may not be
// executed.
std::string find_program(const std::string &name);

// Throws Refusal where `recorder` cannot be preloaded into `program`, or into the interpreter of a script.
void require_recordable(const std::string &program, const std::string &recorder);

} // namespace reap::kit
