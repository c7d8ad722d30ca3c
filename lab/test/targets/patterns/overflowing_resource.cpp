// Serves requests from a resource whose buffer is as large as argv[1] says.
#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <string>
#include <vector>

static char buffer[1 << 20];

__attribute__((noinline)) static void fill(std::pmr::memory_resource &resource) {
    std::pmr::vector<std::pmr::string> words(&resource);
    for (int i = 0; i < 50; ++i) words.emplace_back(100, 'w');
}

static void request(size_t first) {
    std::pmr::monotonic_buffer_resource resource(buffer, first);
    fill(resource);
}

int main(int count, char **arguments) {
    const std::string mode = count > 1 ? arguments[1] : "";
    std::pmr::monotonic_buffer_resource once; // lives as long as the program
    std::pmr::unsynchronized_pool_resource kept;
    for (int i = 0; i < 1000; ++i) {
        if (mode == "small") request(1024);
        if (mode == "large") request(sizeof buffer);
        if (mode == "once") fill(once);
        if (mode == "none") fill(*std::pmr::new_delete_resource());
        if (mode == "kept") fill(kept);
        if (mode == "pool") {
            std::pmr::unsynchronized_pool_resource pool;
            fill(pool);
        }
    }
    return 0;
}
