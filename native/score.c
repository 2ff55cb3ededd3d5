#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Which term of a question is in which memory, and what it gives there: `lexical.score_terms` ---- */

enum { TERMS, STARTS, DOCS, COUNTS, OF_POSTINGS };
typedef struct {
    Array a[OF_POSTINGS];
    Py_ssize_t size; /* memories */
} Postings;

typedef struct {
    Array asked, norm, alive, score, covered, language[OF_LANGUAGE];
    Postings *segments;
    Py_ssize_t segment_count, found;
    double size_of_scope, background, per_weight;
    int all_alive;
    int64_t *begin, *often; /* (segments, terms): where the documents of each term begin, and how many there are */
    float *weights;
    PyObject *told[4]; /* weights, owner, docs, given */
} Match;

/* Where the documents of each term are. */
static int find_documents(Match *match) {
    Py_ssize_t terms = match->asked.count;
    const uint32_t *asked = AT(match->asked, uint32_t);
    for (Py_ssize_t at = 0; at < match->segment_count; at++) {
        const Array *a = match->segments[at].a;
        const int64_t *starts = AT(a[STARTS], int64_t);
        for (Py_ssize_t term = 0; term < terms; term++) {
            Py_ssize_t place = lower_bound(AT(a[TERMS], uint32_t), a[TERMS].count, asked[term]);
            if (place == a[TERMS].count || AT(a[TERMS], uint32_t)[place] != asked[term]) continue;
            int64_t begin = starts[place], end = starts[place + 1];
            if (begin < 0 || begin > end || end > a[DOCS].count) {
                PyErr_SetString(PyExc_IndexError, "a term whose documents lie outside");
                return -1;
            }
            match->begin[at * terms + term] = begin;
            match->often[at * terms + term] = end - begin;
            match->found += (Py_ssize_t)(end - begin);
        }
    }
    return 0;
}

/* In how many living memories each term is, and what it weighs therefore. */
static int weigh(Match *match) {
    Py_ssize_t terms = match->asked.count;
    const uint8_t *alive = match->all_alive ? NULL : AT(match->alive, uint8_t);
    for (Py_ssize_t term = 0; term < terms; term++) {
        int64_t frequency = 0, start = 0;
        for (Py_ssize_t at = 0; at < match->segment_count; at++) {
            const int32_t *docs = AT(match->segments[at].a[DOCS], int32_t) + match->begin[at * terms + term];
            int64_t often = match->often[at * terms + term];
            for (int64_t doc = 0; doc < often; doc++) {
                if (docs[doc] < 0 || docs[doc] >= match->segments[at].size) {
                    PyErr_SetString(PyExc_IndexError, "a document that is no memory");
                    return -1;
                }
                frequency += !alive || alive[start + docs[doc]];
            }
            start += match->segments[at].size;
        }
        match->weights[term] = (float)weight_of(match->language, AT(match->asked, uint32_t)[term], (double)frequency,
                                                match->size_of_scope, match->background);
    }
    return 0;
}

static int make_told(Match *match) {
    Py_ssize_t sizes[] = {match->asked.count * 4, match->found * 8, match->found * 8, match->found * 4};
    for (int at = 0; at < 4; at++)
        if (!(match->told[at] = PyByteArray_FromStringAndSize(NULL, sizes[at]))) return -1;
    memcpy(PyByteArray_AsString(match->told[0]), match->weights, (size_t)sizes[0]);
    return 0;
}

static void give(Match *match) {
    Py_ssize_t terms = match->asked.count, next = 0;
    int64_t *owner = (int64_t *)PyByteArray_AsString(match->told[1]);
    int64_t *places = (int64_t *)PyByteArray_AsString(match->told[2]), start = 0;
    float *gives = (float *)PyByteArray_AsString(match->told[3]), total;
    float *score = AT(match->score, float), *covered = AT(match->covered, float);
    const float *norm = AT(match->norm, float);
    total = sum_of(match->weights, terms);
    for (Py_ssize_t at = 0; at < match->segment_count; at++) {
        const Array *a = match->segments[at].a;
        for (Py_ssize_t term = 0; term < terms; term++) {
            int64_t begin = match->begin[at * terms + term], end = begin + match->often[at * terms + term];
            float weight = match->weights[term], full = weight * (float)match->per_weight;
            float share = total > 0 ? weight / total : weight;
            for (int64_t doc = begin; doc < end; doc++, next++) {
                int64_t place = AT(a[DOCS], int32_t)[doc] + start;
                float count = AT(a[COUNTS], float)[doc];
                owner[next] = term;
                places[next] = place;
                gives[next] = full * count / (count + norm[place]);
                score[place] += gives[next];
                covered[place] += share;
            }
        }
        start += match->segments[at].size;
    }
}

