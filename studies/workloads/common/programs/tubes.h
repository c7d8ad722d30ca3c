#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <numbers>
#include <span>
#include <vector>

#include "common/workload.h"

// Traces field lines of magnets, thins them out and builds tubes along them, one bundle per pass. A pass
// allocates arrays, most of them larger than a cache line and few live at once, and drops all of them at its
// end. The memory has allocate(size, alignment) and reset().

namespace tubes {

struct Vector {
    float x = 0, y = 0, z = 0;
    friend Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
    friend Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
    friend Vector operator*(Vector a, float factor) { return {a.x * factor, a.y * factor, a.z * factor}; }
    [[nodiscard]] float dot(Vector other) const { return x * other.x + y * other.y + z * other.z; }
    [[nodiscard]] float length() const { return std::sqrt(dot(*this)); }
    [[nodiscard]] Vector cross(Vector other) const {
        return {y * other.z - z * other.y, z * other.x - x * other.z, x * other.y - y * other.x};
    }
    [[nodiscard]] Vector unit() const {
        const float size = length();
        return size < 1e-12F ? Vector{0, 0, 1} : *this * (1 / size);
    }
};

/// A small magnet.
struct Dipole {
    Vector place;
    Vector moment;
};

/// An array that lives until the end of the pass.
template <class T, class Memory>
std::span<T> array(Memory &memory, std::size_t count) {
    auto *const data = static_cast<T *>(memory.allocate(count * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(data, count);
    return {data, count};
}

// The nodes of the pass. Each takes arrays, and makes new ones.

/// The direction of the field at each of the points: the sum over the magnets, in arrays as an evaluator of
/// nodes has them, one for each node.
template <class Memory>
std::span<Vector> field_at(Memory &memory, std::span<const Vector> points, std::span<const Dipole> dipoles) {
    const std::span<Vector> field = array<Vector>(memory, points.size());
    const std::span<Vector> away = array<Vector>(memory, points.size());
    const std::span<float> inverse = array<float>(memory, points.size());
    for (const Dipole &dipole : dipoles) {
        for (std::size_t n = 0; n < points.size(); ++n) away[n] = points[n] - dipole.place;
        for (std::size_t n = 0; n < points.size(); ++n) inverse[n] = 1 / (away[n].dot(away[n]) + 1e-4F);
        for (std::size_t n = 0; n < points.size(); ++n) {
            const float third = inverse[n] * std::sqrt(inverse[n]);
            const Vector along = away[n] * (3 * away[n].dot(dipole.moment) * inverse[n]);
            field[n] = field[n] + (along - dipole.moment) * third;
        }
    }
    for (Vector &vector : field) vector = vector.unit();
    return field;
}

/// Points of lines, one array a line: each begins at its seed and follows the field, by Heun's method, until
/// it leaves the box or is long enough.
template <class Memory>
std::span<std::span<Vector>> trace(Memory &memory, std::span<const Vector> seeds,
                                   std::span<const Dipole> dipoles, std::size_t steps) {
    constexpr float step = 0.01F;
    const std::span<std::span<Vector>> lines = array<std::span<Vector>>(memory, seeds.size());
    const std::span<std::size_t> lengths = array<std::size_t>(memory, seeds.size());
    for (std::size_t line = 0; line < lines.size(); ++line) {
        lines[line] = array<Vector>(memory, steps + 1);
        lines[line][0] = seeds[line];
    }
    // All lines at once: those that go on, and their points.
    std::span<std::size_t> going = array<std::size_t>(memory, seeds.size());
    for (std::size_t line = 0; line < going.size(); ++line) going[line] = line;
    for (std::size_t at = 0; at < steps && !going.empty(); ++at) {
        const std::span<Vector> here = array<Vector>(memory, going.size());
        for (std::size_t n = 0; n < going.size(); ++n) here[n] = lines[going[n]][at];
        const std::span<Vector> first = field_at(memory, here, dipoles);
        const std::span<Vector> ahead = array<Vector>(memory, going.size());
        for (std::size_t n = 0; n < going.size(); ++n) ahead[n] = here[n] + first[n] * step;
        const std::span<Vector> second = field_at(memory, ahead, dipoles);
        const std::span<std::size_t> next = array<std::size_t>(memory, going.size());
        std::size_t left = 0;
        for (std::size_t n = 0; n < going.size(); ++n) {
            const Vector there = here[n] + (first[n] + second[n]).unit() * step;
            lines[going[n]][at + 1] = there;
            lengths[going[n]] = at + 1;
            if (std::max({std::abs(there.x), std::abs(there.y), std::abs(there.z)}) < 1)
                next[left++] = going[n];
        }
        going = next.first(left);
    }
    for (std::size_t line = 0; line < lines.size(); ++line)
        lines[line] = lines[line].first(lengths[line] + 1);
    return lines;
}

/// The line without the points that lie nearly between the two beside them.
template <class Memory>
std::span<Vector> thin(Memory &memory, std::span<const Vector> line) {
    const std::span<bool> kept = array<bool>(memory, line.size());
    kept.front() = kept.back() = true;
    std::size_t last = 0;
    for (std::size_t n = 1; n + 1 < line.size(); ++n) {
        const Vector before = (line[n] - line[last]).unit();
        const Vector after = (line[n + 1] - line[n]).unit();
        kept[n] = before.dot(after) < 0.9995F || n - last >= 16;
        if (kept[n]) last = n;
    }
    const auto count = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), true));
    const std::span<Vector> thinned = array<Vector>(memory, count);
    std::size_t to = 0;
    for (std::size_t n = 0; n < line.size(); ++n)
        if (kept[n]) thinned[to++] = line[n];
    return thinned;
}

