// A language model looked at: what follows a prompt, token by token with its candidates, and the attention of it all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/look/inspect/inspect.h"
#include "attend/tasks/generator.h"

namespace attend::look {

class LanguageInspector : public Inspector {
 public:
  // backend must outlive it.
  LanguageInspector(const std::filesystem::path& folder, Backend& backend, DType dtype);

  // Greedily. Attention has a row and a column for each token of the prompt and of what was written.
  Inspection inspect(const std::string& text, const InspectOptions& options) override;
  using Inspector::inspect;
  view::Trace trace(const TraceRequest& request) override;
  Output output(const TraceRequest& request) override;
  PositionTable positions(std::int64_t rows) const override;

 private:
  std::vector<std::int32_t> encode(const std::string& text) const;
  // Feeds what is forced and goes on; fills steps and target.
  void write(const std::vector<std::int32_t>& prompt, const InspectOptions& options, Inspection& result) const;
  // The prompt and what was written, of a request that makes sense.
  std::vector<std::int32_t> whole(const TraceRequest& request) const;
  std::string name_of_token(std::int32_t id) const;
  std::vector<std::string> labels(const std::vector<std::int32_t>& ids) const;

  tasks::Generator generator_;
  Backend& backend_;
  std::int32_t end_;
};

}  // namespace attend::look
