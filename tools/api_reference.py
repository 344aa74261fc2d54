"""The API references of the site (tools/site): the public headers, read by Doxygen (Doxyfile), and the Python package, read from
its docstrings and stubs. Each page is (name, title, HTML)."""
import ast
import html
import pathlib
import re
import subprocess
import tempfile
import textwrap
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOWN = ("public-type", "public-func", "public-static-func", "public-attrib", "public-static-attrib", "enum", "func", "var", "typedef", "user-defined",
         "define", "friend")


def code(text):
    return f"<pre><code>{html.escape(textwrap.dedent(text))}</code></pre>"


def entry(name, signature, text):
    anchor = re.sub(r"[^\w]+", "-", name).strip("-")
    return f'<h3 id="{anchor}">{html.escape(name)}</h3>\n{code(signature)}\n{text}'


# ---- C++ and C.

def described(node):
    """The comment of a class or member: its paragraphs, with examples (two spaces and more in front) as they stand."""
    shown, words = [], []

    def finish():
        text = " ".join("".join(words).split())
        if text:
            shown.append(f"<p>{html.escape(text)}</p>")
        words.clear()

    for block in node.iterfind("briefdescription/para"):
        words.append("".join(block.itertext()) + " ")
    for block in node.iterfind("detaileddescription/para"):
        words.append(block.text or "")
        for inner in block:
            if inner.tag in ("verbatim", "programlisting", "itemizedlist", "orderedlist"):
                finish()
                if inner.tag == "programlisting":
                    shown.append(code("\n".join(line_text(line) for line in inner.iterfind("codeline"))))
                elif inner.tag == "verbatim":
                    shown.append(code(inner.text.strip("\n")))
                else:
                    shown.append("<ul>" + "".join(f"<li>{html.escape(' '.join(''.join(item.itertext()).split()))}</li>" for item in inner) + "</ul>")
            else:
                words.append("".join(inner.itertext()))
            words.append(inner.tail or "")
        finish()
    finish()
    return "\n".join(shown)


def line_text(line):
    """A line of an example: spaces are elements of their own."""
    for space in line.iter("sp"):
        space.text = " "
    return "".join(line.itertext())


def tidy(text):
    text = re.sub(r"< ", "<", re.sub(r" >", ">", " ".join(text.split())))
    return re.sub(r" ([&*]) ?", r"\1 ", text).replace("={}", " = {}")


def signature_of(member):
    words = tidy("".join(member.find("type").itertext()) if member.find("type") is not None else "")
    name, arguments = member.findtext("name"), tidy(member.findtext("argsstring") or "")
    if member.get("kind") == "enum":
        values = ", ".join(value.findtext("name") + tidy(" " + (value.findtext("initializer") or "")) for value in member.iterfind("enumvalue"))
        return f"enum {name} {{ {values} }};"
    if member.get("kind") == "typedef":
        return f"using {name} = {words};" if member.get("prot") == "public" and "using" in (member.findtext("definition") or "") else f"typedef {words} {name};"
    value = tidy(member.findtext("initializer") or "")
    return " ".join(f"{words} {name}{arguments}{' ' + value if value and len(value) < 60 else ''}".split()) + ";"


def members_of(compound, file=None):
    for section in compound.iterfind("sectiondef"):
        if section.get("kind") not in SHOWN:
            continue
        for member in section.iterfind("memberdef"):
            place = member.find("location")
            if member.get("prot") == "public" and member.get("kind") != "friend" and (file is None or place.get("file") == file):
                yield member


def class_of(compound):
    name = compound.findtext("compoundname")
    plain = list(members_of(compound))
    fields = [member for member in plain if member.get("kind") == "variable"]
    rows = "".join(f"<tr><td><code>{html.escape(signature_of(field))}</code></td><td>{described(field)}</td></tr>" for field in fields)
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    others = "\n".join(f"{code(signature_of(member))}\n{described(member)}" for member in plain if member.get("kind") != "variable")
    return f'<h2 id="{re.sub(r"[^a-zA-Z0-9]+", "-", name)}"><code>{compound.get("kind")} {html.escape(name)}</code></h2>\n{described(compound)}\n{table}\n{others}'


