# ninja fuzz: every door through which strangers' bytes come in, as a libFuzzer program build/fuzz/NAME, in a build by
# clang with ATTEND_SANITIZE=fuzzer (tools/fuzz makes it). attend_door(NAME LINKS .. READERS ..): READERS are the sources
# that read what comes through; tools/fuzz --coverage counts the lines of these and of no others.
if(NOT ATTEND_SANITIZE STREQUAL "fuzzer")
  return()
endif()

# Lines are counted where readers are.
set(fuzz_counted -fprofile-instr-generate -fcoverage-mapping)
foreach(folder base text checkpoint models data train)
  target_compile_options(attend_${folder} PRIVATE ${fuzz_counted})
endforeach()
# What kernels do with numbers is no news to a fuzzer, and is half of the build. ASan still watches where they read.
add_library(fuzz_kernels INTERFACE)
target_compile_options(fuzz_kernels INTERFACE -fno-sanitize=undefined,fuzzer-no-link)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")  # clang 14 does not heed .arch in a function's assembly
  target_compile_options(fuzz_kernels INTERFACE -march=armv8-a+bf16+i8mm)
endif()
get_property(fuzz_targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER fuzz_targets INCLUDE REGEX "^attend_(cpu|rows_.*)$")
foreach(target ${fuzz_targets})
  target_link_libraries(${target} PRIVATE fuzz_kernels)  # behind attend_flags, so that these win
endforeach()

