#include "attach/probe/cost.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include "attach/failure.h"
#include "attach/probe/probes.h"
#include "files/file.h"
#include "symbols/symbols.h"

// The kernel emulates the first instruction of one, and has that of the other executed elsewhere.
asm(".text\n"
    ".hidden reap_probed_push\n"
    ".globl reap_probed_push\n"
    ".type reap_probed_push, @function\n"
    "reap_probed_push:\n"
    "    push %rbx\n"
    "    pop %rbx\n"
    "    ret\n"
    ".size reap_probed_push, . - reap_probed_push\n"
    ".hidden reap_probed_test\n"
    ".globl reap_probed_test\n"
    ".type reap_probed_test, @function\n"
    "reap_probed_test:\n"
    "    test %rdi, %rdi\n"
    "    ret\n"
    ".size reap_probed_test, . - reap_probed_test\n");
extern "C" void reap_probed_push(void *block);
extern "C" void reap_probed_test(void *block);

namespace reap::native {
namespace {

double cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

using Probed = void (*)(void *);

// The median of several rounds: an interrupt is none of it.
double cost_of_call(Probed function) {
    constexpr int calls = 100;
    std::array<double, 7> rounds{};
    for (double &round : rounds) {
        const double begin = cpu_ns();
        for (int i = 0; i < calls; ++i) function(&round);
        round = (cpu_ns() - begin) / calls;
    }
    std::nth_element(rounds.begin(), rounds.begin() + 3, rounds.end());
    return rounds[3];
}

// The file that has the functions, and where in it they are.
class OwnFile {
  public:
    OwnFile() {
        if (dladdr(reinterpret_cast<const void *>(&reap_probed_push), &where_) == 0)
            throw AttachFailure("symbols", 0);
        file_ = std::make_unique<Descriptor>(::open(where_.dli_fname, O_RDONLY | O_CLOEXEC));
        if (file_->get() < 0) throw AttachFailure("symbols", errno);
    }

    ProbePlace place_of(Probed function) {
        const uint64_t address =
            reinterpret_cast<uint64_t>(function) - reinterpret_cast<uint64_t>(where_.dli_fbase);
        return {file_->get(), symbols_.offset_at(where_.dli_fname, address), {}};
    }

  private:
    Dl_info where_{};
    std::unique_ptr<Descriptor> file_;
    Symbolizer symbols_;
};

} // namespace

ProbeCost measure_probe_cost() {
    OwnFile file;
    Probes probes(getpid(), {file.place_of(&reap_probed_push), file.place_of(&reap_probed_test)});
    const double bare = cost_of_call(&reap_probed_push);
    probes.sample(0);
    probes.set();
    const double emulated = cost_of_call(&reap_probed_push);
    const double stepped = cost_of_call(&reap_probed_test);
    probes.sample(1);
    const double sampled = cost_of_call(&reap_probed_push);
    return {std::max(emulated - bare, 0.0), std::max(stepped - bare, 0.0), std::max(sampled - emulated, 0.0)};
}

} // namespace reap::native
