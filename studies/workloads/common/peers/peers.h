#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>

#include <dlfcn.h>

#include <reap/layer/reap.h>
#include <reap/source/cached_superblocks.h>

// This library's reap, and allocators of others that have the semantics of regions. What each of them is to
// the program: allocate(), and reset(), after which no object lives. None is told anything of the program's
// sizes. Programs of C get them by a file of their own, which is compiled once with each type as AREA.
//
// The libraries are opened when they are asked for, each by itself: two of them bring a malloc of their own,
// which linked would be the whole program's. Their functions are declared here, so that nothing but the
// libraries themselves need be installed.

namespace peers {

/// What objects are aligned to.
inline constexpr std::size_t alignment = 8;

/// With the chunks of any reap that is made without a word: over malloc each would have a superblock of its
/// own, which malloc maps and unmaps with the reap.
using Reap = reap::Reap<reap::CachedSuperblocks, alignment>;

/// A library that is missing is another matter than a program that fails.
inline constexpr int not_installed = 3;

/// A shared library that stays open. Ends the program with `not_installed` if it is not there.
class Library {
  public:
    explicit Library(const char *file) : handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)), file_(file) {
        if (handle_ == nullptr) give_up(dlerror());
    }
    template <class Function>
    void find(const char *name, Function *&function) const {
        function = reinterpret_cast<Function *>(dlsym(handle_, name));
        if (function == nullptr) give_up(name);
    }
    [[noreturn]] void give_up(const char *why) const {
        std::fprintf(stderr, "%s cannot be used: %s\n", file_, why);
        std::exit(not_installed);
    }

  private:
    void *handle_;
    const char *file_;
};

/// A pool of the Apache Portable Runtime.
class AprPool {
  public:
    AprPool() {
        library().create(&pool_, nullptr, nullptr, nullptr);
        if (pool_ == nullptr) std::abort();
    }
    AprPool(const AprPool &) = delete;
    AprPool &operator=(const AprPool &) = delete;
    ~AprPool() { library().destroy(pool_); }

    void *allocate(std::size_t size) { return library().allocate(pool_, size); }
    void reset() { library().clear(pool_); }

  private:
    struct Functions {
        int (*initialize)();
        int (*create)(void **pool, void *parent, int (*failed)(int), void *allocator);
        void *(*allocate)(void *pool, std::size_t);
        void (*clear)(void *pool);
        void (*destroy)(void *pool);
    };
    static const Functions &library() {
        static const Functions functions = [] {
            const Library apr("libapr-1.so.0");
            Functions found{};
            apr.find("apr_initialize", found.initialize);
            apr.find("apr_pool_create_ex", found.create);
            apr.find("apr_palloc", found.allocate);
            apr.find("apr_pool_clear", found.clear);
            apr.find("apr_pool_destroy", found.destroy);
            found.initialize();
            return found;
        }();
        return functions;
    }

    void *pool_ = nullptr;
};

/// Children of a context of Samba's talloc.
class Talloc {
  public:
    Talloc() = default;
    Talloc(const Talloc &) = delete;
    Talloc &operator=(const Talloc &) = delete;
    ~Talloc() { library().free(context_); }

    void *allocate(std::size_t size) { return library().allocate(context_, size, "object"); }
    void reset() { library().free_children(context_); }

  private:
    struct Functions {
        void *(*allocate)(const void *context, std::size_t, const char *name);
        void (*free_children)(void *context);
        int (*free_at)(void *context, const char *where);
        void free(void *context) const { free_at(context, __FILE__); }
    };
    static const Functions &library() {
        static const Functions functions = [] {
            const Library talloc("libtalloc.so.2");
            Functions found{};
            talloc.find("talloc_named_const", found.allocate);
            talloc.find("talloc_free_children", found.free_children);
            talloc.find("_talloc_free", found.free_at);
            return found;
        }();
        return functions;
    }

    void *context_ = library().allocate(nullptr, 0, "region");
};

/// A first-class heap of mimalloc. There is no way to empty one: it goes with its objects.
class MimallocHeap {
  public:
    MimallocHeap() = default;
    MimallocHeap(const MimallocHeap &) = delete;
    MimallocHeap &operator=(const MimallocHeap &) = delete;
    ~MimallocHeap() { library().destroy(heap_); }

    void *allocate(std::size_t size) { return library().allocate(heap_, size); }
    void reset() {
        library().destroy(heap_);
        heap_ = library().create();
    }

