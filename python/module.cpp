// The part of the Python module that is C++: attend._attend. What a program calls is python/attend/__init__.py, which
// makes lists of single texts and iterators of callbacks. Models are those of the C functions (attend/capi/model.h):
// every call takes the model's turn, and lets Python go on meanwhile.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <span>
#include <streambuf>

#include "attend/attend.h"
#include "attend/base/unicode/unicode.h"
#include "attend/capi/model.h"
#include "python/layers.h"

namespace py = pybind11;

namespace attend::python {

namespace {

using Lines = std::vector<std::string>;

// When Python ends, it ends whatever daemon thread asks for its lock, in the midst of C++, which aborts the process. Such
// a thread waits for the end instead.
void not_while_python_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  while (Py_IsFinalizing()) ::pause();
#else
  while (_Py_IsFinalizing()) ::pause();
#endif
}

// Python's lock is others' for as long as this lives.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    not_while_python_ends();
    PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// And ours again, for a callback.
class Locked {
 public:
  Locked() {
    not_while_python_ends();
    lock_.emplace();
  }

 private:
  std::optional<py::gil_scoped_acquire> lock_;
};

// Throws what Python's handlers of signals raise: KeyboardInterrupt, as a rule. Only the first thread ever has any.
void handle_signals() {
  const Locked python;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// For a loop that asks whether to stop: looks for Ctrl-C now and then.
std::function<bool()> ended_by_signals() {
  using Clock = std::chrono::steady_clock;
  return [last = Clock::now()]() mutable {
    if (Clock::now() - last < std::chrono::milliseconds(50)) return false;
    handle_signals();
    last = Clock::now();
    return false;
  };
}

// Runs f without Python's lock, when it is the model's turn.
template <class Function>
auto computed(capi::LoadedModel& model, Function&& function) {
  const Unlocked others;
  const std::lock_guard lock(model.turn);
  return function();
}

template <class Part>
Part& part_of(const char* task, const capi::LoadedModel& model, const std::unique_ptr<Part>& part) {
  check(part != nullptr, "{}: this model does {}", task, catalogue::name_of(model.task));
  return *part;
}

// NumPy's array over memory that is handed over, not copied.
template <class T>
py::array_t<T> array_of(std::vector<T> values, std::vector<py::ssize_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  const py::capsule owner(kept, [](void* memory) { delete static_cast<std::vector<T>*>(memory); });
  return py::array_t<T>(std::move(shape), kept->data(), owner);
}

py::list labels_of(const std::vector<tasks::Classified>& results) {
  py::list lines;
  for (const tasks::Classified& result : results) {
    py::list labels;
    for (const tasks::ClassLabel& each : result.labels) labels.append(py::make_tuple(each.label, each.probability));
    if (result.labels.empty()) labels.append(py::make_tuple("", result.number));
    lines.append(labels);
  }
  return lines;
}

std::unique_ptr<capi::LoadedModel> open(const std::string& name, const std::string& task, const std::string& device,
                                   const std::string& weights, int threads) {
  const Unlocked others;
  return capi::open_model(name, {.size = sizeof(attend_open_options),
                                 .device = device.c_str(),
                                 .task = task.c_str(),
                                 .weights = weights.empty() ? nullptr : weights.c_str(),
                                 .threads = threads});
}

py::list translate(capi::LoadedModel& model, const Lines& lines, std::int64_t beams, std::int64_t n_best,
                   std::int64_t batch) {
  const auto translated = computed(model, [&] {
    return part_of("translate", model, model.translator)
        .translator.translate(lines, {.beams = beams, .n_best = n_best, .batch = batch, .stop = ended_by_signals()});
  });
  py::list all;
  for (const tasks::TranslatedLine& line : translated) {
    py::list best;
    for (const tasks::Translation& each : line.translations) best.append(py::make_tuple(each.text, each.score));
    all.append(best);
  }
  return all;
}

// translation, tokens of the source, tokens of the target, weights [target, source], SVG
py::tuple attention(capi::LoadedModel& model, const std::string& line) {
  const tasks::TranslatedLine translated = computed(model, [&] {
    return part_of("attention", model, model.translator).translator.translate(Lines{line}, {.attention = true})[0];
  });
  const view::AttentionMap map =
      translated.translations.empty() ? view::AttentionMap{} : translated.translations[0].attention;
  const std::string svg = map.weights.empty() ? "" : view::attention_svg(view::trimmed(map));
  return py::make_tuple(
      translated.text(), map.source, map.target,
      array_of(map.weights, {static_cast<py::ssize_t>(map.target.size()), static_cast<py::ssize_t>(map.source.size())}),
      svg);
}

py::list classify(capi::LoadedModel& model, const Lines& lines, std::int64_t top_k, std::int64_t batch) {
  return labels_of(computed(model, [&] {
    return part_of("classify", model, model.classifier).classify(lines, {.top_k = top_k, .batching = {.batch = batch}});
  }));
}

py::list tag(capi::LoadedModel& model, const Lines& lines) {
  const auto tagged = computed(model, [&] { return part_of("tag", model, model.tagger).tag(lines); });
  py::list all;
  for (const tasks::TaggedLine& line : tagged) {
    py::list words;
    for (const tasks::TaggedWord& word : line)
      words.append(py::make_tuple(word.word, word.label, word.probability, word.span.begin, word.span.end));
    all.append(words);
  }
  return all;
}

py::list answer(capi::LoadedModel& model, const std::string& question, const std::string& context, std::int64_t top_k) {
  const auto found = computed(
      model, [&] { return part_of("answer", model, model.answerer).answer(question, context, {.top_k = top_k}); });
  py::list all;
  for (const tasks::Answer& each : found)
    all.append(py::make_tuple(each.text, each.score, each.span.begin, each.span.end));
  return all;
}

py::list fill(capi::LoadedModel& model, const Lines& lines, std::int64_t top_k) {
  const auto filled =
      computed(model, [&] { return part_of("fill", model, model.filler).fill(lines, {.top_k = top_k}); });
  py::list all;
  for (const tasks::FilledLine& line : filled) {
    py::list masks;
    for (const auto& mask : line) {
      py::list tokens;
      for (const tasks::FilledToken& token : mask) tokens.append(py::make_tuple(token.token, token.probability));
      masks.append(tokens);
    }
    all.append(masks);
  }
  return all;
}

py::array_t<float> embed(capi::LoadedModel& model, const Lines& lines, const std::string& pooling,
                         std::optional<bool> normalize, const std::string& prompt_name, std::int64_t batch) {
  const tasks::Embedder& embedder = part_of("embed", model, model.embedder);
  tasks::EmbedOptions options{.normalize = normalize, .batching = {.batch = batch}};
  if (!pooling.empty()) options.pooling = tasks::pooling_named(pooling, "embed");
  if (!prompt_name.empty()) options.prompt = embedder.modules().prompt(prompt_name);
  std::vector<float> flat = computed(model, [&] {
    std::vector<float> joined;
    for (const auto& row : embedder.embed(lines, options))
      joined.insert(joined.end(), row.begin(), row.end());
    return joined;
  });
  return array_of(std::move(flat), {static_cast<py::ssize_t>(lines.size()), embedder.width()});
}

image::Image image_of(const py::array& image, std::int64_t max_pixels) {
  check(image.dtype().kind() == 'u' && image.itemsize() == 1 && image.ndim() == 3 && image.shape(2) == 3,
        "images: one is uint8 [height, width, 3], and this is {} {}", std::string(py::str(image.dtype())),
        std::string(py::str(image.attr("shape"))));
  const py::ssize_t height = image.shape(0), width = image.shape(1);
  check(max_pixels >= 0, "max_pixels is {}, but must be at least 1", max_pixels);
  image::check_extent(width, height, max_pixels > 0 ? max_pixels : image::kMostPixels, "images");
  const auto pixels = py::array_t<std::uint8_t, py::array::c_style>::ensure(image);
  if (!pixels) throw std::bad_alloc();
  image::Image copy(static_cast<int>(pixels.shape(1)), static_cast<int>(pixels.shape(0)));
  std::copy(pixels.data(), pixels.data() + copy.pixels.size(), copy.pixels.begin());
  return copy;
}

// label, score, (x, y, width, height) of all that is found in each image
py::list detect(capi::LoadedModel& model, const std::vector<py::array>& images, float threshold,
                std::int64_t max_pixels) {
  const tasks::Detector& detector = part_of("detect", model, model.detector);
  std::vector<image::Image> read;
  for (const py::array& image : images) read.push_back(image_of(image, max_pixels));
  const auto found = computed(model, [&] {
    std::vector<image::Image> prepared;
    std::vector<image::PixelSize> sizes;
    for (const image::Image& image : read) {
      prepared.push_back(detector.prepare(image));
      sizes.push_back({image.width, image.height});
    }
    return detector.detect(prepared, sizes, threshold);
  });
  py::list all;
  for (const auto& image : found) {
    py::list objects;
    for (const tasks::Detected& each : image)
      objects.append(py::make_tuple(detector.labels().at(static_cast<std::size_t>(each.label)), each.score,
                                    py::make_tuple(each.box.x, each.box.y, each.box.width, each.box.height)));
    all.append(objects);
  }
  return all;
}

py::list classify_images(capi::LoadedModel& model, const std::vector<py::array>& images, std::int64_t top_k,
                           std::int64_t max_pixels) {
  const tasks::ImageEncoder& encoder = part_of("classify_images", model, model.images);
  std::vector<image::Image> read;
  for (const py::array& image : images) read.push_back(image_of(image, max_pixels));
  return labels_of(computed(model, [&] {
    std::vector<image::Image> prepared;
    for (const image::Image& image : read) prepared.push_back(encoder.prepare(image));
    return encoder.classify(prepared, top_k);
  }));
}

// float32 [images, width]
py::array_t<float> embed_images(capi::LoadedModel& model, const std::vector<py::array>& images, bool normalize,
                                  std::int64_t max_pixels) {
  const tasks::ImageEncoder& encoder = part_of("embed", model, model.images);
  std::vector<image::Image> read;
  for (const py::array& image : images) read.push_back(image_of(image, max_pixels));
  py::ssize_t width = 0;
  std::vector<float> flat = computed(model, [&] {
    std::vector<float> joined;
    std::vector<image::Image> prepared;
    for (const image::Image& image : read) prepared.push_back(encoder.prepare(image));
    for (const std::vector<float>& row : prepared.empty() ? std::vector<std::vector<float>>() : encoder.features(prepared)) {
      const std::size_t first = joined.size();
      joined.insert(joined.end(), row.begin(), row.end());
      width = static_cast<py::ssize_t>(row.size());
      if (normalize) tasks::normalize(std::span(joined).subspan(first));
    }
    return joined;
  });
  return array_of(std::move(flat), {static_cast<py::ssize_t>(read.size()), width});
}

// text and score of each image
py::list describe(capi::LoadedModel& model, const std::vector<py::array>& images, std::int64_t beams,
                  std::int64_t max_pixels) {
  const tasks::LoadedDescriber& describer = part_of("describe", model, model.describer);
  std::vector<image::Image> read;
  for (const py::array& image : images) read.push_back(image_of(image, max_pixels));
  const auto described = computed(model, [&] {
    std::vector<image::Image> prepared;
    for (const image::Image& image : read) prepared.push_back(describer.prepare(image));
    return describer.describe(prepared, {.beams = beams});
  });
  py::list all;
  for (const tasks::Description& each : described) all.append(py::make_tuple(each.text, each.score));
  return all;
}

// uint8 [count, height, width, 3]
py::array_t<std::uint8_t> draw(capi::LoadedModel& model, const std::string& of_class, std::size_t count,
                               std::uint64_t seed) {
  const tasks::ImageGenerator& drawer = part_of("draw", model, model.drawer);
  const std::vector<image::Image> drawn = computed(model, [&] { return capi::drawings(drawer, of_class, count, seed); });
  std::vector<std::uint8_t> flat;
  for (const image::Image& each : drawn) flat.insert(flat.end(), each.pixels.begin(), each.pixels.end());
  const py::ssize_t height = drawn.empty() ? 0 : drawn[0].height, width = drawn.empty() ? 0 : drawn[0].width;
  return array_of(std::move(flat), {static_cast<py::ssize_t>(drawn.size()), height, width, 3});
}

// heard is called, with Python's lock, for each piece; true ends the text.
std::string generate(capi::LoadedModel& model, const std::string& prompt, const std::function<bool(std::string)>& heard,
                     std::int64_t max_tokens, float temperature, std::int64_t top_k, float top_p, std::uint64_t seed) {
  bool stop = false;
  tasks::GenerateOptions options{
      .max_tokens = max_tokens, .temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed};
  if (heard) {
    options.on_text = [&](std::string_view piece) {
      const Locked python;
      stop = stop || heard(std::string(piece));
    };
    options.interrupted = [&] { return stop; };
  }
  return computed(model,
                  [&] { return part_of("generate", model, model.generator).generate(prompt, options).at(0).text; });
}

py::array_t<std::int32_t> tokenize(const capi::LoadedModel& model, const std::string& text) {
  std::vector<text::TokenId> ids = capi::tokenizer_of(model).encode_ids(text);
  const auto count = static_cast<py::ssize_t>(ids.size());
  return array_of(std::move(ids), {count});
}

Lines tokens_of(const capi::LoadedModel& model, const std::vector<text::TokenId>& ids) {
  Lines tokens;
  for (const text::TokenId id : ids) tokens.emplace_back(capi::tokenizer_of(model).id_to_token(id).value_or(""));
  return tokens;
}

// Hands whole lines to Python.
class LineStream : public std::streambuf {
 public:
  explicit LineStream(std::function<void(std::string)> heard) : heard_(std::move(heard)) {}

 protected:
  int_type overflow(int_type letter) override {
    if (letter == traits_type::eof()) return 0;
    if (letter != '\n') {
      line_.push_back(static_cast<char>(letter));
    } else if (heard_) {
      const Locked python;
      heard_(std::exchange(line_, {}));
    } else {
      line_.clear();
    }
    return letter;
  }

 private:
  std::function<void(std::string)> heard_;
  std::string line_;
};

void train(const std::string& settings, const std::function<void(std::string)>& heard, bool resume, bool overwrite) {
  const Unlocked others;
  const Json given = parse_json(settings, "settings");
  LineStream lines(heard);
  std::ostream messages(&lines);
  messages.exceptions(std::ios::badbit);  // what Python raises comes through
  const int signal = run_training(given, {.resume = resume, .overwrite = overwrite, .messages = &messages}).interrupted;
  if (!signal) return;
  std::raise(signal);  // the run is saved: now Python may do with it what it does
  handle_signals();
  fail("train: signal {} has stopped the run in '{}'; resume=True goes on", signal,
       given["out"].get<std::string>());
}

}  // namespace

}  // namespace attend::python

