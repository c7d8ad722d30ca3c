// Uses operator new and delete in every form a given number of times, and lets some of them throw.
//
//     operators TURNS [throws]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

volatile std::size_t huge = SIZE_MAX / 2 - 100; // what no compiler and no allocator takes for possible

void check(bool good, int code) {
    if (!good) std::_Exit(code);
}

bool throws(void *(*make)(std::size_t)) {
    try {
        make(huge);
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

bool throws_aligned() {
    try {
        ::operator new(huge, std::align_val_t{64});
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

void turn() {
    ::operator delete(::operator new(40));
    ::operator delete[](::operator new[](41));
    ::operator delete(::operator new(42), std::size_t{42});
    ::operator delete[](::operator new[](43), std::size_t{43});
    ::operator delete(::operator new(44, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](45, std::nothrow), std::nothrow);
    constexpr std::align_val_t wide{128};
    void *aligned = ::operator new(256, wide);
    check(reinterpret_cast<std::uintptr_t>(aligned) % 128 == 0, 11);
    ::operator delete(aligned, wide);
    ::operator delete[](::operator new[](384, wide), wide);
    ::operator delete(::operator new(512, wide), std::size_t{512}, wide);
    ::operator delete[](::operator new[](640, wide), std::size_t{640}, wide);
    ::operator delete(::operator new(768, wide, std::nothrow), wide, std::nothrow);
    ::operator delete[](::operator new[](896, wide, std::nothrow), wide, std::nothrow);
    ::operator delete(nullptr);
}

} // namespace

int main(int count, char **words) {
    for (int left = std::atoi(words[1]); left > 0; --left) {
        turn();
        if (count < 3 || left % 50 != 0) continue;
        check(throws([](std::size_t size) { return ::operator new(size); }), 12);
        check(throws([](std::size_t size) { return ::operator new[](size); }), 13);
        check(throws_aligned(), 14);
        check(::operator new(huge, std::nothrow) == nullptr, 15);
    }
    return 0;
}
