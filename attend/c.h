/* The library for other languages: plain C11, symbols that stay. Every function that can fail returns a status and
   leaves a sentence in attend_message(); nothing is thrown across, nothing aborts.

     attend_model* model = NULL;
     if (attend_open("en-fr", NULL, &model) != ATTEND_OK) puts(attend_message());
     const char* lines[] = {"I am a student."};
     attend_results* results = NULL;
     if (attend_translate(model, lines, 1, NULL, &results) == ATTEND_OK) puts(attend_results_text(results, 0, 0));
     attend_results_free(&results);
     attend_close(&model);

   Text is UTF-8 and ends with 0. A model may be called by several threads: they take turns. It may be closed while
   another thread is in a call, which then ends as it would have; a callback may close its model, and not call it.

   Handles (models, results, the owner of a tensor) are numbers, not addresses, and no number is given out twice. A
   model that is NULL, or a copy of a handle that was closed, is an error where one is needed, never a crash. Results
   belong to the caller, may be read by any number of threads at once, and are freed once, which sets them to NULL. A
   copy of results that were freed has no lines; freeing it again does nothing, whatever was made since.

   Structs that begin with `size` can grow: set it to the sizeof of the struct your program was compiled with. Members
   are only added at the end. The library reads and writes no more than `size` bytes; what it does not know, it sets to
   0. attend_tensor has no `size` and stays as it is. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attend_status {
  ATTEND_OK = 0,
  ATTEND_ERROR = 1,    /* a file, a text or a setting is wrong, or the model does something else */
  ATTEND_ARGUMENT = 2, /* a null handle or pointer, a tensor of the wrong type or shape */
  ATTEND_NO_MEMORY = 3,
} attend_status;

/* What went wrong in the last call of this thread that failed; "" when none has. Valid until its next call that fails.
 */
const char* attend_message(void);
const char* attend_version(void); /* "0.2.0" */

/* ---- Models. */
typedef struct attend_model attend_model;

typedef struct attend_open_options {
  size_t size;         /* sizeof(attend_open_options), so that it can grow; all else may be 0 or NULL */
  const char* device;  /* "cpu" unless told, "cuda:0" */
  const char* task;    /* what its config.json says unless told: "embed" reads a classifier without its head */
  const char* weights; /* f32, bf16 or int8: how the CPU keeps them; as the file has them unless told */
  int threads;         /* of the CPU; 0: all cores */
} attend_open_options;

/* A model's folder, or the name of one that came with attend. options may be NULL. */
attend_status attend_open(const char* path_or_name, const attend_open_options* options, attend_model** model);
void attend_close(attend_model** model);
/* "translate", "generate", "classify", ..; "" of NULL and of what was closed. */
const char* attend_task(const attend_model* model);

/* ---- Results: for each line a list of items. */
typedef struct attend_results attend_results;

typedef struct attend_item {
  size_t size;        /* sizeof(attend_item), set by the caller: attend_item item = {.size = sizeof item}; */
  const char* text;   /* a translation, a word, an answer, a token; "" where there is none */
  const char* label;  /* of a text, a word or a box; "" where there is none */
  double score;       /* a probability; of translations a log-probability */
  int64_t begin, end; /* characters of the text this is from; of a filled mask, which one */
  double box[4];      /* x, y, width, height in pixels, of a found object */
} attend_item;

size_t attend_results_lines(const attend_results* results);
size_t attend_results_count(const attend_results* results, size_t line);
/* Fills item, whose size must be set. Texts live as long as the results. */
attend_status attend_results_item(const attend_results* results, size_t line, size_t index, attend_item* item);
/* The text or, where there is none, the label of an item; "" when there is no such item. */
const char* attend_results_text(const attend_results* results, size_t line, size_t index);
void attend_results_free(attend_results** results);

/* ---- Tensors: row by row, without gaps. Begin with attend_tensor tensor = {0}. A function that returns ATTEND_OK has
   set data to something other than NULL, also where the tensor is empty because one of its extents is 0. */
typedef enum attend_dtype { ATTEND_F32 = 0, ATTEND_I32 = 1, ATTEND_U8 = 2 } attend_dtype;

typedef struct attend_memory attend_memory;

typedef struct attend_tensor {
  void* data;
  int64_t shape[4];
  int rank;
  attend_dtype dtype;
  attend_memory* owner; /* the library's own: set where data was NULL and a function took the memory; else NULL */
} attend_tensor;