static int open_postings(PyObject *tuple, Match *match) {
    static const int KINDS[] = {U32, I64, I32, F32};
    static const char *const NAMES[] = {"terms", "starts", "docs", "counts"};
    if (!PyTuple_Check(tuple)) return PyErr_Format(PyExc_TypeError, "segments are a tuple"), -1;
    match->segments = calloc((size_t)PyTuple_Size(tuple) + 1, sizeof *match->segments);
    if (!match->segments) return PyErr_NoMemory(), -1;
    Py_ssize_t size = 0;
    for (Py_ssize_t at = 0; at < PyTuple_Size(tuple); at++) {
        Postings *postings = &match->segments[match->segment_count++];
        PyObject *arrays[OF_POSTINGS];
        if (!PyTuple_Check(PyTuple_GetItem(tuple, at)))
            return PyErr_Format(PyExc_TypeError, "postings are a tuple"), -1;
        if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, at), "OOOOn", &arrays[0], &arrays[1], &arrays[2], &arrays[3],
                              &postings->size))
            return -1;
        for (int array = 0; array < OF_POSTINGS; array++)
            if (open_array(arrays[array], &postings->a[array], KINDS[array], -1, 0, NAMES[array]) < 0) return -1;
        if (postings->a[STARTS].count != postings->a[TERMS].count + 1 ||
            postings->a[DOCS].count != postings->a[COUNTS].count || postings->size < 0 ||
            postings->size > match->score.count - size)
            return PyErr_Format(PyExc_ValueError, "postings: arrays that do not fit together"), -1;
        size += postings->size;
    }
    if (size == match->score.count) return 0;
    return PyErr_Format(PyExc_ValueError, "segments of %zd memories, not %zd", size, match->score.count), -1;
}

static int open_match(PyObject *const *args, Match *match) {
    if (open_array(args[0], &match->asked, U32, -1, 0, "terms") < 0) return -1;
    if (open_array(args[6], &match->score, F32, -1, 1, "score") < 0) return -1;
    if (open_array(args[7], &match->covered, F32, match->score.count, 1, "covered") < 0) return -1;
    if (open_array(args[2], &match->norm, F32, match->score.count, 0, "length_norm") < 0) return -1;
    match->all_alive = args[3] == Py_None;
    if (!match->all_alive && open_array(args[3], &match->alive, U8, match->score.count, 0, "alive") < 0) return -1;
    if (open_language(args[4], match->language) < 0) return -1;
    if (!is_tuple(args[5])) return -1;
    if (!PyArg_ParseTuple(args[5], "ddd", &match->size_of_scope, &match->background, &match->per_weight)) return -1;
    return open_postings(args[1], match);
}

static int make_room(Match *match) {
    size_t cells = (size_t)(match->segment_count * match->asked.count + 1);
    match->begin = calloc(cells, sizeof *match->begin);
    match->often = calloc(cells, sizeof *match->often);
    match->weights = calloc((size_t)match->asked.count + 1, sizeof *match->weights);
    if (match->begin && match->often && match->weights) return 0;
    PyErr_NoMemory();
    return -1;
}

/* match(terms, segments, length_norm, alive or None, language, numbers, score, covered) -> weights, owner, docs and
   given as bytes. Adds to `score` and `covered`. */
PyObject *native_match(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    Match match = {0};
    PyObject *result = NULL;
    if (count != 8) return PyErr_Format(PyExc_TypeError, "match takes 8 arguments, got %zd", count);
    if (open_match(args, &match) == 0 && make_room(&match) == 0 && find_documents(&match) == 0 && weigh(&match) == 0 &&
        make_told(&match) == 0) {
        give(&match);
        result = PyTuple_Pack(4, match.told[0], match.told[1], match.told[2], match.told[3]);
    }
    for (int at = 0; at < 4; at++) Py_XDECREF(match.told[at]);
    for (Py_ssize_t at = 0; at < match.segment_count; at++) close_arrays(match.segments[at].a, OF_POSTINGS);
    close_arrays(match.language, OF_LANGUAGE);
    Array others[] = {match.asked, match.norm, match.alive, match.score, match.covered};
    close_arrays(others, 5);
    free(match.segments);
    free(match.begin);
    free(match.often);
    free(match.weights);
    return result;
}

/* ---- The best by score ---- */

typedef struct {
    float score;
    int64_t place, row;
} Scored;

/* Of equals, the one that comes later counts less: whoever looks finds the same ones. */
static int is_less(Scored one, Scored other) {
    return one.score < other.score || (one.score == other.score && one.row > other.row);
}

