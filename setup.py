"""The compiled part of Clew. Where there is no compiler it is left out: the Python beside it does the same work."""

import sys
import sysconfig

from setuptools import Extension, setup

NAMES = ("module", "arrays", "embed", "look", "score", "spread", "words")
WINDOWS = sys.platform == "win32"
# The results stay those of plain arithmetic: nothing is contracted or put into another order.
FLAGS = [] if WINDOWS else ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# It counts places in 64 bits, and the limited API knows no Python without a global lock.
IS_FOR_THIS = sys.maxsize > 2**32 and not sysconfig.get_config_var("Py_GIL_DISABLED")

compiled = Extension(
    "clew._native",
    sources=[f"native/{name}.c" for name in NAMES],
    depends=["native/native.h"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    extra_compile_args=FLAGS,
    libraries=[] if WINDOWS else ["m"],
    py_limited_api=True,
    optional=True,
)
setup(
    ext_modules=[compiled] if IS_FOR_THIS else [],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if IS_FOR_THIS else {},
)
