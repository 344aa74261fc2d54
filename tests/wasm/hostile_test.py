#!/usr/bin/env python3
"""What must not end the page: tests/wasm/hostile_test.py BUILD/attend [BUILD-WASM]. Broken model folders dropped onto it, a memory that is too small,
a trap in attend.wasm, a tab closed in the middle. Each is a message, and the page answers afterwards. Leaves with 77, "skipped", where
something is missing."""
import json
import math
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from served_site import ROOT, Quiet, check, missing, ready, served_site  # noqa: E402
from browser import Browser, find_chromium  # noqa: E402

ERROR = "document.getElementById('error')"
TOLD = f"{ERROR}?.hidden === false"
ANSWER = "document.getElementById('translation').textContent"


def answers(browser):
    """Whether the page, about en-fr, translates a sentence that it has not seen before."""
    answers.asked += 1
    before = browser.js("document.body.dataset.ready")
    text = f"I have {answers.asked} dogs."
    browser.js(f"document.getElementById('text').value = {json.dumps(text)}, document.getElementById('form').requestSubmit()")
    browser.until(f"document.body.dataset.ready !== {json.dumps(before)}", 60)
    return "chiens" in browser.js(ANSWER)


answers.asked = 10


# ---- Hostile folders, each made of a good one.
def tensors_of(path):
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + size]), data[8 + size:]


