import re, sys
names = []
for block in re.split(r"^\d+/\d+ Testing: ", open(sys.argv[1], errors="replace").read(), flags=re.M)[1:]:
    name = block.split("\n", 1)[0].strip()
    if re.search(r"no GPU|no CUDA|no such kernel|GPU", block): names.append(re.escape(name))
print("^(" + "|".join(names) + ")$")
