#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// What a mempool can do, made of an allocation for each object and a hash set of those that live: the way in
/// which ISMM 2026 switched off Blender's (Table 4, "track live objects with a hash set").
///
/// An iteration sees each object that lives from its start to its end once, and none that was made meanwhile;
/// objects may come and go under it. The set is two arrays, so it adds no allocation for each object: the
/// objects in the order in which they were made, with gaps, and for each hash where its object is in there.
template <class T>
class LiveSet {
  public:
    LiveSet() : slots_(64, none) {}
    LiveSet(const LiveSet &) = delete;
    LiveSet &operator=(const LiveSet &) = delete;
    ~LiveSet() {
        for (T *object : objects_) delete object;
    }

    template <class... Arguments>
    [[nodiscard]] T *create(Arguments &&...arguments) {
        auto *const object = new T(std::forward<Arguments>(arguments)...);
        if (2 * (objects_.size() + 1) > slots_.size()) tidy();
        enter(object, objects_.size());
        objects_.push_back(object);
        ++live_;
        return object;
    }
    void destroy(T *object) {
        std::size_t &slot = slots_[find(object)];
        objects_[slot] = nullptr;
        slot = gone;
        --live_;
        delete object;
    }

    class Iterator {
      public:
        explicit Iterator(LiveSet &set) : set_(set), end_(set.objects_.size()) {
            ++set_.walks_;
            skip();
        }
        Iterator(const Iterator &) = delete;
        Iterator &operator=(const Iterator &) = delete;
        ~Iterator() { --set_.walks_; }
        T &operator*() const { return *set_.objects_[at_]; }
        Iterator &operator++() {
            ++at_;
            skip();
            return *this;
        }
        bool operator!=(std::nullptr_t) const { return at_ < end_; }

      private:
        void skip() {
            while (at_ < end_ && set_.objects_[at_] == nullptr) ++at_;
        }
        LiveSet &set_;
        std::size_t at_ = 0;
        std::size_t end_; // what is made meanwhile stands behind
    };
    [[nodiscard]] Iterator begin() { return Iterator(*this); }
    [[nodiscard]] std::nullptr_t end() const { return nullptr; }

  private:
    static constexpr std::size_t none = SIZE_MAX;     // never used: a search ends
    static constexpr std::size_t gone = SIZE_MAX - 1; // its object was destroyed: a search goes on

    [[nodiscard]] std::size_t hash(const T *object) const {
        return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(object) * 0x9e3779b97f4a7c15U >>
                                        (64U - static_cast<unsigned>(std::countr_zero(slots_.size()))));
    }
    /// The slot of an object that is in here.
    [[nodiscard]] std::size_t find(const T *object) const {
        std::size_t slot = hash(object);
        while (slots_[slot] >= gone || objects_[slots_[slot]] != object)
            slot = (slot + 1) & (slots_.size() - 1);
        return slot;
    }
    void enter(const T *object, std::size_t place) {
        std::size_t slot = hash(object);
        while (slots_[slot] != none) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = place;
    }
    /// Closes the gaps, unless somebody walks over the objects, and makes room for twice those that live.
    void tidy() {
        if (walks_ == 0) std::erase(objects_, nullptr);
        const std::size_t room = std::bit_ceil(4 * (objects_.size() + 16));
        slots_.assign(room, none);
        for (std::size_t place = 0; place < objects_.size(); ++place)
            if (objects_[place] != nullptr) enter(objects_[place], place);
    }

    std::vector<T *> objects_;       // null where one was destroyed
    std::vector<std::size_t> slots_; // into objects_, by hash; a power of two, more than half free of objects
    std::size_t live_ = 0;
    std::size_t walks_ = 0;
};
