#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The greatest float that is no more than a number: a float is above one if it is above the other. */
static float not_above(double number) {
    float closest = (float)number;
    return closest > number ? nextafterf(closest, -INFINITY) : closest;
}

/* model(features f32 (features, candidates), weights f64, columns i64, thresholds f64, gives f64, depth, out f64):
   what `Model.scores` gives. */
PyObject *native_model(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { FEATURES, WEIGHTS, COLUMNS, THRESHOLDS, GIVES, OUT, ARRAYS };
    Array a[ARRAYS] = {0};
    PyObject *result = NULL;
    uint16_t *answers = NULL;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "model takes 7 arguments, got %zd", count);
    Py_ssize_t depth = PyLong_AsSsize_t(args[5]);
    if (depth == -1 && PyErr_Occurred()) return NULL;
    if (depth < 0 || depth > 16) return PyErr_Format(PyExc_ValueError, "trees of depth %zd", depth);
    if (open_array(args[0], &a[FEATURES], F32, -1, 0, "features") < 0 ||
        open_array(args[1], &a[WEIGHTS], F64, -1, 0, "weights") < 0 ||
        open_array(args[2], &a[COLUMNS], I64, -1, 0, "columns") < 0 ||
        open_array(args[3], &a[THRESHOLDS], F64, a[COLUMNS].count, 0, "thresholds") < 0 ||
        open_array(args[6], &a[OUT], F64, -1, 1, "out") < 0)
        goto done;
    Py_ssize_t width = a[OUT].count, trees = depth ? a[COLUMNS].count / depth : 0;
    if (open_array(args[4], &a[GIVES], F64, trees << depth, 0, "gives") < 0) goto done;
    if (!are_rows(&a[FEATURES], a[WEIGHTS].count, width)) goto done;
    const float *features = AT(a[FEATURES], float);
    const int64_t *columns = AT(a[COLUMNS], int64_t);
    const double *weights = AT(a[WEIGHTS], double), *thresholds = AT(a[THRESHOLDS], double);
    double *out = AT(a[OUT], double);
    for (Py_ssize_t at = 0; at < a[COLUMNS].count; at++)
        if (columns[at] < 0 || columns[at] >= a[WEIGHTS].count) {
            PyErr_SetString(PyExc_IndexError, "a tree asks for a feature that there is not");
            goto done;
        }
    answers = malloc((size_t)width * sizeof *answers + 1);
    if (!answers) {
        PyErr_NoMemory();
        goto done;
    }
    memset(out, 0, (size_t)width * sizeof *out);
    for (Py_ssize_t feature = 0; feature < a[WEIGHTS].count; feature++)
        for (Py_ssize_t c = 0; c < width; c++) out[c] += weights[feature] * features[feature * width + c];
    for (Py_ssize_t tree = 0; tree < trees; tree++) {
        memset(answers, 0, (size_t)width * sizeof *answers);
        for (Py_ssize_t place = 0; place < depth; place++) {
            Py_ssize_t question = place * trees + tree;
            const float *row = features + columns[question] * width;
            float threshold = not_above(thresholds[question]);
            for (Py_ssize_t c = 0; c < width; c++) answers[c] |= (uint16_t)((row[c] > threshold) << place);
        }
        const double *gives = AT(a[GIVES], double) + (tree << depth);
        for (Py_ssize_t c = 0; c < width; c++) out[c] += gives[answers[c]];
    }
    result = Py_NewRef(Py_None);
done:
    free(answers);
    close_arrays(a, ARRAYS);
    return result;
}

/* ---- What speaks for a candidate: `features.by_name`, one row per feature ---- */

enum { /* the rows, in the order of features.NAMES; what the question names and dates are left to the caller */
    WORDS, WORDS_SHARE, WORDS_RELATIVE, COVERED, MEANING, MEANING_RELATIVE, MEANING_ABSOLUTE, LENGTH,
    CLAUSE_BEST, CLAUSES, TYPICAL, WINDOW, WORDS_BEFORE, WORDS_AFTER, MEANING_BEFORE, MEANING_AFTER, ASKS, ENDS_ASKING,
    ANSWERS, ANSWERS_WORDS, ANSWERS_MEANING, THREAD_BEST, THREAD_MASS, AUTHOR, OTHER_AUTHOR, ASSISTANT, ASSISTANT_WORDS,
    ASSISTANT_MEANING, ASSISTANT_REPLIES, ASSISTANT_ASKED, MANNER_ASSISTANT, MANNER_BEFORE, TELLS_TIME, MONTH, DAY,
    TITLE, TITLE_WHOLE, TITLE_SAID, SAYS_TITLE, BRIDGE, COMPLEMENT, HOP, HOP_ROOT, ACTIVATION, ACTIVATION_RELATIVE, ACTIVATION_COVERING,
    ACTIVATION_COMPLEMENTING, IN_THREAD, ROWS = IN_THREAD + 15
};
static const int OF_BOTH_KINDS[] = {
    WORDS, WORDS_SHARE, WORDS_RELATIVE, COVERED, MEANING, MEANING_RELATIVE, LENGTH, BRIDGE, COMPLEMENT, HOP, HOP_ROOT,
    ACTIVATION, ACTIVATION_RELATIVE, ACTIVATION_COVERING, ACTIVATION_COMPLEMENTING,
};

