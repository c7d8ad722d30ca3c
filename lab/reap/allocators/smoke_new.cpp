// A C++ program that an allocator must serve: every form of new and delete, containers, and threads that hand
// objects to each other. Says which file operator new comes from; exits with 0, or with 1 and a line that
// says what went wrong.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace {

void fail(const char *what) {
    std::fprintf(stderr, "smoke: %s\n", what);
    std::_Exit(1);
}

template <std::size_t alignment>
struct alignas(alignment) Aligned {
    char bytes[alignment + 1];
};

// By a pointer that the compiler cannot follow, so that no pair of new and delete is left out.
template <class T>
T *kept(T *object) {
    asm volatile("" : "+r"(object));
    return object;
}

template <std::size_t alignment>
void aligned() {
    std::vector<Aligned<alignment> *> all;
    for (int n = 0; n < 200; ++n) {
        auto *const object = kept(new Aligned<alignment>);
        if (reinterpret_cast<std::uintptr_t>(object) % alignment != 0)
            fail("new gave an object that is not aligned");
        std::memset(object, n, sizeof *object);
        all.push_back(object);
    }
    for (auto *const object : all) delete object;
    delete[] kept(new Aligned<alignment>[7]);
}

void forms() {
    for (std::size_t size = 1; size < 100000; size = size * 3 + 1) {
        char *const bytes = kept(new char[size]);
        std::memset(bytes, 1, size);
        delete[] bytes;
        delete kept(new (std::nothrow) std::string(size, 'x'));
        ::operator delete(kept(static_cast<char *>(::operator new(size))), size);
    }
    aligned<32>();
    aligned<64>();
    aligned<4096>();
    std::free(kept(std::malloc(10)));
}

void containers() {
    std::map<std::string, std::unique_ptr<std::string>> words;
    for (int n = 0; n < 5000; ++n) {
        const std::string word =
            std::to_string(n * 7919 % 10007) + std::string(static_cast<std::size_t>(n % 50), 'y');
        words[word] = std::make_unique<std::string>(word);
    }
    for (const auto &[word, same] : words)
        if (word != *same) fail("a string is not what it was");
}

} // namespace

int main() {
    alarm(60); // one that hangs is ended
    Dl_info info{};
    void *(*const allocate)(std::size_t) = &::operator new;
    dladdr(reinterpret_cast<void *>(allocate), &info);
    std::printf("new %s\n", info.dli_fname != nullptr ? info.dli_fname : "");
    forms();
    containers();
    // Made by one thread, ended by another.
    std::vector<std::unique_ptr<std::string>> made(20000);
    std::thread([&made] {
        for (auto &each : made) each = std::make_unique<std::string>(40, 'z');
    }).join();
    std::thread([&made] { made.clear(); }).join();
    return 0;
}
