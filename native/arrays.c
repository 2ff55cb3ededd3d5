#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *formats;
    Py_ssize_t size;
    const char *name;
} KINDS[] = {
    {"", 0, ""},          {"f", 4, "float32"}, {"d", 8, "float64"}, {"lq", 8, "int64"}, {"il", 4, "int32"},
    {"IL", 4, "uint32"},  {"h", 2, "int16"},   {"b", 1, "int8"},    {"?B", 1, "bool or uint8"},
};

int open_array(PyObject *object, Array *array, int kind, Py_ssize_t count, int writable, const char *name) {
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &array->view, flags) < 0) return -1;
    const char *format = array->view.format ? array->view.format : "B";
    Py_ssize_t size = KINDS[kind].size;
    int same = array->view.itemsize == size && format[0] && !format[1] && strchr(KINDS[kind].formats, format[0]) &&
               (!array->view.len || (uintptr_t)array->view.buf % (size_t)size == 0); /* empty: nothing is read there */
    array->count = array->view.len / size;
    if (same && (count < 0 || array->count == count)) return 0;
    if (!same)
        PyErr_Format(PyExc_TypeError, "%s: expected %s, got format '%s'", name, KINDS[kind].name, format);
    else
        PyErr_Format(PyExc_ValueError, "%s: expected %zd numbers, got %zd", name, count, array->count);
    PyBuffer_Release(&array->view);
    array->view.obj = NULL;
    return -1;
}

void close_arrays(Array *arrays, Py_ssize_t count) {
    for (Py_ssize_t at = 0; at < count; at++)
        if (arrays[at].view.obj) PyBuffer_Release(&arrays[at].view);
}

int is_tuple(PyObject *object) {
    if (PyTuple_Check(object)) return 1;
    PyErr_SetString(PyExc_TypeError, "the numbers are a tuple");
    return 0;
}

/* By dividing: the product of two counts may be more than there are numbers. */
int are_rows(const Array *array, Py_ssize_t rows, Py_ssize_t width) {
    if (width ? array->count % width == 0 && array->count / width == rows : array->count == 0) return 1;
    PyErr_Format(PyExc_ValueError, "expected %zd rows of %zd numbers, got %zd", rows, width, array->count);
    return 0;
}

int table_make(Table *table, size_t expected) {
    size_t size = 16;
    while (size < 2 * expected) size *= 2;
    table->mask = size - 1;
    table->keys = malloc(size * sizeof *table->keys);
    table->values = malloc(size * sizeof *table->values);
    if (!table->keys || !table->values) {
        table_free(table);
        PyErr_NoMemory();
        return -1;
    }
    memset(table->values, 0xff, size * sizeof *table->values);
    memset(table->keys, 0xff, size * sizeof *table->keys);
    return 0;
}

void table_free(Table *table) {
    free(table->keys);
    free(table->values);
    table->keys = NULL;
    table->values = NULL;
}

