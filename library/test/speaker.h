#pragma once

#include <string>

/// Appends its letter to a string when it is destroyed, so that a test sees whether and when.
class Speaker {
  public:
    Speaker(std::string &said, char word) : said_(&said), word_(word) {}
    Speaker(const Speaker &) = delete;
    Speaker &operator=(const Speaker &) = delete;
    ~Speaker() { *said_ += word_; }

  private:
    std::string *said_;
    char word_;
};