/* Moves the first down a heap whose least is first. */
static void sift(Scored *heap, Py_ssize_t size) {
    Py_ssize_t at = 0;
    Scored moved = heap[0];
    for (;;) {
        Py_ssize_t child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && is_less(heap[child + 1], heap[child])) child++;
        if (!is_less(heap[child], moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void lift(Scored *heap, Py_ssize_t at) {
    Scored moved = heap[at];
    for (; at && is_less(moved, heap[(at - 1) / 2]); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = moved;
}

typedef struct {
    Array scores, allowed, relevance, layer, row;
    double floor, above;
    int without; /* a layer */
} Choice;

static int is_open(const Choice *choice, Py_ssize_t at) {
    if (!AT(choice->allowed, uint8_t)[at]) return 0;
    return AT(choice->relevance, float)[at] >= (float)choice->floor && AT(choice->layer, int8_t)[at] != choice->without;
}

static Scored scored(const Choice *choice, Py_ssize_t at) {
    return (Scored){AT(choice->scores, float)[at], at, AT(choice->row, int64_t)[at]};
}

#define BLOCK 32 /* scores that are looked at together */

/* From `at` on the first block that has a score that is not below `last`, or what is left behind the blocks. */
WIDE static Py_ssize_t skip_below(const float *scores, Py_ssize_t at, Py_ssize_t count, float last) {
    for (; at + BLOCK <= count; at += BLOCK) {
        int is_any = 0;
        for (int lane = 0; lane < BLOCK; lane++) is_any |= scores[at + lane] >= last;
        if (is_any) return at;
    }
    return at;
}

/* The best above `least`, in a heap of at most `wanted`: how many they are. */
static Py_ssize_t choose(const Choice *choice, Scored *heap, Py_ssize_t wanted, float least) {
    const float *scores = AT(choice->scores, float);
    Py_ssize_t found = 0;
    float last = least; /* of the best so far, once there are so many */
    for (Py_ssize_t at = 0; at < choice->scores.count; at++) {
        if (at % BLOCK == 0 && (at = skip_below(scores, at, choice->scores.count, last)) == choice->scores.count) break;
        if (!(scores[at] > least) || scores[at] < last || !is_open(choice, at)) continue;
        if (found < wanted) {
            heap[found] = scored(choice, at);
            lift(heap, found++);
        } else if (is_less(heap[0], scored(choice, at))) {
            heap[0] = scored(choice, at);
            sift(heap, found);
        }
        if (found == wanted) last = heap[0].score;
    }
    return found;
}

#define STRIDE 32 /* every so many scores tell where about the best begin, so that few others are ever put in order */

static float where_they_begin(const Choice *choice, Scored *heap, Py_ssize_t wanted) {
    const float *scores = AT(choice->scores, float);
    Py_ssize_t last = wanted / STRIDE + 3, found = 0;
    float above = (float)choice->above;
    if (last > wanted || choice->scores.count < 4 * STRIDE * last) return above;
    for (Py_ssize_t at = 0; at < choice->scores.count; at += STRIDE) {
        if (!(scores[at] > above) || !is_open(choice, at)) continue;
        if (found < last) {
            heap[found] = scored(choice, at);
            lift(heap, found++);
        } else if (scores[at] > heap[0].score) {
            heap[0] = scored(choice, at);
            sift(heap, found);
        }
    }
    return found == last ? heap[0].score : above;
}

static PyObject *places_of(const Choice *choice, Py_ssize_t wanted) {
    if (wanted > choice->scores.count) wanted = choice->scores.count;
    Scored *heap = malloc((size_t)(wanted + 1) * sizeof *heap);
    if (!heap) return PyErr_NoMemory();
    float least = where_they_begin(choice, heap, wanted);
    Py_ssize_t found = wanted ? choose(choice, heap, wanted, least) : 0;
    if (found < wanted && least > choice->above) found = choose(choice, heap, wanted, (float)choice->above);
    PyObject *result = PyByteArray_FromStringAndSize(NULL, found * 8);
    for (Py_ssize_t at = 0; result && at < found; at++)
        ((int64_t *)PyByteArray_AsString(result))[at] = heap[at].place;
    free(heap);
    return result;
}

/* best(scores, allowed, count, above, relevance, floor, layer, without, row) -> the places of so many of the best above
   a score, in no order, as bytes: of what is allowed, relevant enough and not in one of the layers; of equals those
   with the lowest rows. */
PyObject *native_best(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    Choice choice = {0};
    PyObject *result = NULL;
    if (count != 9) return PyErr_Format(PyExc_TypeError, "best takes 9 arguments, got %zd", count);
    Py_ssize_t wanted = PyLong_AsSsize_t(args[2]), without = PyLong_AsSsize_t(args[7]);
    if (PyErr_Occurred()) return NULL;
    choice.above = PyFloat_AsDouble(args[3]);
    choice.floor = PyFloat_AsDouble(args[5]);
    choice.without = without < -1 || without > INT8_MAX ? -1 : (int)without;
    if (PyErr_Occurred()) return NULL;
    if (wanted < 0) return PyErr_Format(PyExc_ValueError, "the best %zd", wanted);
    if (open_array(args[0], &choice.scores, F32, -1, 0, "scores") == 0 &&
        open_array(args[1], &choice.allowed, U8, choice.scores.count, 0, "allowed") == 0 &&
        open_array(args[4], &choice.relevance, F32, choice.scores.count, 0, "relevance") == 0 &&
        open_array(args[6], &choice.layer, I8, choice.scores.count, 0, "layer") == 0 &&
        open_array(args[8], &choice.row, I64, choice.scores.count, 0, "row") == 0)
        result = places_of(&choice, wanted);
    Array arrays[] = {choice.scores, choice.allowed, choice.relevance, choice.layer, choice.row};
    close_arrays(arrays, 5);
    return result;
}

/* ---- A first look at many vectors ---- */

WIDE static void scan(const int16_t *rows, const int16_t *vector, Py_ssize_t width, double scale, const Array *out) {
    for (Py_ssize_t row = 0; row < out->count; row++, rows += width) {
        int32_t sum = 0; /* the longest vectors are 2^14 long: see outline.py */
        for (Py_ssize_t at = 0; at < width; at++) sum += (int32_t)rows[at] * vector[at];
        AT(*out, float)[row] = (float)(sum * scale);
    }
}

/* scan(rows i16 (vectors, components), vector i16, scale, out f32): `outline.Outline._compared`. */
PyObject *native_scan(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { ROWS, VECTOR, OUT, ARRAYS };
    Array a[ARRAYS] = {0};
    PyObject *result = NULL;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "scan takes 4 arguments, got %zd", count);
    double scale = PyFloat_AsDouble(args[2]);
    if (PyErr_Occurred()) return NULL;
    if (open_array(args[1], &a[VECTOR], I16, -1, 0, "vector") < 0 ||
        open_array(args[3], &a[OUT], F32, -1, 1, "out") < 0 ||
        open_array(args[0], &a[ROWS], I16, -1, 0, "rows") < 0)
        goto done;
    if (!are_rows(&a[ROWS], a[OUT].count, a[VECTOR].count)) goto done;
    scan(AT(a[ROWS], int16_t), AT(a[VECTOR], int16_t), a[VECTOR].count, scale, &a[OUT]);
    result = Py_NewRef(Py_None);
done:
    close_arrays(a, ARRAYS);
    return result;
}

/* A vector as whole numbers of 1/32768, which `rows` are; 0 if it has no length that is a number. `scale` is what a
   product of two counts. */
static int whole_of(const Array *vector, double longest, int16_t *whole, double *scale) {
    const float *numbers = AT(*vector, float);
    double squares = 0, unit = 32768;
    for (Py_ssize_t at = 0; at < vector->count; at++) squares += (double)numbers[at] * numbers[at];
    if (!isfinite(squares)) return 0;
    if (sqrt(squares) > longest) unit /= sqrt(squares);
    for (Py_ssize_t at = 0; at < vector->count; at++) {
        float number = rintf(numbers[at] * (float)unit);
        whole[at] = (int16_t)(number > 32767 ? 32767 : number < -32768 ? -32768 : number);
    }
    *scale = 1 / unit / 32768;
    return 1;
}

/* compare(rows i16 (vectors, components), vector f32, longest, out f32) -> whether `vector` is one: `Vectors.cosines`. */
PyObject *native_compare(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { ROWS, VECTOR, OUT, ARRAYS };
    Array a[ARRAYS] = {0};
    int16_t *whole = NULL;
    PyObject *result = NULL;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "compare takes 4 arguments, got %zd", count);
    double scale, longest = PyFloat_AsDouble(args[2]);
    if (PyErr_Occurred()) return NULL;
    if (open_array(args[1], &a[VECTOR], F32, -1, 0, "vector") < 0 ||
        open_array(args[3], &a[OUT], F32, -1, 1, "out") < 0 ||
        open_array(args[0], &a[ROWS], I16, -1, 0, "rows") < 0)
        goto done;
    if (!are_rows(&a[ROWS], a[OUT].count, a[VECTOR].count)) goto done;
    whole = malloc((size_t)(a[VECTOR].count + 1) * sizeof *whole);
    if (!whole) {
        PyErr_NoMemory();
        goto done;
    }
    int is_one = whole_of(&a[VECTOR], longest, whole, &scale);
    if (is_one) scan(AT(a[ROWS], int16_t), whole, a[VECTOR].count, scale, &a[OUT]);
    result = PyBool_FromLong(is_one);
done:
    free(whole);
    close_arrays(a, ARRAYS);
    return result;
}

/* ---- By words and meaning ---- */

typedef struct {
    float base;
    int64_t row, place;
} Based;

static int by_base(const void *one, const void *other) {
    const Based *a = one, *b = other;
    if (a->base != b->base) return a->base > b->base ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* order(places, lexical, cosine, row, numbers): `ranker.best_first`, in place. */
PyObject *native_order(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { PLACES, BY_WORDS, BY_MEANING, ROW, ARRAYS };
    Array a[ARRAYS] = {0};
    double least[2], spread[2];
    PyObject *result = NULL;
    Based *rows = NULL;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "order takes 5 arguments, got %zd", count);
    if (!is_tuple(args[4])) return NULL;
    if (!PyArg_ParseTuple(args[4], "dddd", &least[0], &spread[0], &least[1], &spread[1])) return NULL;
    if (open_array(args[0], &a[PLACES], I64, -1, 1, "places") < 0 ||
        open_array(args[1], &a[BY_WORDS], F32, -1, 0, "lexical") < 0 ||
        open_array(args[2], &a[BY_MEANING], F32, a[BY_WORDS].count, 0, "cosine") < 0 ||
        open_array(args[3], &a[ROW], I64, a[BY_WORDS].count, 0, "row") < 0)
        goto done;
    int64_t *places = AT(a[PLACES], int64_t);
    rows = malloc((size_t)(a[PLACES].count + 1) * sizeof *rows);
    if (!rows) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t at = 0; at < a[PLACES].count; at++) {
        int64_t place = places[at];
        if (place < 0 || place >= a[BY_WORDS].count) {
            PyErr_SetString(PyExc_IndexError, "a candidate that is no memory");
            goto done;
        }
        float base = on_scale(AT(a[BY_WORDS], float)[place], least[0], spread[0]) +
                     on_scale(AT(a[BY_MEANING], float)[place], least[1], spread[1]);
        rows[at] = (Based){rintf(base * 10000), AT(a[ROW], int64_t)[place], place};
    }
    qsort(rows, (size_t)a[PLACES].count, sizeof *rows, by_base);
    for (Py_ssize_t at = 0; at < a[PLACES].count; at++) places[at] = rows[at].place;
    result = Py_NewRef(Py_None);
done:
    free(rows);
    close_arrays(a, ARRAYS);
    return result;
}

/* Of allowed scores those above a number, side by side: how many. Without a branch, which nobody could foretell. */
static Py_ssize_t take_above(const Array *scores, const Array *allowed, float least, float *into) {
    Py_ssize_t found = 0;
    for (Py_ssize_t at = 0; at < scores->count; at++) {
        float score = AT(*scores, float)[at];
        into[found] = score;
        found += (score > least) & (AT(*allowed, uint8_t)[at] != 0);
    }
    return found;
}

WIDE static Py_ssize_t count_above(const float *scores, Py_ssize_t size, float own) {
    int32_t found = 0;
    for (Py_ssize_t at = 0; at < size; at++) found += scores[at] > own;
    return found;
}

/* ranks(scores, allowed, mine) -> of each of mine its place among the allowed scores, 1 for the best; 0 for what is
   not above 0. */
PyObject *native_ranks(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { SCORES, ALLOWED, MINE, ARRAYS };
    Array a[ARRAYS] = {0};
    PyObject *result = NULL;
    float *higher = NULL, least = INFINITY;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "ranks takes 3 arguments, got %zd", count);
    if (open_array(args[0], &a[SCORES], F32, -1, 0, "scores") < 0 ||
        open_array(args[1], &a[ALLOWED], U8, a[SCORES].count, 0, "allowed") < 0 ||
        open_array(args[2], &a[MINE], F32, -1, 0, "mine") < 0)
        goto done;
    const float *mine = AT(a[MINE], float);
    higher = malloc((size_t)(a[SCORES].count + 1) * sizeof *higher);
    if (!higher) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t at = 0; at < a[MINE].count; at++)
        if (mine[at] > 0 && mine[at] < least) least = mine[at];
    Py_ssize_t size = least < INFINITY ? take_above(&a[SCORES], &a[ALLOWED], least, higher) : 0;
    result = PyList_New(a[MINE].count);
    for (Py_ssize_t at = 0; result && at < a[MINE].count; at++) {
        PyObject *rank = PyLong_FromSsize_t(mine[at] > 0 ? 1 + count_above(higher, size, mine[at]) : 0);
        if (!rank || PyList_SetItem(result, at, rank) < 0) Py_CLEAR(result);
    }
