"""Prints the bytes of a tensor as gguf-py reads them: tensor.py FILE NAME."""

import sys

from gguf import GGUFReader

tensors = GGUFReader(sys.argv[1]).tensors
sys.stdout.buffer.write(next(t for t in tensors if t.name == sys.argv[2]).data.tobytes())
