#include "attend/cli/commands/embed.h"

#include <fmt/core.h>

#include <ostream>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/encoder_command.h"
#include "attend/cli/support/image_input.h"
#include "attend/tasks/embedder.h"
#include "attend/tasks/image_encoder.h"

namespace attend::cli {

namespace {

struct EmbedCommand {
  EncoderFlags model;
  std::string npy;
  bool similarity = false;
  std::string pooling, prompt_name, prompt;  // empty: as the model's folder says
  bool normalize = false;

  bool whole() const { return similarity || !npy.empty(); }  // these need all vectors
};

constexpr const char* kEmbedExamples = R"(
  attend embed --model all-MiniLM-L6-v2 --normalize lines.txt # one JSON object per line: text, embedding
  attend embed --model all-MiniLM-L6-v2 --npy vectors.npy lines.txt # f32 [lines, width], for NumPy
  attend embed --model all-MiniLM-L6-v2 --similarity lines.txt # cosine similarity of all pairs of lines
  attend embed --model vit-base --similarity photos/ # cosine similarity of images)";

void print_similarity(const std::vector<std::vector<float>>& vectors, std::ostream& out) {
  for (const auto& a : vectors) {
    for (std::size_t i = 0; i < vectors.size(); ++i)
      out << fmt::format("{}{:.4f}", i ? "\t" : "", tasks::cosine(a, vectors[i]));
    out << '\n';
  }
}

void finish(const EmbedCommand& options, const std::vector<std::vector<float>>& all, OutputFiles& outputs,
            std::ostream& out) {
  if (!options.npy.empty())
    outputs.write(options.npy, tasks::npy_of(all, all.empty() ? 0 : static_cast<std::int64_t>(all[0].size())));
  if (options.similarity) print_similarity(all, out);
  outputs.commit();
}

void run_embed_images(const EmbedCommand& options, const Streams& streams) {
  check(options.model.output.empty() && !options.model.resume, "embed: --output and --resume are for lines of text");
  OutputFiles outputs(command_files(streams, {.outputs = {{"--npy", options.npy}},
                                              .files = image_files(options.model.files, "embed"),
                                              .model = options.model.model}));
  const auto backend = options.model.open();
  const tasks::ImageEncoder encoder(options.model.model, catalogue::Task::embed_images, *backend,
                                    options.model.format());
  const ImageInput input{.arguments = options.model.files,
                         .batch = options.model.batch,
                         .max_pixels = options.model.max_pixels,
                         .command = "embed",
                         .prepare = [&](image::ImageRows& image) { return encoder.prepare(image); }};
  std::vector<std::vector<float>> all;
  for_each_image_batch(input, streams, [&](const ImageBatch& batch) {
    std::vector<std::vector<float>> vectors = encoder.features(batch.images);
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      if (options.normalize) tasks::normalize(vectors[i]);
      if (options.whole())
        all.push_back(std::move(vectors[i]));
      else
        streams.out << Json({{"file", batch.files[i]}, {"embedding", vectors[i]}}).dump() << '\n';
    }
  });
  finish(options, all, outputs, streams.out);
}

// What the flags ask for. Where the folder says otherwise, the note on err names both.
tasks::EmbedOptions embed_options(const EmbedCommand& options, const tasks::SentenceModules& modules,
                                  std::ostream& err) {
  tasks::EmbedOptions embed;
  if (!options.pooling.empty()) {
    embed.pooling = tasks::pooling_named(options.pooling, "embed");
    if (modules.found() && (modules.pooling().size() > 1 || modules.pooling()[0] != *embed.pooling))
      err << fmt::format("embed: --pooling {} instead of the model's own: {}\n", options.pooling,
                         modules.description());
  }
  if (options.normalize) {
    embed.normalize = true;
    if (modules.found() && !modules.normalizes())
      err << fmt::format("embed: --normalize, which the model itself does not do: {}\n", modules.description());
  }
  check(options.prompt.empty() || options.prompt_name.empty(), "embed: --prompt and --prompt-name are the same thing");
  if (!options.prompt.empty()) embed.prompt = options.prompt;
  if (!options.prompt_name.empty()) embed.prompt = modules.prompt(options.prompt_name);
  return embed;
}

void run_embed(const EmbedCommand& options, const Streams& streams) {
  if (catalogue::read_config(options.model.model).does(catalogue::Task::embed_images))
    return run_embed_images(options, streams);
  OutputFiles outputs(line_outputs(options.model, streams, {{"--npy", options.npy}}));
  const auto backend = options.model.open(*streams.world);
  check((streams.world->size() == 1 && options.model.output.empty()) || !options.whole(),
        "embed: --npy and --similarity are for one process, without --output");
  const tasks::Embedder embedder(options.model.model, *backend, options.model.format());
  const tasks::EmbedOptions embed = embed_options(options, embedder.modules(), streams.err);
  std::vector<std::vector<float>> all;
  for_each_window(options.model, streams,
                  {{"command", "embed"},
                   {"pooling", options.pooling},
                   {"normalize", options.normalize},
                   {"prompt", embed.prompt.value_or("")}},
                  [&](std::span<const std::string> lines, const auto& batching, std::ostream& out) {
                    tasks::EmbedOptions with = embed;
                    with.batching = batching;
                    std::vector<std::vector<float>> vectors = embedder.embed(lines, with);
                    for (std::size_t i = 0; i < lines.size(); ++i)
                      if (options.whole())
                        all.push_back(std::move(vectors[i]));
                      else
                        out << Json({{"text", lines[i]}, {"embedding", vectors[i]}}).dump() << '\n';
                  });
  finish(options, all, outputs, streams.out);
}

}  // namespace

void add_embed_command(Flags& program, const Streams& streams) {
  add_command<EmbedCommand>(
      program, streams,
      {.name = "embed",
       .help = "Compute an embedding for each line or image.",
       .examples = kEmbedExamples,
       .notes = {"In a sentence-transformers folder, attend uses its pooling, dense layers, normalisation, maximum "
                 "length and default prompt. Without modules.json, the embedding is the mean over all tokens, "
                 "including special tokens."}},
      [](Flags& flags, EmbedCommand& options) {
        add_encoder_flags(flags, options.model, "with or without a head, or an image model");
        add_line_flags(flags, options.model);
        add_max_pixels_flag(flags, options.model.max_pixels);
        flags
            .add("--pooling", options.pooling,
                 "Pooling of the token vectors: mean, cls, max, mean_sqrt_len, weightedmean or lasttoken. Default: the "
                 "model's 1_Pooling, or mean.")
            .one_of({"mean", "cls", "max", "mean_sqrt_len", "weightedmean", "lasttoken"});
        flags
            .add("--normalize", options.normalize,
                 "Scale embeddings to length 1, even if the model's modules.json does not.")
            .group("Model");
        flags
            .add("--prompt-name", options.prompt_name,
                 "Prepend a named prompt of config_sentence_transformers.json, such as query.")
            .group("Data");
        flags.add("--prompt", options.prompt, "Prepend this text to each line.").group("Data");
        flags.add("--npy", options.npy, "Write the embeddings to a NumPy file.");
        flags.add("--similarity", options.similarity, "Print the cosine similarity of all pairs instead.")
            .group("Output");
      },
      run_embed);
}

}  // namespace attend::cli