# Of the upper folders only the readers: all of them would double the build.
file(GLOB fuzz_upper_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attend/catalogue/*.cpp
                                               ${PROJECT_SOURCE_DIR}/attend/verify/*.cpp)
list(APPEND fuzz_upper_sources
    attend/serve/run_reader.cpp
    attend/tasks/model_folder.cpp
    attend/training/caption_recipe.cpp
    attend/training/detect_recipe.cpp
    attend/training/draw_recipe.cpp
    attend/training/group_settings.cpp
    attend/training/head_recipe.cpp
    attend/training/language_recipe.cpp
    attend/training/masked_recipe.cpp
    attend/training/picture_recipe.cpp
    attend/training/recipe_json.cpp
    attend/training/run_settings.cpp
    attend/training/start_folder.cpp
    attend/training/translation_recipe.cpp)
add_library(fuzz_upper STATIC EXCLUDE_FROM_ALL ${fuzz_upper_sources})
attend_configure(fuzz_upper)
target_compile_options(fuzz_upper PRIVATE ${fuzz_counted})
target_link_libraries(fuzz_upper PUBLIC attend_models attend_decode attend_view attend_train attend_text)

# What all doors share: the entry points of libFuzzer, and mutators that keep an input readable.
file(GLOB fuzz_shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/shared/*.cpp)
add_library(fuzz_shared STATIC EXCLUDE_FROM_ALL ${fuzz_shared})
attend_configure(fuzz_shared)
target_link_libraries(fuzz_shared PUBLIC attend_base)

add_custom_target(fuzz)
function(attend_door name)
  cmake_parse_arguments(arg "" "" "LINKS;READERS" ${ARGN})
  add_executable(fuzz_${name} EXCLUDE_FROM_ALL fuzz/${name}.cpp)
  attend_configure(fuzz_${name})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz OUTPUT_NAME ${name})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer ${fuzz_counted})
  target_link_libraries(fuzz_${name} PRIVATE fuzz_shared ${arg_LINKS})
  list(JOIN arg_READERS "\n" readers)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/fuzz/${name}.readers CONTENT "${readers}\n")
  add_dependencies(fuzz fuzz_${name})
endfunction()

attend_door(json LINKS attend_base
            READERS attend/base/json.cpp attend/base/json_parser.cpp attend/base/json_writer.cpp)
attend_door(safetensors LINKS attend_checkpoint attend_backends
            READERS attend/checkpoint/safetensors.cpp attend/checkpoint/stored_type.h)
attend_door(weights LINKS attend_checkpoint attend_backends
            READERS attend/checkpoint/hugging_face.cpp:run_options|bound|open|shards|holding|names|file_parts|load_hugging_face|spellings|may_be_new
                    attend/checkpoint/model_file.cpp attend/checkpoint/pickle.cpp
                    attend/checkpoint/quantised.cpp:is_scale|dequantise)
attend_door(config LINKS fuzz_upper attend_backends
            READERS attend/models/config_checks.cpp attend/models/hugging_face_config.cpp attend/models/hugging_face_config.h
                    attend/models/bert.cpp:check_config|family_named|has_labels|bert_config|bert_json
                    attend/models/gpt2.cpp:check_config|gpt2_config|gpt2_json 
                    attend/models/transformer.cpp:check_config|make_transformer
                    attend/models/rnn_seq2seq.cpp:check_config|make_rnn
                    attend/catalogue/catalogue.cpp attend/catalogue/marian.cpp:value_of|flag_of|marian_config)
attend_door(tokenizer LINKS attend_text
            READERS attend/text/steps/added_tokens.cpp attend/text/steps/bert_normalizer.cpp attend/text/models/bpe.cpp
                    attend/text/steps/decoder.cpp attend/text/json_view.h attend/text/steps/length_limits.cpp attend/text/models/model.cpp
                    attend/text/steps/normalizer.cpp attend/text/steps/pattern.cpp attend/text/steps/pattern_compiler.cpp
                    attend/text/steps/post_processor.cpp attend/text/steps/pre_tokenizer.cpp attend/text/steps/precompiled_normalizer.cpp
                    attend/text/steps/split_text.cpp attend/text/steps.cpp attend/text/text_budget.cpp
                    attend/text/tokenizer.cpp attend/text/models/unigram.cpp:JsonView|find_best|tokenize
                    attend/text/models/unknown_pieces.cpp attend/text/vocabulary.cpp attend/text/models/word_piece.cpp)
attend_door(sentencepiece LINKS attend_text
            READERS attend/text/models/sentencepiece_bpe.cpp attend/text/steps/sentencepiece_decoder.cpp
                    attend/text/files/sentencepiece_file.cpp attend/text/steps/sentencepiece_normalizer.cpp attend/text/steps/charsmap.cpp
                    attend/text/models/unigram.cpp:SentencePieceFile)
attend_door(vocabulary LINKS attend_text
            READERS attend/text/files/vocabulary_files.cpp attend/text/tokenizer_load.cpp attend/text/models/marian.cpp)
attend_door(labelled LINKS attend_data
            READERS attend/data/conll.cpp attend/data/labelled_text.cpp attend/data/squad.cpp attend/data/table.cpp)
attend_door(parallel_text LINKS attend_data
            READERS attend/data/parallel_cache_build.cpp attend/text/text_reader.cpp)
attend_door(pair_cache LINKS attend_data READERS attend/data/parallel_cache.cpp)
attend_door(token_cache LINKS attend_data READERS attend/data/token_stream.cpp)
attend_door(recipe LINKS fuzz_upper
            READERS attend/base/fields.cpp attend/base/fields.h attend/training/caption_recipe.cpp
                    attend/training/detect_recipe.cpp:resolve_detect_recipe|for_pictures|new_detr|changed_detr|check_detect_keys
                    attend/training/draw_recipe.cpp attend/training/head_recipe.cpp attend/training/language_recipe.cpp
                    attend/training/masked_recipe.cpp attend/training/picture_recipe.cpp:resolve_picture_recipe|unused_of_vit
                    attend/training/recipe_json.cpp attend/training/translation_recipe.cpp)
attend_door(run_state LINKS attend_train attend_backends READERS attend/train/run_state.cpp)
attend_door(run_log LINKS fuzz_upper READERS attend/serve/run_reader.cpp)
attend_door(verify LINKS fuzz_upper attend_backends
            READERS attend/verify/bert.cpp attend/verify/case.cpp attend/verify/gpt2.cpp
                    attend/verify/marian.cpp attend/verify/verify.cpp)

# Of attend serve the doors, and its HTTP server where there is Boost.
file(GLOB fuzz_serve_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attend/serve/doors/*.cpp)
list(FILTER fuzz_serve_sources EXCLUDE REGEX "look_door")
list(APPEND fuzz_serve_sources attend/serve/door.cpp attend/serve/http.cpp attend/serve/http_message.cpp attend/serve/openapi.cpp
     attend/serve/request.cpp attend/serve/workers.cpp)
add_library(fuzz_serve STATIC EXCLUDE_FROM_ALL ${fuzz_serve_sources})
attend_configure(fuzz_serve)
target_compile_options(fuzz_serve PRIVATE ${fuzz_counted})
target_link_libraries(fuzz_serve PUBLIC attend_serving attend_boost)
attend_door(serve_request LINKS fuzz_serve attend_backends
            READERS attend/serve/door.cpp attend/serve/request.cpp:field|whole|real|flag|word|ids attend/serve/doors/completions.cpp
                    attend/serve/doors/hugging_face.cpp attend/serve/doors/libre.cpp attend/serve/doors/libre_text.cpp
                    attend/serve/doors/openai.cpp attend/serve/doors/pictures.cpp attend/serve/doors/tei.cpp
                    attend/serve/doors/texts.cpp)
if(attend_boost_dir)
  attend_door(http LINKS fuzz_serve READERS attend/serve/http.cpp attend/serve/http/session.h attend/serve/http/exchange.h)
endif()
