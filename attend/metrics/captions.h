// How good sentences about images are: BLEU, ROUGE-L (Lin 2004) and CIDEr-D (Vedantam et al. 2015), number for number
// those of COCO's caption code. Its BLEU is not sacreBLEU's (attend/metrics/bleu.h): no smoothing but a tiny constant,
// and four figures, one for each longest n-gram; all are shares of 1, CIDEr of 10.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/data/images/coco_files.h"

namespace attend::metrics {

using Words = std::vector<std::string>;

// What COCO's code makes of a caption before it counts: the words of the Penn Treebank's tokenizer (don't is do and
// n't, a dog's is dog and 's), in lower case, without punctuation. Throws Error when it is not UTF-8.
Words caption_words(std::string_view caption);

// One image.
struct Captioned {
  Words hypothesis = {};
  std::vector<Words> references = {};  // at least one
};

// A caption and the references of its image, as words.
Captioned captioned(std::string_view hypothesis, std::span<const std::string> references);
std::vector<Captioned> captioned(std::span<const data::CocoCaptions> captions);

struct CaptionScores {
  std::array<double, 4> bleu = {};
  double rouge_l = 0, cider = 0;
  std::vector<double> rouge_l_of = {}, cider_of = {};  // each image
};

// CIDEr weighs a phrase by how many images' references have it, so its figure is of this set of images alone.
CaptionScores caption_scores(std::span<const Captioned> images);

}  // namespace attend::metrics
