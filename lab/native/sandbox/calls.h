// Calls of an object's methods through a sandbox that has it: their arguments in a request, their result in
// the answer.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "sandbox/message.h"

namespace reap::native {

template <auto kOne, auto kOther>
constexpr bool is_same_method() {
    if constexpr (std::is_same_v<decltype(kOne), decltype(kOther)>) return kOne == kOther;
    return false;
}

template <class Object, class Result, class... Arguments>
Result result_of(Result (Object::*)(Arguments...));

// Methods that an object in a sandbox answers by.
template <class Object, auto... kMethods>
class Calls {
  public:
    template <auto kMethod, class... Arguments>
    static std::string request(const Arguments &...arguments) {
        uint8_t number = 0;
        (void)((is_same_method<kMethod, kMethods>() || (++number, false)) || ...);
        std::string out;
        put(out, number);
        (put(out, arguments), ...);
        return out;
    }

    // In the sandbox. Throws BadMessage, and what the method throws.
    static std::string answer(Object &object, std::string_view request) {
        MessageReader in(request);
        uint8_t number = 0;
        take(in, number);
        if (number >= sizeof...(kMethods)) throw BadMessage();
        return kAnswers[number](object, in);
    }

    // Throws BadMessage.
    template <auto kMethod>
    static auto result(std::string_view answer) {
        decltype(result_of(kMethod)) out{};
        MessageReader in(answer);
        take(in, out);
        return out;
    }

  private:
    template <class Result, class... Arguments>
    static std::string answer_of(Object &object, Result (Object::*method)(Arguments...), MessageReader &in) {
        std::tuple<std::decay_t<Arguments>...> arguments; // NOLINT(misc-const-correctness): it may be empty
        std::apply([&in](auto &...each) { (take(in, each), ...); }, arguments);
        std::string out;
        put(out, std::apply([&](const auto &...each) { return (object.*method)(each...); }, arguments));
        return out;
    }

    using Answer = std::string (*)(Object &object, MessageReader &in);
    static constexpr Answer kAnswers[] = {
        [](Object &object, MessageReader &in) { return answer_of(object, kMethods, in); }...};
};

} // namespace reap::native