enum { SAID, SAID_FROM, TERMS, STARTS, DOCS, OF_SEGMENT };
typedef struct { /* what its memories say, and which memories say each term */
    Array a[OF_SEGMENT];
} Segment;

enum { PLACE_LENGTH, THREAD, WRITTEN_BY, BEFORE, AFTER, IS_ASKING, IS_ENDING, IS_TIMED, OF_CORPUS };
enum { ALLOWED, LEXICAL, COVERING, COSINE, RELEVANT, OF_RUN };
enum { ASKED_TERMS, WEIGHTS, OWNER, FOUND_IN, GIVES_THERE, OF_MATCHES };
enum { NAMED, ASSISTANTS, PARTS, REACHED, STRENGTH, KNOWN, TITLES, TITLE_FROM, OF_QUESTION };

typedef struct {
    Array corpus[OF_CORPUS], run[OF_RUN], matches[OF_MATCHES], question[OF_QUESTION], language[OF_LANGUAGE];
    Array candidates, vectors, out; /* of each candidate its vector, or of all memories as whole numbers */
    Py_ssize_t dim;
    int is_whole;
    Array alive;
    int64_t dead; /* memories that are there no longer; without any, `alive` is not looked at */
    Segment *segments;
    Py_ssize_t segment_count, size; /* memories */
    double size_of_scope, background, mean_length, words_least, words_spread, meaning_least, meaning_spread;
    double per_weight, bridge, most; /* K1 + 1; two rare words; more memories have a term that is not rare */
    Py_ssize_t typical, hops_from, rarest;
    int is_threaded, of_agent, of_manner, about_time;
    /* made for one call */
    int64_t *places[5]; /* of each candidate: itself, before, after, further before and after; -1 for nothing */
    int32_t *slots;     /* by memory: among what is looked at; -1 for others */
    Py_ssize_t width;   /* of these; the last one stands for nothing */
    float *given;       /* (terms, width): what each term of the question gives to each */
    double *shared;
} Look;

static float *row_of(const Look *look, int row) { return AT(look->out, float) + row * look->candidates.count; }

#define MOST_WORDS 24.0f /* standard deviations; features.py has the same */

static float words_at(const Look *look, int64_t place) {
    if (place < 0) return 0;
    float words = on_scale(AT(look->run[LEXICAL], float)[place], look->words_least, look->words_spread);
    return words < MOST_WORDS ? words : MOST_WORDS;
}

static float meaning_at(const Look *look, int64_t place) {
    if (place < 0) return 0;
    return on_scale(AT(look->run[COSINE], float)[place], look->meaning_least, look->meaning_spread);
}

static float most_of(const float *numbers, Py_ssize_t count, float least) {
    for (Py_ssize_t at = 0; at < count; at++)
        if (numbers[at] > least) least = numbers[at];
    return least;
}

static int64_t next_to(const Look *look, int side, int64_t place) {
    if (place < 0) return -1;
    int64_t next = AT(look->corpus[side], int64_t)[place];
    return next >= 0 && next < look->size && AT(look->run[ALLOWED], uint8_t)[next] ? next : -1;
}

/* Candidates and what stands next to them. */
static int look_around(Look *look) {
    Py_ssize_t count = look->candidates.count;
    const int64_t *candidates = AT(look->candidates, int64_t);
    int kinds = look->is_threaded ? 5 : 1;
    look->places[0] = malloc((size_t)(5 * count + 1) * sizeof(int64_t));
    look->slots = malloc((size_t)(look->size + 1) * sizeof(int32_t));
    if (!look->places[0] || !look->slots) goto no_memory;
    memset(look->slots, 0xff, (size_t)(look->size + 1) * sizeof(int32_t));
    memset(look->places[0], 0xff, (size_t)(5 * count) * sizeof(int64_t));
    for (int kind = 1; kind < 5; kind++) look->places[kind] = look->places[0] + kind * count;
    for (Py_ssize_t c = 0; c < count; c++) {
        if (candidates[c] < 0 || candidates[c] >= look->size) {
            PyErr_SetString(PyExc_IndexError, "a candidate that is no memory");
            return -1;
        }
        look->places[0][c] = candidates[c];
        if (!look->is_threaded) continue;
        look->places[1][c] = next_to(look, BEFORE, candidates[c]);
        look->places[2][c] = next_to(look, AFTER, candidates[c]);
        look->places[3][c] = next_to(look, BEFORE, look->places[1][c]);
        look->places[4][c] = next_to(look, AFTER, look->places[2][c]);
    }
    for (Py_ssize_t at = 0; at < kinds * count; at++) {
        int64_t place = look->places[0][at];
        if (place >= 0 && look->slots[place] < 0) look->slots[place] = (int32_t)look->width++;
    }
    look->width++;
    look->given = calloc((size_t)(look->matches[WEIGHTS].count * look->width + 1), sizeof(float));
    look->shared = malloc((size_t)look->width * sizeof(double));
    if (look->given && look->shared) return 0;
no_memory:
    PyErr_NoMemory();
    return -1;
}

