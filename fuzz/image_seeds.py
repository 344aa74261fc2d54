"""The seeds of the targets of images and of sets of images: {target: {name: bytes}}, for fuzz/make_seeds.py."""
import gzip
import json
import pathlib
import struct
import zlib

from seed_files import parts

CASES = pathlib.Path(__file__).resolve().parent.parent / "tests/image/data"
COCO = {"images": [{"id": 1, "file_name": "a.png", "width": 8, "height": 6}], "categories": [{"id": 4, "name": "disc"}, {"id": 5, "name": "x"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 4, "bbox": [1, 1, 4, 3], "area": 12, "iscrowd": 0,
                         "segmentation": [[1, 1, 5, 1, 5, 4]]}]}
CAPTIONS = {"images": [{"id": 1, "file_name": "a.png"}], "annotations": [{"id": 1, "image_id": 1, "caption": "a red disc"}]}


def png(width, height, rows, depth=8, colour=2, level=0, chunks=()):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(*one) for one in chunks) +
            chunk(b"IDAT", zlib.compress(rows, level)) + chunk(b"IEND", b""))


def exif(orientation, order="<", kind=3, tag=0x112, entries=1):
    number = struct.pack(order + {1: "B3x", 3: "H2x", 4: "I", 9: "i"}[kind], orientation)
    entry = struct.pack(order + "HHI", tag, kind, 1) + number
    return (b"II" if order == "<" else b"MM") + struct.pack(order + "HIH", 42, 8, entries) + entry * entries + b"\0" * 4


