#include "attend/cli/commands/describe.h"

#include <fmt/core.h>

#include <ostream>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/base/terminal.h"
#include "attend/cli/support/coco_images.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/figure_flags.h"
#include "attend/cli/support/image_input.h"
#include "attend/cli/support/model_flag.h"
#include "attend/tasks/describer.h"
#include "attend/view/caption_figure.h"

namespace attend::cli {

namespace {

struct DescribeCommand : DeviceFlags {
  std::string model, png, svg, results, images;
  FigureFlags figure;
  std::vector<std::string> files;
  std::int64_t batch = 32, max_pixels = limits::kMostPixels;
  bool json = false, show_attention = false;
  tasks::DescribeOptions describe;
};

constexpr const char* kDescribeExamples = R"(
  attend describe --model flickr8k dog.jpg photos/ # prints file and caption
  attend describe --model flickr8k --show-attention dog.jpg # show the attention weights of each word
  attend describe --model flickr8k --png figure.png dog.jpg # write them as a figure
  attend describe --model flickr8k --beams 1 --json photos/
  attend describe --model vit-gpt2-image-captioning dog.jpg # VisionEncoderDecoder model from the Hugging Face hub
  attend describe --model flickr8k --sample --top-k 20 --seed 7 dog.jpg
  attend describe --model flickr8k photos/ --images captions_val.json --results found.json
  attend score --metric captions --ground-truth captions_val.json --predictions found.json # BLEU, ROUGE-L, CIDEr)";

bool wants_attention(const DescribeCommand& options) {
  return options.show_attention || !options.png.empty() || !options.svg.empty();
}

Json json_of(const std::string& file, const tasks::Description& description, bool attention) {
  Json json = {
      {"file", file}, {"caption", description.text}, {"score", description.score}, {"finished", description.finished}};
  if (!attention) return json;
  json["tokens"] = description.tokens;
  json["grid"] = Json::array({description.grid.h, description.grid.w});
  json["looks"] = description.looks;
  return json;
}

// COCO's results, where they are asked for.
class CaptionResults {
 public:
  CaptionResults(const DescribeCommand& options, const std::vector<std::string>& files)
      : path_(options.results), images_(files) {
    check(options.images.empty() || !path_.empty(), "describe: --images is for the numbers in --results FILE");
    check_results(path_, "describe");
    if (!options.images.empty())
      images_ = CocoImages(files, data::read_coco_names(options.images), {"describe", options.images});
  }

  void add(const std::string& file, const std::string& caption) {
    if (!path_.empty()) results_.push_back({{"image_id", images_.id(file)}, {"caption", caption}});
  }
  void write(OutputFiles& outputs) const {
    if (!path_.empty()) outputs.write(path_, results_.dump() + "\n");
  }