static Py_ssize_t slot_of(const Look *look, int64_t place) { return place < 0 ? look->width - 1 : look->slots[place]; }

static int give(Look *look) {
    const int64_t *owner = AT(look->matches[OWNER], int64_t), *docs = AT(look->matches[FOUND_IN], int64_t);
    const float *gives = AT(look->matches[GIVES_THERE], float);
    for (Py_ssize_t at = 0; at < look->matches[OWNER].count; at++) {
        if (docs[at] < 0 || docs[at] >= look->size || owner[at] < 0 || owner[at] >= look->matches[WEIGHTS].count) {
            PyErr_SetString(PyExc_IndexError, "a match that is in no memory, or of no term");
            return -1;
        }
        int32_t slot = look->slots[docs[at]];
        if (slot >= 0) look->given[owner[at] * look->width + slot] = gives[at];
    }
    return 0;
}

static float total_weight(const Look *look) {
    float total = sum_of(AT(look->matches[WEIGHTS], float), look->matches[WEIGHTS].count);
    return total > (float)1e-6 ? total : (float)1e-6;
}

static void by_themselves(Look *look, float total) {
    Py_ssize_t count = look->candidates.count;
    float *words = row_of(look, WORDS), *meaning = row_of(look, MEANING);
    for (Py_ssize_t c = 0; c < count; c++) {
        words[c] = words_at(look, look->places[0][c]);
        meaning[c] = meaning_at(look, look->places[0][c]);
    }
    float most_words = most_of(words, count, (float)1e-6), most_meaning = most_of(meaning, count, (float)1e-6);
    float usual = (float)log1p(look->mean_length), whole = total * (float)look->per_weight;
    for (Py_ssize_t c = 0; c < count; c++) {
        int64_t place = look->places[0][c];
        row_of(look, WORDS_SHARE)[c] = AT(look->run[LEXICAL], float)[place] / whole;
        row_of(look, WORDS_RELATIVE)[c] = words[c] / most_words;
        row_of(look, COVERED)[c] = AT(look->run[COVERING], float)[place];
        row_of(look, MEANING_RELATIVE)[c] = meaning[c] / most_meaning;
        row_of(look, MEANING_ABSOLUTE)[c] = AT(look->run[RELEVANT], float)[place];
        row_of(look, LENGTH)[c] = log1pf(AT(look->corpus[PLACE_LENGTH], float)[place]) - usual;
    }
}

/* How near each candidate comes to the best one for a part of the question. */
static void by_clause(Look *look) {
    Py_ssize_t count = look->candidates.count, terms = look->matches[WEIGHTS].count;
    Py_ssize_t parts = terms ? look->question[PARTS].count / terms : 0;
    float *best = row_of(look, CLAUSE_BEST), *all = row_of(look, CLAUSES);
    float *shares = row_of(look, BRIDGE); /* written for good later */
    for (Py_ssize_t part = 0; part < parts; part++) {
        const float *has = AT(look->question[PARTS], float) + part * terms;
        memset(shares, 0, (size_t)count * sizeof *shares);
        for (Py_ssize_t term = 0; term < terms; term++) {
            if (has[term] == 0) continue;
            const float *given = look->given + term * look->width;
            for (Py_ssize_t c = 0; c < count; c++) shares[c] += has[term] * given[slot_of(look, look->places[0][c])];
        }
        float most = most_of(shares, count, (float)1e-6);
        for (Py_ssize_t c = 0; c < count; c++) {
            float share = shares[c] / most;
            if (share > best[c]) best[c] = share;
            all[c] += share * share;
        }
    }
    memset(shares, 0, (size_t)count * sizeof *shares);
}

#define LANES 8

static float dot(const float *one, const float *other, Py_ssize_t count) {
    float sums[LANES] = {0}, sum = 0; /* side by side, so that a processor adds them at once */
    Py_ssize_t at = 0;
    for (; at + LANES <= count; at += LANES)
        for (int lane = 0; lane < LANES; lane++) sums[lane] += one[at + lane] * other[at + lane];
    for (; at < count; at++) sum += one[at] * other[at];
    for (int lane = 0; lane < LANES; lane++) sum += sums[lane];
    return sum;
}

/* The vector of a candidate, in `made` if it has to be made. */
static const float *vector_of(const Look *look, Py_ssize_t c, float *made) {
    if (!look->is_whole) return AT(look->vectors, float) + c * look->dim;
    const int16_t *whole = AT(look->vectors, int16_t) + look->places[0][c] * look->dim;
    for (Py_ssize_t at = 0; at < look->dim; at++) made[at] = (float)whole[at] * 0x1p-15f;
    return made;
}

