// Compiles units of functions: all of a unit are read, then all are folded, then code is written. It stands
// for lcc of OOPSLA 2002, whose areas are regions: trees live until their unit is done, symbols and names
// until their function is, and each area is emptied as a whole, over and over. Like lcc it writes code and
// does not run it.
//
// It is there once for each allocator that has the semantics of regions, as Figure 6 of that paper has them:
// the program's own is the library's Region; --reap has Reaps, of which no object is freed by itself; --naive
// the region emulator, for which each object is a malloc, and a free where its region ends; --peer NAME
// another library's: apr, talloc, mimalloc, jemalloc, pmr-monotonic, pmr-pool. Scale: units.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <reap/layer/region.h>
#include <reap/layer/region_emulator.h>
#include <reap/source/malloc.h>

#include "common/compiler/compiler.h"
#include "common/compiler/machine.h"
#include "common/compiler/source_text.h"
#include "common/peers/peers.h"
#include "common/workload.h"

namespace {

// Chunks come from malloc, as lcc's do.
using Region = reap::Region<reap::Malloc, peers::alignment>;
using Emulator = reap::RegionEmulator<reap::Malloc>;

constexpr std::size_t unit_functions = 32;

/// Two areas of the same kind. Blocks free nothing.
template <class Area>
class Memory {
  public:
    template <class T, class... Arguments>
    T *tree(Arguments... arguments) {
        return make<T>(unit_, arguments...);
    }
    template <class T, class... Arguments>
    T *symbol(Arguments... arguments) {
        return make<T>(function_, arguments...);
    }
    char *name(std::size_t size) { return static_cast<char *>(function_.allocate(size)); }
    static std::nullptr_t begin_block() { return nullptr; }
    static void end_block(std::nullptr_t /*place*/) {}

    void end_function() { function_.reset(); }
    void end_unit() { unit_.reset(); }

  private:
    template <class T, class... Arguments>
    static T *make(Area &area, Arguments... arguments) {
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= peers::alignment);
        return ::new (area.allocate(sizeof(T))) T{arguments...};
    }

    Area unit_;
    Area function_;
};

/// What is compiled: the same unit each time, as a build reads the same headers over and over.
std::vector<std::string> texts() {
    compiler::SourceText source(2002);
    std::vector<std::string> made;
    made.reserve(unit_functions);
    for (std::size_t function = 0; function < unit_functions; ++function)
        made.push_back(source.next_function());
    return made;
}

template <class Area>
int compile(std::size_t units) {
    Memory<Area> memory;
    compiler::Parser parser(memory);
    compiler::Folder folder(memory);
    compiler::Generator generator;
    const std::vector<std::string> functions = texts();
    workload::Checksum checksum;
    std::size_t instructions = 0;
    std::vector<compiler::Statement *> read;
    for (std::size_t unit = 0; unit < units; ++unit) {
        read.clear();
        for (const std::string &text : functions) {
            read.push_back(parser.parse(text));
            memory.end_function();
        }
        for (compiler::Statement *function : read) folder.statements(function);
        for (const compiler::Statement *function : read) {
            const std::vector<compiler::Instruction> &code = generator.generate(function);
            for (const compiler::Instruction &instruction : code) {
                checksum.add(static_cast<std::uint64_t>(instruction.operation));
                checksum.add(instruction.operand);
            }
            instructions += code.size();
        }
        memory.end_unit();
    }
    std::printf("%zu units, %zu instructions\n", units, instructions);
    workload::print(checksum);
    return 0;
}

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 200, .may_reap = true, .may_peer = true};
    if (!workload::read(count, words, options)) return 2;
    const std::size_t units = options.scale;
    if (options.naive) return compile<Emulator>(units);
    if (options.reap) return compile<peers::Reap>(units);
    const std::string_view peer = options.peer;
    if (peer.empty()) return compile<Region>(units);
    if (peer == "apr") return compile<peers::AprPool>(units);
    if (peer == "talloc") return compile<peers::Talloc>(units);
    if (peer == "mimalloc") return compile<peers::MimallocHeap>(units);
    if (peer == "jemalloc") return compile<peers::JemallocArena>(units);
    if (peer == "vmalloc") return compile<peers::Vmalloc>(units);
    if (peer == "pmr-monotonic") return compile<peers::PmrMonotonic>(units);
    if (peer == "pmr-pool") return compile<peers::PmrPool>(units);
    std::fprintf(stderr,
                 "region-compiler: no peer '%s'; there are apr, talloc, mimalloc, jemalloc, vmalloc, "
                 "pmr-monotonic, pmr-pool\n",
                 options.peer);
    return 2;
}
