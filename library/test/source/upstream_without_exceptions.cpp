// Compiled without exceptions, and linked with upstream_test.cpp, which is compiled with them.
#include "reap/source/upstream.h"

#include <cstddef>
#include <memory_resource>

void *allocate_without_exceptions(std::pmr::memory_resource *resource, std::size_t size) {
    static_assert(!reap::with_exceptions);
    reap::Upstream<> upstream(resource);
    return upstream.try_allocate(size, 16);
}

void deallocate_without_exceptions(std::pmr::memory_resource *resource, void *data, std::size_t size) {
    reap::Upstream<> upstream(resource);
    upstream.deallocate(data, size, 16);
}