/* How near each candidate is to the best ones together. */
static int compare_typical(Look *look) {
    Py_ssize_t count = look->candidates.count, dim = look->dim;
    Py_ssize_t first = count < look->typical ? count : look->typical;
    float *mean = calloc(2 * (size_t)dim + 1, sizeof *mean), *made = mean + dim;
    if (!mean) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t c = 0; c < first; c++) {
        const float *vector = vector_of(look, c, made);
        for (Py_ssize_t at = 0; at < dim; at++) mean[at] += vector[at];
    }
    for (Py_ssize_t at = 0; at < dim; at++) mean[at] /= (float)(first ? first : 1);
    for (Py_ssize_t c = 0; c < count; c++) row_of(look, TYPICAL)[c] = dot(vector_of(look, c, made), mean, dim);
    free(mean);
    return 0;
}

/* Neighbouring turns: what was said just before and after belongs to what was said. */
static void look_beside(Look *look, float total) {
    Py_ssize_t count = look->candidates.count;
    const uint8_t *asks = AT(look->corpus[IS_ASKING], uint8_t), *ends = AT(look->corpus[IS_ENDING], uint8_t);
    float *window = row_of(look, WINDOW), whole = total * (float)look->per_weight;
    int kinds = look->is_threaded ? 5 : 1;
    for (Py_ssize_t term = 0; term < look->matches[WEIGHTS].count; term++) {
        const float *given = look->given + term * look->width;
        for (Py_ssize_t c = 0; c < count; c++) {
            float most = 0;
            for (int kind = 0; kind < kinds; kind++) {
                float here = given[slot_of(look, look->places[kind][c])];
                if (here > most) most = here;
            }
            window[c] += most;
        }
    }
    for (Py_ssize_t c = 0; c < count; c++) {
        int64_t place = look->places[0][c], before = look->places[1][c], after = look->places[2][c];
        float answers = before >= 0 && asks[before];
        window[c] /= whole;
        row_of(look, ASKS)[c] = asks[place];
        row_of(look, ENDS_ASKING)[c] = ends[place];
        row_of(look, WORDS_BEFORE)[c] = words_at(look, before);
        row_of(look, WORDS_AFTER)[c] = words_at(look, after);
        row_of(look, MEANING_BEFORE)[c] = meaning_at(look, before);
        row_of(look, MEANING_AFTER)[c] = meaning_at(look, after);
        row_of(look, ANSWERS)[c] = answers;
        row_of(look, ANSWERS_WORDS)[c] = answers * row_of(look, WORDS_BEFORE)[c];
        row_of(look, ANSWERS_MEANING)[c] = answers * row_of(look, MEANING_BEFORE)[c];
    }
}

/* A thread in which much was found is more likely the one that is asked about. */
static int look_at_threads(Look *look, const float *base) {
    Py_ssize_t count = look->candidates.count;
    const uint32_t *threads = AT(look->corpus[THREAD], uint32_t);
    float *best = row_of(look, THREAD_BEST), *mass = row_of(look, THREAD_MASS), least = INFINITY;
    Table first; /* by thread, its first candidate, where the sums of all are made */
    if (table_make(&first, (size_t)count) < 0) return -1;
    for (Py_ssize_t c = 0; c < count; c++)
        if (base[c] < least) least = base[c];
    for (Py_ssize_t c = 0; c < count; c++) {
        uint32_t thread = threads[look->places[0][c]];
        if (!thread) continue;
        int32_t *at = table_at(&first, thread);
        if (*at < 0) {
            *at = (int32_t)c;
            best[c] = base[c];
        }
        if (base[c] > best[*at]) best[*at] = base[c];
        mass[*at] += (base[c] - least) * (base[c] - least);
    }
    for (Py_ssize_t c = count - 1; c >= 0; c--) {
        uint32_t thread = threads[look->places[0][c]];
        if (!thread) continue;
        int32_t at = table_get(&first, thread); /* never after c, so that it still holds the sums */
        best[c] = best[at];
        mass[c] = sqrtf(mass[at]);
    }
    table_free(&first);
    return 0;
}

static int is_among(uint32_t number, const Array *few) {
    for (Py_ssize_t at = 0; at < few->count; at++)
        if (AT(*few, uint32_t)[at] == number) return 1;
    return 0;
}

