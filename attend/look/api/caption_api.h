// What the page asks a model that writes about images, and one beside it that sees the same ones, as JSON
// (docs/look.md has the format).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/look/api/image_questions.h"
#include "attend/look/api/image_store.h"
#include "attend/look/inspect/caption.h"

namespace attend::look {

class CaptionApi : public ImageQuestions {
 public:
  struct Named {
    const tasks::LoadedDescriber& describer;
    std::string name;
    std::filesystem::path folder = {};  // for its sample images
  };
  // What they refer to must outlive it.
  explicit CaptionApi(const Named& model, const std::optional<Named>& beside = {});

  Json model() const override;
  const SampleSet& samples() const override { return writers_.front().shelf.samples(); }
  Json keep(const std::string& file) override;
  Json inspect(const Json& request) override;  // {"image", "beams"}

 private:
  struct Writer {
    explicit Writer(const Named& model);
    Json card() const;

    Named named;
    ImageStore shelf;
    std::vector<std::int64_t> heads;  // of each layer that looks at the image
  };
  std::vector<Writer> writers_;  // one or two
};

}  // namespace attend::look
