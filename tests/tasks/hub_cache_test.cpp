// Models by the names they have on the Hugging Face hub, in a cache as huggingface_hub lays it out.
#include "attend/tasks/hub_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/tasks/model_folder.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class HubCache : public testing::Test {
 protected:
  HubCache() : cache_(fs::temp_directory_path() / ("attend_hub_cache_" + std::to_string(getpid()))) {
    setenv("HF_HUB_CACHE", cache_.c_str(), 1);
  }
  ~HubCache() override {
    unsetenv("HF_HUB_CACHE");
    fs::remove_all(cache_);
  }
  // As after `hf download`: files are links into blobs/.
  fs::path add(const std::string& repository, const std::string& commit) const {
    const fs::path folder = cache_ / repository, snapshot = folder / "snapshots" / commit;
    fs::create_directories(folder / "blobs");
    fs::create_directories(snapshot);
    write_file(folder / "blobs" / "0123", "{}");
    fs::create_symlink("../../blobs/0123", snapshot / "config.json");
    fs::create_directories(folder / "refs");
    write_file(folder / "refs" / "main", commit);
    return snapshot;
  }
  fs::path cache_;
};

TEST_F(HubCache, AModelIsFoundByItsName) {
  const fs::path mini =
      add("models--sentence-transformers--all-MiniLM-L6-v2", "c9745ed1d9f207416be6d2e6f8de32d1f16199bf");
  EXPECT_EQ(tasks::find_model("sentence-transformers/all-MiniLM-L6-v2"), mini);
  EXPECT_EQ(tasks::find_model("all-MiniLM-L6-v2"), mini);
  const fs::path old = add("models--gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e");
  add("models--openai-community--gpt2", "707a30d783dfa663caf39e06633721c8d4cfcd7e");
  EXPECT_EQ(tasks::find_model("gpt2"), old);
}

TEST_F(HubCache, TheSnapshotThatMainNames) {
  add("models--a--b", "11111111");
  const fs::path newer = add("models--a--b", "22222222");
  EXPECT_EQ(tasks::find_model("a/b"), newer);
  fs::remove(cache_ / "models--a--b" / "refs" / "main");
  EXPECT_EQ(tasks::find_in_hub_cache("a/b"), std::nullopt);  // two, and nothing says which
}

TEST_F(HubCache, AReferenceLeadsNowhereElse) {
  add("models--a--b", "11111111");
  for (const char* hostile : {"../../../../etc", "/etc", "", "11111111/.."}) {
    write_file(cache_ / "models--a--b" / "refs" / "main", hostile);
    EXPECT_EQ(tasks::find_in_hub_cache("a/b"), std::nullopt) << hostile;
  }
  for (const char* name : {"../a", "a/b/c", "/a", "a/", ""}) EXPECT_EQ(tasks::find_in_hub_cache(name), std::nullopt);
}

TEST_F(HubCache, TheErrorSaysHowToGetIt) {
  try {
    tasks::find_model("org/name");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("hf download org/name"), std::string::npos) << error.what();
  }
  add("models--a--same", "11111111"), add("models--b--same", "11111111");
  EXPECT_THROW(tasks::find_model("same"), Error);
}

}  // namespace
}  // namespace attend::test
