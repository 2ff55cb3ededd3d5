/* The compiled part of Clew: arrays in, arrays out, the same numbers as the Python that stands beside it.

   Every function takes objects with a buffer (numpy arrays) and checks what they hold before it looks into them:
   the kind of number, that they lie in one piece, and how many there are. Nothing is kept between calls, but for what
   a table of words holds (words.c). */

#ifndef CLEW_NATIVE_H
#define CLEW_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stddef.h>

/* Loops over all memories are compiled twice, the second time for processors that count eight numbers at once. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* Sends for memory that is looked at soon. */
#if defined(__GNUC__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) ((void)(address))
#endif

/* Of the functions and what they take; clew/native.py has the same. */
#define REVISION 8

typedef struct {
    Py_buffer view;
    Py_ssize_t count; /* numbers, in all dimensions */
} Array;

/* What an array holds. */
enum { F32 = 1, F64, I64, I32, U32, I16, I8, U8 };

/* Opens an array of one kind; `count` < 0 takes any number of them. 0, or -1 with an exception. */
int open_array(PyObject *object, Array *array, int kind, Py_ssize_t count, int writable, const char *name);
void close_arrays(Array *arrays, Py_ssize_t count);

int is_tuple(PyObject *object); /* or 0 with an exception */
int are_rows(const Array *array, Py_ssize_t rows, Py_ssize_t width); /* or 0 with an exception */

#define AT(array, type) ((type *)(array).view.buf)

/* A small table of numbers: places by key. Made for one call. */
typedef struct {
    int64_t *keys;
    int32_t *values;
    size_t mask;
} Table;

int table_make(Table *table, size_t expected);
void table_free(Table *table);
int32_t *table_at(Table *table, int64_t key); /* where its value stands: -1 for one that is new */
int32_t table_get(const Table *table, int64_t key); /* -1 for none */

/* Where a number stands among rising ones, or would stand. */
Py_ssize_t lower_bound(const uint32_t *numbers, Py_ssize_t count, uint32_t number);

/* What a term weighs in a scope, as `common.weights_of` has it: by how many memories have it, and by the language. */
enum { COMMON, SHARES, FACTORS, OF_LANGUAGE };
int open_language(PyObject *tuple, Array *language);
double weight_of(const Array *language, uint32_t term, double frequency, double size, double background);

/* Of the few weights of a question, in the order in which numpy adds them: the same to the last bit. */
float sum_of(const float *numbers, Py_ssize_t count);

/* `fuse.Scale.of`: how many standard deviations above the least. */
static inline float on_scale(float score, double least, double spread) {
    if (spread == 0) return 0;
    float above = (score - (float)least) / (float)spread;
    return above > 0 ? above : 0;
}

PyObject *native_best(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_compare(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_embed(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_fill(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_fuse(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_halve(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_hits(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_look(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_match(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_model(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_most(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_narrow(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_order(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_put(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_ranks(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_scan(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_spell(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_spread(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *native_tally(PyObject *self, PyObject *const *args, Py_ssize_t count);

int add_words(PyObject *module); /* the type */

#endif