static void look_at_authors(Look *look) {
    int names = look->question[NAMED].count > 0;
    for (Py_ssize_t c = 0; c < look->candidates.count; c++) {
        int64_t place = look->places[0][c];
        uint32_t author = AT(look->corpus[WRITTEN_BY], uint32_t)[place];
        float named = names && is_among(author, &look->question[NAMED]);
        float assistant = author && is_among(author, &look->question[ASSISTANTS]);
        float wanted = look->of_manner && AT(look->corpus[THREAD], uint32_t)[place];
        float before = row_of(look, WORDS_BEFORE)[c] + row_of(look, MEANING_BEFORE)[c];
        row_of(look, AUTHOR)[c] = named;
        row_of(look, OTHER_AUTHOR)[c] = names ? 1 - named : 0;
        row_of(look, ASSISTANT)[c] = assistant;
        row_of(look, ASSISTANT_WORDS)[c] = assistant * row_of(look, WORDS)[c];
        row_of(look, ASSISTANT_MEANING)[c] = assistant * row_of(look, MEANING)[c];
        row_of(look, ASSISTANT_REPLIES)[c] = assistant * before;
        row_of(look, ASSISTANT_ASKED)[c] = assistant * (float)look->of_agent;
        row_of(look, MANNER_ASSISTANT)[c] = wanted * assistant;
        row_of(look, MANNER_BEFORE)[c] = wanted * row_of(look, MEANING_BEFORE)[c];
        row_of(look, TELLS_TIME)[c] = look->about_time && AT(look->corpus[IS_TIMED], uint8_t)[place];
    }
}

/* ---- Rare words that lead from one of the best to others ---- */

typedef struct { /* a term of a seed */
    uint32_t term;
    int64_t count;
    Py_ssize_t order;
} Lead;

static int by_rareness(const void *one, const void *other) {
    const Lead *a = one, *b = other;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The documents of a term in a segment: where they begin; how many there are. */
static int64_t documents(const Segment *segment, uint32_t term, int64_t *begin) {
    Py_ssize_t at = lower_bound(AT(segment->a[TERMS], uint32_t), segment->a[TERMS].count, term);
    if (at == segment->a[TERMS].count || AT(segment->a[TERMS], uint32_t)[at] != term) return 0;
    const int64_t *starts = AT(segment->a[STARTS], int64_t);
    if (starts[at] < 0 || starts[at] > starts[at + 1] || starts[at + 1] > segment->a[DOCS].count) return 0;
    *begin = starts[at];
    return starts[at + 1] - starts[at];
}

/* How many of those that have a term are there no longer. */
static int64_t gone(const Look *look, uint32_t term) {
    int64_t count = 0, start = 0;
    for (Py_ssize_t at = 0; at < look->segment_count; at++) {
        const Segment *segment = &look->segments[at];
        int64_t begin = 0, often = documents(segment, term, &begin);
        const int32_t *docs = AT(segment->a[DOCS], int32_t) + begin;
        for (int64_t doc = 0; doc < often; doc++) {
            int64_t place = docs[doc] + start;
            count += docs[doc] >= 0 && place < look->size && !AT(look->alive, uint8_t)[place];
        }
        start += segment->a[SAID_FROM].count - 1;
    }
    return count;
}

/* How many memories have a term. Where it is common anyway, those that are gone may be among them. */
static int64_t frequency(const Look *look, uint32_t term) {
    int64_t often = 0, begin = 0;
    for (Py_ssize_t at = 0; at < look->segment_count; at++) often += documents(&look->segments[at], term, &begin);
    return look->dead && (double)(often - look->dead) <= look->most ? often - gone(look, term) : often;
}

/* The terms of a memory. */
static const uint32_t *terms_at(const Look *look, int64_t place, Py_ssize_t *count) {
    *count = 0;
    for (Py_ssize_t at = 0; at < look->segment_count; at++) {
        const Array *a = look->segments[at].a;
        const int64_t *from = AT(a[SAID_FROM], int64_t);
        Py_ssize_t size = a[SAID_FROM].count - 1;
        if (place < size) {
            if (from[place] >= 0 && from[place] <= from[place + 1] && from[place + 1] <= a[SAID].count)
                *count = (Py_ssize_t)(from[place + 1] - from[place]);
            return *count ? AT(a[SAID], uint32_t) + from[place] : NULL;
        }
        place -= size;
    }
    return NULL;
}

/* Adds the weight of a term to everything looked at that has it. */
static void share_term(Look *look, const Lead *lead) {
    double weight =
        weight_of(look->language, lead->term, (double)lead->count, look->size_of_scope, look->background);
    int64_t start = 0;
    for (Py_ssize_t at = 0; at < look->segment_count; at++) {
        const Segment *segment = &look->segments[at];
        int64_t begin = 0, often = documents(segment, lead->term, &begin);
        const int32_t *docs = AT(segment->a[DOCS], int32_t) + begin;
        for (int64_t doc = 0; doc < often; doc++) {
            int64_t place = docs[doc] + start;
            int32_t slot = docs[doc] >= 0 && place < look->size ? look->slots[place] : -1;
            if (slot >= 0) look->shared[slot] += weight;
        }
        start += segment->a[SAID_FROM].count - 1;
    }
}

/* The weight of the rare terms that each memory looked at has in common with a seed. */
static int share_of(Look *look, int64_t seed) {
    Py_ssize_t count = 0, found = 0;
    const uint32_t *terms = terms_at(look, seed, &count);
    Lead *leads = malloc((size_t)(count + 1) * sizeof *leads);
    if (!leads) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        if (is_among(terms[at], &look->question[KNOWN])) continue;
        int64_t often = frequency(look, terms[at]);
        if (often >= 2 && (double)often <= look->most) leads[found++] = (Lead){terms[at], often, at};
    }
    qsort(leads, (size_t)found, sizeof *leads, by_rareness);
    memset(look->shared, 0, (size_t)look->width * sizeof *look->shared);
    for (Py_ssize_t at = 0; at < found && at < look->rarest; at++) share_term(look, &leads[at]);
    free(leads);
    return 0;
}

