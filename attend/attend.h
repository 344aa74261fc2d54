// The library for programs in C++: what is included here is the API, and all that is installed. Versions are semantic;
// while they begin with 0, the second number grows when a program may have to be changed. docs/api.md has a page of
// examples, examples/ six programs.
//
//   const attend::Translator translator(attend::find_model("en-fr"), attend::Device("cpu"));
//   const std::vector<std::string> lines = {"I am a student."};
//   for (const auto& line : translator.translate(lines)) std::cout << line.text() << '\n';
//
// Errors are attend::Error, a std::runtime_error, or std::bad_alloc; the library neither prints nor exits.
//
// Threads. A Device computes one thing at a time: one thread at a time for a Device and all models opened on it
// together. Threads that compute side by side have a Device and models each (a second copy of the weights in memory),
// or take turns under a lock. What is not on a device knows no such rule: a Tokenizer and all results are plain values,
// whose const functions any number of threads may call at once, and functions without an object (find_model,
// read_image, attention_svg) too.
#pragma once

// Models by what they do.
#include "attend/api/image_tasks.h"
#include "attend/api/model.h"
#include "attend/api/text_tasks.h"
// Text to tokens and back.
#include "attend/api/tokenizer.h"
// Training: settings as attend train has them, files to a folder.
#include "attend/api/training.h"
#include "attend/base/error.h"
// Devices: "cpu", "cuda:0".
#include "attend/device.h"
// Images to and from files.
#include "attend/image/decode.h"
#include "attend/image/encode.h"
// Figures of attention.
#include "attend/view/attention_json.h"
#include "attend/view/attention_svg.h"