/* For a tensor that a function filled: where data was NULL, the function took the memory. Null pointers are fine, and
   memory of the caller's own is left alone. Sets all to 0. A copy of a tensor that was freed is refused by calls, and
   freeing it again does nothing. */
void attend_tensor_free(attend_tensor* tensor);

/* ---- Calls. options may be NULL. A member that is 0 or NULL stands for the default of the program, unless its bit in
   `given` is set: then 0 is meant.

     attend_options options = {.size = sizeof options, .seed = 0, .given = ATTEND_GIVEN_SEED};
 */
enum {
  ATTEND_GIVEN_BEAMS = 1 << 0,
  ATTEND_GIVEN_N_BEST = 1 << 1,
  ATTEND_GIVEN_TOP_K = 1 << 2,
  ATTEND_GIVEN_MAX_TOKENS = 1 << 3,
  ATTEND_GIVEN_BATCH = 1 << 4,
  ATTEND_GIVEN_TEMPERATURE = 1 << 5,
  ATTEND_GIVEN_TOP_P = 1 << 6,
  ATTEND_GIVEN_THRESHOLD = 1 << 7,
  ATTEND_GIVEN_SEED = 1 << 8,
  ATTEND_GIVEN_NORMALIZE = 1 << 9,
};

typedef struct attend_options {
  size_t size; /* sizeof(attend_options) */
  int64_t beams, n_best, top_k, max_tokens, batch;
  double temperature; /* given as 0: always the likeliest token */
  double top_p;
  double threshold; /* of detected objects; given as 0: all of them */
  uint64_t seed;
  /* Of embed: mean, cls, max, mean_sqrt_len, weightedmean or lasttoken. NULL: as the model's modules.json says, or mean
   */
  const char* pooling;
  /* Of embed: vectors of length 1. 0 without ATTEND_GIVEN_NORMALIZE: as the model's modules.json says */
  int normalize;
  uint64_t given;     /* bits ATTEND_GIVEN_..: members that count although they are 0 */
  int64_t max_pixels; /* of an image; 0: 89478485. A side has at most 65535 in any case */
} attend_options;

attend_status attend_translate(attend_model* model, const char* const* lines, size_t count,
                               const attend_options* options, attend_results** results);
/* All labels unless top_k says how many; a line with a tab in it is a pair. */
attend_status attend_classify(attend_model* model, const char* const* lines, size_t count,
                              const attend_options* options, attend_results** results);
attend_status attend_tag(attend_model* model, const char* const* lines, size_t count, const attend_options* options,
                         attend_results** results);
attend_status attend_fill(attend_model* model, const char* const* lines, size_t count, const attend_options* options,
                          attend_results** results);
attend_status attend_answer(attend_model* model, const char* question, const char* context,
                            const attend_options* options, attend_results** results);
/* f32 [count, width]: into vectors->data when that is not NULL, and then type and shape must be these. */
attend_status attend_embed(attend_model* model, const char* const* lines, size_t count, const attend_options* options,
                           attend_tensor* vectors);
/* images: u8 [height, width, 3] each. Of a model that classifies them, labels; of one that detects, boxes; of one
   that describes, a sentence. */
attend_status attend_see(attend_model* model, const attend_tensor* images, size_t count, const attend_options* options,
                         attend_results** results);

/* u8 [count, height, width, 3], of the class of this name or, when it is NULL, of all in turn; options.seed says which.
 */
attend_status attend_draw(attend_model* model, const char* of_class, size_t count, const attend_options* options,
                          attend_tensor* images);

/* Hears the text as it grows; anything but 0 ends it. piece ends with 0. */
typedef int (*attend_piece_callback)(void* user, const char* piece);
/* callback and results may each be NULL. */
attend_status attend_generate(attend_model* model, const char* prompt, const attend_options* options,
                              attend_piece_callback callback, void* user, attend_results** results);

/* i32 [tokens], with what the tokenizer puts around a text. */
attend_status attend_tokenize(attend_model* model, const char* text, attend_tensor* ids);
attend_status attend_detokenize(attend_model* model, const attend_tensor* ids, attend_results** text);

/* Translates a line and says where each token of the translation looked: weights f32 [target, source]. Of results, line
   0 is the translation, 1 the tokens of the source, 2 those of the target. */
attend_status attend_attention(attend_model* model, const char* line, attend_tensor* weights, attend_results** results);

#ifdef __cplusplus
}
#endif