 private:
  std::string path_;
  CocoImages images_;
  Json results_ = Json::array();
};

OutputFiles::Options files_of(const DescribeCommand& options, const std::vector<std::string>& files,
                              const Streams& streams) {
  CommandFiles command{.outputs = {{"--results", options.results}}, .files = files, .model = options.model};
  for (const auto& figures :
       {figures_of("--png", options.png, files.size()), figures_of("--svg", options.svg, files.size())})
    command.outputs.insert(command.outputs.end(), figures.begin(), figures.end());
  command.files.push_back(options.images);
  return command_files(streams, std::move(command));
}

void run_describe(const DescribeCommand& options, const Streams& streams) {
  check(options.batch >= 1, "describe: --batch must be at least 1, not {}", options.batch);
  check(!options.files.empty(), "describe: no images; name files, or folders of them");
  const std::vector<std::string> files = image_files(options.files, "describe");
  CaptionResults coco(options, files);
  OutputFiles outputs(files_of(options, files, streams));
  const auto backend = options.open();
  const auto loaded = tasks::load_describer(options.model, *backend, options.format());
  check(!wants_attention(options) || !loaded->model->decoder().attention_label().empty(),
        "describe: the model in {} has no attention to show", options.model);
  const ImageInput input{.arguments = files,
                         .batch = options.batch,
                         .max_pixels = options.max_pixels,
                         .command = "describe",
                         .prepare = [&](image::ImageRows& image) { return loaded->prepare(image); }};
  tasks::DescribeOptions describe = options.describe;
  describe.attention = wants_attention(options);
  std::int64_t figures = 0;
  const auto run = [&](const ImageBatch& batch) {
    const std::vector<tasks::Description> results = loaded->describe(batch.images, describe);
    describe.first += static_cast<std::uint32_t>(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (options.json)
        streams.out << json_of(batch.files[i], results[i], options.show_attention).dump() << '\n';
      else
        streams.out << printable(batch.files[i]) << '\t' << printable(results[i].text) << '\n';
      coco.add(batch.files[i], results[i].text);
      if (!wants_attention(options)) continue;
      const view::CaptionAttention image = words_seen(batch.images[i], results[i]);
      if (options.show_attention && !options.json) streams.out << view::draw(image, streams.out_terminal) << '\n';
      ++figures;
      const view::Figure figure =
          options.png.empty() && options.svg.empty() ? view::Figure{} : view::caption_figure(image);
      if (!options.png.empty()) outputs.write(numbered(options.png, figures), png_of(figure, options.figure));
      if (!options.svg.empty()) outputs.write(numbered(options.svg, figures), svg_of(figure, options.figure));
    }
    streams.out << std::flush;
  };
  const auto finish = [&] {
    coco.write(outputs);
    outputs.commit();
  };
  try {
    for_each_image_batch(input, streams, run);
  } catch (const UnreadImages&) {
    finish();
    throw;
  }
  finish();
}

}  // namespace

view::CaptionAttention words_seen(const image::Image& image, const tasks::Description& description) {
  return view::joined_words({.image = image,
                             .caption = description.text,
                             .words = description.tokens,
                             .rows = static_cast<std::size_t>(description.grid.h),
                             .columns = static_cast<std::size_t>(description.grid.w),
                             .weights = description.looks});
}

void add_describe_command(Flags& program, const Streams& streams) {
  add_command<DescribeCommand>(
      program, streams, {.name = "describe", .help = "Write a caption for each image.", .examples = kDescribeExamples},
      [](Flags& flags, DescribeCommand& options) {
        tasks::DescribeOptions& describe = options.describe;
        flags.add("files", options.files, "Images or folders of images.");
        add_model_flag(flags, options.model, "Captioning model folder").required();
        flags.add("--beams", describe.beams, "Beam size; 1 is greedy search.")
            .between(1, limits::kMostBeams)
            .shown_as("4, or num_beams in generation_config.json");
        flags.add("--alpha", describe.alpha, "Length penalty (Wu et al. 2016).")
            .between(0, 10)
            .shown_as("0.6, or length_penalty in generation_config.json");
        const Flag sample = flags.add("--sample", describe.sample, "Sample tokens instead of using beam search.");
        flags.add("--temperature", describe.temperature, "Sampling temperature. Lower values are more predictable.")
            .needs(sample);
        flags.add("--top-k", describe.top_k, "Sample from the k most likely tokens; 0 means all.")
            .group("Decoding")
            .needs(sample);
        flags.add("--top-p", describe.top_p, "Sample from the most likely tokens with this total probability.")
            .needs(sample);
        flags.add("--seed", describe.seed, "Random seed for sampling.").group("Decoding").needs(sample);
        flags.add("--max-length", describe.max_length, "Maximum caption length, in tokens; 0 means the model's limit.")
            .group("Decoding");
        flags.add("--show-attention", options.show_attention,
                  "Show the attention weights of each word in the terminal.");
        flags.add("--png", options.png,
                  "Write the attention weights as a PNG figure. A second image goes to NAME-2.png.");
        flags.add("--svg", options.svg, "Write the attention weights as an SVG figure.");
        add_figure_flags(flags, options.figure);
        flags.add("--json", options.json,
                  "Print one JSON object per line. With --show-attention it includes the weights.");
        flags.add("--results", options.results, "Write a COCO results file with image_id and caption.");
        flags.add("--images", options.images, "COCO captions_*.json with the image ids for --results.");
        flags.add("--batch", options.batch, "Images per batch.");
        add_max_pixels_flag(flags, options.max_pixels);
        add_device_flags(flags, options);
        add_weights_flag(flags, options);
      },
      run_describe);
}

}  // namespace attend::cli
