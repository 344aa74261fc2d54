/* attend/c.h from C11, against an installed library: c_test MODELS, the folder of the models that came with it. Prints
   what each door answers, for the script that holds it against the program; fails where bad input is not an error. */
#include <attend/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* folder;

static void expect(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "c_test: %s (last message: %s)\n", what, attend_message());
  exit(1);
}

static attend_model* open_named(const char* name, const char* task) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const attend_open_options options = {.size = sizeof options, .task = task, .threads = 1};
  attend_model* model = NULL;
  expect(attend_open(path, &options, &model) == ATTEND_OK && model, name);
  return model;
}

static void test_translation(void) {
  attend_model* model = open_named("en-fr", NULL);
  expect(!strcmp(attend_task(model), "translate"), "the task of en-fr");
  const char* lines[] = {"I am a student.", "", "The house is blue."};
  attend_results* results = NULL;
  expect(attend_translate(model, lines, 3, NULL, &results) == ATTEND_OK, "translate");
  expect(attend_results_lines(results) == 3 && attend_results_count(results, 1) == 0, "a result for each line");
  printf("translate\t%s\t%s\n", attend_results_text(results, 0, 0), attend_results_text(results, 2, 0));
  attend_item item = {.size = sizeof item};
  expect(attend_results_item(results, 1, 0, &item) == ATTEND_ARGUMENT, "an item that is not there");
  attend_results_free(&results);
  attend_results_free(&results);

  attend_tensor weights = {0};
  expect(attend_attention(model, lines[0], &weights, &results) == ATTEND_OK, "attention");
  expect(weights.rank == 2 && weights.shape[0] == (int64_t)attend_results_count(results, 2) &&
             weights.shape[1] == (int64_t)attend_results_count(results, 1),
         "weights have a row for each token of the target");
  for (int64_t row = 0; row < weights.shape[0]; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < weights.shape[1]; ++i) sum += ((float*)weights.data)[row * weights.shape[1] + i];
    expect(sum > 0.99 && sum < 1.01, "a row of attention adds up to 1");
  }
  attend_results_free(&results);
  attend_tensor_free(&weights);

  attend_tensor ids = {0};
  expect(attend_tokenize(model, lines[0], &ids) == ATTEND_OK && ids.shape[0] > 3, "tokenize");
  expect(attend_detokenize(model, &ids, &results) == ATTEND_OK, "detokenize");
  expect(strstr(attend_results_text(results, 0, 0), "I am a student.") != NULL, "tokens are the text again");
  attend_results_free(&results);
  ids.dtype = ATTEND_F32;
  expect(attend_detokenize(model, &ids, &results) == ATTEND_ARGUMENT && !results, "ids of another type");
  attend_tensor_free(&ids);
  attend_close(&model);
  expect(!model, "a closed model is NULL");
}

static void test_encoders(void) {
  attend_model* model = open_named("bert-sst2", NULL);
  const char* lines[] = {"a wonderful film", "a terrible film"};
  attend_results* results = NULL;
  expect(attend_classify(model, lines, 2, NULL, &results) == ATTEND_OK, "classify");
  attend_item item = {.size = sizeof item};
  expect(attend_results_item(results, 0, 0, &item) == ATTEND_OK && item.score > 0.5, "the likeliest comes first");
  printf("classify\t%s\t%s\n", attend_results_text(results, 0, 0), attend_results_text(results, 1, 0));
  attend_results_free(&results);
  expect(attend_translate(model, lines, 2, NULL, &results) == ATTEND_ERROR && !results,
         "a classifier cannot translate");
  attend_close(&model);

  model = open_named("bert", "embed");
  attend_tensor vectors = {0};
  expect(attend_embed(model, lines, 2, NULL, &vectors) == ATTEND_OK && vectors.shape[0] == 2, "embed");
  float* own = malloc(2 * (size_t)vectors.shape[1] * sizeof *own);
  attend_tensor into = {.data = own, .shape = {2, vectors.shape[1]}, .rank = 2, .dtype = ATTEND_F32};
  expect(attend_embed(model, lines, 2, NULL, &into) == ATTEND_OK, "embed into memory of the caller");
  expect(!memcmp(own, vectors.data, 2 * (size_t)vectors.shape[1] * sizeof *own), "which is the same");
  expect(attend_embed(model, lines, 1, NULL, &into) == ATTEND_ARGUMENT, "embed into the wrong shape");
  free(own);
  attend_tensor_free(&vectors);
  attend_close(&model);
}

