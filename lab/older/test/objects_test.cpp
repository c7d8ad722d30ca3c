#include <cmath>
#include <dlfcn.h>
#include <link.h>
#include <string>
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

// libgcc's unwinder looks for tables by _dl_find_object.
TEST_P(Objects, ExceptionsAreCaught) { EXPECT_THROW((void)std::stoi("no number"), std::invalid_argument); }

TEST_P(Objects, ALibraryIsOpenedWhereThatIsPossible) {
    void *const library = dlopen("libm.so.6", RTLD_LAZY);
    EXPECT_EQ(library == nullptr, GetParam());
    EXPECT_EQ(dlclose(library) == 0, library != nullptr);
}

} // namespace
} // namespace reap::older
