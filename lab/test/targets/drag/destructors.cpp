// C++ programs whose destructors access objects as they free them, each with a twin whose destructors do not.
// The C++ counterpart of release.c.
#include "model.h"

#include <cstdlib>
#include <cstring>
#include <forward_list>
#include <memory>

namespace {

constexpr int kRounds = 20;
constexpr int kMany = 500;
bool twin;
volatile long sum;
void *beside[kMany]; // what the twin frees without a look at it
int count;
void note(void *at) { beside[count++] = at; }

// Allocates for the containers, and updates the model.
template <class T>
struct ModelAllocator {
    using value_type = T;
    ModelAllocator() = default;
    template <class U>
    ModelAllocator(const ModelAllocator<U> &) {}
    T *allocate(size_t count) {
        void *at = std::malloc(count * sizeof(T));
        born(at, count * sizeof(T));
        note(at);
        return static_cast<T *>(at);
    }
    void deallocate(T *at, size_t) {
        released(at);
        freed(at);
        std::free(at);
    }
    bool operator==(const ModelAllocator &) const { return true; }
};

void free_all() {
    for (int i = 0; i < count; ++i) {
        freed(beside[i]);
        std::free(beside[i]);
    }
}

struct Value {
    volatile int number;
    char more[80];
};

// A container that is freed by its destructor; the twin frees its nodes from a separate list.
template <class Container, class Fill>
void container(Fill fill) {
    alignas(Container) static char place[sizeof(Container)];
    auto *it = new (place) Container;
    fill(*it);
    if (twin)
        free_all();
    else
        it->~Container();
}

// The node begins a pointer before its value.
const void *node_of(const Value &value) { return reinterpret_cast<const char *>(&value) - sizeof(void *); }

void list() {
    container<std::forward_list<Value, ModelAllocator<Value>>>([](auto &it) {
        for (int i = 0; i < kMany; ++i) {
            it.push_front(Value{i, {}});
            sum = sum + it.front().number;
            used(node_of(it.front()));
        }
    });
}

struct Linked {
    std::unique_ptr<Linked> next;
    volatile int number;
    char more[80];
    static void *operator new(size_t size) {
        void *at = std::malloc(size);
        born(at, size);
        note(at);
        return at;
    }
    static void operator delete(void *at) {
        released(at);
        freed(at);
        std::free(at);
    }
};

// Each object owns the next; the twin releases all ownership first.
void owned() {
    std::unique_ptr<Linked> first;
    for (int i = 0; i < kMany; ++i) {
        auto one = std::make_unique<Linked>();
        one->number = i;
        one->next = std::move(first);
        sum = sum + one->number;
        used(one.get());
        first = std::move(one);
    }
    if (twin) {
        (void)first.release();
        free_all();
    } else {
        first.reset();
    }
}

} // namespace

int main(int words_count, char **words) {
    twin = words_count > 2;
    void (*run)() = words_count > 1 && std::strcmp(words[1], "list") == 0 ? list : owned;
    for (int round = 0; round < kRounds; ++round) {
        count = 0;
        run();
    }
    say();
    return 0;
}
