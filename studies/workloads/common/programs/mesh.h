#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "common/workload.h"

// Moves a brush over a mesh, which is refined under the brush and coarsened where it is flat. Vertices and
// triangles are in pools: freed individually, and iterated over while others are allocated and freed.
//
// The mesh is a tree of right triangles, each cut from the middle of its longest side when it is refined
// (ROAM: Duchaineau and others, 1997). A pool promises no order, so nothing here depends on one: sums are of
// integers, and which triangles are cut or joined at a step is the same whichever comes first.

namespace mesh {

inline constexpr std::int64_t side = 1 << 20; // of the mesh
inline constexpr int coarsest = 13;           // level of triangles at the start
inline constexpr int finest = 19;

struct Vertex {
    std::int64_t x, y;
    std::int64_t height;
    std::int64_t sum = 0; // of the neighbours' heights, while these are collected
    std::int64_t count = 0;
};

/// A triangle of the tree; it is seen while it has no children. Its right angle is at the apex, the longest
/// side, the base, is between left and right.
struct Triangle {
    Vertex *apex, *left, *right;
    Triangle *parent;
    int level;
    Triangle *left_child = nullptr; // the part with `left`
    Triangle *right_child = nullptr;
    Triangle *base_side = nullptr; // the neighbours, null at the rim
    Triangle *left_side = nullptr; // between apex and left
    Triangle *right_side = nullptr;

    [[nodiscard]] bool is_leaf() const { return left_child == nullptr; }
    void exchange_neighbour(const Triangle *old, Triangle *now) {
        for (Triangle **side_of : {&base_side, &left_side, &right_side})
            if (*side_of == old) *side_of = now;
    }
};

/// Where the brush is, and how deep it presses.
struct Brush {
    std::int64_t x, y;
    static constexpr std::int64_t radius = side / 14;
    static constexpr std::int64_t strength = 3000;

    /// From 0 outside to `strength` in the middle.
    [[nodiscard]] std::int64_t force(std::int64_t at_x, std::int64_t at_y) const {
        const std::int64_t square = (at_x - x) * (at_x - x) + (at_y - y) * (at_y - y);
        return square >= radius * radius ? 0 : strength - strength * square / (radius * radius);
    }
    [[nodiscard]] bool touches(const Vertex &vertex) const { return force(vertex.x, vertex.y) > 0; }
    [[nodiscard]] bool touches(const Triangle &triangle) const {
        return touches(*triangle.apex) || touches(*triangle.left) || touches(*triangle.right);
    }
};

template <template <class> class Pool>
class Mesh {
  public:
    Mesh() {
        Vertex *const corners[] = {vertices_.create(Vertex{0, 0, 0}), vertices_.create(Vertex{side, 0, 0}),
                                   vertices_.create(Vertex{side, side, 0}),
                                   vertices_.create(Vertex{0, side, 0})};
        Triangle *const one = triangles_.create(Triangle{corners[1], corners[2], corners[0], nullptr, 0});
        Triangle *const two = triangles_.create(Triangle{corners[3], corners[0], corners[2], nullptr, 0});
        one->base_side = two;
        two->base_side = one;
        work_ = {one, two};
        cut_all([](const Triangle &triangle) { return triangle.level < coarsest; });
    }

    /// Refines under the brush, presses, smooths, and coarsens what is flat elsewhere.
    void stroke(const Brush &brush) {
        const auto too_coarse = [&](const Triangle &triangle) {
            return triangle.level < finest && brush.touches(triangle);
        };
        for (Triangle &triangle : triangles_) {
            if (!triangle.is_leaf() || !too_coarse(triangle)) continue;
            work_.push_back(&triangle);
            cut_all(too_coarse);
        }
        for (Vertex &vertex : vertices_) vertex.height += brush.force(vertex.x, vertex.y);
        smooth(brush);
        while (join(brush)) {
        }
    }

    void report() {
        // Sums, since the order is not the same in all variants.
        std::uint64_t heights = 0;
        std::uint64_t volume = 0;
        std::size_t leaves = 0;
        std::size_t vertices = 0;
        for (const Vertex &vertex : vertices_) {
            workload::Checksum one;
            one.add(vertex.x);
            one.add(vertex.y);
            one.add(vertex.height);
            heights += one.value();
            ++vertices;
        }
        for (const Triangle &triangle : triangles_) {
            if (!triangle.is_leaf()) continue;
            ++leaves;
            volume += static_cast<std::uint64_t>(triangle.apex->height + triangle.left->height +
                                                 triangle.right->height)
                      << static_cast<unsigned>(finest - triangle.level);
        }
        workload::Checksum checksum;
        checksum.add(heights);
        checksum.add(volume);
        std::printf("%zu vertices, %zu triangles\n", vertices, leaves);
        workload::print(checksum);
    }

