// An event-driven simulation of balls that bounce in a box. It stands for boxed-sim, the per-class program of
// both papers: each class has a freelist of its own, and the naive variant has none (Freelist::off).
//
// Collisions are predicted whenever a ball changes its course. Each prediction is an Event in a priority
// queue; most are invalidated by another collision, and dropped when they come up. Balls search for partners
// in the nine cells around them; a Member links a ball to its cell. Scale: collisions, in thousands.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include <reap/layer/per_class.h>

#include "common/workload.h"

namespace {

constexpr std::size_t balls_in_box = 4000;
constexpr double filled = 0.4; // fraction of the box that the balls cover
constexpr double never = std::numeric_limits<double>::infinity();

struct Member;

struct Ball {
    double x, y, vx, vy;
    double time = 0;           // when it was at x, y
    std::uint32_t courses = 0; // number of course changes: older predictions are invalid
    Member *member = nullptr;
    std::size_t column = 0, row = 0;
};

/// A ball's entry in the list of its cell.
struct Member {
    Ball *ball;
    Member *before;
    Member *after;
};

enum class Kind : std::uint8_t { collision, column_edge, row_edge };

/// A prediction. Events form a pairing heap: each precedes its children, which are linked by `sibling`.
struct Event {
    double time;
    Ball *one;
    Ball *two; // or null
    std::uint32_t courses_one;
    std::uint32_t courses_two;
    Kind kind;
    Event *child = nullptr;
    Event *sibling = nullptr;

    [[nodiscard]] bool is_void() const {
        return courses_one != one->courses || (two != nullptr && courses_two != two->courses);
    }
};

class Queue {
  public:
    [[nodiscard]] bool empty() const { return first_ == nullptr; }
    void push(Event *event) { first_ = first_ == nullptr ? event : merge(first_, event); }
    Event *pop() {
        Event *const event = first_;
        first_ = merge_pairs(event->child);
        return event;
    }

  private:
    static Event *merge(Event *one, Event *two) {
        if (two->time < one->time) std::swap(one, two);
        two->sibling = std::exchange(one->child, two);
        return one;
    }
    /// Neighbours first, then all of these from the last back: so a pop takes logarithmic time in the mean.
    static Event *merge_pairs(Event *list) {
        Event *pairs = nullptr;
        while (list != nullptr) {
            Event *const one = list;
            Event *const two = std::exchange(one->sibling, nullptr);
            list = two == nullptr ? nullptr : std::exchange(two->sibling, nullptr);
            Event *const pair = two == nullptr ? one : merge(one, two);
            pair->sibling = pairs;
            pairs = pair;
        }
        Event *all = nullptr;
        while (pairs != nullptr) {
            Event *const pair = std::exchange(pairs, pairs->sibling);
            pair->sibling = nullptr;
            all = all == nullptr ? pair : merge(all, pair);
        }
        return all;
    }

    Event *first_ = nullptr;
};

class Box {
  public:
    explicit Box(reap::Freelist freelist)
        : events_(freelist), members_(freelist),
          radius_(std::sqrt(filled / (std::numbers::pi * balls_in_box))),
          cells_a_side_(static_cast<std::size_t>(0.999 / (2 * radius_))),
          cell_size_(1.0 / static_cast<double>(cells_a_side_)), cells_(cells_a_side_ * cells_a_side_) {
        fill();
    }
    Box(const Box &) = delete;
    Box &operator=(const Box &) = delete;
    ~Box() {
        while (!queue_.empty()) events_.destroy(queue_.pop());
        for (const Ball &ball : balls_) members_.destroy(ball.member);
    }

    /// Runs until so many collisions between balls have happened.
    void run(std::size_t collisions) {
        while (collisions > 0) {
            Event *const event = queue_.pop();
            if (!event->is_void()) {
                now_ = event->time;
                ++happened_[static_cast<std::size_t>(event->kind)];
                collisions -= event->kind == Kind::collision;
                happen(*event);
            } else {
                ++void_;
            }
            events_.destroy(event);
        }
    }

    void report() {
        workload::Checksum checksum;
        double energy = 0;
        for (Ball &ball : balls_) {
            advance(ball);
            energy += ball.vx * ball.vx + ball.vy * ball.vy;
            checksum.add(ball.x);
            checksum.add(ball.y);
        }
        std::printf("%zu collisions, %zu edges of cells, %zu predictions void, energy %.9f\n", happened_[0],
                    happened_[1] + happened_[2], void_, energy);
        workload::print(checksum);
    }

