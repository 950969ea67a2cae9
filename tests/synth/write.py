"""Writes a small GGUF file with gguf-py's own writer."""

import sys

import numpy
from gguf import GGMLQuantizationType, GGUFWriter

writer = GGUFWriter(sys.argv[1], "qwen35")
writer.add_custom_alignment(64)
writer.add_name("written by gguf-py")
writer.add_uint8("test.u8", 255)
writer.add_int8("test.i8", -128)
writer.add_uint16("test.u16", 65535)
writer.add_int16("test.i16", -32768)
writer.add_uint32("test.u32", 4294967295)
writer.add_int32("test.i32", -2147483648)
writer.add_uint64("test.u64", 18446744073709551615)
writer.add_int64("test.i64", -9223372036854775808)
writer.add_float32("test.f32", 0.5)
writer.add_float64("test.f64", -0.25)
writer.add_bool("test.bool", True)
writer.add_array("test.bools", [True, False, True])
writer.add_array("test.strings", ["", "a", "zwölf"])
writer.add_array("test.ints", [-1, 2, 3])
writer.add_tensor("f32", numpy.arange(6, dtype=numpy.float32).reshape(2, 3))
writer.add_tensor("f16", numpy.ones((5,), dtype=numpy.float16))
blocks = numpy.arange(3 * 2 * 34, dtype=numpy.uint8).reshape(3, 68)
writer.add_tensor("q8_0", blocks, raw_dtype=GGMLQuantizationType.Q8_0)
writer.add_tensor("i32", numpy.array([[[7]]], dtype=numpy.int32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