static void raise_to(float *best, float value) {
    if (value > *best) *best = value;
}

/* From one seed: what it shares with each candidate, and what of the question each has that it has not. */
static void hop_from(Look *look, Py_ssize_t seed, float share, float total) {
    Py_ssize_t count = look->candidates.count;
    float *rests = row_of(look, IN_THREAD); /* written for good later */
    memset(rests, 0, (size_t)count * sizeof *rests);
    for (Py_ssize_t term = 0; term < look->matches[WEIGHTS].count; term++) {
        const float *given = look->given + term * look->width, weight = AT(look->matches[WEIGHTS], float)[term];
        if (given[slot_of(look, look->places[0][seed])] > 0) continue;
        for (Py_ssize_t c = 0; c < count; c++)
            if (given[slot_of(look, look->places[0][c])] > 0) rests[c] += weight;
    }
    for (Py_ssize_t c = 0; c < count; c++) {
        float rest = rests[c] / total, common = 0;
        if (c != seed) common = (float)look->shared[slot_of(look, look->places[0][c])] / (float)look->bridge;
        if (common > 2) common = 2;
        raise_to(row_of(look, BRIDGE) + c, share * common);
        raise_to(row_of(look, COMPLEMENT) + c, share * rest);
        raise_to(row_of(look, HOP) + c, share * (common * rest));
        raise_to(row_of(look, HOP_ROOT) + c, share * sqrtf(common * rest));
    }
}

/* ---- Titles that lead from one of the best to others ---- */

typedef struct { /* a candidate: its title, what it says, and a bit of 256 for each term of that */
    const uint32_t *title, *said;
    Py_ssize_t title_count, said_count;
    uint64_t bits[4];
} Named;

static Named named_at(const Look *look, Py_ssize_t c) {
    const int64_t *from = AT(look->question[TITLE_FROM], int64_t);
    Named named = {.title = AT(look->question[TITLES], uint32_t) + from[c], .title_count = from[c + 1] - from[c]};
    named.said = terms_at(look, look->places[0][c], &named.said_count);
    for (Py_ssize_t at = 0; at < named.said_count; at++)
        named.bits[named.said[at] >> 6 & 3] |= (uint64_t)1 << (named.said[at] & 63);
    return named;
}

static int says(const Named *of, uint32_t term) {
    if (!(of->bits[term >> 6 & 3] >> (term & 63) & 1)) return 0;
    Py_ssize_t place = lower_bound(of->said, of->said_count, term);
    return place < of->said_count && of->said[place] == term;
}

/* How much of the title of one another one says, beyond its own title. */
static float share_said(const Named *of, const Named *by) {
    Py_ssize_t found = 0;
    for (Py_ssize_t at = 0; at < of->title_count; at++) {
        if (!says(by, of->title[at])) continue;
        int is_own = 0;
        for (Py_ssize_t own = 0; own < by->title_count; own++) is_own |= by->title[own] == of->title[at];
        found += !is_own;
    }
    return of->title_count ? (float)found / (float)of->title_count : 0;
}

/* By titles that one of the first says, and to those that say its own. */
static int hop_by_title(Look *look, const float *base, Py_ssize_t seeds, float best) {
    Py_ssize_t count = look->candidates.count;
    if (!look->question[TITLE_FROM].count) return 0;
    Named *named = malloc((size_t)(count + 1) * sizeof *named);
    if (!named) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t c = 0; c < count; c++) named[c] = named_at(look, c);
    for (Py_ssize_t seed = 0; seed < seeds; seed++)
        for (Py_ssize_t c = 0; c < count; c++) {
            if (c == seed) continue;
            raise_to(row_of(look, TITLE_SAID) + c, base[seed] / best * share_said(&named[c], &named[seed]));
            raise_to(row_of(look, SAYS_TITLE) + c, base[seed] / best * share_said(&named[seed], &named[c]));
        }
    free(named);
    return 0;
}

static int hop(Look *look, const float *base, float total) {
    Py_ssize_t count = look->candidates.count, seeds = count < look->hops_from ? count : look->hops_from;
    float best = most_of(base, count, (float)1e-6);
    for (Py_ssize_t seed = 0; seed < seeds; seed++) {
        if (share_of(look, look->places[0][seed]) < 0) return -1;
        hop_from(look, seed, base[seed] / best, total);
    }
    return hop_by_title(look, base, seeds, best);
}

