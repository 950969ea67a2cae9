"""Lists a GGUF file as gguf-py sees it, one JSON object a line.

First the metadata by key, then a line a tensor: name, format, dims innermost
first, where its bytes lie, and whether every element is finite (null where
gguf-py cannot dequantise the format).
"""

import json
import sys

import numpy
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize

ELEMENTWISE = {"F64", "I8", "I16", "I32", "I64"}


def elements(tensor):
    if tensor.tensor_type.name in ELEMENTWISE:
        return numpy.asarray(tensor.data)
    try:
        return dequantize(tensor.data, tensor.tensor_type)
    except NotImplementedError:
        return None


def main():
    reader = GGUFReader(sys.argv[1])
    print(json.dumps({key: field.contents() for key, field in reader.fields.items()}))
    for tensor in reader.tensors:
        values = elements(tensor)
        finite, largest = None, None
        if values is not None:
            assert values.size == tensor.n_elements, tensor.name
            finite = bool(numpy.isfinite(values).all())
            largest = float(numpy.abs(values.astype("f8")).max()) if finite else None
        print(
            json.dumps(
                {
                    "name": tensor.name,
                    "format": GGMLQuantizationType(tensor.tensor_type).name,
                    "dims": [int(dim) for dim in tensor.shape],
                    "offset": int(tensor.data_offset),
                    "bytes": int(tensor.n_bytes),
                    "finite": finite,
                    "largest": largest,
                }
            )
        )


main()
