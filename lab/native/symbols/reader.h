// Names of functions and lines, from ELF symbols and DWARF by elfutils. Files may be hostile, and elfutils
// has faults: a Symbolizer has one of these in a sandbox.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "symbols/symbols.h"

namespace reap::native {

// Opens each file once, by `open_for_reader`. A file that is gone, or is no ELF, has no names; nothing
// throws. The methods are those of a Symbolizer.
class SymbolReader {
  public:
    SymbolReader();
    ~SymbolReader();
    SymbolReader(const SymbolReader &) = delete;
    SymbolReader &operator=(const SymbolReader &) = delete;

    // As `Symbolizer::resolve`, of each address.
    std::vector<std::vector<SourceFrame>> resolve(const std::string &path,
                                                  const std::vector<uint64_t> &addresses);
    std::string producer(const std::string &path, uint64_t address);
    std::string build_id(const std::string &path);
    bool opens(const std::string &path);
    std::vector<AddressRange> malloc_ranges(const std::string &path);
    // What is loaded of the file.
    std::vector<Segment> segments(const std::string &path);
    // Functions whose addresses the dynamic linker writes, by the slots that it writes them to.
    std::map<uint64_t, std::string> imports(const std::string &path);
    std::vector<std::pair<std::string, AddressRange>> named(const std::string &path,
                                                            const std::vector<std::string> &names);
    std::vector<OwnNames> own_names(const std::string &path);
    std::map<std::string, uint64_t> objects(const std::string &path, const std::vector<std::string> &names);
    std::string function(const std::string &path, uint64_t address);
    std::vector<std::string> refused(const std::string &path);
    std::vector<AddressRange> functions(const std::string &path, const std::vector<std::string> &names);

  private:
    struct Files;
    std::vector<SourceFrame> look_up(const std::string &path, uint64_t address);

    std::unique_ptr<Files> files_;
};

} // namespace reap::native