static void follow_graph(Look *look) {
    Py_ssize_t count = look->candidates.count;
    const int64_t *reached = AT(look->question[REACHED], int64_t);
    float *activation = row_of(look, ACTIVATION);
    for (Py_ssize_t at = 0; at < look->question[REACHED].count; at++)
        for (Py_ssize_t c = 0; c < count; c++)
            if (look->places[0][c] == reached[at]) activation[c] = AT(look->question[STRENGTH], float)[at];
    float best = most_of(activation, count, (float)1e-6);
    for (Py_ssize_t c = 0; c < count; c++) {
        row_of(look, ACTIVATION_RELATIVE)[c] = activation[c] / best;
        row_of(look, ACTIVATION_COVERING)[c] = activation[c] * row_of(look, COVERED)[c];
        row_of(look, ACTIVATION_COMPLEMENTING)[c] = activation[c] * row_of(look, COMPLEMENT)[c];
    }
}

static void split_by_thread(Look *look) {
    Py_ssize_t count = look->candidates.count;
    const uint32_t *threads = AT(look->corpus[THREAD], uint32_t);
    for (int at = 0; at < ROWS - IN_THREAD; at++)
        for (Py_ssize_t c = 0; c < count; c++)
            row_of(look, IN_THREAD + at)[c] = threads[look->places[0][c]] ? row_of(look, OF_BOTH_KINDS[at])[c] : 0;
}

static int look_at(Look *look) {
    Py_ssize_t count = look->candidates.count;
    memset(AT(look->out, float), 0, (size_t)look->out.view.len);
    if (look_around(look) < 0 || give(look) < 0) return -1;
    float total = total_weight(look), *base = malloc((size_t)(count + 1) * sizeof *base);
    if (!base) {
        PyErr_NoMemory();
        return -1;
    }
    by_themselves(look, total);
    for (Py_ssize_t c = 0; c < count; c++) base[c] = row_of(look, WORDS)[c] + row_of(look, MEANING)[c];
    by_clause(look);
    look_beside(look, total);
    look_at_authors(look);
    int failed = compare_typical(look) < 0 || look_at_threads(look, base) < 0 || hop(look, base, total) < 0;
    free(base);
    if (failed) return -1;
    follow_graph(look);
    split_by_thread(look);
    return 0;
}

/* ---- Opening what is given ---- */

typedef struct {
    int kind;
    const char *name;
} Told;
static const Told SEGMENT[OF_SEGMENT] = {{U32, "said"},     {I64, "said_from"}, {U32, "terms"},
                                         {I64, "starts"},   {I32, "docs"}};
static const Told CORPUS[OF_CORPUS] = {{F32, "length"}, {U32, "thread"}, {U32, "author"},      {I64, "before"},
                                       {I64, "after"},  {U8, "asks"},    {U8, "ends_asking"}, {U8, "tells_time"}};
static const Told RUN[OF_RUN] = {
    {U8, "allowed"}, {F32, "lexical"}, {F32, "covered"}, {F32, "cosine"}, {F32, "meaning"}};
static const Told MATCHES[OF_MATCHES] = {
    {U32, "terms"}, {F32, "weights"}, {I64, "owner"}, {I64, "docs"}, {F32, "given"}};
static const Told QUESTION[OF_QUESTION] = {{U32, "authors"}, {U32, "assistants"}, {F32, "parts"},
                                           {I64, "reached"}, {F32, "activation"}, {U32, "known"},
                                           {U32, "titles"},  {I64, "title_from"}};

static int open_all(PyObject *tuple, const Told *told, Array *arrays, Py_ssize_t count, Py_ssize_t size) {
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != count) {
        PyErr_Format(PyExc_TypeError, "expected a tuple of %zd arrays, the first of them %s", count, told[0].name);
        return -1;
    }
    for (Py_ssize_t at = 0; at < count; at++)
        if (open_array(PyTuple_GetItem(tuple, at), &arrays[at], told[at].kind, size, 0, told[at].name) < 0) return -1;
    return 0;
}

static int do_not_fit(const char *what) {
    PyErr_Format(PyExc_ValueError, "%s: arrays that do not fit together", what);
    return -1;
}

static int open_segments(PyObject *tuple, Look *look) {
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) < 1) return do_not_fit("segments");
    look->segments = calloc((size_t)PyTuple_Size(tuple), sizeof *look->segments);
    if (!look->segments) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t at = 0; at < PyTuple_Size(tuple); at++) {
        Array *a = look->segments[look->segment_count++].a;
        if (open_all(PyTuple_GetItem(tuple, at), SEGMENT, a, OF_SEGMENT, -1) < 0) return -1;
        if (a[STARTS].count != a[TERMS].count + 1 || a[SAID_FROM].count < 1) return do_not_fit("segment");
        look->size += a[SAID_FROM].count - 1;
    }
    return 0;
}

/* After the segments: whole numbers are there of every memory. */
static int open_vectors(PyObject *object, Look *look) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) return -1;
    look->is_whole = view.itemsize == 2;
    PyBuffer_Release(&view);
    if (open_array(object, &look->vectors, look->is_whole ? I16 : F32, -1, 0, "vectors") < 0) return -1;
    Py_ssize_t rows = look->is_whole ? look->size : look->candidates.count;
    int fits = look->vectors.view.ndim == 2 && look->vectors.view.shape[0] == rows;
    look->dim = fits ? look->vectors.view.shape[1] : 0;
    return fits ? 0 : do_not_fit("vectors");
}

