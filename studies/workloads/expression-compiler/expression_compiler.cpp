// A compiler of functions whose blocks nest: reads, builds trees, folds constants,
// writes code for a stack machine, and runs it. It stands for 176.gcc of both papers, whose allocator is
// GNU's obstack: trees live until their function is done, symbols until their block is, and each is freed
// from there on.
//
// The naive variant has obstacks whose chunks fit a single object (Table 4 of ISMM 2026): each object is a
// malloc, and a free where the obstack would retreat. Scale: functions.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <reap/layer/obstack.h>
#include <reap/source/malloc.h>

#include "common/compiler/compiler.h"
#include "common/compiler/machine.h"
#include "common/compiler/source_text.h"
#include "common/workload.h"

namespace {

// Chunks come from malloc, as gcc's do, so that what serves malloc serves both variants.
using Obstack = reap::Obstack<reap::Malloc, 8>;

/// Trees are freed from the function's first on, symbols and names from their block's.
class Memory {
  public:
    explicit Memory(const reap::ObstackOptions &chunks) : trees_(chunks), symbols_(chunks) {}

    template <class T, class... Arguments>
    T *tree(Arguments... arguments) {
        return trees_.create<T>(arguments...);
    }
    template <class T, class... Arguments>
    T *symbol(Arguments... arguments) {
        return symbols_.create<T>(arguments...);
    }
    char *name(std::size_t size) { return static_cast<char *>(symbols_.allocate(size)); }
    void *begin_block() { return symbols_.allocate(1); }
    void end_block(void *place) { symbols_.free_from(place); }

    void *begin_function() { return trees_.allocate(1); }
    void end_function(void *place) { trees_.free_from(place); }

  private:
    Obstack trees_;
    Obstack symbols_;
};

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 4000};
    if (!workload::read(count, words, options)) return 2;
    const reap::ObstackOptions chunks =
        options.naive ? reap::ObstackOptions{.first_chunk = 1, .growth = 1, .largest_chunk = 1}
                      : reap::ObstackOptions{};
    Memory memory(chunks);
    compiler::SourceText source(176);
    compiler::Parser parser(memory);
    compiler::Folder folder(memory);
    compiler::Generator generator;
    compiler::Machine machine;
    workload::Checksum checksum;
    std::size_t instructions = 0;
    for (std::size_t function = 0; function < options.scale; ++function) {
        void *const begin = memory.begin_function();
        compiler::Statement *const statements = parser.parse(source.next_function());
        folder.statements(statements);
        const std::vector<compiler::Instruction> &code = generator.generate(statements);
        memory.end_function(begin);
        for (const compiler::Instruction &instruction : code) {
            checksum.add(static_cast<std::uint64_t>(instruction.operation));
            checksum.add(instruction.operand);
        }
        instructions += code.size();
        checksum.add(machine.run(code, parser.slots()));
    }
    std::printf("%zu functions, %zu instructions\n", options.scale, instructions);
    workload::print(checksum);
}