done:
    free(higher);
    close_arrays(a, ARRAYS);
    return result;
}

/* ---- The highest score, and what has any evidence ---- */

WIDE static float most_of_all(const float *scores, Py_ssize_t size) {
    float most[8] = {0}, found = 0;
    Py_ssize_t at = 0;
    for (; at + 8 <= size; at += 8)
        for (int lane = 0; lane < 8; lane++) most[lane] = scores[at + lane] > most[lane] ? scores[at + lane] : most[lane];
    for (; at < size; at++) found = scores[at] > found ? scores[at] : found;
    for (int lane = 0; lane < 8; lane++) found = most[lane] > found ? most[lane] : found;
    return found;
}

/* most(scores f32, allowed) -> the highest of what is allowed, or 0: `graph._best_score`. */
PyObject *native_most(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { SCORES, ALLOWED, ARRAYS };
    Array a[ARRAYS] = {0};
    PyObject *result = NULL;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "most takes 2 arguments, got %zd", count);
    if (open_array(args[0], &a[SCORES], F32, -1, 0, "scores") == 0 &&
        open_array(args[1], &a[ALLOWED], U8, a[SCORES].count, 0, "allowed") == 0) {
        const float *scores = AT(a[SCORES], float);
        const uint8_t *allowed = AT(a[ALLOWED], uint8_t);
        float found = 0;
        if (!memchr(allowed, 0, (size_t)a[ALLOWED].count)) /* as usual */
            found = most_of_all(scores, a[SCORES].count);
        else
            for (Py_ssize_t at = 0; at < a[SCORES].count; at++)
                found = allowed[at] && scores[at] > found ? scores[at] : found;
        result = PyFloat_FromDouble(found);
    }
    close_arrays(a, ARRAYS);
    return result;
}