static int open_corpus(PyObject *tuple, Look *look) {
    if (open_all(tuple, CORPUS, look->corpus, OF_CORPUS, -1) < 0) return -1;
    for (int at = 0; at < OF_CORPUS; at++) {
        Py_ssize_t more = at == BEFORE || at == AFTER; /* one stands for no memory */
        if (look->corpus[at].count != look->size + more) return do_not_fit("corpus");
    }
    return 0;
}

static int open_matches(PyObject *tuple, Look *look) {
    if (open_all(tuple, MATCHES, look->matches, OF_MATCHES, -1) < 0) return -1;
    Array *a = look->matches;
    int fits = a[ASKED_TERMS].count == a[WEIGHTS].count && a[OWNER].count == a[FOUND_IN].count;
    return fits && a[OWNER].count == a[GIVES_THERE].count ? 0 : do_not_fit("matches");
}

/* None at all, or where the title of each candidate begins and the last one ends. */
static int are_titles(const Look *look) {
    const Array *titles = &look->question[TITLES], *starts = &look->question[TITLE_FROM];
    if (!starts->count) return 1;
    const int64_t *from = AT(*starts, int64_t);
    if (starts->count != look->candidates.count + 1 || from[0] < 0) return 0;
    for (Py_ssize_t c = 0; c < look->candidates.count; c++)
        if (from[c] > from[c + 1]) return 0;
    return from[look->candidates.count] <= titles->count;
}

static int open_question(PyObject *tuple, Look *look) {
    if (open_all(tuple, QUESTION, look->question, OF_QUESTION, -1) < 0) return -1;
    Py_ssize_t terms = look->matches[WEIGHTS].count;
    if (look->question[REACHED].count != look->question[STRENGTH].count) return do_not_fit("activation");
    if (!are_titles(look)) return do_not_fit("titles");
    return terms && look->question[PARTS].count % terms ? do_not_fit("parts") : 0;
}

static int open_numbers(PyObject *tuple, Look *look) {
    if (!is_tuple(tuple)) return -1;
    return PyArg_ParseTuple(tuple, "ddddddddddnnnpppp", &look->size_of_scope, &look->background, &look->mean_length,
                            &look->words_least, &look->words_spread, &look->meaning_least, &look->meaning_spread,
                            &look->per_weight, &look->bridge, &look->most, &look->typical, &look->hops_from,
                            &look->rarest, &look->is_threaded, &look->of_agent, &look->of_manner, &look->about_time)
               ? 0
               : -1;
}

static int open_alive(PyObject *object, Look *look) {
    if (object == Py_None) return 0;
    if (open_array(object, &look->alive, U8, look->size, 0, "alive") < 0) return -1;
    for (Py_ssize_t at = 0; at < look->size; at++) look->dead += !AT(look->alive, uint8_t)[at];
    return 0;
}

static void close_look(Look *look) {
    for (Py_ssize_t at = 0; at < look->segment_count; at++) close_arrays(look->segments[at].a, OF_SEGMENT);
    close_arrays(look->corpus, OF_CORPUS);
    close_arrays(look->run, OF_RUN);
    close_arrays(look->matches, OF_MATCHES);
    close_arrays(look->question, OF_QUESTION);
    close_arrays(look->language, OF_LANGUAGE);
    close_arrays(&look->candidates, 1);
    close_arrays(&look->vectors, 1);
    close_arrays(&look->out, 1);
    close_arrays(&look->alive, 1);
    free(look->segments);
    free(look->places[0]);
    free(look->slots);
    free(look->given);
    free(look->shared);
}

/* look(candidates i64, vectors f32 (candidates, dim) or i16 (memories, dim), out f32 (features, candidates), segments, corpus, run, matches, question, language, numbers, alive
   or None): fills `out`. */
PyObject *native_look(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    Look look = {0};
    PyObject *result = NULL;
    if (count != 11) return PyErr_Format(PyExc_TypeError, "look takes 11 arguments, got %zd", count);
    if (open_array(args[0], &look.candidates, I64, -1, 0, "candidates") == 0 &&
        open_array(args[2], &look.out, F32, ROWS * look.candidates.count, 1, "out") == 0 &&
        open_segments(args[3], &look) == 0 && open_vectors(args[1], &look) == 0 && open_corpus(args[4], &look) == 0 &&
        open_all(args[5], RUN, look.run, OF_RUN, look.size) == 0 && open_matches(args[6], &look) == 0 &&
        open_question(args[7], &look) == 0 && open_language(args[8], look.language) == 0 &&
        open_numbers(args[9], &look) == 0 && open_alive(args[10], &look) == 0 && look_at(&look) == 0)
        result = Py_NewRef(Py_None);
    close_look(&look);
    return result;
}
