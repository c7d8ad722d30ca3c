// Places the blocks of a circuit on a chip by simulated annealing, and routes its nets. It stands for
// 175.vpr, which computes much, allocates little, and uses regions: one for the netlist, one for the routes
// of each routing attempt, and one for the frontier of each net's search.
//
// In the naive variant each object of a region is a malloc of its own, freed when the region is reset (Table
// 4 of ISMM 2026: chunks that fit a single object). Scale: annealing moves, in thousands.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include <reap/layer/region.h>
#include <reap/source/malloc.h>

#include "common/workload.h"

namespace {

// Chunks come from malloc, as vpr's do, so that what serves malloc serves both variants.
using Region = reap::Region<reap::Malloc, 8>;

constexpr int side = 40; // of the chip, in places
constexpr std::size_t places = std::size_t{side} * side;
constexpr std::size_t blocks = places * 9 / 10;

/// The number of a place.
std::size_t place_at(int x, int y) {
    return static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x);
}

struct Net;

/// A block's pin, one of a list.
struct Pin {
    Net *net;
    Pin *next;
};

struct Block {
    int x, y;
    Pin *pins;
};

/// What a net connects, one of a list.
struct Terminal {
    Block *block;
    Terminal *next;
};

struct Net {
    std::size_t number;
    Terminal *terminals; // the source first
    std::size_t count;
    int left, right, low, high; // around them
    double cost;
    bool moved; // in the move that is tried
};

/// A circuit: most nets connect blocks that are near each other in the netlist, as designs do.
class Circuit {
  public:
    explicit Circuit(Region &memory) {
        workload::Random random(175);
        for (std::size_t n = 0; n < blocks; ++n) all_.push_back(memory.create<Block>());
        for (std::size_t n = 0; n < blocks; ++n) {
            auto *const net = memory.create<Net>();
            net->number = n;
            add(memory, *net, *all_[n]);
            const std::size_t fanout = 1 + random.below(1 + random.below(8));
            for (std::size_t sink = 0; sink < fanout; ++sink) {
                const std::size_t near = (n + 1 + random.below(60)) % blocks;
                add(memory, *net, *all_[random.percent(90) ? near : random.below(blocks)]);
            }
            nets_.push_back(net);
        }
    }
    [[nodiscard]] const std::vector<Block *> &all() const { return all_; }
    [[nodiscard]] const std::vector<Net *> &nets() const { return nets_; }

  private:
    static void add(Region &memory, Net &net, Block &block) {
        for (const Terminal *old = net.terminals; old != nullptr; old = old->next)
            if (old->block == &block) return;
        Terminal **last = &net.terminals;
        while (*last != nullptr) last = &(*last)->next;
        *last = memory.create<Terminal>(&block, nullptr);
        block.pins = memory.create<Pin>(&net, block.pins);
        ++net.count;
    }

    std::vector<Block *> all_;
    std::vector<Net *> nets_;
};

/// Swaps blocks, always where that shortens nets, and else the more rarely the colder it is.
class Placer {
  public:
    explicit Placer(const Circuit &circuit) : circuit_(circuit), at_(places, nullptr) {
        for (std::size_t n = 0; n < blocks; ++n) put(circuit.all()[n], n);
        for (Net *net : circuit.nets()) cost_ += net->cost = measure(*net);
    }

    void anneal(std::size_t moves) {
        constexpr std::size_t steps = 100;
        double temperature = 20;
        double reach = side;
        for (std::size_t step = 0; step < steps; ++step) {
            std::size_t accepted = 0;
            const std::size_t tries = std::max<std::size_t>(moves / steps, 1);
            for (std::size_t n = 0; n < tries; ++n) accepted += attempt(temperature, static_cast<int>(reach));
            // As vpr does: slowly where about half is accepted, and moves so far that it stays so.
            const double share = static_cast<double>(accepted) / static_cast<double>(tries);
            temperature *= share > 0.96 ? 0.5 : share > 0.8 ? 0.9 : share > 0.15 ? 0.95 : 0.8;
            reach = std::clamp(reach * (1 - 0.44 + share), 1.0, static_cast<double>(side));
        }
    }
    [[nodiscard]] double cost() const { return cost_; }

