"""The width of torch's vector loops on CPU, where it shows in the bits."""

VECTOR = 64
"""Elements that one turn of the widest loop takes (two AVX-512 registers of bfloat16).

Whatever is left over at the end of a tensor goes through scalar code, whose exp, log and sigmoid round differently.
If a row is no multiple of this, the same row can land in either part, depending on how many rows came with it.
"""