WIDE static void put_hits(const float *restrict lexical, const float *restrict relevance, uint8_t *restrict out,
                          Py_ssize_t size) {
    for (Py_ssize_t at = 0; at < size; at++) out[at] = (lexical[at] > 0) | (relevance[at] > 0);
}

/* hits(lexical f32, relevance f32, out): whether each memory has a word or some likeness, `choose._hits`. */
PyObject *native_hits(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { BY_WORDS, RELEVANT, OUT, ARRAYS };
    Array a[ARRAYS] = {0};
    PyObject *result = NULL;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "hits takes 3 arguments, got %zd", count);
    if (open_array(args[0], &a[BY_WORDS], F32, -1, 0, "lexical") == 0 &&
        open_array(args[1], &a[RELEVANT], F32, a[BY_WORDS].count, 0, "relevance") == 0 &&
        open_array(args[2], &a[OUT], U8, a[BY_WORDS].count, 1, "out") == 0) {
        put_hits(AT(a[BY_WORDS], float), AT(a[RELEVANT], float), AT(a[OUT], uint8_t), a[OUT].count);
        result = Py_NewRef(Py_None);
    }
    close_arrays(a, ARRAYS);
    return result;
}

/* ---- The order of the last look ---- */

/* put(rank_score f32, places i64, scores f64, least, per_half, apart): `ranker._put`. */
PyObject *native_put(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { RANKS, PLACES, SCORES, ARRAYS };
    Array a[ARRAYS] = {0};
    PyObject *result = NULL;
    if (count != 6) return PyErr_Format(PyExc_TypeError, "put takes 6 arguments, got %zd", count);
    double least = PyFloat_AsDouble(args[3]), per_half = PyFloat_AsDouble(args[4]), apart = PyFloat_AsDouble(args[5]);
    if (PyErr_Occurred()) return NULL;
    if (open_array(args[0], &a[RANKS], F32, -1, 1, "rank_score") < 0 ||
        open_array(args[1], &a[PLACES], I64, -1, 0, "places") < 0 ||
        open_array(args[2], &a[SCORES], F64, a[PLACES].count, 0, "scores") < 0)
        goto done;
    float *ranks = AT(a[RANKS], float);
    const int64_t *places = AT(a[PLACES], int64_t);
    const double *scores = AT(a[SCORES], double);
    double best = fmax(least * (1 + apart), apart), most = -INFINITY;
    for (Py_ssize_t at = 0; at < a[PLACES].count; at++) {
        if (places[at] < 0 || places[at] >= a[RANKS].count) {
            PyErr_SetString(PyExc_IndexError, "a place that there is not");
            goto done;
        }
        best = ranks[places[at]] > best ? ranks[places[at]] : best;
        most = scores[at] > most ? scores[at] : most;
    }
    for (Py_ssize_t at = 0; at < a[PLACES].count; at++)
        ranks[places[at]] = (float)(exp((scores[at] - most) * per_half) * (best - least) + least);
    result = Py_NewRef(Py_None);
done:
    close_arrays(a, ARRAYS);
    return result;
}