  private:
    void put(Block *block, std::size_t place) {
        at_[place] = block;
        if (block == nullptr) return;
        block->x = static_cast<int>(place % side);
        block->y = static_cast<int>(place / side);
    }

    /// Half the way around the net, corrected for nets of many terminals (Cheng's factor, about).
    static double measure(Net &net) {
        net.left = net.low = side;
        net.right = net.high = 0;
        for (const Terminal *terminal = net.terminals; terminal != nullptr; terminal = terminal->next) {
            net.left = std::min(net.left, terminal->block->x);
            net.right = std::max(net.right, terminal->block->x);
            net.low = std::min(net.low, terminal->block->y);
            net.high = std::max(net.high, terminal->block->y);
        }
        const double factor = net.count <= 3 ? 1 : 1 + 0.06 * static_cast<double>(net.count - 3);
        return factor * (net.right - net.left + net.high - net.low);
    }

    bool attempt(double temperature, int reach) {
        Block *const block = circuit_.all()[random_.below(blocks)];
        const auto near = [&](int middle) {
            const std::size_t span = 2 * static_cast<std::size_t>(reach) + 1;
            return std::clamp(middle - reach + static_cast<int>(random_.below(span)), 0, side - 1);
        };
        const auto from = place_at(block->x, block->y);
        const int y = near(block->y);
        const auto to = place_at(near(block->x), y);
        Block *const other = at_[to];
        if (other == block) return false;

        put(other, from);
        put(block, to);
        touched_.clear();
        touch(*block);
        if (other != nullptr) touch(*other);
        double change = 0;
        for (auto &[net, before] : touched_) {
            net->moved = false;
            change += (net->cost = measure(*net)) - before;
        }
        if (change <= 0 || random_.fraction() < std::exp(-change / temperature)) {
            cost_ += change;
            return true;
        }
        put(block, from);
        put(other, to);
        for (auto &[net, before] : touched_) net->cost = before;
        return false;
    }
    void touch(const Block &block) {
        for (const Pin *pin = block.pins; pin != nullptr; pin = pin->next)
            if (!std::exchange(pin->net->moved, true)) touched_.emplace_back(pin->net, pin->net->cost);
    }

    const Circuit &circuit_;
    workload::Random random_{1999};
    std::vector<Block *> at_;
    std::vector<std::pair<Net *, double>> touched_; // nets, and their costs before
    double cost_ = 0;
};

/// Routes all nets over and over, and makes places dearer that too many use: PathFinder (McMurchie and
/// Ebeling, 1995), as vpr's router.
class Router {
  public:
    Router(const Circuit &circuit, bool naive)
        : circuit_(circuit), routes_(options(naive)), front_(options(naive)), place_(places) {}

    static reap::RegionOptions options(bool naive) {
        return naive ? reap::RegionOptions{.large_object = 0} : reap::RegionOptions{};
    }

    /// Returns how many places are used more often than they may in the end.
    std::size_t route(std::size_t rounds) {
        std::size_t overused = 0;
        double penalty = 0.5;
        for (std::size_t round = 0; round < rounds; ++round) {
            routes_.reset();
            for (Place &place : place_) place.used = 0;
            wires_ = 0;
            for (const Net *net : circuit_.nets()) wires_ += route(*net, penalty);
            overused = 0;
            for (Place &place : place_) {
                if (place.used > capacity) {
                    ++overused;
                    place.history += place.used - capacity;
                }
            }
            if (overused == 0) break;
            penalty *= 1.6;
        }
        return overused;
    }
    [[nodiscard]] std::size_t wires() const { return wires_; }
    void add_to(workload::Checksum &checksum) const {
        for (const Place &place : place_) checksum.add(place.used);
    }

  private:
    static constexpr int capacity = 20;

