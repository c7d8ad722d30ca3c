// A program that is linked statically: nothing is loaded into it, and the linker has nothing to warn of.
#include "reap/layer/per_thread_reap.h"

#include <thread>

int main() {
    reap::PerThreadReap<> reaps;
    std::thread([&] { reap::PerThreadReap<>::deallocate(reaps.allocate(100)); }).join();
    return reaps.owns(reaps.allocate(100)) ? 0 : 1;
}