struct Tube {
    std::span<Vector> points;
    std::span<Vector> normals;
    std::span<unsigned> corners; // of triangles, three each
};

/// A tube of six sides around a line.
template <class Memory>
Tube tube(Memory &memory, std::span<const Vector> line, float radius) {
    constexpr std::size_t sides = 6;
    constexpr float turn = 2 * std::numbers::pi_v<float> / sides;
    const Tube made{array<Vector>(memory, line.size() * sides), array<Vector>(memory, line.size() * sides),
                    array<unsigned>(memory, (line.size() - 1) * sides * 6)};
    for (std::size_t n = 0; n < line.size(); ++n) {
        const Vector along = (line[std::min(n + 1, line.size() - 1)] - line[n == 0 ? 0 : n - 1]).unit();
        const Vector aside = along.cross(std::abs(along.x) < 0.8F ? Vector{1, 0, 0} : Vector{0, 1, 0}).unit();
        const Vector up = along.cross(aside);
        for (std::size_t edge = 0; edge < sides; ++edge) {
            const float angle = turn * static_cast<float>(edge);
            const Vector normal = aside * std::cos(angle) + up * std::sin(angle);
            made.normals[n * sides + edge] = normal;
            made.points[n * sides + edge] = line[n] + normal * radius;
        }
    }
    std::size_t to = 0;
    for (std::size_t n = 0; n + 1 < line.size(); ++n) {
        for (std::size_t edge = 0; edge < sides; ++edge) {
            const std::size_t a = n * sides + edge;
            const std::size_t b = n * sides + (edge + 1) % sides;
            for (const std::size_t corner : {a, b, a + sides, b, b + sides, a + sides})
                made.corners[to++] = static_cast<unsigned>(corner);
        }
    }
    return made;
}

inline float area(const Tube &tube) {
    float sum = 0;
    for (std::size_t n = 0; n < tube.corners.size(); n += 3) {
        const Vector a = tube.points[tube.corners[n]];
        sum +=
            (tube.points[tube.corners[n + 1]] - a).cross(tube.points[tube.corners[n + 2]] - a).length() / 2;
    }
    return sum;
}

template <class Memory>
void build(Memory &memory, std::size_t passes) {
    workload::Random random(501);
    const auto place = [&random] {
        const auto number = [&random] { return static_cast<float>(random.fraction()) * 2 - 1; };
        return Vector{number(), number(), number()};
    };
    std::vector<Dipole> dipoles;
    dipoles.reserve(6);
    for (int n = 0; n < 6; ++n) dipoles.push_back({place(), place()});

    workload::Checksum checksum;
    std::size_t triangles = 0;
    double surface = 0;
    for (std::size_t pass = 0; pass < passes; ++pass) {
        const Vector middle = place();
        const std::span<Vector> seeds = array<Vector>(memory, 16 + random.below(48));
        for (Vector &seed : seeds) seed = middle * 0.8F + place() * 0.2F;
        for (const std::span<Vector> line : trace(memory, seeds, dipoles, 200)) {
            if (line.size() < 2) continue;
            const Tube made = tube(memory, thin(memory, line), 0.002F);
            const float size = area(made);
            checksum.add(static_cast<double>(size));
            checksum.add(made.points.size());
            triangles += made.corners.size() / 3;
            surface += static_cast<double>(size);
        }
        memory.reset();
    }
    std::printf("%zu passes, %zu triangles, surface %.4f\n", passes, triangles, surface);
    workload::print(checksum);
}

} // namespace tubes
