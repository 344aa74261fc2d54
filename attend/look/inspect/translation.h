// A translator looked at: beam search as a tree, the candidates of every step, attention inside both stacks and
// between.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attend/look/inspect/inspect.h"
#include "attend/tasks/translator.h"

namespace attend::look {

class TranslationInspector : public Inspector {
 public:
  // backend must outlive it.
  TranslationInspector(std::unique_ptr<tasks::LoadedTranslator> loaded, Backend& backend);

  Inspection inspect(const std::string& text, const InspectOptions& options) override;
  using Inspector::inspect;
  view::Trace trace(const TraceRequest& request) override;
  Output output(const TraceRequest& request) override;
  EncoderStates states(const StatesRequest& request) override;
  std::vector<std::string> answers(std::span<const std::string> lines) override;
  PositionTable positions(std::int64_t rows) const override;

  const tasks::LoadedTranslator& loaded() const { return *loaded_; }

 private:
  struct Source {
    std::vector<std::int32_t> ids;
    std::vector<std::size_t> kept;  // which of the whole sentence they are
    nn::Sequences sequences;
    std::int64_t longest;  // translation, as long as the translator lets it get
  };
  std::vector<std::int32_t> encode(const std::string& text) const;
  Source prepare(const std::vector<std::int32_t>& ids, const Ablation& ablation) const;
  void search(const Source& source, const InspectOptions& options, Inspection& result) const;
  // Feeds what is forced and goes on greedily unless that is the end; fills the steps.
  void walk(const Source& source, const std::vector<std::int32_t>& forced, const InspectOptions& options,
            Inspection& result) const;
  void look(const Source& source, std::int64_t window, Inspection& result) const;
  std::string name_of_token(std::int32_t id) const;
  std::vector<std::string> labels(std::vector<std::int32_t> ids, bool with_end) const;

  std::unique_ptr<tasks::LoadedTranslator> loaded_;
  Backend& backend_;
  std::int32_t start_, end_;
  std::vector<char> suppressed_;  // by id
};

}  // namespace attend::look
