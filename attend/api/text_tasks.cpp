#include "attend/api/text_tasks.h"

#include "attend/api/opened.h"
#include "attend/tasks/answerer.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/embedder.h"
#include "attend/tasks/fill.h"
#include "attend/tasks/generator.h"
#include "attend/tasks/reranker.h"
#include "attend/tasks/tagger.h"
#include "attend/tasks/translator.h"

namespace attend {

namespace {

using Lines = std::span<const std::string>;

// The tokenizer of a model, which it keeps.
template <class Inner>
Tokenizer tokenizer_of(const std::shared_ptr<const Inner>& inner, const text::Tokenizer& tokenizer) {
  return Tokenizer(std::shared_ptr<const text::Tokenizer>(inner, &tokenizer));
}

}  // namespace

Translator::Translator(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::LoadedTranslator>(
          device, [&](Backend& on) { return tasks::load_translator(folder, on, format_of(options)).release(); })) {}
std::vector<TranslatedLine> Translator::translate(Lines lines, const TranslateOptions& options) const {
  return inner_->translator.translate(lines, options);
}
std::vector<SelfAttention> Translator::self_attention(const std::string& line) const {
  return inner_->translator.self_attention(line);
}
Tokenizer Translator::tokenizer() const { return tokenizer_of(inner_, inner_->tokenizer); }

Generator::Generator(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::Generator>(folder, device, options)) {}
std::vector<Generated> Generator::generate(std::string_view prompt, const GenerateOptions& options) const {
  return inner_->generate(prompt, options, draft_.get());
}
void Generator::generate_many(Lines prompts, const GenerateOptions& options, const ManyOptions& many) const {
  inner_->generate_many(prompts, options, many);
}
Perplexity Generator::perplexity(std::string_view text, std::int64_t context) const {
  return inner_->perplexity(text, context);
}
Tokenizer Generator::tokenizer() const { return tokenizer_of(inner_, inner_->tokenizer()); }

Classifier::Classifier(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::Classifier>(folder, device, options)) {}
std::vector<Classified> Classifier::classify(Lines lines, const ClassifyOptions& options) const {
  return inner_->classify(lines, options);
}
const std::vector<std::string>& Classifier::labels() const { return inner_->labels(); }
bool Classifier::regression() const { return inner_->regression(); }
Tokenizer Classifier::tokenizer() const { return tokenizer_of(inner_, inner_->reader().tokenizer()); }

Reranker::Reranker(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::Reranker>(folder, device, options)) {}
std::vector<float> Reranker::scores(const std::string& query, Lines documents, const EncoderBatching& batching) const {
  return inner_->scores(query, documents, false, batching);
}

Tagger::Tagger(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::Tagger>(folder, device, options)) {}
std::vector<TaggedLine> Tagger::tag(Lines lines, const EncoderBatching& batching) const {
  return inner_->tag(lines, batching);
}
Tokenizer Tagger::tokenizer() const { return tokenizer_of(inner_, inner_->encoder().reader().tokenizer()); }

Answerer::Answerer(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::Answerer>(folder, device, options)) {}
std::vector<Answer> Answerer::answer(std::string_view question, std::string_view context,
                                     const AnswerOptions& options) const {
  return inner_->answer(question, context, options);
}
Tokenizer Answerer::tokenizer() const { return tokenizer_of(inner_, inner_->encoder().reader().tokenizer()); }

Filler::Filler(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::Filler>(folder, device, options)) {}
std::vector<FilledLine> Filler::fill(Lines lines, const FillOptions& options) const {
  return inner_->fill(lines, options);
}
const std::string& Filler::mask() const { return inner_->mask(); }
Tokenizer Filler::tokenizer() const { return tokenizer_of(inner_, inner_->encoder().reader().tokenizer()); }

Embedder::Embedder(const std::filesystem::path& folder, const Device& device, const ModelOptions& options)
    : inner_(opened<tasks::Embedder>(folder, device, options)) {}
std::int64_t Embedder::width() const { return inner_->width(); }
std::vector<std::vector<float>> Embedder::embed(Lines lines, const EmbedOptions& options) const {
  return inner_->embed(lines, options);
}
Tokenizer Embedder::tokenizer() const { return tokenizer_of(inner_, inner_->encoder().reader().tokenizer()); }

double cosine(std::span<const float> a, std::span<const float> b) { return tasks::cosine(a, b); }

}  // namespace attend