  private:
    void fill() {
        workload::Random random(13);
        const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(balls_in_box)));
        const double distance = 1.0 / static_cast<double>(side);
        balls_.reserve(balls_in_box); // events point to them
        for (std::size_t n = 0; n < balls_in_box; ++n) {
            const double x = (static_cast<double>(n % side) + 0.5) * distance;
            const std::size_t row = n / side;
            const double y = (static_cast<double>(row) + 0.5) * distance;
            balls_.push_back({x, y, random.fraction() - 0.5, random.fraction() - 0.5});
            Ball &ball = balls_.back();
            ball.column = cell_at(x);
            ball.row = cell_at(y);
            enter_cell(ball);
        }
        for (Ball &ball : balls_) predict(ball, nullptr);
    }

    [[nodiscard]] std::size_t cell_at(double place) const {
        return std::min(static_cast<std::size_t>(place / cell_size_), cells_a_side_ - 1);
    }
    Member *&cell_of(const Ball &ball) { return cells_[ball.row * cells_a_side_ + ball.column]; }

    void enter_cell(Ball &ball) {
        Member *&cell = cell_of(ball);
        cell = ball.member = members_.create(&ball, nullptr, cell);
        if (cell->after != nullptr) cell->after->before = cell;
    }
    void leave_cell(Ball &ball) {
        const Member *const member = ball.member;
        (member->before == nullptr ? cell_of(ball) : member->before->after) = member->after;
        if (member->after != nullptr) member->after->before = member->before;
        members_.destroy(ball.member);
    }

    /// Advances a ball to the current time.
    void advance(Ball &ball) const {
        ball.x += ball.vx * (now_ - ball.time);
        ball.y += ball.vy * (now_ - ball.time);
        ball.time = now_;
    }

    void happen(const Event &event) {
        Ball &one = *event.one;
        advance(one);
        if (event.kind == Kind::collision) {
            Ball &two = *event.two;
            advance(two);
            bounce(one, two);
            predict(one, &two);
            predict(two, nullptr);
        } else {
            const bool column = event.kind == Kind::column_edge;
            cross(one, column ? one.column : one.row, column ? one.vx : one.vy);
            predict(one, nullptr);
        }
    }

    /// Balls of equal mass exchange the components of their velocities along the line between them.
    static void bounce(Ball &one, Ball &two) {
        const double dx = two.x - one.x;
        const double dy = two.y - one.y;
        const double along = ((two.vx - one.vx) * dx + (two.vy - one.vy) * dy) / (dx * dx + dy * dy);
        one.vx += along * dx;
        one.vy += along * dy;
        two.vx -= along * dx;
        two.vy -= along * dy;
    }

    /// Moves a ball to the next cell, or reflects it at the wall, in one direction.
    void cross(Ball &ball, std::size_t &place, double &speed) {
        if (place == (speed < 0 ? 0 : cells_a_side_ - 1)) {
            speed = -speed;
            return;
        }
        leave_cell(ball);
        place += speed < 0 ? std::size_t{0} - 1 : 1;
        enter_cell(ball);
    }

    /// Predicts a ball's collisions, except with `known`, which it has just hit.
    void predict(Ball &ball, const Ball *known) {
        ++ball.courses;
        const double column_edge = edge(ball.x, ball.vx, ball.column);
        const double row_edge = edge(ball.y, ball.vy, ball.row);
        const Kind kind = column_edge < row_edge ? Kind::column_edge : Kind::row_edge;
        queue_.push(
            events_.create(now_ + std::min(column_edge, row_edge), &ball, nullptr, ball.courses, 0U, kind));
        const auto around = [this](std::size_t place) {
            return std::pair(place == 0 ? 0 : place - 1, std::min(place + 1, cells_a_side_ - 1));
        };
        const auto [left, right] = around(ball.column);
        const auto [low, high] = around(ball.row);
        for (std::size_t row = low; row <= high; ++row) {
            for (std::size_t column = left; column <= right; ++column) {
                for (const Member *member = cells_[row * cells_a_side_ + column]; member != nullptr;
                     member = member->after) {
                    Ball &other = *member->ball;
                    if (&other == &ball || &other == known) continue;
                    const double wait = meeting(ball, other);
                    if (wait == never) continue;
                    queue_.push(events_.create(now_ + wait, &ball, &other, ball.courses, other.courses,
                                               Kind::collision));
                }
            }
        }
    }

    /// How long until a ball's centre reaches the edge of its cell; at a wall, its rim.
    [[nodiscard]] double edge(double place, double speed, std::size_t cell) const {
        if (speed == 0) return never;
        const bool back = speed < 0;
        double target = static_cast<double>(cell + (back ? 0 : 1)) * cell_size_;
        if (back && cell == 0) target = radius_;
        if (!back && cell == cells_a_side_ - 1) target = 1 - radius_;
        return std::max((target - place) / speed, 0.0);
    }

    /// How long until two balls touch, or never.
    [[nodiscard]] double meeting(const Ball &ball, const Ball &other) const {
        const double passed = now_ - other.time;
        const double dx = other.x + other.vx * passed - ball.x;
        const double dy = other.y + other.vy * passed - ball.y;
        const double dvx = other.vx - ball.vx;
        const double dvy = other.vy - ball.vy;
        const double approach = dx * dvx + dy * dvy;
        if (approach >= 0) return never;
        const double speed = dvx * dvx + dvy * dvy;
        const double root = approach * approach - speed * (dx * dx + dy * dy - 4 * radius_ * radius_);
        return root < 0 ? never : std::max((-approach - std::sqrt(root)) / speed, 0.0);
    }

    reap::PerClass<Event> events_;
    reap::PerClass<Member> members_;
    double radius_;
    std::size_t cells_a_side_;
    double cell_size_;
    std::vector<Member *> cells_; // the first member of each
    std::vector<Ball> balls_;
    Queue queue_;
    double now_ = 0;
    std::size_t happened_[3] = {};
    std::size_t void_ = 0;
};

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 1500};
    if (!workload::read(count, words, options)) return 2;
    Box box(options.naive ? reap::Freelist::off : reap::Freelist::on);
    box.run(options.scale * 1000);
    box.report();
}
