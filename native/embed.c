#include "native.h"

#include <math.h>
#include <string.h>

/* ---- Word pieces to the vector of a text: `StaticEmbedder.embed` ---- */

enum { ROWS, SCALES, SECOND, TELLS, OUT, OF_EMBED };
typedef struct {
    Array a[OF_EMBED];
    Py_ssize_t dim, full, half; /* so many pieces count fully; after so many more a piece counts half */
    int64_t elsewhere;          /* a text that tells more than this is of another language */
} Embed;

static int64_t piece_at(const char *pieces, Py_ssize_t at) {
    int64_t piece;
    memcpy(&piece, pieces + 8 * at, sizeof piece);
    return piece;
}

/* Whether a text is read by the second rows; -1 with an exception where a piece is none. */
static int is_elsewhere(const Embed *embed, const char *pieces, Py_ssize_t count) {
    int64_t told = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        int64_t piece = piece_at(pieces, at);
        if (piece < 0 || piece >= embed->a[TELLS].count) {
            PyErr_SetString(PyExc_IndexError, "a piece that there is not");
            return -1;
        }
        told += AT(embed->a[TELLS], int8_t)[piece];
        const int8_t *row = AT(embed->a[ROWS], int8_t) + piece * embed->dim; /* most are read by it */
        for (Py_ssize_t line = 0; line < embed->dim; line += 64) FETCH(row + line);
    }
    return told > embed->elsewhere;
}

WIDE static void add_row(float *sum, const int8_t *row, float weight, Py_ssize_t dim) {
    for (Py_ssize_t at = 0; at < dim; at++) sum[at] += weight * (float)row[at];
}

/* To length 1, unless it has none. */
static void normalise(float *sum, Py_ssize_t dim) {
    float squares = 0;
    for (Py_ssize_t at = 0; at < dim; at++) squares += sum[at] * sum[at];
    float length = sqrtf(squares);
    if (!(length > 0)) return;
    for (Py_ssize_t at = 0; at < dim; at++) sum[at] /= length;
}

static int embed_one(const Embed *embed, const char *pieces, Py_ssize_t count, float *sum) {
    const float *scales = AT(embed->a[SCALES], float);
    int elsewhere = is_elsewhere(embed, pieces, count);
    Py_ssize_t known = 0;
    memset(sum, 0, (size_t)embed->dim * sizeof *sum);
    if (elsewhere < 0) return -1;
    for (Py_ssize_t at = 0; at < count; at++) {
        int64_t row = piece_at(pieces, at);
        if (elsewhere) row = AT(embed->a[SECOND], int32_t)[row];
        if (row < 0 || row >= embed->a[SCALES].count) {
            PyErr_SetString(PyExc_IndexError, "a row that there is not");
            return -1;
        }
        if (scales[row] == 0) continue;
        Py_ssize_t beyond = at > embed->full ? at - embed->full : 0;
        float counts = (float)((double)embed->half / (double)(embed->half + beyond));
        add_row(sum, AT(embed->a[ROWS], int8_t) + row * embed->dim, scales[row] * counts, embed->dim);
        known++;
    }
    if (2 * known < count) memset(sum, 0, (size_t)embed->dim * sizeof *sum); /* the few would be all */
    normalise(sum, embed->dim);
    return 0;
}

static int open_embed(PyObject *const *args, Embed *embed) {
    static const int KINDS[] = {I8, F32, I32, I8, F32};
    static const char *const NAMES[] = {"rows", "scales", "second", "tells", "out"};
    if (!PyList_Check(args[0])) return PyErr_Format(PyExc_TypeError, "the pieces are a list"), -1;
    if (!is_tuple(args[5])) return -1;
    if (!PyArg_ParseTuple(args[5], "nnnL", &embed->dim, &embed->full, &embed->half, &embed->elsewhere)) return -1;
    PyObject *arrays[] = {args[1], args[2], args[3], args[4], args[6]};
    for (int at = 0; at < OF_EMBED; at++)
        if (open_array(arrays[at], &embed->a[at], KINDS[at], -1, at == OUT, NAMES[at]) < 0) return -1;
    if (embed->dim < 1 || embed->full < 0 || embed->half < 1 || embed->a[SECOND].count != embed->a[TELLS].count)
        return PyErr_Format(PyExc_ValueError, "embed: numbers that do not fit together"), -1;
    if (!are_rows(&embed->a[ROWS], embed->a[SCALES].count, embed->dim)) return -1;
    return are_rows(&embed->a[OUT], PyList_Size(args[0]), embed->dim) ? 0 : -1;
}

