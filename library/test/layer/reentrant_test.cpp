// Destructors that use, rewind, reset or end the layer that runs them: each such call, inside each call that
// runs destructors, by an object at each place. Every object ends exactly once, and the layer stays usable.

#include <cstddef>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "misuse_log.h"
#include "reap/layer/mempool.h"
#include "reap/layer/obstack.h"
#include "reap/layer/per_class.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/region_emulator.h"

namespace {

/// What runs destructors.
enum class Outer { rewind_inner, rewind_outer, reset, reset_and_release, end, destroy, count };
/// What a destructor does meanwhile.
enum class Inner {
    nothing,
    allocate,
    allocate_much,
    create,
    create_and_rewind,
    rewind_newest,
    rewind_inner,
    rewind_outer,
    rewind_all_and_create,
    reset,
    reset_and_release,
    reset_and_create,
    nest,
    destroy_older,
    destroy_younger,
    end,
    count,
};

/// A layer with objects before, between and after marks, each of which counts its end.
template <class Layer>
class Scene {
  public:
    static constexpr bool has_marks = requires(Layer &layer) { layer.mark(); };
    static constexpr bool has_nested = requires(Layer &layer) { layer.nest(); };

    struct Object {
        Object(Scene &of, std::size_t mine) : scene(of), number(mine) { ++of.ended_.at(mine).made; }
        Object(const Object &) = delete;
        Object &operator=(const Object &) = delete;
        // Nothing of the object is touched after what may free it.
        ~Object() { scene.at_end(number); }
        Scene &scene;
        std::size_t number;
    };
    static constexpr bool has_destroy = requires(Layer &layer, Object *object) { layer.destroy(object); };
    static constexpr std::size_t before = 3; // objects before each mark and after the last

    static bool is_possible(Outer outer, Inner inner) {
        if (!has_marks && (outer == Outer::rewind_inner || outer == Outer::rewind_outer)) return false;
        if (!has_marks && inner >= Inner::create_and_rewind && inner <= Inner::rewind_all_and_create)
            return false;
        if (!has_nested && inner == Inner::nest) return false;
        if (!has_destroy && (outer == Outer::destroy || inner == Inner::destroy_older)) return false;
        if (!has_destroy && inner == Inner::destroy_younger) return false;
        // It ends already; and without marks a layer does not promise it.
        return inner != Inner::end || (outer != Outer::end && has_marks);
    }

    /// Does it, with the destructor of object `actor`.
    static void play(Outer outer, Inner inner, std::size_t actor) {
        Scene scene;
        scene.inner_ = inner;
        scene.actor_ = actor;
        scene.set_up();
        scene.run(outer);
        scene.expect_freed(outer);
        if (scene.owner_ != nullptr) scene.use();
        scene.owner_.reset();
        for (const Life &life : scene.ended_) EXPECT_EQ(life.ended, life.made);
        EXPECT_EQ(MisuseLog::take(), std::vector<reap::Misuse>{});
    }

  private:
    struct Life {
        int made = 0;
        int ended = 0;
    };

    Object *make() {
        ended_.emplace_back();
        Object *const object = layer_->template create<Object>(*this, ended_.size() - 1);
        // Other memory between, and more chunks.
        (void)layer_->allocate(ended_.size() % 2 == 0 ? 40 : 5000);
        return object;
    }
    void make_some() {
        for (std::size_t count = 0; count < before; ++count) objects_.push_back(make());
    }
    void set_up() {
        ended_.reserve(100);
        make_some();
        if constexpr (has_marks) outer_mark_ = layer_->mark();
        make_some();
        if constexpr (has_marks) inner_mark_ = layer_->mark();
        make_some();
        if constexpr (has_marks) newest_mark_ = layer_->mark();
        make_some();
    }
    void run(Outer outer) {
        armed_ = true;
        if constexpr (has_marks) {
            if (outer == Outer::rewind_inner) (void)layer_->rewind(inner_mark_);
            if (outer == Outer::rewind_outer) (void)layer_->rewind(outer_mark_);
        }
        if (outer == Outer::reset) layer_->reset();
        if (outer == Outer::reset_and_release) release();
        if (outer == Outer::end) owner_.reset();
        if constexpr (has_destroy) {
            if (outer == Outer::destroy) layer_->destroy(objects_[actor_]);
        }
        armed_ = false;
    }
    void release() {
        if constexpr (requires { layer_->reset(reap::keep_none); })
            layer_->reset(reap::keep_none);
        else
            layer_->reset();
    }
    void expect_freed(Outer outer) {
        std::size_t first = 0;
        if (outer == Outer::rewind_outer) first = before;
        if (outer == Outer::rewind_inner) first = 2 * before;
        for (std::size_t number = first; outer != Outer::destroy && number < 4 * before; ++number)
            EXPECT_EQ(ended_[number].ended, 1) << number;
        EXPECT_TRUE(outer != Outer::destroy || ended_[actor_].ended == 1);
        for (const Life &life : ended_) EXPECT_LE(life.ended, life.made);
    }
    /// The layer works, whatever happened.
    void use() {
        for (int round = 0; round < 2; ++round) {
            make_some();
            if constexpr (has_marks) {
                const auto mark = layer_->mark();
                make_some();
                EXPECT_TRUE(layer_->rewind(mark));
            }
            if constexpr (requires { layer_->check(); }) {
                EXPECT_TRUE(layer_->check());
            }
            if (round == 0) layer_->reset();
        }
    }