/* ---- From evidence to both numbers: `fuse` ---- */

enum { LEXICAL, COVERED, COSINE, ALLOWED, ALIVE, WEIGHT, WORDS, MEANING, RELEVANCE, RANK, OF_FUSE };
typedef struct {
    Array a[OF_FUSE];
    Py_ssize_t size, found, allowed;
    int all_alive, weighted;
    double unrelated[2], same[2], noise; /* of words and of meaning: what counts as 0 and as 1 */
    double least[2], spread[2];          /* what the order is measured by */
} Fuse;

static inline float from_0_to_1(float evidence, float unrelated, float range) {
    float scaled = (evidence - unrelated) / range;
    scaled = scaled > 0 ? scaled : 0;
    return scaled < 1 ? scaled : 1;
}

#define LANES 8 /* side by side, which do not wait for one another */

typedef struct {
    double sum, squares;
    float least;
} Moments;

/* Of all scores. */
WIDE static Moments moments_of_all(const float *scores, Py_ssize_t size) {
    double sums[LANES] = {0}, squares[LANES] = {0};
    float leasts[LANES];
    Moments found = {0, 0, INFINITY};
    Py_ssize_t at = 0;
    for (int lane = 0; lane < LANES; lane++) leasts[lane] = INFINITY;
    for (; at + LANES <= size; at += LANES) {
        for (int lane = 0; lane < LANES; lane++) sums[lane] += scores[at + lane];
        for (int lane = 0; lane < LANES; lane++) squares[lane] += (double)scores[at + lane] * scores[at + lane];
        for (int lane = 0; lane < LANES; lane++)
            leasts[lane] = scores[at + lane] < leasts[lane] ? scores[at + lane] : leasts[lane];
    }
    for (; at < size; at++) {
        sums[0] += scores[at];
        squares[0] += (double)scores[at] * scores[at];
        leasts[0] = scores[at] < leasts[0] ? scores[at] : leasts[0];
    }
    for (int lane = 0; lane < LANES; lane++) {
        found.sum += sums[lane];
        found.squares += squares[lane];
        found.least = leasts[lane] < found.least ? leasts[lane] : found.least;
    }
    return found;
}