/* embed(pieces, a list of bytes, i64 each; rows i8 (rows, dim), scales f32, second i32, tells i8, numbers, out f32
   (texts, dim)): fills `out` with vectors of length 1, or 0. */
PyObject *native_embed(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    Embed embed = {0};
    PyObject *result = NULL;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "embed takes 7 arguments, got %zd", count);
    if (open_embed(args, &embed) < 0) goto done;
    for (Py_ssize_t text = 0; text < PyList_Size(args[0]); text++) {
        char *pieces;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyList_GetItem(args[0], text), &pieces, &size) < 0) goto done;
        if (size % 8) {
            PyErr_SetString(PyExc_ValueError, "half a piece");
            goto done;
        }
        if (embed_one(&embed, pieces, size / 8, AT(embed.a[OUT], float) + text * embed.dim) < 0) goto done;
    }
    result = Py_NewRef(Py_None);
done:
    close_arrays(embed.a, OF_EMBED);
    return result;
}

/* ---- Vectors as they are stored: `relate.embed.packed` ---- */

/* To the nearest number of 16 bits, of two equally near ones the even one; what is too large is infinite. */
static inline uint16_t half_of(float value) {
    static const uint32_t SMALLEST = 0x38800000, TOO_LARGE = 0x47800000; /* with a full mantissa: 2 ** -14; 2 ** 16 */
    uint32_t bits, small;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000;
    bits &= 0x7FFFFFFF;
    memcpy(&value, &bits, sizeof value);
    float shifted = value + 0.5f; /* whose last place is that of the smallest half: so the processor rounds it */
    memcpy(&small, &shifted, sizeof small);
    small -= 0x3F000000;
    uint32_t large = (bits - 0x38000000 + 0xFFF + (bits >> 13 & 1)) >> 13;
    uint32_t half = bits < SMALLEST ? small : bits < TOO_LARGE ? large : 0x7C00;
    return (uint16_t)(sign | half);
}

/* The numbers of a row; 0 where one of them is none, or infinite. */
WIDE static int halve_row(const float *row, uint16_t *out, Py_ssize_t dim) {
    uint32_t largest = 0;
    for (Py_ssize_t at = 0; at < dim; at++) {
        uint32_t bits;
        memcpy(&bits, &row[at], sizeof bits);
        bits &= 0x7FFFFFFF;
        largest = bits > largest ? bits : largest;
        out[at] = half_of(row[at]);
    }
    return largest < 0x7F800000;
}

/* halve(rows f32 (rows, dim), dim) -> the bytes of each row as numbers of 16 bits; None where a number is none. */
PyObject *native_halve(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { WIDEST = 1 << 16 };
    Array rows = {0};
    PyObject *list = NULL;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "halve takes 2 arguments, got %zd", count);
    Py_ssize_t dim = PyLong_AsSsize_t(args[1]);
    if (PyErr_Occurred() || open_array(args[0], &rows, F32, -1, 0, "rows") < 0) return NULL;
    if (dim < 1 || dim > WIDEST || rows.count % dim) {
        PyErr_SetString(PyExc_ValueError, "halve: rows of another length");
        goto done;
    }
    list = PyList_New(rows.count / dim);
    for (Py_ssize_t at = 0; list && at < rows.count / dim; at++) {
        uint16_t halves[WIDEST];
        if (!halve_row(AT(rows, float) + at * dim, halves, dim)) {
            Py_DECREF(list);
            list = Py_NewRef(Py_None);
            break;
        }
        PyObject *bytes = PyBytes_FromStringAndSize((const char *)halves, 2 * dim);
        if (!bytes || PyList_SetItem(list, at, bytes) < 0) Py_CLEAR(list);
    }
done:
    close_arrays(&rows, 1);
    return list;
}
