// The library for programs in C++: what is included here, and what these headers say, is the API that is kept. Versions
// are semantic; while they begin with 0, the second number grows when a program may have to be changed. docs/api.md has
// a page of examples, examples/ six programs.
//
//   const auto backend = attend::open_backend("cpu");
//   const auto loaded = attend::tasks::load_translator(attend::tasks::find_model("en-fr"), *backend);
//   const std::vector<std::string> lines = {"I am a student."};
//   for (const auto& line : loaded->translator.translate(lines)) std::cout << line.text() << '\n';
//
// Errors are attend::Error, a std::runtime_error, or std::bad_alloc; the library neither prints nor exits.
//
// Threads. A Backend computes one thing at a time, and what was opened on it belongs to it: one thread at a time for a
// Backend and all its models together. Threads that compute side by side have a Backend and models each (a second copy
// of the weights in memory), or take turns under a lock. What is not on a device knows no such rule: a Tokenizer, a
// catalogue::ModelConfig, an image::Preprocessor and all results are plain values, whose const functions any number of
// threads may call at once, and functions without an object (find_model, read_image, attention_svg) too.
#pragma once

// Devices: open_backend("cpu"), "cuda:0"; Error.
#include "attend/backends.h"
#include "attend/base/error.h"
// What a folder is: read_config(folder).task.
#include "attend/catalogue/catalogue.h"
// Images to and from files.
#include "attend/image/decode.h"
#include "attend/image/encode.h"
// A model of a folder, by what it does; find_model("en-fr") finds those that came with attend.
#include "attend/tasks/answerer.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/describer.h"
#include "attend/tasks/detector.h"
#include "attend/tasks/embedder.h"
#include "attend/tasks/fill.h"
#include "attend/tasks/generator.h"
#include "attend/tasks/image_encoder.h"
#include "attend/tasks/image_generator.h"
#include "attend/tasks/model_folder.h"
#include "attend/tasks/tagger.h"
#include "attend/tasks/translator.h"
// Text to tokens and back.
#include "attend/text/tokenizer.h"
// Training: settings as attend train has them, files to a folder.
#include "attend/train/recipes/trainings.h"
// Images of attention.
#include "attend/view/attention_json.h"
#include "attend/view/attention_svg.h"