/* Of those that are allowed. */
static Moments moments_of(const float *scores, const uint8_t *allowed, Py_ssize_t size) {
    Moments found = {0, 0, INFINITY};
    for (Py_ssize_t at = 0; at < size; at++) {
        if (!allowed[at]) continue;
        found.sum += scores[at];
        found.squares += (double)scores[at] * scores[at];
        found.least = scores[at] < found.least ? scores[at] : found.least;
    }
    return found;
}

WIDE static void count_open(Fuse *fuse) {
    const float *lexical = AT(fuse->a[LEXICAL], float), *cosine = AT(fuse->a[COSINE], float);
    const uint8_t *allowed = AT(fuse->a[ALLOWED], uint8_t), *alive = fuse->all_alive ? NULL : AT(fuse->a[ALIVE], uint8_t);
    int32_t found = 0, open = 0;
    for (Py_ssize_t at = 0; at < fuse->size; at++) open += allowed[at] != 0;
    if (alive)
        for (Py_ssize_t at = 0; at < fuse->size; at++) found += ((lexical[at] > 0) | (cosine[at] > 0)) & (alive[at] != 0);
    else
        for (Py_ssize_t at = 0; at < fuse->size; at++) found += (lexical[at] > 0) | (cosine[at] > 0);
    fuse->found = found;
    fuse->allowed = open;
}

/* Least and standard deviation of what is allowed: by one look, since the sums of single numbers are kept as doubles. */
static void measure(Fuse *fuse, double spread_of_meaning) {
    const uint8_t *allowed = AT(fuse->a[ALLOWED], uint8_t);
    const int of[] = {LEXICAL, COSINE};
    if (!fuse->allowed) return;
    for (int kind = 0; kind < 2; kind++) {
        const float *scores = AT(fuse->a[of[kind]], float);
        Moments found = fuse->allowed == fuse->size ? moments_of_all(scores, fuse->size)
                                                    : moments_of(scores, allowed, fuse->size);
        double total = (double)fuse->allowed, mean = found.sum / total;
        fuse->least[kind] = found.least;
        fuse->spread[kind] = sqrt(fmax(0, found.squares / total - mean * mean));
    }
    if (spread_of_meaning >= 0) fuse->spread[1] = spread_of_meaning;
    for (int kind = 0; kind < 2; kind++)
        if (!(fuse->spread[kind] >= fuse->noise)) fuse->spread[kind] = 0;
}

