/** @file
 * Clang without the rest of its driver: compiles one C file to assembly, on standard output, as `clang`
 * would.
 *
 * Everything else is Debian's own Clang and LLVM, linked statically. `NAIVE` replaces one function of theirs:
 * llvm::BumpPtrAllocator's slow path, which then gives each object memory of its own, as with a SizeThreshold
 * of 0 (Table 4 of "Reconsidering 'Reconsidering Custom Memory Allocation'", ISMM 2026). Its fast path, which
 * is inlined everywhere, never finds a slab to allocate from.
 *
 *     clang-custom FILE.c [OPTION…]
 *
 * Exits with 0; 1 where the file cannot be compiled, as the diagnostics say.
 */
#include <algorithm>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/FrontendTool/Utils.h>
#include <cstddef>
#include <cstdint>
#include <llvm/Support/Allocator.h>
#include <llvm/Support/BuryPointer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <memory>
#include <utility>
#include <vector>

#ifdef NAIVE
namespace llvm {

using Bump = BumpPtrAllocatorImpl<MallocAllocator, 4096, 4096, 128>;

/** The only definition that is not weak, so the linker takes it for all of LLVM's and Clang's. */
template <>
void *Bump::AllocateSlow(std::size_t, std::size_t size, Align alignment) {
    // At least a byte: jemalloc 5.3 frees what has none, and an alignment, as if it were smaller than it is.
    const std::size_t padded = std::max<std::size_t>(size + alignment.value() - 1, 1);
    void *memory = getAllocator().Allocate(padded, alignof(std::max_align_t));
    CustomSizedSlabs.emplace_back(memory, padded); // by which the region frees it
    return reinterpret_cast<void *>(alignAddr(memory, alignment));
}

} // namespace llvm
#endif

int main(int argc, char **argv) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmParser(); // for assembly in C
    llvm::InitializeNativeTargetAsmPrinter();
    std::vector<const char *> words{"clang", "-resource-dir", RESOURCES, "-S", "-o", "-"};
    words.insert(words.end(), argv + 1, argv + argc);

    // What the driver would start another process with.
    const auto diagnostics = clang::CompilerInstance::createDiagnostics(new clang::DiagnosticOptions);
    clang::driver::Driver driver{words.front(), llvm::sys::getDefaultTargetTriple(), *diagnostics};
    const std::unique_ptr<clang::driver::Compilation> compilation{driver.BuildCompilation(words)};
    if (!compilation || compilation->containsError() || compilation->getJobs().size() != 1) return 1;
    const auto &options = compilation->getJobs().begin()->getArguments();

    auto compiler = std::make_unique<clang::CompilerInstance>();
    if (!clang::CompilerInvocation::CreateFromArgs(compiler->getInvocation(), options, *diagnostics))
        return 1;
    compiler->createDiagnostics();
    const bool succeeded = clang::ExecuteCompilerInvocation(compiler.get());
    if (compiler->getFrontendOpts().DisableFree) llvm::BuryPointer(std::move(compiler));
    return succeeded ? 0 : 1;
}