def images():
    seeds = {"jpeg": {}, "png": {}, "webp": {}}
    for path in sorted(CASES.iterdir()):
        kind = {".jpg": "jpeg", ".jpeg": "jpeg", ".png": "png", ".webp": "webp"}.get(path.suffix)
        if kind:
            seeds[kind][path.stem] = path.read_bytes()
    for kind in seeds:
        whole = next(iter(seeds[kind].values()))
        seeds[kind] |= {"half": whole[:len(whole) // 2], "head": whole[:12]}
    seeds["png"] |= {"stored": png(4, 3, (b"\0" + bytes(range(12))) * 3), "filters": png(4, 5, b"".join(bytes([f]) + bytes(12) for f in range(5))),
                     "long": png(67000000, 1, b"", 1, 0), "large": png(9000, 9000, b"", 1, 0), "empty": png(0, 3, b""),
                     "exif": png(2, 2, (b"\0" + bytes(6)) * 2, chunks=[(b"eXIf", exif(6))]), "profile": png(1, 1, bytes(4), chunks=[(b"iCCP", b"x\0\0")])}
    whole = seeds["jpeg"]["grey"]
    seeds["jpeg"] |= {"markers": whole[:2] + b"\xff\xe2\0\x06abcd\xff\xfe\0\x06efgh" + whole[2:], "skipped": whole[:2] + b"\xff\xe2\xff\xff" + whole[2:],
                      "gif": b"GIF89a", "bmp": b"BM12", "tiff": b"II*\0", "avif": b"\0\0\0\0ftypavif", "heic": b"\0\0\0\0ftypheic", "jxl": b"\xff\x0a",
                      "svg": b"<svg>", "text": b"hello", "none": b""}
    seeds["webp"] |= {"animated": b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x01\0\0\x01\0\0"}
    return seeds


def records():
    def idx(axes, *sizes, data=b""):
        return struct.pack(f">HBB{len(sizes)}I", 0, 8, axes, *sizes) + data
    images, labels = idx(3, 2, 3, 4, data=bytes(24)), idx(1, 2, data=b"\1\2")

    def pair(**files):
        return parts(**{name.replace("images", "train-images-idx3-ubyte").replace("labels", "train-labels-idx1-ubyte"): data
                        for name, data in files.items()})
    return {"idx": pair(images=images, labels=labels), "idx_gz": pair(images__gz=gzip.compress(images, mtime=0), labels=labels),
            "idx_labels_gz": pair(images=images, labels__gz=gzip.compress(labels, mtime=0)), "idx_alone": pair(images=images),
            "idx_label": pair(images=images, labels=idx(1, 2, data=b"\1\xff")), "idx_fewer": pair(images=images, labels=idx(1, 1, data=b"\1")),
            "idx_short": pair(images=images[:9], labels=labels), "idx_magic": pair(images=b"\1" + images[1:], labels=labels),
            "idx_none": pair(images=idx(3, 0, 3, 4), labels=labels), "idx_side": pair(images=idx(3, 1, 70000, 4), labels=labels),
            "idx_bytes": pair(images=images + b"\0", labels=labels), "idx_labels_bytes": pair(images=images, labels=labels + b"\0"),
            "idx_many": pair(images=idx(3, 2**31, 1, 1), labels=labels), "cifar10": bytes([3]) + bytes(3072) + bytes([9]) + bytes(3072),
            "cifar100": parts(train__bin=bytes([1, 99]) + bytes(3072)), "cifar_label": bytes([10]) + bytes(3072), "cifar_short": bytes(100),
            "names": parts(data_batch_1__bin=bytes([3]) + bytes(3072), labels__txt="\n".join("abcdefghij")),
            "few_names": parts(data_batch_1__bin=bytes([3]) + bytes(3072), labels__txt="a\nb")}


def coco():
    def put(truth=COCO, results="", captions=""):
        return parts(instances__json=truth, results__json=results, captions__json=captions)
    box = {"image_id": 1, "category_id": 4, "bbox": [1, 1, 4, 3], "score": 0.5}
    seeds = {"flickr": parts(captions__txt="a.png#0\tA red disc .\na.png#1\tA disc .\nb.png#0\tno file\n"),
             "flickr_commas": parts(captions__txt="image,caption\na.png,a disc\na.png,\"red, and round\"\n"),
             "flickr_names": parts(captions__txt="a.png\ta disc\n", names__txt="a.png\n"), "flickr_bad": parts(captions__txt="a.png\n\n#0\tx\n\xff"),
             "boxes": put(results=[box]), "captions": put(CAPTIONS, [{"image_id": 1, "caption": "a disc"}], CAPTIONS), "none": put({}, [], {}),
             "list": put([], {}, []), "other": put(results=[box | {"category_id": 9}]), "unknown": put(results=[box | {"image_id": 7}])}
    for number, change in enumerate([{"bbox": [0, 0, 1]}, {"bbox": [-5, -5, 100, 100]}, {"bbox": [0, 0, -1, 1]}, {"iscrowd": 1}, {"iscrowd": 2},
                                     {"segmentation": {"counts": [1], "size": [8, 6]}}, {"segmentation": [[1, 1]]}, {"category_id": 7},
                                     {"image_id": 7}, {"area": -1}, {"id": "x"}]):
        seeds[f"annotation_{number}"] = put(COCO | {"annotations": [COCO["annotations"][0] | change]}, [box])
    for number, change in enumerate([{"width": 0}, {"height": 1e9}, {"file_name": "missing.png"}, {"file_name": 1}, {"id": -1}]):
        seeds[f"image_{number}"] = put(COCO | {"images": [COCO["images"][0] | change]}, [box])
    return seeds


def preprocessor():
    norm = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4]}
    configs = {"vit": {"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 6}, "resample": 2, **norm},
               "vit_old": {"feature_extractor_type": "ViTFeatureExtractor", "size": 8, "do_resize": True},
               "deit": {"image_processor_type": "DeiTImageProcessor", "size": {"height": 9, "width": 9}, "crop_size": {"height": 8, "width": 8}},
               "convnext": {"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 8}, "crop_pct": 0.875},
               "bit": {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 8}, "crop_size": {"height": 8, "width": 8}},
               "detr": {"image_processor_type": "DetrImageProcessor", "size": {"shortest_edge": 8, "longest_edge": 12}, "do_pad": True},
               "detr_old": {"feature_extractor_type": "DetrFeatureExtractor", "size": 8, "max_size": 12},
               "detr_padded": {"image_processor_type": "DetrImageProcessor", "size": {"max_height": 8, "max_width": 8}, "pad_size": {"height": 8, "width": 8}},
               "off": {"image_processor_type": "ViTImageProcessor", "do_resize": False, "do_rescale": False, "do_normalize": False},
               "bad_size": {"image_processor_type": "ViTImageProcessor", "size": {"height": 0}}, "bad_std": {"image_std": [0, 0, 0]},
               "bad_resample": {"resample": 9}, "unknown": {"image_processor_type": "Other"}, "list": []}
    seeds = {name: json.dumps(config).encode() for name, config in configs.items()}
    timm = {"architecture": "vit_tiny", "pretrained_cfg": {"input_size": [3, 8, 8], "crop_pct": 0.9, "interpolation": "bicubic", "crop_mode": "center",
                                                           "mean": [0.5] * 3, "std": [0.5] * 3}}
    return seeds | {"timm": parts(config__json=timm), "by_model": parts(preprocessor_config__json={"size": 8}, config__json={"model_type": "vit"}),
                    "squash": parts(config__json=timm | {"pretrained_cfg": timm["pretrained_cfg"] | {"crop_mode": "squash"}})}


def all_seeds():
    blocks = {f"way_{i}": exif(i) for i in range(10)} | {"big": exif(6, ">"), "byte": exif(3, kind=1), "long": exif(8, kind=4), "signed": exif(2, kind=9),
              "named": b"Exif\0\0" + exif(5), "other": exif(1, tag=0x100), "several": exif(7, entries=3), "short": exif(6)[:14], "none": b"", "text": b"II*\0"}
    return images() | {"exif": blocks, "image_records": records(), "coco": coco(), "preprocessor": preprocessor()}