static int count_pieces(void* user, const char* piece) {
  *(size_t*)user += strlen(piece);
  return 0;
}

static int stop_at_once(void* user, const char* piece) {
  (void)piece;
  return ++*(size_t*)user;
}

static void test_generation(void) {
  attend_model* model = open_named("shakespeare", NULL);
  const attend_options options = {.size = sizeof options, .max_tokens = 12, .top_k = 1};
  attend_results* results = NULL;
  size_t heard = 0;
  expect(attend_generate(model, "ROMEO:", &options, count_pieces, &heard, &results) == ATTEND_OK, "generate");
  expect(heard > 0 && heard == strlen(attend_results_text(results, 0, 0)), "the pieces are the whole");
  size_t calls = 0;
  expect(attend_generate(model, "ROMEO:", &options, stop_at_once, &calls, NULL) == ATTEND_OK && calls == 1, "stopped");
  attend_results_free(&results);

  attend_options zero = {.size = sizeof zero, .max_tokens = 12, .given = ATTEND_GIVEN_TEMPERATURE};
  expect(attend_generate(model, "ROMEO:", &options, NULL, NULL, &results) == ATTEND_OK, "the likeliest text");
  attend_results* cold = NULL;
  expect(attend_generate(model, "ROMEO:", &zero, NULL, NULL, &cold) == ATTEND_OK, "a temperature of 0");
  expect(!strcmp(attend_results_text(results, 0, 0), attend_results_text(cold, 0, 0)), "which is the likeliest");
  attend_results_free(&results), attend_results_free(&cold);
  attend_close(&model);
}

static void test_bad_input(void) {
  attend_model* model = NULL;
  attend_results* results = NULL;
  attend_tensor tensor = {0};
  const char* lines[] = {"a", NULL};
  expect(attend_open("no/such/folder", NULL, &model) == ATTEND_ERROR && !model, "a folder that is not there");
  expect(strstr(attend_message(), "no/such/folder") != NULL, "the message names it");
  expect(attend_open(NULL, NULL, &model) == ATTEND_ARGUMENT, "no name");
  expect(attend_open("en-fr", NULL, NULL) == ATTEND_ARGUMENT, "no place for the model");
  expect(attend_translate(NULL, lines, 1, NULL, &results) == ATTEND_ARGUMENT, "translate without a model");
  expect(attend_embed(NULL, lines, 1, NULL, &tensor) == ATTEND_ARGUMENT, "embed without a model");
  expect(attend_tokenize(NULL, "a", &tensor) == ATTEND_ARGUMENT, "tokenize without a model");
  expect(attend_generate(NULL, "a", NULL, NULL, NULL, NULL) == ATTEND_ARGUMENT, "generate without a model");
  expect(attend_results_count(NULL, 0) == 0 && !*attend_results_text(NULL, 0, 0), "results that are NULL");
  attend_close(NULL), attend_close(&model), attend_results_free(NULL), attend_tensor_free(NULL);

  model = open_named("en-fr", NULL);
  expect(attend_translate(model, lines, 2, NULL, &results) == ATTEND_ARGUMENT, "a line that is NULL");
  expect(attend_translate(model, NULL, 2, NULL, &results) == ATTEND_ARGUMENT, "lines that are NULL");
  expect(attend_translate(model, lines, 1, NULL, NULL) == ATTEND_ARGUMENT, "no place for results");
  const attend_options negative = {.size = sizeof negative, .beams = -1};
  expect(attend_translate(model, lines, 1, &negative, &results) == ATTEND_ERROR, "beams below 0");
  expect(attend_see(model, &tensor, 1, NULL, &results) == ATTEND_ERROR, "a translator sees nothing");
  attend_close(&model);
  model = open_named("detr-scenes", NULL);
  expect(attend_see(model, &tensor, 1, NULL, &results) == ATTEND_ARGUMENT, "a picture without pixels");
  uint8_t grey[32 * 32 * 3];
  memset(grey, 128, sizeof grey);
  attend_tensor picture = {.data = grey, .shape = {32, 32, 3}, .rank = 3, .dtype = ATTEND_U8};
  expect(attend_see(model, &picture, 1, NULL, &results) == ATTEND_OK && attend_results_lines(results) == 1,
         "a picture");
  attend_results_free(&results);
  attend_close(&model);
}

