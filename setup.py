"""The compiled part of Clew. Where there is no compiler it is left out: the Python beside it does the same work."""

import sys

from setuptools import Extension, setup

NAMES = ("module", "arrays", "look", "score", "spread")

# The results stay those of plain arithmetic: nothing is contracted or put into another order.
FLAGS = [] if sys.platform == "win32" else ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]

setup(
    ext_modules=[
        Extension(
            "clew._native",
            sources=[f"native/{name}.c" for name in NAMES],
            depends=["native/native.h"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=FLAGS,
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
