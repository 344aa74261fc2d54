"""Installs a build into a scratch folder and uses it as others would: install_test.py BUILD SOURCE SCRATCH. Builds the
programs of examples/ as a project of their own by find_package, a C program by pkg-config, configures a project that has
attend as a part (add_subdirectory), and holds what all doors answer against the installed program."""
import os
import pathlib
import shutil
import subprocess
import sys

build, source, scratch = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
prefix, work = scratch / "prefix", scratch / "work"
LINES = ["I am a student.", "The house is blue."]
MOST_HEADERS = 34  # of C++


def run(*words, text=None, where=None, **more):
    result = subprocess.run([str(word) for word in words], input=text, cwd=where, capture_output=True, text=True,
                            env=os.environ | more, check=False)
    if result.returncode:
        sys.exit(f"install_test: {' '.join(map(str, words))}\n{result.stdout[-4000:]}{result.stderr[-4000:]}")
    return result.stdout


def same(what, one, other):
    if one != other:
        sys.exit(f"install_test: {what}: {one!r} is not {other!r}")
    print(f"{what}: as the program")


def found(pattern):
    paths = sorted(prefix.glob(pattern))
    if not paths:
        sys.exit(f"install_test: there is no {pattern} in {prefix}")
    return paths[0]


def test_files():
    for pattern in ("bin/attend", "include/attend/attend.h", "include/attend/nn.h", "include/attend/c.h", "lib*/**/libattend.a",
                    "lib*/**/pkgconfig/attend.pc", "lib*/**/cmake/attend/attend-config.cmake",
                    "share/attend/models/en-fr/config.json", "share/man/man1/attend.1",
                    "share/man/man1/attend-translate.1", "share/bash-completion/completions/attend",
                    "share/zsh/site-functions/_attend", "share/fish/vendor_completions.d/attend.fish"):
        found(pattern)
    complete = ('source "$1"; COMP_WORDS=(attend translate --be); COMP_CWORD=2; _attend; echo "${COMPREPLY[*]}";'
                'COMP_WORDS=(attend tra); COMP_CWORD=1; _attend; echo "${COMPREPLY[*]}"')
    words = run("bash", "-c", complete, "bash", found("share/bash-completion/completions/attend"))
    same("completions", [sorted(line.split()) for line in words.splitlines()],
         [["--beams"], ["train", "train-tokenizer", "translate"]])


def test_headers():
    """A program sees few headers, none of them of a model or a kernel, and each can be included first."""
    headers = sorted(path.relative_to(prefix / "include") for path in (prefix / "include").rglob("*.h"))
    cpp = [path for path in headers if path != pathlib.Path("attend/c.h")]
    if len(cpp) > MOST_HEADERS:
        sys.exit(f"install_test: {len(cpp)} headers were installed, {MOST_HEADERS} are the most: {' '.join(map(str, cpp))}")
    for private in ("models", "nn", "ops", "cpu", "cuda", "capi", "train", "serve", "cli"):
        if (prefix / "include/attend" / private).exists():
            sys.exit(f"install_test: headers of attend/{private} were installed")
    flags = run("pkg-config", "--cflags", "attend", PKG_CONFIG_PATH=str(found("lib*/**/attend.pc").parent)).split()
    for header in cpp:
        run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *flags, "-x", "c++", "-",
            text=f"#include <{header}>\n")
    print(f"headers: {len(cpp)}, each compiles alone")


def test_symbols():
    """The C functions and the names of attend/nn.h are those of the lists, no more and no fewer."""
    listed = (source / "tests/install/c_symbols.txt").read_text().split()
    libraries = [found("lib*/**/libattend.a"), *prefix.glob("lib*/**/libattend.so")]
    for library in libraries:
        flags = ["-D"] if library.suffix == ".so" else ["-g"]
        names = {line.split()[-1] for line in run("nm", *flags, "--defined-only", library).splitlines() if " T " in line}
        inner = ("attend_jpeg_", "attend_png_")  # callbacks of C libraries, seen in the static library alone
        names = {name for name in names if library.suffix == ".so" or not name.startswith(inner)}
        same(f"symbols of {library.name}", sorted(name for name in names if name.startswith("attend_")), listed)
        if library.suffix == ".so":
            strangers = [name for name in names if not name.startswith("attend_") and "6attend" not in name]
            named = run("nm", "-D", "--defined-only", "-C", library).splitlines()
            networks = {line.split(" T ")[1] for line in named if " T attend::layers::" in line}
            same("symbols of attend/nn.h", sorted(networks), (source / "tests/install/nn_symbols.txt").read_text().splitlines())
            same("symbols of others", [name for name in strangers if name not in ("_init", "_fini")], [])