static void test_pictures(void) {
  attend_model* model = open_named("sagan-cifar10", NULL);
  attend_tensor drawn = {0};
  expect(attend_draw(model, "dog", 2, NULL, &drawn) == ATTEND_OK, "draw");
  expect(drawn.rank == 4 && drawn.dtype == ATTEND_U8 && drawn.shape[0] == 2 && drawn.shape[3] == 3, "two pictures");
  attend_tensor again = drawn, first = drawn;
  again.data = NULL, first.rank = 3;
  expect(attend_draw(model, "dog", 2, NULL, &again) == ATTEND_OK, "draw again");
  expect(!memcmp(again.data, drawn.data, (size_t)(2 * drawn.shape[1] * drawn.shape[2] * 3)), "the same dogs");
  expect(attend_draw(model, "unicorn", 1, NULL, &again) == ATTEND_ERROR, "a class that is not there");
  attend_tensor_free(&again);
  attend_close(&model);

  model = open_named("flickr8k", NULL);
  memmove(first.shape, drawn.shape + 1, 3 * sizeof *first.shape);
  attend_results* results = NULL;
  expect(attend_see(model, &first, 1, NULL, &results) == ATTEND_OK, "describe");
  printf("describe\t%s\n", attend_results_text(results, 0, 0));
  expect(strlen(attend_results_text(results, 0, 0)) > 3, "a sentence about the picture");
  attend_results_free(&results);
  attend_tensor_free(&drawn);
  attend_close(&model);
}

/* Where CUDA's library is tests/install/fake_cuda.cpp. */
static void test_cuda(void) {
  attend_open_options options = {.size = sizeof options, .device = "cuda:1"};
  char path[4096];
  snprintf(path, sizeof path, "%s/en-fr", folder);
  attend_model* model = NULL;
  expect(attend_open(path, &options, &model) == ATTEND_ERROR && strstr(attend_message(), "broken"), "an error of it");
  options.device = "cuda:2";
  expect(attend_open(path, &options, &model) == ATTEND_ERROR && strstr(attend_message(), "2 GPUs"), "one too many");
  options.device = "cuda:0";
  expect(attend_open(path, &options, &model) == ATTEND_OK, "the first");
  const char* lines[] = {"I am a student."};
  attend_results* results = NULL;
  expect(attend_translate(model, lines, 1, NULL, &results) == ATTEND_OK, "translate on it");
  printf("cuda\t%s\n", attend_results_text(results, 0, 0));
  attend_results_free(&results);
  attend_close(&model);
}

int main(int count, char** words) {
  folder = count > 1 ? words[1] : "models";
  if (getenv("ATTEND_CUDA_PLUGIN")) {
    test_cuda();
    return 0;
  }
  test_translation();
  test_encoders();
  test_generation();
  test_pictures();
  test_bad_input();
  return 0;
}
