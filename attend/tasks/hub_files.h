// How to get a model of the Hugging Face hub: its repository and the files that attend reads, by name.
#pragma once

#include <string>
#include <vector>

namespace attend::tasks {

struct HubModel {
  std::string repository;          // "openai-community/gpt2"
  std::vector<std::string> files;  // for those who fetch them one by one
};
// By the name of a repository, or the short name under which people know it. Names that say nothing about their family
// get the files that every family has.
HubModel hub_model(const std::string& name);

// "hf download .., or git clone ..; by hand: put .. into a folder and name that folder."
std::string how_to_fetch(const std::string& name);

}  // namespace attend::tasks
