"""Labs: labs_test.py ATTEND. Every solution and two differently written right answers pass, every planted mistake is named with the
first number that differs, and files with holes, crashes and endless loops are reported."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "labs"))
sys.path.insert(0, str(ROOT / "tests/labs"))
import answers  # noqa: E402
import judge  # noqa: E402
import lab  # noqa: E402
import program  # noqa: E402

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
try:
    import numpy  # noqa: F401
except ImportError:
    numpy = None


def replaced(source, changes):
    for old, new in zip(changes[::2], changes[1::2]):
        assert old in source, old
        source = source.replace(old, new)
    return source


def check(path, file, seed):
    cases, why = lab.reference(path, seed)
    return judge.judged(cases, program.results_of(path, file, cases), why)


class Labs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def findings(self, name, source, seed=1, suffix=".py"):
        file = self.folder / f"answer{suffix}"
        file.write_text(source, encoding="utf-8")
        return check(lab.find_lab(name), file, seed)

    def test_twelve_labs_are_complete(self):
        self.assertEqual(len(lab.labs()), 12)
        for path in lab.labs():
            about = lab.manifest(path)
            cases, why = lab.reference(path, 1)
            self.assertEqual(list(dict.fromkeys(case["function"] for case in cases)), about["functions"], path.name)
            self.assertGreaterEqual(len(why), 3, path.name)
            for file in ("page.md", "solution.py", "solution.cpp"):
                self.assertTrue((path / file).is_file(), f"{path.name}/{file}")
            # Holes: the handed-out file differs from the solution, and says what is missing.
            file = program.start(path, "python", self.folder / path.name)[0]
            findings = check(path, file, 1)
            self.assertTrue(findings and "your code here" in findings[0]["where"], path.name)

    def test_solutions_pass(self):
        for path in lab.labs():
            self.assertEqual(check(path, path / "solution.py", 5), [], path.name)

    def test_solutions_in_cpp_pass(self):
        for path in lab.labs():
            self.assertEqual(check(path, path / "solution.cpp", 6), [], path.name)

    @unittest.skipUnless(numpy, "there is no NumPy here")
    def test_differently_written_answers_pass(self):
        for name, (right, changes, _) in answers.ANSWERS.items():
            other = right
            for change in changes:
                other = replaced(other, change)
            self.assertEqual(self.findings(name, right, 2), [], name)
            self.assertEqual(self.findings(name, other, 3), [], name)

    @unittest.skipUnless(numpy, "there is no NumPy here")
    def test_planted_mistakes_are_named(self):
        count = 0
        for name, (right, _, wrong) in answers.ANSWERS.items():
            self.assertGreaterEqual(len(wrong), 3, name)
            for mistake, changes in wrong.items():
                findings = self.findings(name, replaced(right, changes))
                self.assertIn(mistake, [finding["name"] for finding in findings], f"{name}: {findings}")
                self.assertRegex(findings[0]["where"], "should|error|Error", name)
                count += 1
        self.assertGreaterEqual(count, 36)

    def test_known_mistakes_differ_from_the_right_answer_and_from_each_other(self):
        for path in lab.labs():
            cases, why = lab.reference(path, 11)
            for name in why:
                own = [case for case in cases if name in case["wrong"]]
                results = [{"error": "fails"} if case["wrong"][name] is None else {"value": case["wrong"][name]} for case in own]
                self.assertEqual(judge.matching(own, results, {key: "" for key in why if key in own[0]["wrong"]}), [name], path.name)

    def test_a_mistake_in_cpp_is_named(self):
        source = (ROOT / "labs/02-attention/solution.cpp").read_text(encoding="utf-8")
        wrong = source.replace("w(t, s) /= std::sqrt(D);", "")
        findings = self.findings("attention", wrong, suffix=".cpp")
        self.assertEqual([finding["name"] for finding in findings], ["the scale is missing", "the scale of the scores is missing"])
        self.assertIn("result[0][0] is", findings[0]["where"])

    def test_patterns_without_a_known_mistake(self):
        source = "def positions(length, width):\n    import math\n    return [[F * (math.cos if c % 2 else math.sin)(p / 10000 ** (c // 2 * 2 / width)) {} for c in range(width)] for p in range(length)]\n"
        factor = self.findings("sinusoids", "F = 3\n" + source.format(""))
        self.assertEqual((factor[0]["name"], "3 times" in factor[0]["why"]), ("a constant factor", True))
        self.assertEqual(self.findings("sinusoids", "F = 1\n" + source.format("+ 0.5"))[0]["name"], "a constant offset")
        self.assertEqual(self.findings("sinusoids", "F = float('nan')\n" + source.format(""))[0]["name"], "numbers that are not finite")
        unknown = self.findings("sinusoids", "def positions(length, width):\n    return [[p * 0.1 + c for c in range(width)] for p in range(length)]\n")
        self.assertEqual((unknown[0]["name"], "result[0][2] is 2, but should be 0" in unknown[0]["where"]), (None, True))

    def test_broken_programs_are_reported(self):
        for source, said in (("def softmax(x):\n    return x[99]\n", "IndexError"), ("def softmax(x):\n    return 'a'\n", "text"),
                             ("def softmax(x):\n    return [[1], [1, 2]]\n", "ragged"), ("def softmax(x):\n    return None\n", "unknown"),
                             ("def softmax(x):\n    return {'a': 1}\n", "unknown"), ("def softmax(x):\n    return [['0.5']]\n", "unknown"),
                             ("def softmax(x):\n    import os\n    os.write(1, b'\\xff')\n    return x[99]\n", "IndexError"),
                             ("def softmax(x):\n    return [[10 ** 400]]\n", "shape")):
            self.assertIn(said, self.findings("softmax", source)[0]["where"])
        with self.assertRaisesRegex(lab.LabError, "exit code 3"):
            self.findings("softmax", "import os\nos._exit(3)\n")
        with self.assertRaisesRegex(lab.LabError, "SyntaxError"):
            self.findings("softmax", "def softmax(x:\n")
        with self.assertRaisesRegex(lab.LabError, "does not compile"):
            self.findings("softmax", "int main() { return x; }", suffix=".cpp")
        limit, program.SECONDS = program.SECONDS, 1
        try:
            with self.assertRaisesRegex(lab.LabError, "did not end"):
                self.findings("softmax", "while True: pass\n")
        finally:
            program.SECONDS = limit

    def test_helpers_are_handed_out_and_found(self):
        path = lab.find_lab("encoder")
        for language, names in (("python", {"encoder.py", "encoder.md", "blocks.py"}), ("c++", {"encoder.cpp", "encoder.md", "lab.h", "blocks.h"})):
            files = program.start(path, language, self.folder / language)
            self.assertEqual({file.name for file in files}, names)
        (self.folder / "mine.py").write_text("from blocks import softmax\n")  # a student's own file beside the answer
        self.assertEqual(self.findings("softmax", "from mine import softmax\ndef softmax_backward(y, dy):\n    return [[p * (d - sum(a * b for a, b in zip(y[i], dy[i]))) for p, d in zip(y[i], dy[i])] for i in range(len(y))]\n"), [])

    def test_a_folder_adds_a_lab(self):
        own = self.folder / "own/01-twice"
        own.mkdir(parents=True)
        example = (ROOT / "docs/labs.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
        (own / "reference.py").write_text(example, encoding="utf-8")
        (own / "lab.json").write_text('{"title": "Twice", "lecture": "none", "functions": ["twice"]}')
        file = self.folder / "twice.py"
        for source, names in (("def twice(x):\n    return x + x\n", []), ("def twice(x):\n    return x ** 2\n", ["the square"])):
            file.write_text(source)
            findings = check(lab.find_lab("twice", self.folder / "own"), file, 3)
            self.assertEqual([finding["name"] for finding in findings], names)

    @unittest.skipUnless(PROGRAM, "no program was given")
    def test_the_command(self):
        def run(*words):
            return subprocess.run([PROGRAM, "lab", *map(str, words)], capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertIn("matching", run("list").stdout)
        started = run("start", "softmax", "--out", "mine")
        self.assertEqual((started.returncode, (self.folder / "mine/softmax.md").is_file()), (0, True), started.stderr)
        hole = run("check", "mine/softmax.py", "--seed", "3")
        self.assertEqual((hole.returncode, "your code here" in hole.stdout), (1, True), hole.stderr)
        (self.folder / "mine/softmax.py").write_text((ROOT / "labs/01-softmax/solution.py").read_text())
        self.assertEqual(run("check", "mine/softmax.py").stdout.split(":")[0], "passed")
        self.assertIn("there is no lab 'none'", run("start", "none").stderr)
        self.assertEqual(run("check", "missing.py").returncode, 1)
        again = run("start", "softmax", "--out", "mine")
        self.assertEqual((again.returncode, "exists" in again.stderr), (1, True))


if __name__ == "__main__":
    unittest.main()
