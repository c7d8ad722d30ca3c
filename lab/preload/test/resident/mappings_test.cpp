// Concern: the anonymous mappings of the process are those in which blocks are looked for.
#include "mappings.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>

namespace {

using reap::preload::Mappings;

TEST(Mappings, AreThoseOfTheProcess) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer maps twenty terabytes: some seconds";
#endif
    constexpr uint64_t bytes = uint64_t{10} * 4096;
    void *const block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static_cast<uint64_t *>(block)[1] = bytes | 2; // as glibc marks it
    reap_resident_around around{};
    bool opened = false;
    std::thread([&] {
        Mappings mappings;
        mappings.open();
        const int ending = 0;
        mappings.find(~uint64_t{0}, ending, around);
        opened = around.mapped != 0;
        mappings.forget();
        reap_resident_around nothing{};
        mappings.find(~uint64_t{0}, ending, nothing);
        EXPECT_EQ(nothing.mapped, 0u);
    }).join();
    munmap(block, bytes);
    if (!opened) GTEST_SKIP() << "a kernel before Linux 5.9";
    EXPECT_GE(around.mapped, bytes);
}

} // namespace