    void at_end(std::size_t number) {
        ++ended_[number].ended;
        if (!armed_ || number != actor_) return;
        armed_ = false;
        act();
    }
    template <class Mark>
    void rewind_if_valid(const Mark &mark) {
        // A mark that is stale already is no misuse here.
        const MisuseLog log;
        (void)layer_->rewind(mark);
    }
    void act() {
        switch (inner_) {
        case Inner::nothing:
        case Inner::count:
            return;
        case Inner::allocate:
            (void)layer_->allocate(40);
            return;
        case Inner::allocate_much:
            for (const std::size_t size : {std::size_t{3000}, std::size_t{200000}, std::size_t{600} << 10})
                (void)layer_->allocate(size);
            return;
        case Inner::create:
            make_some();
            return;
        case Inner::reset:
            return layer_->reset();
        case Inner::reset_and_release:
            return release();
        case Inner::reset_and_create:
            layer_->reset();
            return make_some();
        case Inner::end:
            return owner_.reset();
        case Inner::nest:
            if constexpr (has_nested)
                (void)layer_->nest().template create<std::string>(std::size_t{100}, 'x');
            return;
        case Inner::destroy_older:
        case Inner::destroy_younger:
            if constexpr (has_destroy) {
                const bool older = inner_ == Inner::destroy_older;
                if (older ? actor_ == 0 : actor_ + 1 == objects_.size()) return;
                const std::size_t other = older ? actor_ - 1 : actor_ + 1;
                if (ended_[other].ended == 0) layer_->destroy(objects_[other]);
            }
            return;
        case Inner::create_and_rewind:
        case Inner::rewind_newest:
        case Inner::rewind_inner:
        case Inner::rewind_outer:
        case Inner::rewind_all_and_create:
            if constexpr (has_marks) return act_on_marks();
        }
    }
    void act_on_marks() {
        if (inner_ == Inner::create_and_rewind) {
            make();
            const auto mark = layer_->mark();
            make_some();
            EXPECT_TRUE(layer_->rewind(mark));
            make();
        } else if (inner_ == Inner::rewind_newest) {
            rewind_if_valid(newest_mark_);
        } else if (inner_ == Inner::rewind_inner) {
            rewind_if_valid(inner_mark_);
        } else {
            rewind_if_valid(outer_mark_);
            if (inner_ == Inner::rewind_all_and_create) make_some();
        }
    }

    template <class L>
    struct MarkOf {
        using Type = int;
    };
    template <class L>
        requires requires { typename L::Mark; }
    struct MarkOf<L> {
        using Type = typename L::Mark;
    };
    using Mark = typename MarkOf<Layer>::Type;