def write_tensors(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def cut_weights(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def endless_header(folder):
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", 1 << 60) + path.read_bytes()[8:])


def wrong_shapes(folder):
    header, data = tensors_of(folder / "model.safetensors")
    for name, tensor in header.items():
        if name != "__metadata__" and len(tensor["shape"]) == 2:
            tensor["shape"] = [tensor["shape"][1] * tensor["shape"][0], 1]
    write_tensors(folder / "model.safetensors", header, data)


def endless_shape(folder):
    header, data = tensors_of(folder / "model.safetensors")
    next(tensor for name, tensor in header.items() if name != "__metadata__")["shape"] = [1 << 62, 1 << 62]
    write_tensors(folder / "model.safetensors", header, data)


def no_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def deep_tokenizer(folder):
    (folder / "tokenizer.json").write_text("[" * 1000000)


def no_weights(folder):
    (folder / "model.safetensors").unlink()


def empty_weights(folder):
    (folder / "model.safetensors").write_bytes(b"")


def no_json(folder):
    (folder / "config.json").write_bytes(b"\xff\xfe{" * 1000)


def other_json(folder):
    (folder / "config.json").write_text("[[], null]")


def large_config(folder):
    with open(folder / "config.json", "wb") as file:
        file.truncate(64 << 20)


def not_numbers(folder):
    """Every weight and scale that is a float becomes NaN."""
    header, data = tensors_of(folder / "model.safetensors")
    data = bytearray(data)
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] in ("F32", "BF16"):
            begin, end = tensor["data_offsets"]
            one = struct.pack("<f", math.nan)[-(4 if tensor["dtype"] == "F32" else 2):]
            data[begin:end] = one * ((end - begin) // len(one))
    write_tensors(folder / "model.safetensors", header, bytes(data))


def config_with(**settings):
    def change(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    change.__name__ = f"config with {settings}"
    return change


HOSTILE = (cut_weights, endless_header, wrong_shapes, endless_shape, no_tokenizer, deep_tokenizer, no_weights, empty_weights, no_json, other_json, large_config, not_numbers,
           config_with(width=1 << 40), config_with(encoder_layers=1000000000), config_with(vocabulary=-5), config_with(width=16384, hidden=65536, encoder_layers=1000), config_with(model_type="<img src=x onerror=window.owned=1>"))


def copy_of(model, scratch, name):
    folder = pathlib.Path(scratch) / name
    shutil.rmtree(folder, ignore_errors=True)
    return pathlib.Path(shutil.copytree(ROOT / "models" / model, folder))


def test_folders(browser, site, attend, scratch):
    for change in HOSTILE:
        folder = copy_of("dates", scratch, "mine <b>&'100%")
        change(folder)
        ready(browser, f"{site}look/#model=en-fr")
        browser.js("window.before = true")
        browser.drop(folder)
        browser.until(TOLD, 60)
        said = browser.js(f"{ERROR}.textContent")
        browser.until("document.body.dataset.ready", 60)
        check(folder.name in said and answers(browser), f"{change.__name__}: {said}")
    check(not browser.js("window.owned"), "text of a folder is no markup")
    folder = pathlib.Path(scratch) / "nan"
    subprocess.run([attend, "convert", ROOT / "models/dates", "--dtype", "f32", "--out", folder], check=True, stdout=subprocess.DEVNULL)
    not_numbers(folder)
    ready(browser, f"{site}look/#model=en-fr")
    browser.js("window.before = true")
    browser.drop(folder)
    browser.until(f"!window.before && document.body && (document.body.dataset.ready || {TOLD})", 60)
    print("a model of NaN:", browser.js(f"{ERROR}.hidden ? 'no message' : {ERROR}.textContent"))
    ready(browser, f"{site}look/#model=en-fr")
    check(answers(browser), "a model of NaN does not end the page")
    folder = pathlib.Path(scratch) / "no model"
    folder.mkdir()
    (folder / "notes.txt").write_text("nothing")
    browser.drop(folder)
    browser.until(TOLD, 20)
    check("no config.json" in browser.js(f"{ERROR}.textContent") and answers(browser), "a folder without a model is refused")
    for name in ("constructor", "__proto__", "../en-fr", "%"):
        ready(browser, f"{site}look/#model={name}")
        check(answers(browser), f"a link to the model {name} shows en-fr")
    good = copy_of("dates", scratch, "good & 100% mine")
    browser.js("window.before = true")
    browser.drop(good)
    browser.until("!window.before && document.body && document.body.dataset.ready", 60)
    check(browser.js("import('look/state').then(state => state.model.name)") == good.name, "and a good folder is opened")


# ---- Memory, traps, closed tabs.
def grows_to(megabytes):
    """As on a device that has no more memory for a page."""
    return f"""
const grow = WebAssembly.Memory.prototype.grow;
WebAssembly.Memory.prototype.grow = function (pages) {{
  if (this.buffer.byteLength + pages * 65536 > {megabytes} * 1048576) throw new RangeError("WebAssembly.Memory.grow(): Maximum memory size exceeded");
  return grow.call(this, pages);
}};
"""


# Most of the first 64 MB, where a worker trains.
HELD = """
const openWhole = openAttend;
openAttend = async options => {
  const attend = await openWhole(options);
  if (self.location.href.includes("trainer.js")) attend._malloc(48 << 20);
  return attend;
};
"""


def test_memory(browser, site, attend, scratch):
    large = pathlib.Path(scratch) / "large"
    subprocess.run([attend, "convert", ROOT / "models/en-fr", "--dtype", "f32", "--out", large], check=True, stdout=subprocess.DEVNULL)
    Quiet.added = grows_to(80)
    ready(browser, f"{site}look/#model=en-fr")
    browser.js("window.before = true")
    browser.drop(large)
    browser.until(f"!window.before && document.body && {TOLD}", 60)
    said = browser.js(f"{ERROR}.textContent")
    browser.until("document.body.dataset.ready", 60)
    check("large cannot be opened: there is not enough memory" in said and answers(browser), f"a model too large for the memory: {said}")
    ready(browser, f"{site}look/#model=vit-cifar10")
    browser.js("""new Promise(done => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 6000, height: 6000 });
      canvas.toBlob(blob => {
        const data = new DataTransfer();
        data.items.add(new File([blob], 'large.png', { type: 'image/png' }));
        dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
        done(true);
      });
    })""")
    browser.until(TOLD, 60)
    said = browser.js(f"{ERROR}.textContent")
    check("memory" in said, f"an image too large for the memory: {said}")
    ready(browser, f"{site}look/#model=vit-cifar10&view=image")
    check(browser.js(ANSWER) != "", "the next image is classified")
    Quiet.added = grows_to(64) + HELD
    ready(browser, f"{site}look/#model=dates&view=train")
    status = "document.getElementById('training-status').textContent"
    browser.js("document.querySelector('[data-task=reverse]').click()")
    browser.until(f"{status}.includes('error')", 180)
    check("not enough memory" in browser.js(status), f"a training too large for the memory: {browser.js(status)}")
    browser.js("[...document.querySelectorAll('#tabs a')].find(tab => tab.textContent === 'Map').click()")
    browser.until(f"{ANSWER} !== ''", 30)
    check(True, "and the page goes on")
    Quiet.added = ""


TRAP = """
const openModule = openAttend;
openAttend = async options => {
  const attend = await openModule(options), { open, ask } = attend, trap = () => { throw new WebAssembly.RuntimeError("unreachable"); };
  attend.open = name => name === "traps" ? trap() : open(name);
  attend.ask = (method, path, type, body) => path.startsWith("/models/traps/") || new TextDecoder().decode(body).includes("Trap!") ? trap() : ask(method, path, type, body);
  return attend;
};
"""


def test_traps(browser, site, scratch):
    Quiet.added = TRAP
    ready(browser, f"{site}look/#model=en-fr")
    browser.js("document.getElementById('text').value = 'Trap!', document.getElementById('form').requestSubmit()")
    browser.until(TOLD, 60)
    said = browser.js(f"{ERROR}.textContent")
    check("unreachable" in said and answers(browser), f"a trap: {said}")
    browser.js("window.before = true")
    browser.drop(copy_of("dates", scratch, "traps"))
    browser.until(f"!window.before && document.body && {TOLD}", 60)
    browser.until("document.body.dataset.ready", 60)
    check(answers(browser), "a trap while a model is opened")
    Quiet.added = ""


def test_closed_tab(browser, site, scratch):
    Quiet.stopped = "/models/bert/model.safetensors"
    browser.call("Page.navigate", url=f"{site}look/#model=bert")
    browser.until("document.querySelector('.loading progress')?.value > 0", 60)
    browser.new_tab()
    Quiet.stopped = None
    ready(browser, f"{site}look/#model=bert")
    check(browser.js(f"{ANSWER} !== '' && {ERROR}.hidden"), "a tab closed while a model comes")
    ready(browser, f"{site}look/#model=dates&view=train")
    browser.js("document.querySelector('[data-task=dates]').click()")
    browser.until("document.getElementById('training-status').textContent.startsWith('Step')", 180)
    browser.new_tab()
    ready(browser, f"{site}look/#model=en-fr")
    check(answers(browser) and browser.js(f"{ERROR}.hidden"), "a tab closed in the middle of a training")
    folder = copy_of("en-fr", scratch, "half")
    browser.drop(folder)
    browser.new_tab()
    ready(browser, f"{site}look/#model=en-fr")
    check(answers(browser), "a tab closed while a folder is kept")


def main():
    attend, wasm = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2] if len(sys.argv) > 2 else None
    if what := missing(wasm):
        print("skipped: there is no", what, "here")
        return 77
    with served_site(wasm) as (site, _, _), Browser(find_chromium()) as browser, tempfile.TemporaryDirectory(prefix="attend-hostile-") as scratch:
        browser.size(1280, 900)
        test_folders(browser, site, attend, scratch)
        test_memory(browser, site, attend, scratch)
        test_traps(browser, site, scratch)
        test_closed_tab(browser, site, scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