def headers():
    settings = (ROOT / "Doxyfile").read_text()
    with tempfile.TemporaryDirectory(prefix="attend-api-") as out:
        more = f"\nGENERATE_HTML=NO\nGENERATE_XML=YES\nXML_PROGRAMLISTING=NO\nWARNINGS=NO\nOUTPUT_DIRECTORY={out}\n"
        subprocess.run(["doxygen", "-q", "-"], cwd=ROOT, input=settings + more, text=True, check=True, stderr=subprocess.DEVNULL)
        compounds = {}
        for path in (pathlib.Path(out) / "xml").glob("*.xml"):
            for compound in ElementTree.parse(path).getroot().iterfind("compounddef"):
                compounds[compound.get("id")] = compound
    pages = []
    spaces = [compound for compound in compounds.values() if compound.get("kind") == "namespace"]
    for compound in compounds.values():
        if compound.get("kind") != "file":
            continue
        file = compound.find("location").get("file")
        classes = [compounds[inner.get("refid")] for inner in compound.iterfind("innerclass") if inner.get("prot", "public") == "public" and inner.get("refid") in compounds]
        classes = [one for one in classes if "formatter" not in one.findtext("compoundname")]
        classes.sort(key=lambda one: int(one.find("location").get("line")))
        members = {member.get("id"): member for place in (*spaces, compound) for member in members_of(place, file)}
        functions = "\n".join(f"{code(signature_of(member))}\n{described(member)}" for member in members.values())
        body = f"<h1><code>{file}</code></h1>\n{described(compound)}\n" + "\n".join(map(class_of, classes))
        if functions:
            body += f'\n<h2 id="functions">Functions and types</h2>\n{functions}'
        if classes or functions:
            pages.append((file.replace("/", "-").removesuffix(".h") + ".html", file, body))
    return sorted(pages, key=lambda page: page[1])


# ---- Python.

def docstring(node):
    """Paragraphs as text, indented ones as code."""
    text = ast.get_docstring(node) or ""
    return "\n".join(code(re.sub(r"^    ", "", part, flags=re.M)) if part.startswith("    ") else f"<p>{html.escape(part)}</p>"
                     for part in re.split(r"\n\s*\n", text) if part.strip())


def call_of(node, owner=""):
    words = ast.unparse(node.args)
    words = re.sub(r"^(self|cls)(, )?(/, )?", "", words)
    answer = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    return f"{owner if node.name == '__init__' else node.name}({words}){answer}"


def public(node, names):
    return isinstance(node, (ast.ClassDef, ast.FunctionDef)) and (not node.name.startswith("_") if names is None else node.name in names)


def python_class(node, module, lines):
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    head = f"class {node.name}({', '.join(map(ast.unparse, node.bases))})" if node.bases else f"class {node.name}"
    rows = [f"    {lines[field.lineno - 1].strip()}" for field in fields]  # with their comments
    shown = [entry(f"{module}.{node.name}", "\n".join([head, *rows]), docstring(node))]
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and (not method.name.startswith("_") or method.name in ("__init__", "__call__")):
            if any(ast.unparse(mark) == "overload" for mark in method.decorator_list):
                continue
            shown.append(code(call_of(method, node.name)) + docstring(method))
    return "\n".join(shown)


def listed(tree):
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    return None


def python():
    """One page: attend, attend.nn, attend.ops and attend.optim."""
    folder, parts = ROOT / "python" / "attend", ["<h1>The Python package</h1>"]
    modules = (("attend", ("__init__.py", "_tensor.py", "_attend.pyi")), ("attend.nn", ("nn.py",)), ("attend.ops", ("ops.py", "ops.pyi")), ("attend.optim", ("optim.py",)))
    for module, files in modules:
        texts = [(folder / file).read_text() for file in files]
        trees = [ast.parse(text) for text in texts]
        names = listed(trees[0])
        parts.append(f'<h2 id="{module.replace(".", "-")}"><code>{module}</code></h2>\n{docstring(trees[0])}')
        seen = set()
        for tree, text in zip(trees, texts):
            for node in tree.body:
                if not public(node, names) or node.name in {*seen, "nn", "ops", "optim"} or any(ast.unparse(mark) == "overload" for mark in node.decorator_list):
                    continue
                seen.add(node.name)
                parts.append(python_class(node, module, text.splitlines()) if isinstance(node, ast.ClassDef) else entry(f"{module}.{node.name}", call_of(node), docstring(node)))
    return ("python.html", "Python package", "\n".join(parts))


def pages():
    all_headers = headers()
    items = "\n".join(f'<li><a href="{name}"><code>{title}</code></a></li>' for name, title, _ in all_headers)
    index = ("index.html", "API reference", f"""<h1>API reference</h1>
<p>Every public name with its comment. <a href="../docs/api.html">Use attend in your program</a> is the introduction, and
<a href="../docs/layers.html">networks of your own</a> the one to <code>attend/nn.h</code> and <code>attend.nn</code>.</p>
<h2 id="python">Python</h2><ul><li><a href="python.html"><code>attend</code>, <code>attend.nn</code>, <code>attend.ops</code>, <code>attend.optim</code></a></li></ul>
<h2 id="cpp">C++ and C headers</h2><ul class="columns">{items}</ul>""")
    return [index, python(), *all_headers]