def test_examples():
    run("cmake", "-S", source / "examples", "-B", work / "examples", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", work / "examples", "-j", "2")
    program, models, here = prefix / "bin/attend", prefix / "share/attend/models", work / "examples"
    text = "\n".join(LINES) + "\n"
    same("translate", run(here / "translate", models / "en-fr", text=text), run(program, "translate", text=text))
    labels = [line.split("\t")[0] for line in run(here / "classify", models / "bert-sst2", "a wonderful film",
                                                  "a terrible film").splitlines()]
    asked = run(program, "classify", "--model", "bert-sst2", text="a wonderful film\na terrible film\n")
    same("classify", [label in line for label, line in zip(labels, asked.splitlines())], [True, True])
    best = run(here / "search", models / "bert", LINES[1], text=text).splitlines()[0]
    same("search", best.split("\t")[1], LINES[1])
    written = run(here / "generate", models / "shakespeare", "ROMEO:")
    same("generate", written.startswith("ROMEO:") and len(written) > 20, True)
    run(program, "make-data", "scenes", "--out", work / "scenes", "--count", "1", "--unseen", "1")
    image = sorted(path for path in (work / "scenes").rglob("*") if path.suffix in (".png", ".jpg"))[0]
    boxes = run(here / "detect", models / "detr-scenes", image)
    same("detect", len(boxes.splitlines()) > 0, True)
    run(here / "train", work / "reverse", "3", text="")
    run(here / "translate", work / "reverse", text="1 2 3 4\n")
    print("train: a folder that translates")
    bad = subprocess.run([here / "translate", "no/such/folder"], capture_output=True, text=True, check=False)
    same("a folder that is not there", (bad.returncode, "no/such/folder" in bad.stderr), (1, True))


def test_networks():
    """The programs that include attend/nn.h; test_examples has built them."""
    here = work / "examples"
    run(here / "attention_by_hand")
    run(here / "custom_op")
    accuracy = {name: float(run(here / name, steps).split("accuracy ")[1].split()[0])
                for name, steps in (("encoder_classifier", 150), ("rnn_attention", 300))}
    same("networks of one's own", [value > 85 for value in accuracy.values()], [True, True])
    said = run(here / "gpt", source / "examples/sonnets.txt", "50", where=work)
    losses = [float(line.split()[-1]) for line in said.splitlines() if line.startswith("step")]
    same("gpt", (losses[-1] < losses[0] - 1, "Shall I compare" in said, (work / "gpt.safetensors").exists()),
         (True, True, True))
    bad = subprocess.run([here / "gpt", "no/such/text"], capture_output=True, text=True, check=False)
    same("gpt without a text", (bad.returncode, "no/such/text" in bad.stderr), (1, True))


def test_c():
    flags = run("pkg-config", "--cflags", "--libs", "attend", PKG_CONFIG_PATH=str(found("lib*/**/attend.pc").parent))
    library = found("lib*/**/libattend.a").parent
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", source / "tests/install/c_test.c", "-o",
        work / "c_test", *flags.split(), f"-Wl,-rpath,{library}")
    said = dict(line.split("\t", 1) for line in run(work / "c_test", prefix / "share/attend/models").splitlines())
    asked = run(prefix / "bin/attend", "translate", text="\n".join(LINES) + "\n").splitlines()
    same("C", said["translate"].split("\t"), asked)
    fake = build / "tests/libattend_fake_cuda.so"
    if fake.exists():
        said = run(work / "c_test", prefix / "share/attend/models", ATTEND_CUDA_PLUGIN=str(fake))
        same("a GPU that is opened", dict(line.split("\t", 1) for line in said.splitlines())["cuda"], asked[0])
    shared = sorted(prefix.glob("lib*/**/libattend.so"))
    if not shared:
        print("ctypes: skipped, this build has no libattend.so (-DATTEND_SHARED=ON)")
        return
    said = run(sys.executable, source / "tests/install/ctypes_test.py", shared[0], prefix / "share/attend/models")
    same("ctypes", said.split("\t")[1].strip(), asked[0])


def test_uninstall():
    """What was installed goes; what others have put beside it stays, and so do their folders."""
    own = work / "uninstalled"
    run("cmake", "--install", build, "--prefix", own / "usr", "--component", "program")
    run("cmake", "--install", build, "--prefix", own / "usr")
    run(source / "tools/uninstall", "--remember", build, "", own / "usr")
    before = [path for path in own.rglob("*") if not path.is_dir()]
    strangers = [own / "usr/share/attend/models/mine/config.json", own / "usr/bin/other", own / "usr/share/man/man1/x.1"]
    for path in strangers:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (own / "usr/share/empty").mkdir()
    run(source / "tools/uninstall", "", own / "usr")
    left = sorted(path for path in own.rglob("*") if not path.is_dir())
    same(f"uninstall of {len(before)} files", left, sorted(strangers))
    same("folders", [(own / "usr" / path).exists() for path in ("include/attend", "share/attend/models", "share/empty")],
         [False, True, True])
    again = subprocess.run([source / "tools/uninstall", "", own / "usr"], capture_output=True, text=True, check=False)
    same("uninstall of nothing", (again.returncode, "nothing of attend was installed" in again.stderr), (1, True))
    (own / "usr/share/attend/installed.txt").write_text("bin/other\n../../precious\n")
    (work / "precious").write_text("")
    bad = subprocess.run([source / "tools/uninstall", "", own / "usr"], capture_output=True, text=True, check=False)
    same("uninstall of others", (bad.returncode, (work / "precious").exists(), strangers[1].exists()), (1, True, True))


def test_subproject():
    run("cmake", "-S", source / "tests/install/subproject", "-B", work / "subproject", "-G", "Ninja",
        f"-DATTEND_SOURCE={source}")
    print("add_subdirectory: no foreign target")


def main():
    for tool in ("cmake", "ninja", "cc", "c++", "pkg-config", "nm"):
        if not shutil.which(tool):
            print(f"skipped: there is no {tool} here")
            return 77
    shutil.rmtree(scratch, ignore_errors=True)
    work.mkdir(parents=True)
    run("cmake", "--install", build, "--prefix", prefix, "--strip")
    for test in (test_files, test_headers, test_symbols, test_c, test_examples, test_networks, test_uninstall, test_subproject):
        test()
    return 0


if __name__ == "__main__":
    sys.exit(main())
