"""Files of torch's for fuzz/make_seeds.py, put together opcode by opcode."""
import struct

STORAGES = {"F64": ("DoubleStorage", 8), "F32": ("FloatStorage", 4), "F16": ("HalfStorage", 2), "BF16": ("BFloat16Storage", 2),
            "I64": ("LongStorage", 8), "I32": ("IntStorage", 4), "I16": ("ShortStorage", 2), "I8": ("CharStorage", 1),
            "U8": ("ByteStorage", 1), "BOOL": ("BoolStorage", 1)}


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def global_(module, name):
    return f"c{module}\n{name}\n".encode()


def ordered_dict(**items):
    return global_("collections", "OrderedDict") + b")R(" + b"".join(text(key) + value for key, value in items.items()) + b"u"


def torch_storage(kind, key, elements, view=b""):
    return b"(" + text("storage") + global_("torch", kind) + text(key) + text("cpu") + b"K" + bytes([elements]) + view + b"tQ"


def torch_tensor(dtype, key, elements, shape, strides=None, view=b""):
    if strides is None:
        strides = [1] * len(shape)
        for i in range(len(shape) - 1, 0, -1):
            strides[i - 1] = strides[i] * max(shape[i], 1)
    numbers = [b"(" + b"".join(b"K" + bytes([n]) for n in these) + b"t" for these in (shape, strides)]
    return (global_("torch._utils", "_rebuild_tensor_v2") + b"(" + torch_storage(STORAGES[dtype][0], key, elements, view) + b"K\x00" +
            numbers[0] + numbers[1] + b"\x89" + ordered_dict() + b"tR")


def zip_file(entries, wide=False):
    file, directory = b"", b""
    for name, data in entries.items():
        name, at = name.encode(), len(file)
        file += struct.pack("<IHHHHHIIIHH", 0x04034B50, 0, 0x0808, 0, 0, 0, 0, 0, 0, len(name), 8) + name + b"FB\x04\0ZZZZ" + data
        file += struct.pack("<IIII", 0x08074B50, 0, len(data), len(data))
        sizes, extra = ((2**32 - 1,) * 2, struct.pack("<HHQQ", 1, 16, len(data), len(data))) if wide else ((len(data),) * 2, b"")
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 0, 0, 0x0808, 0, 0, 0, 0, *sizes, len(name), len(extra), 0, 0, 0, 0,
                                 at) + name + extra
    n, start, end = len(entries), len(file), len(file) + len(directory)
    record = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, n, n, len(directory), start) + struct.pack("<IIQI", 0x07064B50, 0, end, 1)
    return file + directory + record + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, n, n, len(directory), start, 0)


def torch_file(listed, stream=False, wide=False, more={}):
    """(name, dtype, shape) of each tensor, which has a storage of its own."""
    state, storages = {}, []
    for i, (name, dtype, shape) in enumerate(listed):
        count = 1
        for extent in shape:
            count *= extent
        state[name] = torch_tensor(dtype, str(i), count, shape, view=b"N" if stream else b"")
        storages.append((count, bytes(i % 251 for i in range(count * STORAGES[dtype][1]))))
    pickle = b"\x80\x02" + ordered_dict(**state) + b"."
    if not stream:
        data = {f"a/data/{i}": data for i, (_, data) in enumerate(storages)}
        return zip_file({"a/data.pkl": pickle, **data, "a/version": b"3\n", **more}, wide)
    magic = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}" + text("little_endian") + b"\x88s."
    keys = b"\x80\x02](" + b"".join(text(str(i)) for i in range(len(storages))) + b"e."
    return magic + pickle + keys + b"".join(struct.pack("<q", count) + data for count, data in storages)
