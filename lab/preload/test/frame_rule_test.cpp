// Concern: each rule restores what libgcc restores. libgcc unwinds from a made-up frame of every row of the
// unwind tables in this process; each word of the made-up stack tells its own address.
#include "frame_rule.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unwind.h>
#include <vector>

namespace {

using reap::preload::Cfa;
using reap::preload::decode_frame_rule;
using reap::preload::DecodedRule;
using reap::preload::FrameRule;
using reap::preload::LatestPrograms;
using reap::preload::make_latest_programs;
using reap::preload::SavedRbp;

// What a rule leads to: the frame of the caller.
struct Frame {
    uint64_t pc = 0;
    uint64_t sp = 0;
    uint64_t rbp = 0;
    bool operator==(const Frame &) const = default;
};

struct Unwound {
    std::vector<Frame> frames;
};

_Unwind_Reason_Code collect(_Unwind_Context *context, void *argument) {
    auto &frames = static_cast<Unwound *>(argument)->frames;
    frames.push_back({_Unwind_GetIP(context), _Unwind_GetCFA(context), _Unwind_GetGR(context, 6)});
    return frames.size() == 3 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

Unwound *current;

} // namespace

extern "C" {
uint64_t reap_test_stack;
void reap_test_unwind_at(uint64_t pc, uint64_t sp, uint64_t rbp);
void reap_test_return();

// The callee of the made-up frame.
[[gnu::used]] void reap_test_callee() {
    _Unwind_Backtrace(collect, current);
    reap_test_return();
}
}

// Calls reap_test_callee on another stack, as if from `pc` with the given rsp and rbp.
asm(R"(
    .text
    .globl reap_test_unwind_at
reap_test_unwind_at:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    sub $8, %rsp
    mov reap_test_stack@GOTPCREL(%rip), %rax
    mov %rsp, (%rax)
    lea -8(%rsi), %rsp
    mov %rdi, (%rsp)
    mov %rdx, %rbp
    jmp reap_test_callee
    .globl reap_test_return
reap_test_return:
    mov reap_test_stack@GOTPCREL(%rip), %rax
    mov (%rax), %rsp
    add $8, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
)");

namespace {

// A made-up stack; each word has the address of another word, so that whatever is restored can be read.
class MadeUpStack {
  public:
    MadeUpStack() {
        memory_ = static_cast<uint64_t *>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        begin_ = reinterpret_cast<uint64_t>(memory_);
        restore(begin_, begin_ + kBytes);
    }
    MadeUpStack(const MadeUpStack &) = delete;
    MadeUpStack &operator=(const MadeUpStack &) = delete;
    ~MadeUpStack() { munmap(memory_, kBytes); }

    // What libgcc takes for the caller of a frame at `pc`. The pc is 0 if it finds none.
    Frame by_libgcc(uint64_t pc) {
        Unwound unwound;
        unwound.frames.reserve(3);
        current = &unwound;
        reap_test_unwind_at(pc, sp(), rbp());
        restore(sp() - (64 << 10), sp()); // the callees' frames were there
        return unwound.frames.size() == 3 && unwound.frames[2].pc != 0 ? unwound.frames[2] : Frame{};
    }

    [[nodiscard]] Frame by_rule(const FrameRule &rule) const {
        Frame caller;
        switch (rule.cfa) {
        case Cfa::Rsp:
            caller.sp = sp() + static_cast<uint64_t>(rule.cfa_offset);
            break;
        case Cfa::Rbp:
            caller.sp = rbp() + static_cast<uint64_t>(rule.cfa_offset);
            break;
        case Cfa::RbpIndirect:
            caller.sp = word(rbp() + static_cast<uint64_t>(rule.cfa_offset));
            break;
        default:
            return caller;
        }
        caller.pc = word(caller.sp - 8);
        caller.rbp = rbp();
        if (rule.rbp == SavedRbp::AtCfa)
            caller.rbp = word(caller.sp + static_cast<uint64_t>(rule.rbp_offset));
        if (rule.rbp == SavedRbp::AtRbp) caller.rbp = word(rbp() + static_cast<uint64_t>(rule.rbp_offset));
        return caller;
    }

