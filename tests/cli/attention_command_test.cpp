// attend attention: the numbers of the lectures, of a calculation in Python (math.fsum, no attend in it), and what is
// said of matrices that do not fit.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "tests/cli/run_attend.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

const std::string kQ = "-0.26 0.51 -0.23 -0.32; -0.93 -0.21 1.11 0.42; 1.04 0.25 0.39 0.19",
                  kK =
                      "-1.67 0.86 0.51 0.5; -1.69 -1.74 -0.89 -0.47; 0.31 -0.05 0.52 -0.64; 0.31 0.39 -0.66 1.72; 0.56 "
                      "1.2 -0.62 -0.74",
                  kV = "-0.34 -0.11; 0.63 0.25; -0.45 -0.96; -0.52 1.22; -0.81 0.24",
                  kW = "0.43 -1.49 0.05 1.31; -2.01 -0.32 -0.11 -0.82; 0.5 -0.06 -1.46 0.83; 0.67 0.95 1.44 0.36";

Outcome attention(std::vector<std::string> words) {
  words.insert(words.begin(), "attention");
  return run_attend(words);
}

using MatrixRows = std::vector<std::vector<double>>;
MatrixRows matrix_rows(const Json& json) {
  MatrixRows rows;
  for (const Json& row : json) {
    rows.emplace_back();
    for (const Json& value : row) rows.back().push_back(value.get<double>());
  }
  return rows;
}

MatrixRows output_of(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"--q", kQ, "--k", kK, "--v", kV, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = attention(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return matrix_rows(parse_json(outcome.out, "attention")["output"]);
}

void expect_near(const MatrixRows& got, const MatrixRows& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].size(), want[i].size());
    for (std::size_t j = 0; j < want[i].size(); ++j) EXPECT_NEAR(got[i][j], want[i][j], 1e-6) << i << ' ' << j;
  }
}

std::string refused(const std::vector<std::string>& words) {
  const Outcome outcome = attention(words);
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  return outcome.err;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class AttentionCommand : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  const fs::path folder_ = fs::temp_directory_path() / ("attend-attention-" + std::to_string(getpid()));
};

