#include <atomic>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <stop_token>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <unwind.h>

#include "sides.h"

namespace reap::older {
namespace {

class Objects : public Sides {};
REAP_BOTH_SIDES(Objects);

void *code_of(const char *name) { return const_cast<void *>(find_newer(name)); }

TEST_P(Objects, AnAddressIsFoundInItsLibrary) {
    void *const address = code_of("malloc");
    dl_find_object found{};
    ASSERT_EQ(_dl_find_object(address, &found), 0);
    EXPECT_LE(found.dlfo_map_start, address);
    EXPECT_GT(found.dlfo_map_end, address);
    ASSERT_NE(found.dlfo_link_map, nullptr);
    EXPECT_NE(std::string(found.dlfo_link_map->l_name).find("libc.so.6"), std::string::npos);
    EXPECT_GT(found.dlfo_eh_frame, found.dlfo_map_start);
    EXPECT_LT(found.dlfo_eh_frame, found.dlfo_map_end);
}

TEST_P(Objects, BothSidesFindTheSame) {
    for (void *const address : {code_of("malloc"), reinterpret_cast<void *>(&code_of)}) {
        dl_find_object one{};
        dl_find_object other{};
        hides_newer = true;
        ASSERT_EQ(_dl_find_object(address, &one), 0);
        hides_newer = false;
        ASSERT_EQ(_dl_find_object(address, &other), 0);
        EXPECT_EQ(one.dlfo_link_map, other.dlfo_link_map);
        EXPECT_EQ(one.dlfo_eh_frame, other.dlfo_eh_frame);
        EXPECT_EQ(one.dlfo_map_start, other.dlfo_map_start);
        EXPECT_EQ(one.dlfo_map_end, other.dlfo_map_end);
    }
}

TEST_P(Objects, AnAddressOfNoObjectIsNotFound) {
    int local = 0;
    dl_find_object found{};
    EXPECT_NE(_dl_find_object(&local, &found), 0);
    Dl_info info{};
    EXPECT_EQ(dladdr(&local, &info), 0);
}

TEST_P(Objects, ANameOfALibrary) {
    Dl_info info{};
    ASSERT_NE(dladdr(code_of("malloc"), &info), 0);
    EXPECT_NE(std::string(info.dli_fname).find("libc.so.6"), std::string::npos);
    void *map = nullptr;
    ASSERT_NE(dladdr1(code_of("malloc"), &info, &map, RTLD_DL_LINKMAP), 0);
    EXPECT_EQ(static_cast<link_map *>(map)->l_name, std::string(info.dli_fname));
}

TEST_P(Objects, SymbolsAreFoundByName) {
    EXPECT_EQ(dlsym(RTLD_DEFAULT, "malloc"), code_of("malloc"));
    EXPECT_EQ(dlsym(RTLD_NEXT, "malloc"), code_of("malloc"));
    EXPECT_EQ(dlsym(RTLD_DEFAULT, "there_is_none"), nullptr);
}

TEST(Newer, AFunctionThatIsChosenByProcessorIsTheChosenOne) {
    EXPECT_EQ(find_newer("strlen"), dlsym(RTLD_DEFAULT, "strlen"));
}

// Of two versions dlsym returns the default one, too.
TEST(Newer, TheDefaultVersionIsFound) {
    EXPECT_EQ(find_newer("pthread_cond_wait"), dlsym(RTLD_DEFAULT, "pthread_cond_wait"));
    EXPECT_EQ(find_newer("timer_create"), dlsym(RTLD_DEFAULT, "timer_create"));
}

// A thread that looks at the modules again and again holds the loader's lock nearly always.
TEST_P(Objects, AChildOfAForkDoesNotWaitForTheLoadersLock) {
    const std::jthread holder([](const std::stop_token &stop) {
        while (!stop.stop_requested()) {
            dl_iterate_phdr([](dl_phdr_info *, size_t, void *) { return ::usleep(1000), 1; }, nullptr);
            ::usleep(100);
        }
    });
    void *const address = code_of("malloc");
    for (int i = 0; i < 40; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);
            dl_find_object found{};
            const bool is_found = _dl_find_object(address, &found) == 0;
            const bool in_libc = is_found && std::strstr(found.dlfo_link_map->l_name, "libc.so.6") != nullptr;
            int local = 0;
            ::_exit(in_libc && _dl_find_object(&local, &found) != 0 ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
        ASSERT_EQ(WEXITSTATUS(status), 0);
    }
}

// A handle of the program changes no module: the lock may still be taken when it is opened or closed.
TEST_P(Objects, TheProgramsOwnHandleIsNoChangeOfModules) {
    const auto open = reinterpret_cast<void *(*)(const char *, int)>(code_of("dlopen"));
    void *const program = open(nullptr, RTLD_NOW);
    is_copy = true;
    before_open(nullptr);
    before_open("");
    before_close(program);
    EXPECT_TRUE(is_copy);
    before_open("libresolv.so.2");
    EXPECT_FALSE(is_copy);
    is_copy = true;
    before_close(&is_copy);
    EXPECT_FALSE(is_copy);
}

// Each module took a walk of the loader's list from its begin.
TEST(Newer, NotingModulesForAForkTakesOnePassOfThem) {
    hides_newer = true;
    const auto open = reinterpret_cast<void *(*)(const char *, int)>(code_of("dlopen"));
    for (const char *const name : {"libanl.so.1", "libm.so.6", "libnsl.so.1", "librt.so.1", "libresolv.so.2",
                                   "libthread_db.so.1", "libutil.so.1", "libdl.so.2", "libpthread.so.0"})
        (void)open(name, RTLD_NOW);
    const std::jthread other([](const std::stop_token &stop) {
        while (!stop.stop_requested()) ::usleep(1000);
    });
    size_t modules = 0;
    dl_iterate_phdr([](dl_phdr_info *, size_t, void *count) { return ++*static_cast<size_t *>(count), 0; },
                    &modules);
    const size_t before = entries_seen;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const size_t seen = entries_seen - before;
    hides_newer = false;
    EXPECT_GT(modules, 10U);
    EXPECT_GE(seen, modules);
    EXPECT_LE(seen, 2 * modules);
}

// The loader's lock is free again there: whoever opens one takes it.
TEST_P(Objects, AChildOfAForkFindsLibrariesThatItOpens) {
    std::atomic<bool> ended{false};
    std::thread other([&ended] {
        while (!ended) ::usleep(1000);
    });
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        hides_newer = false;
        const auto open = reinterpret_cast<void *(*)(const char *, int)>(code_of("dlopen"));
        const auto find = reinterpret_cast<void *(*)(void *, const char *)>(code_of("dlsym"));
        hides_newer = GetParam();
        before_open("libresolv.so.2");
        void *const opened = open("libresolv.so.2", RTLD_NOW);
        void *const code = opened != nullptr ? find(opened, "__b64_ntop") : nullptr;
        dl_find_object found{};
        ::_exit(code != nullptr && _dl_find_object(code, &found) == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ended = true;
    other.join();
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

// libgcc's unwinder looks for tables by _dl_find_object.
TEST_P(Objects, ExceptionsAreCaught) { EXPECT_THROW((void)std::stoi("no number"), std::invalid_argument); }

TEST_P(Objects, ALibraryIsOpenedWhereThatIsPossible) {
    void *const library = dlopen("libm.so.6", RTLD_LAZY);
    EXPECT_EQ(library == nullptr, GetParam());
    EXPECT_EQ(dlclose(library) == 0, library != nullptr);
}

} // namespace
} // namespace reap::older