    // Whether a rule stays inside, and above the callee's frames. (In an epilogue a slot may be below rsp.)
    [[nodiscard]] bool reaches(const FrameRule &rule) const {
        if (rule.cfa_offset >= (1 << 20) || rule.cfa_offset <= -(1 << 20)) return false;
        return rule.cfa != Cfa::Rsp || rule.rbp != SavedRbp::AtCfa || rule.cfa_offset + rule.rbp_offset >= 0;
    }

  private:
    static constexpr uint64_t kBytes = 8 << 20;
    static constexpr uint64_t kHalf = kBytes / 2;
    [[nodiscard]] uint64_t sp() const { return begin_ + (1 << 20); }
    [[nodiscard]] uint64_t rbp() const { return begin_ + (2 << 20) + (512 << 10); }
    [[nodiscard]] uint64_t word(uint64_t address) const {
        return address < begin_ + kHalf ? address + kHalf : address - kHalf;
    }
    void restore(uint64_t from, uint64_t to) {
        for (uint64_t at = from; at < to; at += 8) memory_[(at - begin_) / 8] = word(at);
    }

    uint64_t *memory_;
    uint64_t begin_;
};

// A function with unwind tables, from the sorted table of its module.
struct Function {
    uint64_t begin;
    uint64_t next; // where the next one begins
};

struct Module {
    std::string name;
    std::vector<Function> functions;
};

int list_functions(dl_phdr_info *info, size_t, void *argument) {
    auto &modules = *static_cast<std::vector<Module> *>(argument);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto &header = info->dlpi_phdr[i];
        if (header.p_type != PT_GNU_EH_FRAME) continue;
        const uint64_t at = info->dlpi_addr + header.p_vaddr;
        uint8_t kind[4];
        memcpy(kind, reinterpret_cast<const void *>(at), sizeof kind);
        // The usual encodings: a sorted table of 32-bit offsets from its own start.
        if (kind[0] != 1 || kind[1] != 0x1b || kind[2] != 0x03 || kind[3] != 0x3b) continue;
        uint32_t count;
        memcpy(&count, reinterpret_cast<const void *>(at + 8), sizeof count);
        Module module{info->dlpi_name, {}};
        for (uint32_t row = 0; row < count; ++row) {
            int32_t begin;
            memcpy(&begin, reinterpret_cast<const void *>(at + 12 + 8 * uint64_t{row}), sizeof begin);
            module.functions.push_back({at + static_cast<uint64_t>(begin), 0});
        }
        for (size_t f = 0; f + 1 < module.functions.size(); ++f)
            module.functions[f].next = module.functions[f + 1].begin;
        if (!module.functions.empty()) module.functions.back().next = module.functions.back().begin + 2;
        modules.push_back(std::move(module));
    }
    return 0;
}

std::vector<Module> modules_of_this_process() {
    // Large libraries that most machines have, for the variety of their compilers' tables.
    for (const char *name :
         {"libcrypto.so.3", "libperl.so.5.36", "libpython3.11.so.1.0", "libgmp.so.10", "libz.so.1"})
        dlopen(name, RTLD_NOW);
    std::vector<Module> modules;
    dl_iterate_phdr(list_functions, &modules);
    return modules;
}

// Functions of a module that are checked, evenly spread: all if REAP_UNWIND_ALL is set (8 s).
size_t most_functions() { return std::getenv("REAP_UNWIND_ALL") != nullptr ? SIZE_MAX : 1500; }

TEST(FrameRule, RestoresWhatLibgccRestoresInEveryRow) {
    MadeUpStack stack;
    size_t rows = 0;
    size_t unsupported = 0;
    size_t not_compared = 0;
    for (const Module &module : modules_of_this_process()) {
        if (module.name == "linux-vdso.so.1") continue;
        const size_t stride = 1 + module.functions.size() / most_functions();
        for (size_t f = 0; f < module.functions.size(); f += stride) {
            const Function &function = module.functions[f];
            uint64_t pc = function.begin + 1;
            while (pc < function.next) {
                const DecodedRule decoded = decode_frame_rule(pc);
                ++rows;
                ASSERT_NE(decoded.rule.cfa, Cfa::Unknown);
                unsupported += decoded.rule.cfa == Cfa::Unsupported ? 1 : 0;
                if (decoded.rule.cfa == Cfa::Unsupported || !stack.reaches(decoded.rule)) {
                    ++not_compared;
                } else {
                    ASSERT_EQ(stack.by_rule(decoded.rule), stack.by_libgcc(pc))
                        << module.name << " " << std::hex << pc << " in the function at " << function.begin;
                }
                ASSERT_GT(decoded.row_end, pc);
                pc = decoded.row_end;
            }
        }
    }
    RecordProperty("rows", std::to_string(rows));
    RecordProperty("unsupported", std::to_string(unsupported));
    RecordProperty("not compared", std::to_string(not_compared));
    EXPECT_GT(rows, 50000u);
    // Hand-written assembly, entries of procedure linkage tables, signal handlers' frames.
    EXPECT_LT(unsupported * 50, rows);
    EXPECT_LT(not_compared * 5, rows);
}

// A row's end is what skips the rest of it above: every address between has the same rule.
TEST(FrameRule, IsTheSameUntilTheEndOfItsRow) {
    size_t checked = 0;
    for (const Module &module : modules_of_this_process()) {
        for (size_t f = 0; f < module.functions.size(); f += 37) {
            const Function &function = module.functions[f];
            DecodedRule row{};
            for (uint64_t pc = function.begin + 1; pc < function.next && pc < function.begin + 500; ++pc) {
                const DecodedRule decoded = decode_frame_rule(pc);
                if (pc < row.row_end) {
                    ASSERT_EQ(memcmp(&decoded.rule, &row.rule, sizeof(FrameRule)), 0)
                        << module.name << " " << std::hex << pc;
                }
                row = decoded;
                ++checked;
            }
        }
    }
    EXPECT_GT(checked, 50000u);
}

// Addresses of some functions in any order, and of more functions than are kept.
TEST(FrameRule, IsTheSameWhereverTheTableWasRunToBefore) {
    LatestPrograms *const latest = make_latest_programs();
    ASSERT_NE(latest, nullptr);
    std::mt19937_64 random(1);
    size_t checked = 0;
    for (const Module &module : modules_of_this_process()) {
        constexpr size_t kAtATime = 24;
        for (size_t first = 0; first + kAtATime < module.functions.size(); first += 16 * kAtATime) {
            for (int turn = 0; turn < 800; ++turn) {
                const Function &function = module.functions[first + random() % kAtATime];
                if (function.next - function.begin < 2) continue;
                const uint64_t pc = function.begin + 1 + random() % (function.next - function.begin - 1);
                const DecodedRule alone = decode_frame_rule(pc);
                const DecodedRule after = decode_frame_rule(pc, latest);
                ASSERT_EQ(memcmp(&after.rule, &alone.rule, sizeof(FrameRule)), 0)
                    << module.name << " " << std::hex << pc;
                ASSERT_EQ(after.row_end, alone.row_end) << module.name << " " << std::hex << pc;
                if (random() % 100 == 0) forget(*latest);
                ++checked;
            }
        }
    }
    EXPECT_GT(checked, 50000u);
}

// The C library unloads them by itself, and nobody would forget their rules.
TEST(FrameRule, IsUnsupportedInModulesOfIconv) {
    void *module = dlopen("/usr/lib/x86_64-linux-gnu/gconv/UTF-16.so", RTLD_NOW);
    if (module == nullptr) GTEST_SKIP() << dlerror();
    const auto function = reinterpret_cast<uint64_t>(dlsym(module, "gconv_init"));
    EXPECT_EQ(decode_frame_rule(function + 1).rule.cfa, Cfa::Unsupported);
    EXPECT_EQ(decode_frame_rule(reinterpret_cast<uint64_t>(&dlerror) + 1).rule.cfa, Cfa::Rsp);
    dlclose(module);
}

TEST(FrameRule, OutsideAllModulesIsTheEndAndNotPermanent) {
    void *code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto address = reinterpret_cast<uint64_t>(code) + 100;
    EXPECT_EQ(decode_frame_rule(address).rule.cfa, Cfa::Outside);
    EXPECT_FALSE(is_permanent(decode_frame_rule(address).rule));
    constexpr unsigned char kReturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
    memcpy(reinterpret_cast<void *>(address), kReturn, sizeof kReturn);
    EXPECT_EQ(decode_frame_rule(address).rule.cfa, Cfa::Unsupported);
    munmap(code, 4096);
}

} // namespace
