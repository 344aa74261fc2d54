// How much of anything attend takes from a file or a line before it says no. Files are untrusted input, so every size
// they can ask for has a bound; each is far above what models and texts have today. docs/limits.md lists them with the
// messages. A limit with a flag is raised by it; the others by changing the number here and building again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attend::limits {

// Texts.
inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;  // bytes of a line that a command reads: --max-line
inline constexpr std::size_t kLargestFileRead = std::size_t{2} << 30;  // bytes of a file that is read whole, not mapped

// JSON.
inline constexpr int kDeepestJson = 64;  // objects and arrays inside one another

// Files of torch's (pytorch_model.bin): what their pickles and archives may ask for.
inline constexpr std::size_t kMostArchiveEntries = 1 << 18;  // of a zip archive
inline constexpr std::size_t kLongestPickle = 1 << 28;       // bytes
inline constexpr std::size_t kMostPickleValues = 1 << 20;    // that it makes, remembers or puts into containers
inline constexpr std::size_t kLongestPickleText = 1 << 20;   // bytes
inline constexpr std::size_t kLongestGlobal = 256;           // bytes of a name of Python
inline constexpr int kDeepestPickle = 32;                    // containers inside one another
inline constexpr std::size_t kMostTorchTensors = 1 << 17;    // of a file
inline constexpr std::size_t kLongestTensorName = 1024;      // bytes, with the keys above it
inline constexpr std::uint64_t kTorchGrowth = 8;             // times as large as the file its tensors may be, where
inline constexpr std::uint64_t kSmallTensors = 64 << 20;     // they share storages; and so many bytes more

// Tokenizers: what the rules of a tokenizer.json may do to a text.
inline constexpr std::size_t kLongestToken = 1024;   // bytes of a token: looking for one takes so many steps per byte
inline constexpr std::size_t kMostTokens = 1 << 24;  // of a vocabulary
inline constexpr std::size_t kMostSteps = 128;       // normalizers, pre-tokenizers, decoders or post-processors
inline constexpr std::size_t kTextGrowth = 64;       // times as long as a text may get on its way to the model,
inline constexpr std::size_t kShortText = 1024;      // but a shorter one counts as so many bytes more
inline constexpr std::int64_t kLongestPadding = 1 << 17;  // tokens that "padding" may ask for
inline constexpr std::size_t kLongestPattern = 1 << 14;   // bytes of a regular expression
inline constexpr int kDeepestPattern = 32;                // groups inside one another, and repetitions of one another
inline constexpr std::size_t kLargestPattern = 20000;     // steps of a pattern, with its repetitions written out
inline constexpr std::size_t kMostWays = 1 << 24;         // that a pattern keeps to try later
inline constexpr std::uint64_t kPatternSteps = 1000000, kPatternStepsPerByte = 500;  // that patterns take on a text
inline constexpr std::size_t kLongestFixedPattern = 256;  // bytes of a string that Replace looks for
inline constexpr std::size_t kMostSpecialTokens = 1024;   // that a template puts around a text

// Images: what a file may claim before anything is decoded. --max-pixels, most_pixels and max_pixels raise the first.
inline constexpr std::int64_t kMostPixels = 89'478'485;  // 256 MiB of RGB; where Pillow warns
inline constexpr std::int64_t kLongestSide = 65'535;     // pixels of a side; JPEG's own limit
inline constexpr std::int64_t kMostBytesPerPixel = 12;   // while it is decoded: 1 GiB for the most pixels

// Images to learn from.
inline constexpr std::int64_t kMostImages = std::int64_t{1} << 27;  // of a set

// Models: what a config.json may ask for.
inline constexpr std::int64_t kLargestVocabulary = 1 << 24;             // tokens of a model
inline constexpr std::int64_t kWidestModel = 1 << 16;                   // numbers of a state
inline constexpr std::int64_t kWidestFeedForward = 1 << 20;             // numbers inside a feed-forward network
inline constexpr std::int64_t kMostLayers = 1024;                       // of an encoder or a decoder
inline constexpr std::int64_t kMostPositions = 1 << 20;                 // tokens of a text
inline constexpr std::int64_t kMostTypes = 1 << 16;                     // token types (BERT's sentence A and B)
inline constexpr std::int64_t kLargestModelImage = 1 << 14;             // pixels of a side of what a model sees
inline constexpr std::int64_t kMostChannels = 1 << 12;                  // of the images a model sees
inline constexpr std::size_t kMostLabels = 1 << 20;                     // of a classifier
inline constexpr std::int64_t kMostParameters = std::int64_t{1} << 34;  // numbers of a model: 64 GiB in f32

// What a call may ask for.
inline constexpr std::int64_t kMostBeams = 1000;     // of a search
inline constexpr std::int64_t kMostSamples = 10000;  // of a text
inline constexpr int kMostThreads = 1024;            // of a CPU

}  // namespace attend::limits
