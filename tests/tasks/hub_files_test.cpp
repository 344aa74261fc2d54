// What to fetch for a model of the hub.
#include "attend/tasks/hub_files.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace attend::tasks {
namespace {

bool lists(const HubModel& model, const std::string& file) { return std::ranges::count(model.files, file) == 1; }

TEST(HubFiles, ShortNamesHaveOwnersAndFamiliesTheirFiles) {
  const HubModel gpt2 = hub_model("gpt2");
  EXPECT_EQ(gpt2.repository, "openai-community/gpt2");
  EXPECT_TRUE(lists(gpt2, "config.json") && lists(gpt2, "vocab.json") && lists(gpt2, "merges.txt"));
  EXPECT_EQ(hub_model("bert-base-uncased").repository, "google-bert/bert-base-uncased");
  EXPECT_TRUE(lists(hub_model("bert-base-uncased"), "vocab.txt"));
  EXPECT_TRUE(lists(hub_model("Helsinki-NLP/opus-mt-en-de"), "source.spm"));
  EXPECT_TRUE(lists(hub_model("google/vit-base-patch16-224"), "preprocessor_config.json"));
  EXPECT_TRUE(lists(hub_model("facebook/detr-resnet-50"), "preprocessor_config.json"));
  EXPECT_EQ(hub_model("my-org/mine").repository, "my-org/mine");
}

TEST(HubFiles, SaysHowToFetchThem) {
  const std::string said = how_to_fetch("gpt2");
  for (const char* part : {"hf download openai-community/gpt2",
                           "git clone https://huggingface.co/openai-community/gpt2", "config.json", "merges.txt"})
    EXPECT_NE(said.find(part), std::string::npos) << part;
  EXPECT_EQ(how_to_fetch("dates2").find("git clone"), std::string::npos);  // a name without an owner
}

}  // namespace
}  // namespace attend::tasks