    std::vector<Life> ended_;
    std::vector<Object *> objects_;
    Mark outer_mark_{};
    Mark inner_mark_{};
    Mark newest_mark_{};
    Inner inner_ = Inner::nothing;
    std::size_t actor_ = 0;
    bool armed_ = false;
    std::unique_ptr<Layer> owner_ = std::make_unique<Layer>();
    Layer *layer_ = owner_.get(); // also while it ends
};

template <class Layer>
class Reentrant : public ::testing::Test {};
using Layers = ::testing::Types<reap::Region<>, reap::Region<reap::SystemPages>, reap::Reap<>,
                                reap::SizedReap<>, reap::Reap<reap::SystemPages>, reap::RegionEmulator<>>;
TYPED_TEST_SUITE(Reentrant, Layers);

TYPED_TEST(Reentrant, EachCallInsideEachCallAtEachPlace) {
    using Scene = Scene<TypeParam>;
    const MisuseLog log;
    for (int outer = 0; outer < static_cast<int>(Outer::count); ++outer) {
        for (int inner = 0; inner < static_cast<int>(Inner::count); ++inner) {
            if (!Scene::is_possible(Outer{outer}, Inner{inner})) continue;
            for (std::size_t actor = 0; actor < 4 * Scene::before; ++actor) {
                SCOPED_TRACE("outer " + std::to_string(outer) + ", inner " + std::to_string(inner) +
                             ", object " + std::to_string(actor));
                Scene::play(Outer{outer}, Inner{inner}, actor);
                if (this->HasFailure()) return;
            }
        }
    }
}

/// Ends, resets or rewinds the parent of the layer that runs its destructor.
template <class Layer>
void end_by_parent(int how) {
    struct Child {
        explicit Child(std::vector<int> &ended_ones, int mine) : log(ended_ones), name(mine) {}
        Child(const Child &) = delete;
        Child &operator=(const Child &) = delete;
        ~Child() {
            log.push_back(name);
            if (act != nullptr) (*act)();
        }
        std::vector<int> &log;
        int name;
        const std::function<void()> *act = nullptr; // nothing is to end behind it
    };
    std::vector<int> ended;
    auto parent = std::make_unique<Layer>();
    (void)parent->template create<Child>(ended, 1);
    const auto mark = parent->mark();
    auto &nested = parent->nest();
    (void)nested.template create<Child>(ended, 2);
    auto *const actor = nested.template create<Child>(ended, 3);
    (void)nested.template create<Child>(ended, 4);
    const std::function<void()> act = [&parent, mark, how] {
        if (how == 0) parent->reset();
        if (how == 1) parent->reset(reap::keep_none);
        if (how == 2) (void)parent->rewind(mark);
        if (how == 3) parent.reset();
    };
    actor->act = &act;
    nested.reset();
    EXPECT_EQ(ended, how == 2 ? (std::vector{4, 3, 2}) : (std::vector{4, 3, 2, 1})) << how;
    if (parent != nullptr) (void)parent->allocate(100);
    parent.reset();
    EXPECT_EQ(ended.size(), 4U);
}

TEST(Reentrant, AParentEndsTheLayerThatRunsTheDestructor) {
    for (int how = 0; how < 4; ++how) {
        end_by_parent<reap::Region<>>(how);
        end_by_parent<reap::Reap<>>(how);
        end_by_parent<reap::SizedReap<>>(how);
    }
}

TEST(Reentrant, AMarkThatADestructorTookStaysValid) {
    const auto test = []<class Layer>(Layer &layer) {
        static typename Layer::Mark taken;
        static Layer *in;
        static int ended;
        ended = 0;
        in = &layer;
        struct Counts {
            ~Counts() { ++ended; }
        };
        struct Takes {
            ~Takes() {
                ++ended;
                taken = in->mark();
            }
        };
        (void)layer.template create<Counts>();
        const auto mark = layer.mark();
        (void)layer.template create<Takes>();
        const auto after = layer.mark();
        (void)layer.template create<Counts>();
        EXPECT_TRUE(layer.rewind(after));
        EXPECT_EQ(ended, 1);
        EXPECT_TRUE(layer.rewind(mark));
        EXPECT_EQ(ended, 2);
        layer.reset();
        EXPECT_EQ(ended, 3);
    };
    const MisuseLog log;
    reap::Region region;
    test(region);
    reap::Reap reap;
    test(reap);
}

/// A node of a tree, whose destructor destroys its children in the pool, after it made and destroyed another.
template <template <class> class Pool>
struct Node {
    explicit Node(Pool<Node> &of) : pool(of) {}
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;
    ~Node() {
        if (!children.empty()) pool.destroy(pool.create(pool));
        for (Node *const child : children) pool.destroy(child);
        ++ended;
    }
    void grow(int depth) {
        for (int child = 0; child < 3 && depth > 0; ++child) {
            children.push_back(pool.create(pool));
            children.back()->grow(depth - 1);
        }
    }
    Pool<Node> &pool;
    std::vector<Node *> children;
    static inline int ended = 0;
};
template <class T>
using Mempool = reap::Mempool<T>;
template <class T>
using PerClass = reap::PerClass<T>;

TEST(Reentrant, APoolsDestructorsDestroyATree) {
    static constexpr int inner = 1 + 3 + 9 + 27;
    static constexpr int made = inner + 81 + inner; // the leaves, and what each inner node makes meanwhile
    const auto test = []<class Tree>(auto &pool) {
        Tree *const root = pool.create(pool);
        root->grow(4);
        pool.destroy(root);
        EXPECT_EQ(Tree::ended, made);
    };
    const MisuseLog log;
    Mempool<Node<Mempool>> mempool;
    test.operator()<Node<Mempool>>(mempool);
    PerClass<Node<PerClass>> per_class;
    test.operator()<Node<PerClass>>(per_class);
    EXPECT_EQ(MisuseLog::take(), std::vector<reap::Misuse>{});
}

TEST(Reentrant, AnObstacksDestructorMayAllocate) {
    static reap::Obstack<> *in;
    static int ended;
    struct Counts {
        ~Counts() { ++ended; }
    };
    struct Makes {
        ~Makes() {
            ++ended;
            (void)in->allocate(9000);
            (void)in->create<Counts>();
        }
    };
    ended = 0;
    {
        reap::Obstack obstack;
        in = &obstack;
        void *const first = obstack.allocate(16);
        (void)obstack.create<Counts>();
        (void)obstack.create<Makes>();
        EXPECT_TRUE(obstack.free_from(first));
        EXPECT_EQ(ended, 3);
        (void)obstack.create<Makes>();
        obstack.reset();
        EXPECT_EQ(ended, 5);
        (void)obstack.create<Makes>();
    }
    EXPECT_EQ(ended, 7);
}

} // namespace