// "The Illustrated Transformer": 112 and 96, 14 and 12, 0.88 and 0.12.
TEST_F(AttentionCommand, TheSlidesNumbers) {
  const Outcome outcome = attention({"--example", "slide"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* row :
       {"Thinking       112        96\n", "Thinking        14        12\n", "Thinking      0.88      0.12\n",
        "scores / √64 = scores / 8\n", "Thinking  0.88  0.12  5.00\n"})
    EXPECT_TRUE(contains(outcome.out, row)) << row << outcome.out;
}

TEST_F(AttentionCommand, ASoftDictionaryGivesAQueryBetweenTwoKeysBoth) {
  const Outcome outcome = attention({"--example", "dictionary", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "dictionary");
  EXPECT_EQ(json["columns"].dump(), R"(["étudiant","je","tableau"])");
  const MatrixRows found = matrix_rows(json["output"]);
  for (std::size_t word = 0; word < 3; ++word) EXPECT_GT(found.at(word).at(word), 0.95);
  EXPECT_NEAR(found.at(3).at(0), found.at(3).at(2), 1e-12);
  EXPECT_GT(found.at(3).at(0), 0.45);
}

TEST_F(AttentionCommand, ComputesWhatPythonComputes) {
  expect_near(output_of({}), {{-0.349978, 0.099755}, {-0.195653, 0.026338}, {-0.494042, 0.154044}});
  expect_near(output_of({"--scale", "none"}), {{-0.406982, 0.083813}, {-0.201602, -0.041965}, {-0.566634, 0.185824}});
  expect_near(output_of({"--mask", "causal"}), {{-0.091715, -0.261169}, {-0.154968, 0.012188}, {-0.494042, 0.154044}});
  expect_near(output_of({"--score", "cosine"}), {{-0.38998, 0.09957}, {-0.220862, 0.050884}, {-0.457528, 0.092845}});
  expect_near(output_of({"--score", "additive", "--w", "0.5 -1 2 0.25"}),
              {{-0.310407, -0.373548}, {-0.271625, -0.206718}, {-0.358919, -0.458966}});
  expect_near(output_of({"--score", "general", "--w", kW}),
              {{0.383494, 0.15166}, {-0.743282, 0.371495}, {-0.159737, 0.837248}});
}

TEST_F(AttentionCommand, ReadsCsvTextAndNumpyFiles) {
  write_file(folder_ / "q.csv", "\xEF\xBB\xBFword,x,y\r\nit,1,0\r\n");
  write_file(folder_ / "k.txt", "# keys\nanimal 2 0\nstreet 0 2\n");
  // numpy.save of numpy.array([[1, 0], [0, 1]], dtype='<f4'), in C order, as numpy 1.24 writes it.
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  header.append(117 - header.size(), ' ').push_back('\n');
  const float values[4] = {1, 0, 0, 1};
  write_file(folder_ / "v.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header +
                                    std::string(reinterpret_cast<const char*>(values), sizeof values));
  const std::string q = folder_ / "q.csv", k = folder_ / "k.txt", v = folder_ / "v.npy";
  const Outcome files = attention({"--q", q, "--k", k, "--v", v, "--json"}),
                typed = attention({"--q", "it 1 0", "--k", "animal 2 0; street 0 2", "--v", "1 0; 0 1", "--json"});
  ASSERT_EQ(files.code, 0) << files.err;
  EXPECT_EQ(files.out, typed.out);
  EXPECT_TRUE(contains(files.out, R"("keys":["animal","street"])")) << files.out;
  write_file(folder_ / "v.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "abc");
  EXPECT_TRUE(contains(refused({"--q", q, "--k", k, "--v", v}), "v.npy: the .npy file is cut short"));
}

TEST_F(AttentionCommand, RepeatsANumber) {
  EXPECT_EQ(attention({"--q", "it 1*3", "--k", "a 2*2 0; b 0*3", "--v", "1; 2", "--json"}).out,
            attention({"--q", "it 1 1 1", "--k", "a 2 2 0; b 0 0 0", "--v", "1; 2", "--json"}).out);
  EXPECT_TRUE(contains(refused({"--q", "1*2.5", "--k", "1", "--v", "1"}), "--q: '1*2.5' repeats a number 2.5 times"));
  EXPECT_TRUE(contains(refused({"--q", "1*0", "--k", "1", "--v", "1"}), "repeats a number 0 times"));
}

TEST_F(AttentionCommand, DrawsTheSteps) {
  const std::string svg = folder_ / "steps.svg", png = folder_ / "steps.png";
  const Outcome outcome = attention({"--example", "slide", "--svg", svg, "--png", png});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string drawn = read_file(svg);
  for (const char* text : {">112<", ">96<", ">14<", ">12<", ">0.88<", ">0.12<"})
    EXPECT_TRUE(contains(drawn, text)) << text;
  EXPECT_TRUE(read_file(png).starts_with("\x89PNG"));
}

TEST_F(AttentionCommand, WrongInputIsNamedWithBothShapes) {
  EXPECT_TRUE(contains(refused({"--q", "1 0", "--k", "1 0 2; 0 1 1", "--v", "1; 2"}), "q is [1, 2] and k is [2, 3]"));
  EXPECT_TRUE(contains(refused({"--q", "1 0", "--k", "1 0; 0 1", "--v", "1; 2; 3"}), "k is [2, 2] and v is [3, 1]"));
  EXPECT_TRUE(contains(refused({"--q", "1 0; 0", "--k", "1 0", "--v", "1"}), "--q: row 2 has 1 numbers, row 1 has 2"));
  EXPECT_TRUE(contains(refused({"--q", "1 nan", "--k", "1 0", "--v", "1"}), "--q: number 2 is nan"));
  EXPECT_TRUE(contains(refused({"--q", "1 1e999", "--k", "1 0", "--v", "1"}), "--q: number 2 is inf"));
  EXPECT_TRUE(
      contains(refused({"--q", "1e200 1e200", "--k", "1e200 1", "--v", "1"}), "score of q1 and k1 is not finite"));
  EXPECT_TRUE(contains(refused({"--q", "a; b", "--k", "1", "--v", "1"}), "d = 0"));
  EXPECT_TRUE(contains(refused({"--q", "1 x", "--k", "1 0", "--v", "1"}), "'x' in row 1 is no number"));
  EXPECT_TRUE(contains(refused({"--q", "no/such/file", "--k", "1", "--v", "1"}), "no file 'no/such/file'"));
  EXPECT_TRUE(contains(refused({"--q", "1", "--k", "1"}), "--v is missing"));
  EXPECT_TRUE(contains(refused({"--example", "slide", "--q", "1"}), "brings its own"));
  EXPECT_TRUE(contains(refused({"--q", "1 2", "--k", "1 2", "--v", "1", "--score", "general", "--w", "1 2 3"}),
                       "w must be [2, 2], not [1, 3]"));
  EXPECT_TRUE(contains(refused({"--q", "1", "--k", "1", "--v", "1", "--w", "1"}), "general and additive"));
}

}  // namespace
}  // namespace attend::test
