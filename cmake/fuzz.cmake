# ninja fuzz: every reader of untrusted input, as a libFuzzer program build-address/fuzz/NAME: of the objects that
# the tests under ASan + UBSan are linked from, where clang compiled them. attend_fuzz_target(NAME LINKS .. READERS ..): READERS are the
# sources that read what comes through; tools/fuzz --coverage, in a build with ATTEND_COVERAGE=ON, counts the lines of these and of
# no others.
if(NOT (ATTEND_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"))
  return()
endif()

# libFuzzer is told which branches are taken where readers are, in functions of ours and of the HTTP parser: those of the
# standard library would cost as much again to compile and say nothing about a format.
set(fuzz_traced ${PROJECT_BINARY_DIR}/fuzz/traced.txt)
file(CONFIGURE OUTPUT ${fuzz_traced} CONTENT "src:*\nfun:_ZN6attend*\nfun:_ZNK6attend*\nfun:_ZN5boost5beast4http*\nfun:_ZNK5boost5beast4http*\n")
set(fuzz_reading -fsanitize=fuzzer-no-link -fsanitize-coverage-allowlist=${fuzz_traced})
if(ATTEND_COVERAGE)
  list(APPEND fuzz_reading -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(attend_flags INTERFACE -fprofile-instr-generate)
endif()
foreach(folder base image text checkpoint models data metrics train_loop catalogue train_recipes verify http look serve)
  target_compile_options(attend_${folder} PRIVATE ${fuzz_reading})
endforeach()

# What all targets share: the entry points of libFuzzer, and mutators that keep an input readable.
file(GLOB fuzz_shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/shared/*.cpp)
add_library(fuzz_shared STATIC EXCLUDE_FROM_ALL ${fuzz_shared})
attend_configure(fuzz_shared)
target_link_libraries(fuzz_shared PUBLIC attend_base)

add_custom_target(fuzz)
function(attend_fuzz_target name)
  cmake_parse_arguments(arg "" "" "LINKS;READERS" ${ARGN})
  add_executable(fuzz_${name} EXCLUDE_FROM_ALL fuzz/${name}.cpp)
  attend_configure(fuzz_${name})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz OUTPUT_NAME ${name})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz_${name} PRIVATE fuzz_shared ${arg_LINKS})
  list(JOIN arg_READERS "\n" readers)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/fuzz/${name}.readers CONTENT "${readers}\n")
  add_dependencies(fuzz fuzz_${name})
endfunction()

attend_fuzz_target(json LINKS attend_base
            READERS attend/base/json.cpp attend/base/json_parser.cpp attend/base/json_writer.cpp)
attend_fuzz_target(safetensors LINKS attend_checkpoint attend_backends
            READERS attend/checkpoint/safetensors.cpp attend/checkpoint/tensor_file.cpp attend/checkpoint/stored_type.h)
attend_fuzz_target(torch_file LINKS attend_checkpoint
            READERS attend/checkpoint/strided_copy.cpp attend/checkpoint/torch/byte_reader.h attend/checkpoint/torch/globals.cpp
                    attend/checkpoint/torch/pickle_builder.cpp attend/checkpoint/torch/pickle_machine.cpp
                    attend/checkpoint/torch/state_dict.cpp attend/checkpoint/torch/torch_file.cpp
                    attend/checkpoint/torch/zip_archive.cpp)
attend_fuzz_target(weights LINKS attend_checkpoint attend_backends
            READERS attend/checkpoint/hugging_face.cpp:run_options|bound|open|names|file_parts|load_hugging_face|spellings|may_be_new
                    attend/checkpoint/model_file.cpp attend/checkpoint/weight_files.cpp
                    attend/checkpoint/quantised.cpp:is_scale|dequantise)
attend_fuzz_target(config LINKS attend_catalogue attend_backends
            READERS attend/models/config_checks.cpp attend/models/hugging_face_config.cpp attend/models/hugging_face_config.h
                    attend/models/bert.cpp:check_config|family_named|has_labels|bert_config|bert_json
                    attend/models/gpt2.cpp:check_config|gpt2_config|gpt2_json 
                    attend/models/transformer.cpp:check_config|make_transformer
                    attend/models/rnn_seq2seq.cpp:check_config|make_rnn
                    attend/catalogue/catalogue.cpp attend/catalogue/marian.cpp:value_of|flag_of|marian_config)
attend_fuzz_target(tokenizer LINKS attend_text
            READERS attend/text/steps/added_tokens.cpp attend/text/steps/bert_normalizer.cpp attend/text/models/bpe.cpp
                    attend/text/steps/decoder.cpp attend/text/json_view.h attend/text/steps/length_limits.cpp attend/text/models/model.cpp
                    attend/text/steps/normalizer.cpp attend/text/steps/pattern.cpp attend/text/steps/pattern_compiler.cpp
                    attend/text/steps/post_processor.cpp attend/text/steps/pre_tokenizer.cpp attend/text/steps/precompiled_normalizer.cpp
                    attend/text/steps/split_text.cpp attend/text/steps.cpp attend/text/text_budget.cpp
                    attend/text/tokenizer.cpp attend/text/models/unigram.cpp:JsonView|find_best|tokenize
                    attend/text/models/unknown_pieces.cpp attend/text/vocabulary.cpp attend/text/models/word_piece.cpp)
attend_fuzz_target(sentencepiece LINKS attend_text
            READERS attend/text/models/sentencepiece_bpe.cpp attend/text/steps/sentencepiece_decoder.cpp
                    attend/text/files/sentencepiece_file.cpp attend/text/steps/sentencepiece_normalizer.cpp attend/text/steps/charsmap.cpp
                    attend/text/models/unigram.cpp:SentencePieceFile)
attend_fuzz_target(vocabulary LINKS attend_text
            READERS attend/text/files/vocabulary_files.cpp attend/text/tokenizer_load.cpp attend/text/models/marian.cpp)
attend_fuzz_target(labelled LINKS attend_data
            READERS attend/data/text/conll.cpp attend/data/text/labelled_text.cpp attend/data/text/squad.cpp attend/data/text/table.cpp)
attend_fuzz_target(parallel_text LINKS attend_data
            READERS attend/data/text/parallel_cache_build.cpp attend/text/text_reader.cpp)
attend_fuzz_target(pair_cache LINKS attend_data READERS attend/data/text/parallel_cache.cpp)
attend_fuzz_target(token_cache LINKS attend_data READERS attend/data/text/token_stream.cpp)
attend_fuzz_target(recipe LINKS attend_train_recipes attend_backends
            READERS attend/base/fields.cpp attend/base/fields.h attend/train/recipes/captions/caption_recipe.cpp
                    attend/train/recipes/detection/detect_recipe.cpp:resolve_detect_recipe|new_detr|changed_detr|check_detect_keys
                    attend/train/recipes/drawing/draw_recipe.cpp attend/train/recipes/heads/head_recipe.cpp attend/train/recipes/language_model/language_recipe.cpp
                    attend/train/recipes/masked_lm/masked_recipe.cpp attend/train/recipes/images/image_recipe.cpp:resolve_image_recipe|unused_of_vit
                    attend/train/recipes/epochs.h attend/train/recipes/recipe_json.cpp attend/train/recipes/translation/translation_recipe.cpp)
attend_fuzz_target(run_state LINKS attend_train_loop attend_backends READERS attend/train/loop/run_state.cpp)
attend_fuzz_target(run_log LINKS attend_look READERS attend/look/api/run_reader.cpp)
attend_fuzz_target(verify LINKS attend_verify attend_backends
            READERS attend/verify/bert.cpp attend/verify/case.cpp attend/verify/gpt2.cpp
                    attend/verify/marian.cpp attend/verify/verify.cpp)

# Images, and sets of them.
attend_fuzz_target(jpeg LINKS attend_image
            READERS attend/image/decode_jpeg.cpp attend/image/decode.cpp:kind_of|begins|known_name|check_size|open_rows attend/image/image_rows.cpp)
attend_fuzz_target(png LINKS attend_image READERS attend/image/decode_png.cpp attend/image/image_rows.cpp)
attend_fuzz_target(webp LINKS attend_image READERS attend/image/decode_webp.cpp)
attend_fuzz_target(exif LINKS attend_image READERS attend/image/exif.cpp)
attend_fuzz_target(preprocessor LINKS attend_image
            READERS attend/image/preprocessor_config.cpp attend/image/size_rule.cpp attend/image/preprocessor.cpp:size_of|prepared|stack)
attend_fuzz_target(coco LINKS attend_metrics
            READERS attend/data/images/coco_files.cpp attend/data/images/captioned_images.cpp
                    attend/data/images/detection_sets.cpp:read_coco|list_boxes)
attend_fuzz_target(image_records LINKS attend_data
            READERS attend/data/images/image_records.cpp attend/data/images/labelled_images.cpp:read_records|record_of)

attend_fuzz_target(serve_request LINKS attend_serve
            READERS attend/serve/api/api_adapter.cpp attend/http/routes.cpp attend/http/json_request.cpp:field|whole|real|flag|word|ids attend/serve/api/completions.cpp
                    attend/serve/api/hugging_face.cpp attend/serve/api/libre.cpp attend/serve/api/libre_text.cpp
                    attend/serve/api/openai.cpp attend/serve/api/images.cpp attend/serve/api/tei.cpp
                    attend/serve/api/texts.cpp)
if(attend_boost_dir)  # the HTTP server is there
  attend_fuzz_target(http LINKS attend_http READERS attend/http/http.cpp attend/http/session.h attend/http/exchange.h)
  attend_fuzz_target(chunked_body LINKS attend_base READERS attend/http/request_reader.h attend/http/memory_budget.h)
  target_sources(fuzz_chunked_body PRIVATE attend/http/memory_budget.cpp attend/http/message.cpp)  # and no model
  target_compile_options(fuzz_chunked_body PRIVATE ${fuzz_reading})
endif()
