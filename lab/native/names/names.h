// The names of the addresses in a recording: those that it has itself, else those of the files that were
// recorded.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "names/module_files.h"
#include "symbols/symbols.h"
#include "trace/definitions.h"

namespace reap::native {

// A module whose names are not certain.
struct UncertainModule {
    std::string path;
    Naming naming;
};

// Never gives an address the name that another build of its module has there.
class ModuleNames {
  public:
    // What they refer to has to live as long.
    ModuleNames(const Definitions &definitions, Symbolizer &symbols, ModuleFiles &files) noexcept
        : definitions_(definitions), symbols_(symbols), files_(files) {}

    // The function at `address` of the module's file and those it was inlined into, innermost first; at least
    // one frame, perhaps without a name. Each address is looked up once.
    const std::vector<SourceFrame> &resolve(const Module &module, uint64_t address);

    // As `resolve`, by files alone; empty where no file has the module. Not remembered.
    std::vector<SourceFrame> look_up(const Module &module, uint64_t address);

    // The modules that have frames and no names, or names that may be false; each once, in order of the path.
    std::vector<UncertainModule> uncertain();

  private:
    std::vector<SourceFrame> kept(const Module &module, uint64_t address) const;

    const Definitions &definitions_;
    Symbolizer &symbols_;
    ModuleFiles &files_;
    // By module's path and build id, then by address.
    std::unordered_map<std::string, std::unordered_map<uint64_t, std::vector<SourceFrame>>> resolved_;
};

} // namespace reap::native