typedef struct { /* of one kind of evidence, in the precision in which it is compared */
    float unrelated, range, counts, least, spread, apart;
} Measures;

static Measures measures_of(const Fuse *fuse, int kind) {
    float range = (float)(fuse->same[kind] - fuse->unrelated[kind]), spread = (float)fuse->spread[kind];
    float counts = range > 0, apart = spread > 0; /* else all are 0 */
    return (Measures){(float)fuse->unrelated[kind], counts ? range : 1,  counts,
                      (float)fuse->least[kind],     apart ? spread : 1, apart};
}

/* A plain loop without a branch, over arrays that are told to lie apart, so that several numbers are counted at once:
   which memories have a word of the question, nobody could foretell. */
WIDE static void put_numbers(Py_ssize_t size, Measures w, Measures m, const float *restrict lexical,
                             const float *restrict covered, const float *restrict cosine, float *restrict words,
                             float *restrict meaning, float *restrict relevance, float *restrict rank) {
    for (Py_ssize_t at = 0; at < size; at++) {
        float said = from_0_to_1(covered[at], w.unrelated, w.range) * w.counts;
        float found = from_0_to_1(cosine[at], m.unrelated, m.range) * m.counts;
        float ahead = (lexical[at] - w.least) / w.spread, above = (cosine[at] - m.least) / m.spread;
        float by_words = (ahead > 0 ? ahead : 0) * w.apart / 2, by_meaning = (above > 0 ? above : 0) * m.apart / 2;
        float both = 1 - (1 - said) * (1 - found);
        words[at] = lexical[at] > 0 ? said : 0;
        meaning[at] = found;
        relevance[at] = lexical[at] > 0 ? both : found;
        rank[at] = by_meaning + (lexical[at] > 0 ? by_words : 0);
    }
}

WIDE static void put_weights(Py_ssize_t size, const float *restrict weights, float *restrict rank) {
    for (Py_ssize_t at = 0; at < size; at++) rank[at] *= weights[at];
}

/* fuse(lexical, covered, cosine, allowed, alive or None, weights or None, words, meaning, relevance, rank_score,
   numbers) -> how many have evidence, how many are allowed, and the scales of words and of meaning. */
PyObject *native_fuse(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    static const int KINDS[] = {F32, F32, F32, U8, U8, F32, F32, F32, F32, F32};
    static const char *const NAMES[] = {"lexical", "covered", "cosine",  "allowed",   "alive",
                                        "weights", "words",   "meaning", "relevance", "rank_score"};
    Fuse fuse = {0};
    PyObject *result = NULL;
    double spread;
    if (count != OF_FUSE + 1) return PyErr_Format(PyExc_TypeError, "fuse takes 11 arguments, got %zd", count);
    if (!is_tuple(args[OF_FUSE])) return NULL;
    if (!PyArg_ParseTuple(args[OF_FUSE], "dddddd", &fuse.unrelated[0], &fuse.same[0], &fuse.unrelated[1],
                          &fuse.same[1], &fuse.noise, &spread))
        return NULL;
    fuse.all_alive = args[ALIVE] == Py_None;
    fuse.weighted = args[WEIGHT] != Py_None;
    for (int at = 0; at < OF_FUSE; at++) {
        if (args[at] == Py_None && (at == ALIVE || at == WEIGHT)) continue;
        if (open_array(args[at], &fuse.a[at], KINDS[at], at ? fuse.size : -1, at >= WORDS, NAMES[at]) < 0) goto done;
        fuse.size = fuse.a[LEXICAL].count;
    }
    count_open(&fuse);
    measure(&fuse, spread);
    float *out[] = {AT(fuse.a[WORDS], float), AT(fuse.a[MEANING], float), AT(fuse.a[RELEVANCE], float),
                    AT(fuse.a[RANK], float)};
    put_numbers(fuse.size, measures_of(&fuse, 0), measures_of(&fuse, 1), AT(fuse.a[LEXICAL], float),
                AT(fuse.a[COVERED], float), AT(fuse.a[COSINE], float), out[0], out[1], out[2], out[3]);
    if (fuse.weighted) put_weights(fuse.size, AT(fuse.a[WEIGHT], float), out[3]);
    result = Py_BuildValue("nndddd", fuse.found, fuse.allowed, fuse.least[0], fuse.spread[0], fuse.least[1],
                           fuse.spread[1]);
done:
    close_arrays(fuse.a, OF_FUSE);
    return result;
}
