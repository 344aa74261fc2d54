// Opening, closing, reading results: all of attend/c.h but the calls that compute.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string_view>
#include <unordered_set>

#include "attend/base/unicode/unicode.h"
#include "attend/capi/guard.h"
#include "attend/capi/model.h"

namespace attend::capi {

namespace {

// Of fixed size: keeping a message must not fail.
thread_local char last_message[2048] = "";

// UTF-8, though it may name a file that is not, and is cut where it is too long.
void keep_message(std::string_view text) noexcept {
  std::size_t length = std::min(text.size(), sizeof last_message - 1);
  if (length < text.size())
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  std::memcpy(last_message, text.data(), length);
  last_message[length] = 0;
}

void keep_message(const std::exception& error) noexcept {
  try {
    keep_message(replace_invalid_utf8(error.what()));
  } catch (...) {
    keep_message("out of memory");
  }
}

// Memory that callers have: results, and the data of tensors.
struct Lent {
  std::shared_mutex mutex;
  std::unordered_set<const void*> memory;
};

// Never destroyed: threads may still call when the program ends.
Lent& lent() {
  static auto* all = new Lent;
  return *all;
}

bool is_lent(const void* memory) {
  const std::shared_lock lock(lent().mutex);
  return lent().memory.contains(memory);
}

bool take_back(const void* memory) {
  const std::lock_guard lock(lent().mutex);
  return lent().memory.erase(memory) > 0;
}

}  // namespace

void lend(void* memory) {
  const std::lock_guard lock(lent().mutex);
  lent().memory.insert(memory);
}

attend_status failed() noexcept {
  try {
    throw;
  } catch (const ArgumentError& error) {
    keep_message(error);
    return ATTEND_ARGUMENT;
  } catch (const std::bad_alloc&) {
    keep_message("out of memory");
    return ATTEND_NO_MEMORY;
  } catch (const std::exception& error) {
    keep_message(error);
  } catch (...) {
    keep_message("something that is no error was thrown");
  }
  return ATTEND_ERROR;
}

}  // namespace attend::capi

using attend::capi::check_argument;
using attend::capi::guarded;
using attend::capi::is_lent;
using attend::capi::take_back;

extern "C" {

const char* attend_message(void) { return attend::capi::last_message; }
const char* attend_version(void) { return ATTEND_VERSION; }

attend_status attend_open(const char* path_or_name, const attend_open_options* options, attend_model** model) {
  return guarded([&] {
    check_argument(model, "attend_open: the place for the model is null");
    *model = nullptr;
    check_argument(path_or_name, "attend_open: the name of the folder is null");
    const attend_open_options given = attend::capi::options_of("attend_open", options);
    *model = attend::capi::keep_open(attend::capi::open_model(path_or_name, given));
  });
}

void attend_close(attend_model** model) {
  if (!model) return;
  attend::capi::close(*model);
  *model = nullptr;
}

const char* attend_task(const attend_model* model) {
  const char* name = "";
  guarded([&] { name = attend::catalogue::name_of(attend::capi::opened("attend_task", model)->task).data(); });
  return name;  // names are literals, and end with 0
}

size_t attend_results_lines(const attend_results* results) { return is_lent(results) ? results->lines.size() : 0; }

size_t attend_results_count(const attend_results* results, size_t line) {
  return line < attend_results_lines(results) ? results->lines[line].size() : 0;
}

attend_status attend_results_item(const attend_results* results, size_t line, size_t index, attend_item* item) {
  return guarded([&] {
    check_argument(results && item, "attend_results_item: {} is null", results ? "the place for the item" : "results");
    check_argument(is_lent(results), "attend_results_item: these results were freed, or are none");
    check_argument(line < results->lines.size(), "attend_results_item: line {} was asked for, but there are {}", line,
                   results->lines.size());
    check_argument(index < results->lines[line].size(),
                   "attend_results_item: item {} of line {} was asked for, but there are {}", index, line,
                   results->lines[line].size());
    const attend_results::Item& found = results->lines[line][index];
    *item = {.text = found.text.c_str(),
             .label = found.label.c_str(),
             .score = found.score,
             .begin = found.begin,
             .end = found.end,
             .box = {found.box[0], found.box[1], found.box[2], found.box[3]}};
  });
}

const char* attend_results_text(const attend_results* results, size_t line, size_t index) {
  if (index >= attend_results_count(results, line)) return "";
  const attend_results::Item& item = results->lines[line][index];
  return item.text.empty() ? item.label.c_str() : item.text.c_str();
}

void attend_results_free(attend_results** results) {
  if (!results) return;
  if (take_back(*results)) delete *results;
  *results = nullptr;
}

void attend_tensor_free(attend_tensor* tensor) {
  if (!tensor) return;
  if (take_back(tensor->data)) std::free(tensor->data);
  *tensor = {};
}

}  // extern "C"
