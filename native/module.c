#include "native.h"

#define FUNCTION(name) {#name, (PyCFunction)(void (*)(void))native_##name, METH_FASTCALL, NULL}

static PyMethodDef METHODS[] = {
    FUNCTION(best),
    FUNCTION(compare),
    FUNCTION(embed),
    FUNCTION(fill),
    FUNCTION(fuse),
    FUNCTION(halve),
    FUNCTION(hits),
    FUNCTION(look),
    FUNCTION(match),
    FUNCTION(model),
    FUNCTION(most),
    FUNCTION(narrow),
    FUNCTION(order),
    FUNCTION(put),
    FUNCTION(ranks),
    FUNCTION(scan),
    FUNCTION(spell),
    FUNCTION(spread),
    FUNCTION(tally),
    {NULL, NULL, 0, NULL},
};

/* Told to the Python beside it, which uses no other: a tree may hold what an older one compiled. */
static int add_revision(PyObject *module) { return PyModule_AddIntConstant(module, "REVISION", REVISION); }

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)add_revision}, {Py_mod_exec, (void *)add_words}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "clew._native", "What Clew counts faster where it could be compiled.", 0, METHODS, SLOTS,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&MODULE); }
