"""Fetches a tensor from an image, as the checkpoint had it: fetch.py IMAGE NAME > bytes.

Written from FORMAT.md; needs numpy alone.
"""

import json
import sys
from pathlib import Path

import numpy


def fetch(image: Path, name: str) -> numpy.ndarray:
    manifest = json.loads((image / "image.json").read_bytes())
    line_bytes = int(manifest["layout"].split("x")[1].split("/")[0])
    tensor = next(tensor for tensor in manifest["tensors"] if tensor["name"] == name)
    p = tensor["placement"]
    files = [numpy.memmap(image / f"channel-{c}.bin", mode="r") if channel["lines"] else None
             for c, channel in enumerate(manifest["channels"])]
    rows = numpy.empty((p["rows"], p["row_bytes"]), numpy.uint8)
    for i in range(p["tiles"]):
        channel = p["order"][i % len(files)]
        line = p["first_line"][channel] + i // len(files) * p["tile_lines"]
        out = rows[i * p["tile_rows"] : (i + 1) * p["tile_rows"]]
        tile = files[channel][line * line_bytes :]
        if p["striped"]:  # block-major: blocks, rows, slot
            shape = (p["row_bytes"] // p["block_bytes"], len(out), p["slot_bytes"])
            blocks = tile[: numpy.prod(shape)].reshape(shape)[:, :, : p["block_bytes"]]
            out[:] = blocks.transpose(1, 0, 2).reshape(out.shape)
        else:
            out[:] = tile[: out.size].reshape(out.shape)
    if p["kernel"]:  # tap-major: taps, channels, bytes of an element
        taps = rows.reshape(p["rows"] // p["pieces"], -1, p["block_bytes"])
        rows = taps.transpose(1, 0, 2)
    return rows.reshape(-1)


sys.stdout.buffer.write(fetch(Path(sys.argv[1]), sys.argv[2]).tobytes())