    struct Place {
        int used = 0;
        double history = 0;
        double reached = 0; // at which cost, in the search with this number
        std::size_t search = 0;
    };
    /// A place that the search has come to, and from where: vpr's heap elements.
    struct Step {
        std::size_t place;
        double cost;
        double estimate; // of the whole way
        Step *before;
    };
    /// A place that belongs to the route of the net, one of a list: vpr's traceback.
    struct Trace {
        std::size_t place;
        Trace *next;
    };
    struct Later {
        bool operator()(const Step *one, const Step *two) const {
            // Of ways that may be as long, first the one that has come further.
            if (one->estimate != two->estimate) return one->estimate > two->estimate;
            return one->cost != two->cost ? one->cost < two->cost : one->place > two->place;
        }
    };

    static std::size_t place_of(const Block &block) { return place_at(block.x, block.y); }
    static double distance(std::size_t one, std::size_t two) {
        const auto apart = [](std::size_t a, std::size_t b) {
            return static_cast<double>(a > b ? a - b : b - a);
        };
        return apart(one % side, two % side) + apart(one / side, two / side);
    }

    /// From each terminal to what the net has already; returns the places that it takes.
    std::size_t route(const Net &net, double penalty) {
        Trace *tree = routes_.create<Trace>(place_of(*net.terminals->block), nullptr);
        std::size_t taken = 1;
        for (const Terminal *sink = net.terminals->next; sink != nullptr; sink = sink->next) {
            const std::size_t goal = place_of(*sink->block);
            ++search_;
            heap_.clear();
            for (const Trace *trace = tree; trace != nullptr; trace = trace->next)
                reach(trace->place, 0, goal, nullptr);
            while (heap_.front()->place != goal) {
                Step *const step = heap_.front();
                std::pop_heap(heap_.begin(), heap_.end(), Later());
                heap_.pop_back();
                if (step->cost > place_[step->place].reached) continue; // came here cheaper meanwhile
                const std::size_t x = step->place % side;
                const std::size_t y = step->place / side;
                const auto go = [&](std::size_t to) {
                    const Place &place = place_[to];
                    const int over = std::max(place.used + 1 - capacity, 0);
                    reach(to, step->cost + (1 + place.history) * (1 + over * penalty), goal, step);
                };
                if (x > 0) go(step->place - 1);
                if (x + 1 < side) go(step->place + 1);
                if (y > 0) go(step->place - side);
                if (y + 1 < side) go(step->place + side);
            }
            for (const Step *step = heap_.front(); step->before != nullptr; step = step->before) {
                tree = routes_.create<Trace>(step->place, tree);
                ++place_[step->place].used;
                ++taken;
            }
            front_.reset();
        }
        return taken;
    }
    void reach(std::size_t to, double cost, std::size_t goal, Step *before) {
        Place &place = place_[to];
        if (place.search == search_ && place.reached <= cost) return;
        place.search = search_;
        place.reached = cost;
        heap_.push_back(front_.create<Step>(to, cost, cost + distance(to, goal), before));
        std::push_heap(heap_.begin(), heap_.end(), Later());
    }

    const Circuit &circuit_;
    Region routes_; // until the next round
    Region front_;  // until the next terminal
    std::vector<Step *> heap_;
    std::vector<Place> place_;
    std::size_t search_ = 0;
    std::size_t wires_ = 0;
};

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 12000};
    if (!workload::read(count, words, options)) return 2;
    Region netlist(Router::options(options.naive));
    const Circuit circuit(netlist);
    Placer placer(circuit);
    const double before = placer.cost();
    placer.anneal(options.scale * 1000);
    Router router(circuit, options.naive);
    const std::size_t overused = router.route(4);

    workload::Checksum checksum;
    for (const Block *block : circuit.all()) {
        checksum.add(block->x);
        checksum.add(block->y);
    }
    router.add_to(checksum);
    std::printf("%zu nets, cost %.1f at first, %.1f placed; %zu places wired, %zu too often\n",
                circuit.nets().size(), before, placer.cost(), router.wires(), overused);
    workload::print(checksum);
}
