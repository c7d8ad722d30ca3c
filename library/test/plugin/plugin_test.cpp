// Threads that used layers of a plugin end after dlclose(): see core/loaded.h.

#include <atomic>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>

namespace {

using Call = void (*)();

/// The plugin, opened. The parameter is the function that is used of it.
class Plugin : public testing::TestWithParam<const char *> {
  protected:
    void SetUp() override {
        handle_ = ::dlopen(REAP_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(handle_, nullptr) << ::dlerror();
        use_ = reinterpret_cast<Call>(::dlsym(handle_, GetParam()));
        ASSERT_NE(use_, nullptr);
    }
    void close() { EXPECT_EQ(::dlclose(handle_), 0); }

    Call use_ = nullptr;

  private:
    void *handle_ = nullptr;
};

TEST_P(Plugin, MayBeClosedByAThreadThatUsedIt) {
    std::thread([this] {
        use_();
        close();
    }).join();
}

TEST_P(Plugin, MayBeClosedWhileAThreadThatUsedItLivesOn) {
    std::atomic<int> step{0};
    std::thread worker([&] {
        use_();
        step = 1;
        step.notify_all();
        step.wait(1);
    });
    step.wait(0);
    close();
    step = 2;
    step.notify_all();
    worker.join();
}

TEST_P(Plugin, MayBeClosedByAThreadThatDidNotUseIt) {
    std::thread([this] { use_(); }).join();
    std::thread([this] { close(); }).join();
}

INSTANTIATE_TEST_SUITE_P(Layers, Plugin, testing::Values("use_region", "use_reaps", "use_reaps_for_a_while"),
                         [](const auto &test) { return std::string(test.param); });

} // namespace