  private:
    /// Cuts what is in the list, and what comes of it, while it is too coarse.
    template <class TooCoarse>
    void cut_all(TooCoarse too_coarse) {
        while (!work_.empty()) {
            Triangle *const triangle = work_.back();
            work_.pop_back();
            if (triangle->is_leaf() && too_coarse(*triangle)) cut(*triangle);
        }
    }

    /// Cuts a triangle and the one across its base, which may have to be made as fine as this one before.
    void cut(Triangle &triangle) {
        if (triangle.base_side != nullptr && triangle.base_side->base_side != &triangle)
            cut(*triangle.base_side);
        const Vertex &left = *triangle.left;
        const Vertex &right = *triangle.right;
        Vertex *const middle = vertices_.create(
            Vertex{(left.x + right.x) / 2, (left.y + right.y) / 2, (left.height + right.height) / 2});
        cut_at(triangle, middle);
        if (Triangle *const other = triangle.base_side; other != nullptr) {
            cut_at(*other, middle);
            triangle.right_child->left_side = other->left_child;
            other->left_child->right_side = triangle.right_child;
            triangle.left_child->right_side = other->right_child;
            other->right_child->left_side = triangle.left_child;
        }
    }
    void cut_at(Triangle &triangle, Vertex *middle) {
        const auto child = [&](Vertex *left, Vertex *right, Triangle *base_side) {
            Triangle *const made =
                triangles_.create(Triangle{middle, left, right, &triangle, triangle.level + 1});
            made->base_side = base_side;
            if (base_side != nullptr) base_side->exchange_neighbour(&triangle, made);
            work_.push_back(made);
            return made;
        };
        triangle.left_child = child(triangle.apex, triangle.left, triangle.left_side);
        triangle.right_child = child(triangle.right, triangle.apex, triangle.right_side);
        triangle.left_child->left_side = triangle.right_child;
        triangle.right_child->right_side = triangle.left_child;
    }

    /// Joins what is flat and not touched. Whether it did: what was joined may be part of what can be joined.
    bool join(const Brush &brush) {
        bool joined = false;
        for (Triangle &triangle : triangles_) {
            Triangle *const other = triangle.base_side;
            if (triangle.level < coarsest || !has_leaves(triangle)) continue;
            if (other != nullptr && (!has_leaves(*other) || brush.touches(*other))) continue;
            Vertex *const middle = triangle.left_child->apex;
            const std::int64_t bend = 2 * middle->height - triangle.left->height - triangle.right->height;
            if (bend > 40 || bend < -40 || brush.touches(*middle) || brush.touches(triangle)) continue;
            join_at(triangle);
            if (other != nullptr) join_at(*other);
            vertices_.destroy(middle);
            joined = true;
        }
        return joined;
    }
    static bool has_leaves(const Triangle &triangle) {
        return !triangle.is_leaf() && triangle.left_child->is_leaf() && triangle.right_child->is_leaf();
    }
    void join_at(Triangle &triangle) {
        const auto end = [&](Triangle *&child) {
            Triangle *const base_side = child->base_side;
            if (base_side != nullptr) base_side->exchange_neighbour(child, &triangle);
            triangles_.destroy(std::exchange(child, nullptr));
            return base_side;
        };
        triangle.left_side = end(triangle.left_child);
        triangle.right_side = end(triangle.right_child);
    }

    /// Draws vertices under the brush a quarter of the way to the mean of their neighbours.
    void smooth(const Brush &brush) {
        for (const Triangle &triangle : triangles_) {
            if (!triangle.is_leaf() || !brush.touches(triangle)) continue;
            const std::int64_t all = triangle.apex->height + triangle.left->height + triangle.right->height;
            for (Vertex *vertex : {triangle.apex, triangle.left, triangle.right}) {
                vertex->sum += all - vertex->height;
                vertex->count += 2;
            }
        }
        for (Vertex &vertex : vertices_) {
            if (vertex.count > 0 && brush.touches(vertex))
                vertex.height += (vertex.sum / vertex.count - vertex.height) / 4;
            vertex.sum = vertex.count = 0;
        }
    }

    Pool<Vertex> vertices_;
    Pool<Triangle> triangles_;
    std::vector<Triangle *> work_;
};

template <template <class> class Pool>
void sculpt(std::size_t steps) {
    Mesh<Pool> mesh;
    // To and fro along the diagonal, a little aside each time.
    constexpr std::int64_t across = 200;
    for (std::size_t step = 0; step < steps; ++step) {
        const auto turn = static_cast<std::int64_t>(step) / across;
        const auto way = static_cast<std::int64_t>(step) % across * side / across;
        const std::int64_t along = turn % 2 == 0 ? way : side - way;
        mesh.stroke({along, (along + turn * side / 9) % side});
    }
    mesh.report();
}

} // namespace mesh