PYBIND11_MODULE(_attend, module) {
  using namespace attend;
  using namespace attend::python;
  static const py::handle kError = py::exception<Error>(module, "Error", PyExc_RuntimeError).release();
  kError.attr("__doc__") = "What attend reports: wrong shapes, formats, files, settings. The message names both sides.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyErr_SetString(kError.ptr(), replace_invalid_utf8(error.what()).c_str());  // it may name a file that is not UTF-8
    }
  });
  module.attr("version") = attend_version();
  module.def("open", &attend::python::open);
  module.def("train", &attend::python::train);
  module.def("shipped_models", &tasks::shipped_models, "Names of the models that came with attend.");
  add_layers(module);
  py::class_<capi::LoadedModel>(module, "Model")
      .def_property_readonly("task", [](const capi::LoadedModel& model) { return catalogue::name_of(model.task); })
      .def_property_readonly("looks", [](const capi::LoadedModel& model) { return model.images != nullptr; })
      .def("translate", &translate)
      .def("attention", &attention)
      .def("classify", &classify)
      .def("classify_images", &classify_images)
      .def("tag", &tag)
      .def("answer", &answer)
      .def("fill", &fill)
      .def("embed", &embed)
      .def("embed_images", &embed_images)
      .def("detect", &detect)
      .def("describe", &describe)
      .def("draw", &attend::python::draw)
      .def("generate", &generate)
      .def("tokenize", &tokenize)
      .def("tokens", &tokens_of)
      .def("detokenize", [](const capi::LoadedModel& model, const std::vector<text::TokenId>& ids) {
        return capi::tokenizer_of(model).decode(ids);
      });
}