/* Keys are never -1, which stands for an empty place. */
static size_t table_place(const Table *table, int64_t key) {
    size_t at = (size_t)(((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & table->mask;
    while (table->keys[at] != key && table->keys[at] != -1) at = (at + 1) & table->mask;
    return at;
}

int32_t *table_at(Table *table, int64_t key) {
    size_t at = table_place(table, key);
    table->keys[at] = key;
    return &table->values[at];
}

int32_t table_get(const Table *table, int64_t key) { return table->values[table_place(table, key)]; }

Py_ssize_t lower_bound(const uint32_t *numbers, Py_ssize_t count, uint32_t number) {
    Py_ssize_t low = 0;
    while (count > 0) {
        Py_ssize_t half = count / 2;
        if (numbers[low + half] < number) {
            low += half + 1;
            count -= half + 1;
        } else
            count = half;
    }
    return low;
}

int open_language(PyObject *tuple, Array *language) {
    static const char *const NAMES[] = {"common terms", "shares", "factors"};
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != OF_LANGUAGE) {
        PyErr_SetString(PyExc_TypeError, "the language is a tuple of three arrays");
        return -1;
    }
    for (int at = 0; at < OF_LANGUAGE; at++) {
        Py_ssize_t count = at ? language[COMMON].count : -1;
        if (open_array(PyTuple_GetItem(tuple, at), &language[at], at ? F64 : U32, count, 0, NAMES[at]) < 0) return -1;
    }
    return 0;
}

double weight_of(const Array *language, uint32_t term, double frequency, double size, double background) {
    double seen = frequency, factor = 1.0;
    Py_ssize_t at = lower_bound(AT(language[COMMON], uint32_t), language[COMMON].count, term);
    if (at < language[COMMON].count && AT(language[COMMON], uint32_t)[at] == term) {
        seen += background * AT(language[SHARES], double)[at];
        factor = AT(language[FACTORS], double)[at];
    }
    seen += 0.5;
    return factor * log1p((size + background + 1 - seen) / seen);
}

float sum_of(const float *numbers, Py_ssize_t count) {
    float sums[8] = {0}, sum = 0;
    Py_ssize_t at = 0;
    for (; count >= 8 && at + 8 <= count; at += 8)
        for (int lane = 0; lane < 8; lane++) sums[lane] += numbers[at + lane];
    sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; at < count; at++) sum += numbers[at];
    return sum;
}

#define ONE 0x3c00u /* as a half float */

/* Half floats as whole numbers of 1/32768: the size of the largest, as a half float. Those up to 1 come out right. */
WIDE static uint16_t narrow(const uint16_t *halves, int16_t *out, Py_ssize_t count) {
    uint16_t most = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        uint16_t size = halves[at] & 0x7fffu;
        uint32_t bits = (uint32_t)size << 13;
        float number;
        most = size > most ? size : most;
        memcpy(&number, &bits, sizeof number);
        number = number * 0x1p112f * 32768.0f; /* the two kinds count exponents from other zeros */
        number = (number + 0x1p23f) - 0x1p23f; /* beside which there is no room for a fraction */
        int32_t whole = (int32_t)(number < 32767.0f ? number : 32767.0f);
        out[at] = (int16_t)(halves[at] & 0x8000u ? -whole : whole);
    }
    return most;
}

/* The square of the longest row, in units of 1/2^18: what is left of each product fits many times into 32 bits. */
WIDE static uint32_t longest_of(const int16_t *rows, Py_ssize_t count, Py_ssize_t width) {
    uint32_t longest = 0;
    for (Py_ssize_t row = 0; row < count; row++, rows += width) {
        uint32_t sum = 0;
        for (Py_ssize_t at = 0; at < width; at++) sum += (uint32_t)((int32_t)rows[at] * rows[at]) >> 12;
        longest = sum > longest ? sum : longest;
    }
    return longest;
}

/* narrow(halves as bytes, out i16 (rows, width)) -> the length of the longest row: `vectors.Vectors`. */
PyObject *native_narrow(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { HALVES, OUT, ARRAYS };
    Array a[ARRAYS] = {0};
    PyObject *result = NULL;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "narrow takes 2 arguments, got %zd", count);
    if (open_array(args[0], &a[HALVES], U8, -1, 0, "halves") == 0 && open_array(args[1], &a[OUT], I16, -1, 1, "out") == 0 &&
        are_rows(&a[HALVES], a[OUT].count, 2)) {
        if ((uintptr_t)a[HALVES].view.buf % 2 || a[OUT].view.ndim != 2)
            PyErr_SetString(PyExc_TypeError, "halves: numbers that lie askew");
        else {
            Py_ssize_t rows = a[OUT].view.shape[0], width = a[OUT].view.shape[1];
            int fits = narrow(AT(a[HALVES], uint16_t), AT(a[OUT], int16_t), a[OUT].count) <= ONE && width < 1 << 14;
            double longest = fits ? sqrt(longest_of(AT(a[OUT], int16_t), rows, width)) / 512 : INFINITY;
            result = PyFloat_FromDouble(longest);
        }
    }
    close_arrays(a, ARRAYS);
    return result;
}