  private:
    struct Functions {
        void *(*create)();
        void *(*allocate)(void *heap, std::size_t);
        void (*destroy)(void *heap);
    };
    static const Functions &library() {
        static const Functions functions = [] {
            const Library mimalloc("libmimalloc.so.2");
            Functions found{};
            mimalloc.find("mi_heap_new", found.create);
            mimalloc.find("mi_heap_malloc", found.allocate);
            mimalloc.find("mi_heap_destroy", found.destroy);
            return found;
        }();
        return functions;
    }

    void *heap_ = library().create();
};

/// An arena of jemalloc, without a thread's cache: a reset would leave that dangling.
class JemallocArena {
  public:
    JemallocArena() {
        unsigned arena = 0;
        std::size_t size = sizeof arena;
        check(library().control("arenas.create", &arena, &size, nullptr, 0));
        // MALLOCX_ARENA and MALLOCX_TCACHE_NONE of its header.
        flags_ = static_cast<int>(((arena + 1) << 20U) | (1U << 8U));
        resolve("arena.0.reset", arena, reset_);
        resolve("arena.0.destroy", arena, destroy_);
    }
    JemallocArena(const JemallocArena &) = delete;
    JemallocArena &operator=(const JemallocArena &) = delete;
    ~JemallocArena() { call(destroy_); }

    void *allocate(std::size_t size) const { return library().allocate(size, flags_); }
    void reset() { call(reset_); }

  private:
    using Path = std::array<std::size_t, 3>;
    struct Functions {
        int (*control)(const char *name, void *, std::size_t *, void *, std::size_t);
        int (*resolve)(const char *name, std::size_t *path, std::size_t *length);
        int (*control_at)(const std::size_t *, std::size_t, void *, std::size_t *, void *, std::size_t);
        void *(*allocate)(std::size_t, int flags);
    };
    static const Functions &library() {
        static const Functions functions = [] {
            const Library jemalloc("libjemalloc.so.2");
            Functions found{};
            jemalloc.find("mallctl", found.control);
            jemalloc.find("mallctlnametomib", found.resolve);
            jemalloc.find("mallctlbymib", found.control_at);
            jemalloc.find("mallocx", found.allocate);
            return found;
        }();
        return functions;
    }
    static void check(int error) {
        if (error != 0) std::abort();
    }
    static void resolve(const char *name, unsigned arena, Path &path) {
        std::size_t length = path.size();
        check(library().resolve(name, path.data(), &length));
        path[1] = arena;
    }
    static void call(const Path &path) {
        check(library().control_at(path.data(), path.size(), nullptr, nullptr, nullptr, 0));
    }

    int flags_ = 0;
    Path reset_{};
    Path destroy_{};
};

/// A region of AT&T's Vmalloc by its general method, with memory from the heap of that.
class Vmalloc {
  public:
    Vmalloc() {
        if (region_ == nullptr) std::abort();
    }
    Vmalloc(const Vmalloc &) = delete;
    Vmalloc &operator=(const Vmalloc &) = delete;
    ~Vmalloc() { library().close(region_); }

    void *allocate(std::size_t size) { return region_->allocate(region_, size); }
    void reset() { library().clear(region_); }

  private:
    /// It begins with the functions of its method, of which this is the first; vmalloc() of its header calls
    /// that.
    struct Opened {
        void *(*allocate)(Opened *, std::size_t);
    };
    struct Functions {
        Opened *(*open)(void *discipline, void *method, int mode);
        int (*clear)(Opened *);
        int (*close)(Opened *);
        void **discipline;
        void **method;
    };
    static const Functions &library() {
        static const Functions functions = [] {
            const Library vmalloc("libvmalloc.so");
            Functions found{};
            vmalloc.find("vmopen", found.open);
            vmalloc.find("vmclear", found.clear);
            vmalloc.find("vmclose", found.close);
            vmalloc.find("Vmdcheap", found.discipline);
            vmalloc.find("Vmbest", found.method);
            return found;
        }();
        return functions;
    }

    Opened *region_ = library().open(*library().discipline, *library().method, 0);
};

/// A memory resource of the C++ library, by its own type, so that the compiler sees what it can.
template <class Resource>
class Pmr {
  public:
    void *allocate(std::size_t size) { return resource_.allocate(size, alignment); }
    void reset() { resource_.release(); }

  private:
    Resource resource_;
};
using PmrMonotonic = Pmr<std::pmr::monotonic_buffer_resource>;
using PmrPool = Pmr<std::pmr::unsynchronized_pool_resource>;

} // namespace peers
