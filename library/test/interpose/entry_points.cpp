// Every function of libreap-malloc, and of libreap-win32-like, asked from a program: linked with it, or with
// it preloaded. The program knows that it is served by that library, and not by its C and C++ runtimes.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <limits>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "earlier_library.h"
#include "reap/interpose/mallctl.h"
#include "reap/interpose/scope.h"

// What headers of this age do not have.
extern "C" {
void cfree(void *object);
void free_sized(void *object, std::size_t size);
void free_aligned_sized(void *object, std::size_t alignment, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);
}
#pragma weak cfree
#pragma weak free_sized
#pragma weak free_aligned_sized

namespace {

// Out of the compiler's sight, which knows what malloc does, and leaves out what it can.
template <class T>
T unknown(T value) {
    volatile T hidden = value;
    return hidden;
}
const std::size_t impossible = unknown(std::numeric_limits<std::size_t>::max() / 2);

std::string provider(const void *function) {
    Dl_info info{};
    ::dladdr(function, &info);
    return info.dli_fname == nullptr ? "" : info.dli_fname;
}
bool is_aligned(const void *object, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(object) % alignment == 0;
}
/// What is asked for by name, as a program would that was linked before the name was there.
template <class Function>
Function *named(const char *name) {
    return reinterpret_cast<Function *>(::dlsym(RTLD_DEFAULT, name));
}

/// The library that serves us, as its messages call it.
std::string served_by() {
    const char *const told = std::getenv("SERVED_BY");
    return told == nullptr ? "libreap-malloc" : told;
}
/// What only that one does.
bool is_of_reaps() { return served_by() == "libreap-malloc"; }

TEST(EntryPoints, AreAllOurs) {
    for (const char *name : {"malloc",
                             "free",
                             "calloc",
                             "realloc",
                             "reallocarray",
                             "memalign",
                             "aligned_alloc",
                             "posix_memalign",
                             "valloc",
                             "pvalloc",
                             "cfree",
                             "malloc_usable_size",
                             "malloc_trim",
                             "mallopt",
                             "mallinfo",
                             "mallinfo2",
                             "malloc_stats",
                             "malloc_info",
                             "reap_mallctl",
                             "reap_malloc_open_scope",
                             "reap_malloc_close_scope",
                             "reap_malloc_leave_scope",
                             "free_sized",
                             "free_aligned_sized",
                             "__libc_malloc",
                             "__libc_free",
                             "__libc_calloc",
                             "__libc_realloc",
                             "__libc_memalign",
                             "__libc_valloc",
                             "__libc_pvalloc",
                             "__posix_memalign",
                             "_Znwm",
                             "_Znam",
                             "_ZnwmRKSt9nothrow_t",
                             "_ZnamRKSt9nothrow_t",
                             "_ZnwmSt11align_val_t",
                             "_ZnamSt11align_val_t",
                             "_ZnwmSt11align_val_tRKSt9nothrow_t",
                             "_ZnamSt11align_val_tRKSt9nothrow_t",
                             "_ZdlPv",
                             "_ZdaPv",
                             "_ZdlPvm",
                             "_ZdaPvm",
                             "_ZdlPvRKSt9nothrow_t",
                             "_ZdaPvRKSt9nothrow_t",
                             "_ZdlPvSt11align_val_t",
                             "_ZdaPvSt11align_val_t",
                             "_ZdlPvmSt11align_val_t",
                             "_ZdaPvmSt11align_val_t",
                             "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                             "_ZdaPvSt11align_val_tRKSt9nothrow_t"}) {
        const void *const function = ::dlsym(RTLD_DEFAULT, name);
        ASSERT_NE(function, nullptr) << name;
        EXPECT_NE(provider(function).find(served_by() + ".so"), std::string::npos) << name;
    }
}

TEST(EntryPoints, ScopesPutObjectsSideBySide) {
    const auto distance = [](const void *first, const void *second) {
        return static_cast<const char *>(second) - static_cast<const char *>(first);
    };
    void *escaped = nullptr;
    {
        const reap::Scope scope;
        void *const first = malloc(100);
        void *const second = ::operator new(1000);
        {
            const reap::Scope::Outside outside;
            free(malloc(100));
        }
        escaped = calloc(10, 4);
        EXPECT_EQ(distance(first, second) == 112 && distance(second, escaped) == 1008, is_of_reaps());
        EXPECT_EQ(*static_cast<int *>(escaped), 0);
        free(first);
        ::operator delete(second);
    }
    std::memset(escaped, 1, 40);
    free(escaped);
}

TEST(EntryPoints, Malloc) {
    void *const none = malloc(unknown<std::size_t>(0));
    void *const other = malloc(unknown<std::size_t>(0));
    EXPECT_TRUE(none != nullptr && other != nullptr && none != other);
    free(none);
    free(other);
    free(unknown<void *>(nullptr));
    for (std::size_t size = 1; size < 5000000; size = size * 5 / 4 + 1) {
        void *const object = malloc(size);
        ASSERT_NE(object, nullptr);
        EXPECT_TRUE(is_aligned(object, 16));
        EXPECT_GE(malloc_usable_size(object), size);
        std::memset(object, 0x5a, malloc_usable_size(object));
        free(object);
    }
    EXPECT_EQ(malloc_usable_size(nullptr), 0U);
}

TEST(EntryPoints, SayEnomem) {
    for (const std::size_t size : {impossible, impossible * 2, std::size_t{1} << 60}) {
        errno = 0;
        EXPECT_EQ(malloc(size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
        EXPECT_EQ(calloc(1, size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
        EXPECT_EQ(memalign(64, size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
        EXPECT_EQ(aligned_alloc(4096, size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
        EXPECT_EQ(valloc(size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
        EXPECT_EQ(pvalloc(size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        auto *const object = static_cast<char *>(malloc(10));
        std::strcpy(object, "still it");
        errno = 0;
        EXPECT_EQ(realloc(object, size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        EXPECT_STREQ(object, "still it");
        free(object);
    }
    errno = 0;
    EXPECT_EQ(calloc(impossible, 3), nullptr) << "the product does not wrap";
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(reallocarray(nullptr, impossible, 3), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 7;
    void *const object = malloc(3000000);
    free(object);
    EXPECT_EQ(errno, 7) << "free() leaves it alone";
}

/// realloc(), which is not to fail.
unsigned char *moved_to(unsigned char *object, std::size_t size) {
    void *const moved = realloc(object, size);
    EXPECT_NE(moved, nullptr);
    return static_cast<unsigned char *>(moved);
}

TEST(EntryPoints, Realloc) {
    auto *bytes = static_cast<unsigned char *>(realloc(nullptr, 10));
    std::memset(bytes, 9, 10);
    std::size_t before = 10;
    for (std::size_t size = 11; size < 10000000; size = size * 3 / 2) {
        bytes = moved_to(bytes, size);
        ASSERT_NE(bytes, nullptr);
        EXPECT_EQ(std::count(bytes, bytes + before, 9), static_cast<std::ptrdiff_t>(before));
        std::memset(bytes, 9, size);
        before = size;
    }
    for (std::size_t size = before; size > 0; size = size * 2 / 3) {
        bytes = moved_to(bytes, size);
        ASSERT_NE(bytes, nullptr);
        EXPECT_EQ(std::count(bytes, bytes + size, 9), static_cast<std::ptrdiff_t>(size));
    }
    EXPECT_EQ(realloc(bytes, 0), nullptr) << "as glibc: frees";
    auto *const numbers = static_cast<int *>(reallocarray(nullptr, 100, sizeof(int)));
    numbers[99] = 5;
    auto *const more = static_cast<int *>(reallocarray(numbers, 10000, sizeof(int)));
    EXPECT_EQ(more[99], 5);
    free(more);
}

TEST(EntryPoints, Calloc) {
    for (std::size_t size = 1; size < 5000000; size = size * 5 / 4 + 1) {
        for (int round = 0; round < 2; ++round) {
            auto *const bytes = static_cast<unsigned char *>(calloc(size, 1));
            ASSERT_NE(bytes, nullptr);
            EXPECT_EQ(std::count(bytes, bytes + size, 0), static_cast<std::ptrdiff_t>(size));
            std::memset(bytes, 1, size);
            free(bytes);
        }
    }
    free(calloc(0, 5));
}

TEST(EntryPoints, Aligned) {
    for (std::size_t alignment = sizeof(void *); alignment <= std::size_t{8} << 20; alignment *= 2) {
        for (const std::size_t size :
             {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{70000}, 3 * alignment}) {
            void *object = nullptr;
            ASSERT_EQ(posix_memalign(&object, alignment, size), 0);
            EXPECT_TRUE(is_aligned(object, alignment));
            std::memset(object, 1, size);
            free(object);
            object = aligned_alloc(alignment, size);
            EXPECT_TRUE(object != nullptr && is_aligned(object, alignment));
            free(moved_to(static_cast<unsigned char *>(object), size + 100));
            object = memalign(alignment, size);
            EXPECT_TRUE(object != nullptr && is_aligned(object, alignment));
            free(object);
        }
    }
    void *const rounded = memalign(unknown<std::size_t>(48), 10);
    EXPECT_TRUE(is_aligned(rounded, 64)) << "as glibc: the next power of two";
    free(rounded);
    int variable = 0;
    void *untouched = &variable;
    EXPECT_EQ(posix_memalign(&untouched, 24, 10), EINVAL);
    EXPECT_EQ(posix_memalign(&untouched, 4, 10), EINVAL) << "less than a pointer's";
    EXPECT_EQ(posix_memalign(&untouched, 0, 10), EINVAL);
    errno = 7;
    EXPECT_EQ(posix_memalign(&untouched, 64, impossible), ENOMEM);
    EXPECT_EQ(errno, 7) << "it answers by what it returns";
    EXPECT_EQ(untouched, &variable);
    errno = 0;
    EXPECT_EQ(aligned_alloc(unknown<std::size_t>(24), 10), nullptr);
    EXPECT_EQ(errno, EINVAL);

    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void *const by_page = valloc(10);
    EXPECT_TRUE(is_aligned(by_page, page));
    free(by_page);
    void *const pages = pvalloc(page + 1);
    EXPECT_TRUE(is_aligned(pages, page));
    EXPECT_GE(malloc_usable_size(pages), 2 * page);
    free(pages);
}

TEST(EntryPoints, OtherNames) {
    void *const object = named<void *(std::size_t)>("__libc_malloc")(100);
    named<void(void *, std::size_t)>("free_sized")(object, 100);
    void *const aligned = named<void *(std::size_t, std::size_t)>("__libc_memalign")(64, 100);
    EXPECT_TRUE(is_aligned(aligned, 64));
    named<void(void *, std::size_t, std::size_t)>("free_aligned_sized")(aligned, 64, 100);
    named<void(void *)>("cfree")(malloc(1));
    named<void(void *)>("cfree")(nullptr);
}

TEST(EntryPoints, Statistics) {
    void *const small = malloc(100);
    void *const large = malloc(5000000);
    const struct mallinfo2 wide = mallinfo2();
    EXPECT_GE(wide.arena, 100U);
    EXPECT_GE(wide.hblkhd, 5000000U);
    EXPECT_EQ(wide.uordblks + wide.fordblks, wide.arena) << "as in glibc, without large objects";
    EXPECT_LE(wide.keepcost, wide.fordblks);
    EXPECT_EQ(wide.hblks, is_of_reaps() ? 1U : 0U);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    EXPECT_GE(mallinfo().hblkhd, 5000000);
#pragma GCC diagnostic pop
    char text[2000] = "";
    FILE *const file = ::fmemopen(text, sizeof text, "w");
    EXPECT_EQ(malloc_info(0, file), 0);
    EXPECT_EQ(malloc_info(1, file), -1);
    ::fclose(file);
    EXPECT_NE(std::strstr(text, "<malloc version=\"reap-1\">"), nullptr) << text;
    EXPECT_NE(std::strstr(text, "<total type=\"mmap\" count="), nullptr);
    EXPECT_NE(std::strstr(text, "<system type=\"current\" size="), nullptr);
    EXPECT_NE(std::strstr(text, ("<reap library=\"" + served_by() + "\" heaps=").c_str()), nullptr) << text;
    EXPECT_NE(std::strstr(text, "</malloc>"), nullptr);
    EXPECT_EQ(mallopt(M_MMAP_THRESHOLD, 1), 0) << "cannot be set";
    EXPECT_EQ(mallopt(M_TRIM_THRESHOLD, -1), 0);
    EXPECT_EQ(mallopt(M_TRIM_THRESHOLD, 16 << 20), served_by() == "libreap-malloc" ? 1 : 0);
    free(large);
    free(small);
    const int trimmed = malloc_trim(0);
    EXPECT_TRUE(trimmed == 1 || !is_of_reaps()) << "the large one was kept";
    EXPECT_EQ(malloc_trim(0), 0);
    testing::internal::CaptureStderr();
    malloc_stats();
    EXPECT_NE(testing::internal::GetCapturedStderr().find(served_by() + ": "), std::string::npos);
}

TEST(EntryPoints, Mallctl) {
    auto *const ask = named<decltype(reap_mallctl)>("reap_mallctl");
    const char *library = nullptr;
    std::size_t size = sizeof library;
    EXPECT_EQ(ask("library", static_cast<void *>(&library), &size, nullptr, 0), 0);
    EXPECT_EQ(library, served_by());
    const auto mapped = [ask] {
        std::size_t value = 0;
        std::size_t value_size = sizeof value;
        EXPECT_EQ(ask("stats.mapped", &value, &value_size, nullptr, 0), 0);
        return value;
    };
    void *const large = malloc(9000000);
    EXPECT_GE(mapped(), 9000000U);
    free(large);
    EXPECT_EQ(ask("purge", nullptr, nullptr, nullptr, 0), 0);
    EXPECT_LT(mapped(), 9000000U);
    EXPECT_EQ(ask("no such name", nullptr, nullptr, nullptr, 0), ENOENT);
}

TEST(EntryPoints, Operators) {
    struct alignas(128) Wide {
        char bytes[128];
    };
    delete unknown(new int(3));
    delete[] unknown(new int[1000]);
    delete unknown(new Wide);
    Wide *const wide = unknown(new Wide[10]);
    EXPECT_TRUE(is_aligned(wide, 128));
    delete[] wide;
    delete unknown(new (std::nothrow) int(3));
    delete[] unknown(new (std::nothrow) int[10]);
    Wide *const quiet = unknown(new (std::nothrow) Wide);
    EXPECT_TRUE(is_aligned(quiet, 128));
    delete quiet;

    constexpr std::align_val_t alignment{64};
    ::operator delete(::operator new(10), std::size_t{10});
    ::operator delete[](::operator new[](10), std::size_t{10});
    ::operator delete(::operator new(10, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](10, std::nothrow), std::nothrow);
    ::operator delete(::operator new(10, alignment), alignment);
    ::operator delete[](::operator new[](10, alignment), alignment);
    ::operator delete(::operator new(10, alignment), std::size_t{10}, alignment);
    ::operator delete[](::operator new[](10, alignment), std::size_t{10}, alignment);
    ::operator delete(::operator new(10, alignment, std::nothrow), alignment, std::nothrow);
    ::operator delete[](::operator new[](10, alignment, std::nothrow), alignment, std::nothrow);
}

TEST(EntryPoints, OperatorsThrowOrCallTheHandler) {
    constexpr std::align_val_t alignment{64};
    EXPECT_THROW((void)::operator new(impossible), std::bad_alloc);
    EXPECT_THROW((void)::operator new[](impossible), std::bad_alloc);
    EXPECT_THROW((void)::operator new(impossible, alignment), std::bad_alloc);
    EXPECT_THROW((void)::operator new[](impossible, alignment), std::bad_alloc);
    EXPECT_EQ(::operator new(impossible, std::nothrow), nullptr);
    EXPECT_EQ(::operator new[](impossible, std::nothrow), nullptr);
    EXPECT_EQ(::operator new(impossible, alignment, std::nothrow), nullptr);
    EXPECT_EQ(::operator new[](impossible, alignment, std::nothrow), nullptr);

    static int calls = 0;
    const auto handler = [] {
        if (++calls == 3) std::set_new_handler(nullptr);
    };
    std::set_new_handler(handler);
    EXPECT_THROW((void)::operator new(impossible), std::bad_alloc);
    EXPECT_EQ(calls, 3);
    calls = 0;
    std::set_new_handler(handler);
    EXPECT_EQ(::operator new(impossible, std::nothrow), nullptr);
    EXPECT_EQ(calls, 3);
    struct Own : std::exception {};
    std::set_new_handler([] { throw Own(); });
    EXPECT_THROW((void)::operator new(impossible), Own);
    EXPECT_THROW((void)::operator new(impossible, alignment), Own);
    EXPECT_EQ(::operator new(impossible, std::nothrow), nullptr) << "as the standard has it";
    EXPECT_EQ(::operator new[](impossible, std::nothrow), nullptr);
    EXPECT_EQ(::operator new(impossible, alignment, std::nothrow), nullptr);
    EXPECT_EQ(::operator new[](impossible, alignment, std::nothrow), nullptr);
    std::set_new_handler(nullptr);
}

TEST(EntryPoints, OperatorsServeWhatAHandlerMadeRoomFor) {
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{std::size_t{600} << 20, std::size_t{600} << 20};
        ::setrlimit(RLIMIT_AS, &limit);
        static void *hoard = malloc(std::size_t{300} << 20);
        const auto handler = [] {
            free(hoard);
            std::set_new_handler(nullptr);
        };
        const std::size_t size = unknown(std::size_t{400} << 20);
        constexpr std::align_val_t alignment{64};
        int good = 0;
        const auto served = [&](void *object) {
            good += object != nullptr && malloc_usable_size(object) >= size && is_aligned(object, 16);
            ::operator delete(object);
            hoard = malloc(std::size_t{300} << 20);
        };
        std::set_new_handler(handler);
        served(::operator new(size));
        std::set_new_handler(handler);
        served(::operator new(size, std::nothrow));
        std::set_new_handler(handler);
        served(::operator new[](size, alignment));
        std::set_new_handler(handler);
        served(::operator new[](size, alignment, std::nothrow));
        _exit(good == 4 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

std::atomic<int> asked{0};
std::atomic<int> answered{0};

TEST(EntryPoints, ForkWhileAHandlerOfAnEarlierLibraryWaitsForAThreadThatAllocates) {
    const pid_t forking = fork();
    if (forking == 0) {
        ::alarm(10); // what ends it if the two wait for each other
        pthread_t thread{};
        const auto work = [](void *) -> void * {
            while (asked == 0) ::usleep(100);
            free(unknown(malloc(3000000))); // which takes the heap's lock
            answered = 1;
            return nullptr;
        };
        if (pthread_create(&thread, nullptr, work, nullptr) != 0) _exit(1);
        before_fork = [] {
            asked = 1;
            while (answered == 0) ::usleep(100);
        };
        const pid_t child = fork();
        if (child == 0) _exit(0);
        before_fork = nullptr;
        int status = 1;
        waitpid(child, &status, 0);
        pthread_join(thread, nullptr);
        _exit(status);
    }
    int status = 0;
    ASSERT_EQ(waitpid(forking, &status, 0), forking);
    EXPECT_EQ(status, 0);
}

TEST(EntryPoints, MemoryThatRunsOutIsNoEnd) {
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{std::size_t{600} << 20, std::size_t{600} << 20};
        ::setrlimit(RLIMIT_AS, &limit);
        struct Link {
            Link *next;
        };
        Link *last = nullptr;
        int count = 0;
        while (void *const object = malloc(50000)) {
            last = ::new (object) Link{last};
            ++count;
        }
        const bool said = errno == ENOMEM;
        bool thrown = false;
        try {
            (void)::operator new(unknown<std::size_t>(50000000));
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        while (last != nullptr) {
            Link *const object = last;
            last = last->next;
            free(object);
        }
        void *const again = malloc(100000000);
        _exit(said && thrown && count > 5000 && again != nullptr ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

void *plain_malloc(std::size_t size) { return unknown(malloc)(size); }

TEST(EntryPointsDeathTest, TellAddressesThatAreNobodys) {
    int variable = 0;
    void *const foreign = unknown<void *>(&variable);
    EXPECT_DEATH(free(foreign), served_by() + ": free: 0x.* is in no memory that malloc allocated");
    EXPECT_DEATH(free(realloc(foreign, 10)), served_by() + ": realloc: ");
    EXPECT_DEATH((void)malloc_usable_size(foreign), served_by() + ": malloc_usable_size: ");
    EXPECT_DEATH(::operator delete(foreign), served_by() + ": operator delete: ");
    void *const mapped = plain_malloc(std::size_t{100} << 20);
    free(mapped);
    EXPECT_DEATH(free(mapped), served_by() + ": free: ");
    if (!is_of_reaps()) return;
    void *const block = plain_malloc(5000);
    void *const after = plain_malloc(5000);
    free(block);
    EXPECT_DEATH(free(block), "double free");
    free(after);
}

TEST(EntryPointsDeathTest, TellBlocksThatAreFreedTwice) {
    if (!is_of_reaps()) GTEST_SKIP() << "it looks for none";
    void *const last = plain_malloc(5000); // what is freed by going back
    free(last);
    EXPECT_DEATH(free(last), "double free");
    void *const kept = plain_malloc(3000000); // not returned to the OS
    free(kept);
    EXPECT_DEATH(free(kept), "libreap-malloc: free: 0x.* is in no memory that malloc allocated");
    EXPECT_EQ(plain_malloc(3000000), kept);
    free(kept);
}

// Allocated before anything was constructed, freed after main.
struct Early {
    void *object = plain_malloc(100);
    ~Early() { free(object); }
} early; // NOLINT(cert-err58-cpp)

TEST(EntryPoints, ServeAtexitHandlersAndThreadsThatEnd) {
    const pid_t child = fork();
    if (child == 0) {
        std::atexit([] {
            void *const object = plain_malloc(100000);
            std::memset(object, 1, 100000);
            free(object);
            const std::string text(1000, 'x');
            if (text.size() != 1000) std::abort();
        });
        std::exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);

    struct Late {
        std::string text = std::string(100, 'y');
        ~Late() { text.resize(10000, 'z'); }
    };
    pthread_t thread{};
    const auto work = [](void *) -> void * {
        static thread_local const Late late;
        return malloc(late.text.size());
    };
    ASSERT_EQ(pthread_create(&thread, nullptr, work, nullptr), 0);
    void *object = nullptr;
    pthread_join(thread, &object);
    free(object);
}

} // namespace
