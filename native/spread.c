/* Spreading activation over arrays: what `spread_from` of clew/graph/activation.py gives in the personalised
   refinement, the seeds weighed, and only memories wanted.

   Entries are taken up one by one and never stored: of each node that was touched, the entry that touched it first
   and the one that tells how it was reached are all that is needed later. */

#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BITS 8192 /* of the nodes that take part in a refinement: 64 leave 1 % of the others to a search */
#define AHEAD 64 /* nodes that are looked at before they are needed, at most */
#define LINE 64 /* bytes that memory gives at once */

typedef struct { /* as ENTRY in clew/recall/arrays.py */
    int64_t target;
    double weight, confidence;
    int64_t until;
    int16_t kind;
} Entry;

typedef struct { /* a node that was touched; the seeds are the first of them */
    int64_t node;
    double score;             /* the highest share, at least 0 */
    double share, confidence; /* of the entry that tells how it was reached */
    double first_confidence;  /* of the entry that touched it first */
    int32_t parent, first_parent; /* the expanded nodes that these entries leave */
    int32_t hop;
    int16_t kind;
} Touched;

typedef struct { /* known by its number in the order of expansion */
    int32_t group;  /* which of the touched */
    int32_t origin; /* the seed that reached it first */
} Expanded;

typedef struct { /* entries of one node, and the moment at which they must still count */
    const Entry *entries;
    Py_ssize_t count;
    int64_t now;
    Py_buffer view;
} Around;

typedef struct { /* what a walk flows along; numbers of nodes that take part */
    int32_t source, target;
    double strength;
} Edge;

typedef struct { /* what was found: groups with their scores, in the order of first touch */
    int32_t *groups;
    double *scores, *heap;
    Py_ssize_t *places; /* room for choosing among them */
    Py_ssize_t size;
} Found;

enum { STARTS, NUMBERS, MEMORIES, DAMPED, ARRAYS };

typedef struct {
    Array arrays[ARRAYS];
    Around base;
    Py_ssize_t memory_count;
    PyObject *changed, *patched, *new_nodes; /* borrowed; those that are empty are NULL */
    int64_t now;
    Py_ssize_t max_steps, iterations, top_m, fan_out, max_expanded, max_refined, max_asked;
    double decay, floor, beta, flow, tolerance;
    double *given; /* per seed */
    Touched *touched;
    Expanded *expanded;
    Edge *edges;
    Py_ssize_t seeds, size, room, expanded_size, expanded_room, edge_count, edge_room;
    Table table; /* which of the touched a node is */
    PyObject *unread; /* nodes that changed and were not read yet */
} Search;

/* -- memory ------------------------------------------------------------------------------------------------ */

/* The rows with room for one more, which doubles it and may move them; NULL with an exception. */
static void *with_room(void *rows, Py_ssize_t *room, Py_ssize_t size, size_t width, Py_ssize_t least) {
    if (size < *room) return rows;
    Py_ssize_t wanted = *room ? 2 * *room : least;
    void *moved = wanted < INT32_MAX / 2 ? realloc(rows, (size_t)wanted * width) : NULL;
    if (!moved) return PyErr_NoMemory();
    *room = wanted;
    return moved;
}

static void search_free(Search *s) {
    close_arrays(s->arrays, ARRAYS);
    if (s->base.view.obj) PyBuffer_Release(&s->base.view);
    free(s->given);
    free(s->touched);
    free(s->expanded);
    free(s->edges);
    table_free(&s->table);
    Py_XDECREF(s->unread);
}

static void found_free(Found *f) {
    free(f->groups);
    free(f->scores);
    free(f->heap);
    free(f->places);
}

static int found_make(Found *f, Py_ssize_t size) {
    size_t count = (size_t)size + 1;
    f->groups = malloc(count * sizeof *f->groups);
    f->scores = malloc(count * sizeof *f->scores);
    f->heap = malloc(count * sizeof *f->heap);
    f->places = malloc(count * sizeof *f->places);
    if (f->groups && f->scores && f->heap && f->places) return 0;
    PyErr_NoMemory();
    return -1;
}

/* -- entries of a node ------------------------------------------------------------------------------------- */

static int open_entries(PyObject *object, Around *around, const char *name) {
    static const char *const SAME[] = {"T{l:target:d:weight:d:confidence:l:until:h:kind:",
                                       "T{q:target:d:weight:d:confidence:q:until:h:kind:"};
    if (PyObject_GetBuffer(object, &around->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return -1;
    const char *format = around->view.format ? around->view.format : "B";
    int same = !strncmp(format, SAME[0], strlen(SAME[0])) || !strncmp(format, SAME[1], strlen(SAME[1]));
    if (same && around->view.itemsize == sizeof(Entry) && (uintptr_t)around->view.buf % sizeof(int64_t) == 0) {
        around->entries = around->view.buf;
        around->count = around->view.len / (Py_ssize_t)sizeof(Entry);
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s: expected entries, got format '%s'", name, format);
    PyBuffer_Release(&around->view);
    around->view.obj = NULL;
    return -1;
}

/* Where a table tells of a number; of any that is not in it, at its end. */
static const int32_t *place_in(const Array *table, int64_t number) {
    int64_t last = table->count - 1;
    return AT(*table, int32_t) + (number < 0 ? 0 : number > last ? last : number);
}

/* Where the entries of a node begin and how many there are; -1 where the arrays do not hold them. */
static int span_of(const Search *s, int64_t node, int64_t *begin, int64_t *count) {
    int32_t number = *place_in(&s->arrays[NUMBERS], node);
    if (number < 0 || number >= s->arrays[STARTS].count - 1) return -1;
    const int64_t *starts = AT(s->arrays[STARTS], int64_t) + number;
    if (starts[0] < 0 || starts[0] > starts[1] || starts[1] > s->base.count) return -1;
    *begin = starts[0];
    *count = starts[1] - starts[0];
    return 0;
}

static int around_base(const Search *s, int64_t node, Around *around) {
    int64_t begin, count;
    if (span_of(s, node, &begin, &count) < 0) {
        PyErr_Format(PyExc_IndexError, "node %lld has entries where there are none", (long long)node);
        return -1;
    }
    *around = (Around){s->base.entries + begin, count, s->base.now, {0}};
    return 1;
}

/* 1 with the entries of a node that changed, 0 where it did not or was not read yet, -1 with an exception. */
static int around_changed(Search *s, int64_t node, Around *around, int *is_changed) {
    int got = -1;
    PyObject *key = PyLong_FromLongLong(node), *entries;
    if (!key || (*is_changed = PySet_Contains(s->changed, key)) < 0) goto done;
    if (!*is_changed) {
        got = 0;
    } else if ((entries = PyDict_GetItemWithError(s->patched, key))) {
        got = open_entries(entries, around, "patched") < 0 ? -1 : 1;
        around->now = s->now;
    } else if (!PyErr_Occurred() && (s->unread || (s->unread = PyList_New(0)))) {
        got = PyList_Append(s->unread, key);
    }
done:
    Py_XDECREF(key);
    return got;
}

/* 1 with the entries, 0 where they have to be read first, -1 with an exception. */
static int around_open(Search *s, int64_t node, Around *around) {
    around->view.obj = NULL;
    int is_changed = 0, got = s->changed ? around_changed(s, node, around, &is_changed) : 0;
    return got || is_changed ? got : around_base(s, node, around);
}

static void around_close(Around *around) {
    if (around->view.obj) PyBuffer_Release(&around->view);
}

/* How many entries are followed. */
static Py_ssize_t degree_of(const Around *around, Py_ssize_t fan_out) {
    Py_ssize_t degree = 0;
    for (Py_ssize_t at = 0; at < around->count && degree < fan_out; at++)
        degree += around->entries[at].until > around->now;
    return degree;
}

/* In a large graph everything is far away. Loads that do not wait for one another are made side by side, so all
   nodes of a round are looked at before the first of them is needed. (Hints to fetch are passed over too often.) */
static void look(const void *address) { (void)*(const volatile char *)address; }

static void look_ahead(const Search *s, const int64_t *nodes, Py_ssize_t count) {
    const int64_t *starts = AT(s->arrays[STARTS], int64_t);
    count = count < AHEAD ? count : AHEAD;
    for (Py_ssize_t at = 0; at < count; at++) look(place_in(&s->arrays[NUMBERS], nodes[at]));
    for (Py_ssize_t at = 0; at < count; at++) {
        int32_t number = *place_in(&s->arrays[NUMBERS], nodes[at]);
        if (number >= 0 && number < s->arrays[STARTS].count) look(starts + number);
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        int64_t begin, size;
        if (span_of(s, nodes[at], &begin, &size) < 0) continue; /* whoever needs them tells */
        size = size < s->fan_out ? size : s->fan_out;
        const char *entries = (const char *)(s->base.entries + begin);
        for (int64_t byte = 0; byte < size * (int64_t)sizeof(Entry); byte += LINE) look(entries + byte);
    }
}

/* -- the search -------------------------------------------------------------------------------------------- */

static int larger_table(Search *s) {
    Table larger;
    if (table_make(&larger, s->table.mask + 1) < 0) return -1;
    for (Py_ssize_t at = 0; at < s->size; at++) *table_at(&larger, s->touched[at].node) = (int32_t)at;
    table_free(&s->table);
    s->table = larger;
    return 0;
}

/* The node's place among the touched; one that is new has a hop of -1. */
static Touched *touched_at(Search *s, int64_t node) {
    if (node < 0) return (void *)PyErr_Format(PyExc_ValueError, "node %lld is negative", (long long)node);
    if (2 * (size_t)(s->size + 1) > s->table.mask && larger_table(s) < 0) return NULL;
    int32_t *at = table_at(&s->table, node);
    if (*at >= 0) return &s->touched[*at];
    Touched *rows = with_room(s->touched, &s->room, s->size, sizeof *rows, 1024);
    if (!rows) return NULL;
    s->touched = rows;
    *at = (int32_t)s->size;
    Touched *one = &s->touched[s->size++];
    one->node = node;
    one->hop = -1;
    return one;
}

static int touch(Search *s, const Entry *entry, double share, int32_t number, int32_t hop) {
    Touched *one = touched_at(s, entry->target);
    if (!one) return -1;
    int is_new = one->hop < 0, is_seed = one - s->touched < s->seeds;
    if (is_new) {
        one->score = 0;
        one->first_parent = number;
        one->first_confidence = entry->confidence;
    }
    if (share > one->score) one->score = share;
    /* the best entry of the least hop; a seed is reached by others, however far */
    if (is_new || ((is_seed || one->hop == hop) && share > one->share)) {
        one->share = share;
        one->confidence = entry->confidence;
        one->parent = number;
        one->hop = hop;
        one->kind = entry->kind;
    }
    return 0;
}

static double damping_of(const Search *s, Py_ssize_t degree) {
    if (degree < s->arrays[DAMPED].count) return AT(s->arrays[DAMPED], double)[degree];
    return 1 / sqrt(1 + log2((double)(degree > 1 ? degree : 1)));
}

/* Comparing and adding up such numbers is left to numpy. */
static int not_finite(void) {
    PyErr_SetString(PyExc_FloatingPointError, "a weight is not finite");
    return -1;
}

/* Follows the entries of an expanded node: how many there are, -1 with an exception. */
static Py_ssize_t traverse(Search *s, int32_t number, int32_t hop, double decayed) {
    Around around;
    Expanded from = s->expanded[number];
    int got = around_open(s, s->touched[from.group].node, &around);
    if (got <= 0) return got;
    Py_ssize_t degree = degree_of(&around, s->fan_out), left = degree;
    int64_t home = s->touched[from.origin].node;
    double factor = s->given[from.origin] * damping_of(s, degree);
    for (const Entry *entry = around.entries; left; entry++) {
        if (entry->until <= around.now) continue;
        left--;
        if (!(entry->confidence >= s->floor) || entry->target == home) continue;
        double share = entry->weight * entry->confidence * decayed * factor;
        if ((isfinite(share) ? touch(s, entry, share, number, hop) : not_finite()) < 0) {
            degree = -1;
            break;
        }
    }
    around_close(&around);
    return degree;
}

static void sift(double *heap, Py_ssize_t size, Py_ssize_t at) {
    double value = heap[at];
    for (Py_ssize_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= value) break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

/* The positions of the `most` highest scores, rising; among equals the earlier ones. `heap` has room for all. */
static Py_ssize_t strongest(const double *scores, Py_ssize_t size, Py_ssize_t most, Py_ssize_t *into,
                            double *heap) {
    if (most >= size) {
        for (Py_ssize_t at = 0; at < size; at++) into[at] = at;
        return size;
    }
    if (most <= 0) return 0;
    memcpy(heap, scores, (size_t)most * sizeof *heap);
    for (Py_ssize_t at = most / 2; at-- > 0;) sift(heap, most, at);
    for (Py_ssize_t at = most; at < size; at++)
        if (scores[at] > heap[0]) {
            heap[0] = scores[at];
            sift(heap, most, 0);
        }
    double least = heap[0];
    Py_ssize_t equal = 0, chosen = 0;
    for (Py_ssize_t at = 0; at < most; at++) equal += heap[at] == least;
    for (Py_ssize_t at = 0; chosen < most && at < size; at++)
        if (scores[at] > least || (scores[at] == least && equal-- > 0)) into[chosen++] = at;
    return chosen;
}

static int note_expanded(Search *s, int32_t group, int32_t origin) {
    Expanded *rows = with_room(s->expanded, &s->expanded_room, s->expanded_size, sizeof *rows, 64);
    if (!rows) return -1;
    s->expanded = rows;
    s->expanded[s->expanded_size++] = (Expanded){group, origin};
    return 0;
}

/* Expands the strongest of the nodes that this hop touched first: how many, -1 with an exception. */
static Py_ssize_t expand(Search *s, Py_ssize_t before, Py_ssize_t most) {
    Found fresh = {0};
    Py_ssize_t size = s->size - before, chosen = -1;
    if (found_make(&fresh, size) < 0) goto done;
    for (Py_ssize_t at = 0; at < size; at++) fresh.scores[at] = s->touched[before + at].score;
    Py_ssize_t best = strongest(fresh.scores, size, most, fresh.places, fresh.heap);
    for (Py_ssize_t at = 0; at < best; at++) {
        int32_t group = (int32_t)(before + fresh.places[at]);
        if (note_expanded(s, group, s->expanded[s->touched[group].first_parent].origin) < 0) goto done;
    }
    chosen = best;
done:
    found_free(&fresh);
    return chosen;
}

static int search(Search *s) {
    int64_t ahead[AHEAD] = {0};
    Py_ssize_t from = 0, left = s->max_expanded;
    for (Py_ssize_t hop = 1; hop <= s->max_steps; hop++) {
        Py_ssize_t before = s->size, to = s->expanded_size, entries = 0;
        double decayed = pow(s->decay, (double)hop);
        for (Py_ssize_t at = from; at < to && at - from < AHEAD; at++)
            ahead[at - from] = s->touched[s->expanded[at].group].node;
        look_ahead(s, ahead, to - from);
        for (; from < to; from++) {
            Py_ssize_t degree = traverse(s, (int32_t)from, (int32_t)hop, decayed);
            if (degree < 0) return -1;
            entries += degree;
        }
        if (s->unread || !entries || hop == s->max_steps) break;
        Py_ssize_t chosen = expand(s, before, left);
        if (chosen <= 0) return (int)chosen;
        left -= chosen;
    }
    return 0;
}

/* -- the refinement ---------------------------------------------------------------------------------------- */

typedef struct { /* the nodes that take part, numbered; most others are told from them by a bit */
    Table table;
    uint8_t bits[BITS / 8];
} Places;

static int32_t place_of(const Places *places, int64_t node) {
    uint64_t bit = (uint64_t)node % BITS;
    return node >= 0 && places->bits[bit / 8] >> bit % 8 & 1 ? table_get(&places->table, node) : -1;
}

/* The entries of one of the nodes that take part to others of them. */
static int flows(Search *s, const Around *around, int32_t source, const Places *places) {
    Py_ssize_t left = degree_of(around, s->fan_out);
    for (const Entry *entry = around->entries; left; entry++) {
        if (entry->until <= around->now) continue;
        left--;
        int32_t target = place_of(places, entry->target);
        if (target < 0) continue;
        double strength = entry->weight * entry->confidence;
        if (!(entry->confidence >= s->floor) || !(strength > 0)) continue;
        Edge *rows = with_room(s->edges, &s->edge_room, s->edge_count, sizeof *rows, 1024);
        if (!rows) return -1;
        s->edges = rows;
        s->edges[s->edge_count++] = (Edge){source, target, strength};
    }
    return 0;
}

static int between(Search *s, const Found *f, Py_ssize_t count, Places *places) {
    int64_t ahead[AHEAD] = {0};
    for (Py_ssize_t at = 0; at < count; at++) {
        int64_t node = s->touched[f->groups[f->places[at]]].node;
        if (at < AHEAD) ahead[at] = node;
        *table_at(&places->table, node) = (int32_t)at;
        places->bits[(uint64_t)node % BITS / 8] |= (uint8_t)(1 << (uint64_t)node % 8);
    }
    look_ahead(s, ahead, count);
    for (Py_ssize_t at = 0; at < count; at++) {
        Around around;
        int got = around_open(s, s->touched[f->groups[f->places[at]]].node, &around);
        if (got > 0) {
            got = flows(s, &around, (int32_t)at, places);
            around_close(&around);
        }
        if (got < 0) return -1;
    }
    return 0;
}

/* In the order in which numpy adds up at most 128 numbers. */
static double summed(const double *values, Py_ssize_t size) {
    double sums[8], sum = 0;
    Py_ssize_t at = 0;
    if (size >= 8) {
        memcpy(sums, values, sizeof sums);
        for (at = 8; at + 8 <= size; at += 8)
            for (int lane = 0; lane < 8; lane++) sums[lane] += values[at + lane];
        sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
    for (; at < size; at++) sum += values[at];
    return sum;
}

/* What nodes without edges hand to the seeds. */
static double lost_of(const Search *s, const double *out, const double *rank, double *room, Py_ssize_t size) {
    for (Py_ssize_t at = 0; at < size; at++) room[at] = (out[at] > 0 ? 0 : s->flow) * rank[at];
    return summed(room, size);
}

/* `walk` of clew/graph/pagerank.py: from `teleport` along the edges, into `rank`. `room` is for 3 * size. */
static void walk(Search *s, const double *teleport, double *rank, double *room, Py_ssize_t size) {
    double *out = room, *after = out + size, *moved = after + size;
    const Edge *end = s->edges + s->edge_count;
    memset(out, 0, (size_t)size * sizeof *out);
    for (const Edge *edge = s->edges; edge < end; edge++) out[edge->source] += edge->strength;
    for (Edge *edge = s->edges; edge < end; edge++) edge->strength = s->flow * edge->strength / out[edge->source];
    memcpy(rank, teleport, (size_t)size * sizeof *rank);
    for (Py_ssize_t round = 0; round < s->iterations; round++) {
        double lost = lost_of(s, out, rank, moved, size);
        memset(after, 0, (size_t)size * sizeof *after);
        for (const Edge *edge = s->edges; edge < end; edge++)
            after[edge->target] += rank[edge->source] * edge->strength;
        for (Py_ssize_t at = 0; at < size; at++) {
            after[at] = after[at] + lost * teleport[at] + (1 - s->flow) * teleport[at];
            moved[at] = fabs(after[at] - rank[at]);
        }
        memcpy(rank, after, (size_t)size * sizeof *rank);
        if (summed(moved, size) < s->tolerance) break;
    }
}

static int refine(Search *s, Found *f) {
    if (!s->iterations || f->size < 2) return 0;
    int got = -1;
    Places places = {0};
    Py_ssize_t size = strongest(f->scores, f->size, s->max_refined, f->places, f->heap);
    double *teleport = malloc(5 * (size_t)(size + 1) * sizeof *teleport), *rank = teleport + size;
    if (!teleport) PyErr_NoMemory();
    if (!teleport || table_make(&places.table, (size_t)size) < 0) goto done;
    if (between(s, f, size, &places) < 0) goto done;
    for (Py_ssize_t at = 0; at < size; at++) teleport[at] = f->scores[f->places[at]];
    double total = summed(teleport, size);
    for (Py_ssize_t at = 0; at < size; at++) teleport[at] /= total;
    walk(s, teleport, rank, rank + size, size);
    got = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        f->scores[f->places[at]] = total * rank[at];
        if (!isfinite(total * rank[at])) got = not_finite();
    }
done:
    table_free(&places.table);
    free(teleport);
    return got;
}

/* -- what is kept ------------------------------------------------------------------------------------------ */

static void take(Found *f, Py_ssize_t count) {
    for (Py_ssize_t at = 0; at < count; at++) {
        f->groups[at] = f->groups[f->places[at]];
        f->scores[at] = f->scores[f->places[at]];
    }
    f->size = count;
}

/* 1 for a memory, 0 for any other node, -1 with an exception. */
static int is_memory(const Search *s, int64_t node) {
    if (*place_in(&s->arrays[MEMORIES], node) < s->memory_count) return 1;
    if (!s->new_nodes) return 0;
    PyObject *key = PyLong_FromLongLong(node);
    int found = key ? PyDict_Contains(s->new_nodes, key) : -1;
    Py_XDECREF(key);
    return found;
}

static int take_memories(const Search *s, Found *f) {
    Py_ssize_t most = s->max_expanded && s->max_expanded < f->size ? s->max_expanded : f->size, memories = 0;
    most = 4 * most > s->max_asked ? 4 * most : s->max_asked;
    take(f, strongest(f->scores, f->size, most, f->places, f->heap));
    for (Py_ssize_t at = 0; at < f->size; at++)
        look(place_in(&s->arrays[MEMORIES], s->touched[f->groups[at]].node));
    for (Py_ssize_t at = 0; at < f->size; at++) {
        int found = is_memory(s, s->touched[f->groups[at]].node);
        if (found < 0) return -1;
        f->places[memories] = at;
        memories += found;
    }
    take(f, memories);
    return 0;
}

static void inhibit(const Search *s, Found *f) {
    if (s->beta == 0 || !s->top_m || f->size < 2) return;
    Py_ssize_t count = strongest(f->scores, f->size, s->top_m, f->places, f->heap);
    double *rivals = f->heap;
    for (Py_ssize_t at = 0; at < count; at++) rivals[at] = f->scores[f->places[at]];
    for (Py_ssize_t at = 0; at < f->size; at++) {
        double own = f->scores[at], ahead = 0;
        for (Py_ssize_t one = 0; one < count; one++) ahead += rivals[one] > own ? rivals[one] - own : 0;
        own -= s->beta * ahead;
        f->scores[at] = own > 0 ? own : 0;
    }
}

typedef struct {
    double score;
    int32_t group, at;
} Ranked;

static int by_score(const void *one, const void *other) {
    const Ranked *a = one, *b = other;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static int order(Search *s, Found *f) {
    take(f, strongest(f->scores, f->size, s->max_expanded, f->places, f->heap));
    Ranked *rows = malloc(((size_t)f->size + 1) * sizeof *rows);
    if (!rows) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t at = 0; at < f->size; at++) rows[at] = (Ranked){f->scores[at], f->groups[at], (int32_t)at};
    qsort(rows, (size_t)f->size, sizeof *rows, by_score);
    for (Py_ssize_t at = 0; at < f->size; at++) {
        f->groups[at] = rows[at].group;
        f->scores[at] = rows[at].score;
    }
    free(rows);
    return 0;
}

/* -- the answer: what clew/graph/packed.py reads -------------------------------------------------------------- */

typedef struct {
    double share, confidence;
    int64_t number, hop, kind;
} Last;

typedef struct {
    int64_t node;
    double confidence;
    int64_t before; /* the expanded node before it; -1 for a seed */
} Step;

static PyObject *lasts(const Search *s, const Found *f) {
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, f->size * (Py_ssize_t)sizeof(Last));
    if (!bytes) return NULL;
    char *into = PyBytes_AsString(bytes);
    for (Py_ssize_t at = 0; at < f->size; at++) {
        const Touched *one = &s->touched[f->groups[at]];
        Last last = {one->share, one->confidence, one->parent, one->hop, one->kind};
        memcpy(into + at * (Py_ssize_t)sizeof last, &last, sizeof last);
    }
    return bytes;
}

/* By the best entry, unless that came from another seed: then by the first one. */
static PyObject *steps(const Search *s) {
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, s->expanded_size * (Py_ssize_t)sizeof(Step));
    if (!bytes) return NULL;
    char *into = PyBytes_AsString(bytes);
    for (Py_ssize_t at = 0; at < s->expanded_size; at++) {
        const Touched *one = &s->touched[s->expanded[at].group];
        Step step = {one->node, one->confidence, one->parent};
        if (at < s->seeds)
            step.before = -1;
        else if (s->expanded[one->parent].origin != s->expanded[at].origin)
            step = (Step){one->node, one->first_confidence, one->first_parent};
        memcpy(into + at * (Py_ssize_t)sizeof step, &step, sizeof step);
    }
    return bytes;
}

static PyObject *answer(const Search *s, const Found *f) {
    PyObject *nodes = PyList_New(f->size), *scores = PyList_New(f->size), *result = NULL;
    PyObject *ends = lasts(s, f), *ways = steps(s);
    if (!nodes || !scores || !ends || !ways) goto done;
    for (Py_ssize_t at = 0; at < f->size; at++) {
        PyObject *node = PyLong_FromLongLong(s->touched[f->groups[at]].node);
        PyObject *score = PyFloat_FromDouble(f->scores[at]);
        if (node) PyList_SetItem(nodes, at, node);
        if (score) PyList_SetItem(scores, at, score);
        if (!node || !score) goto done;
    }
    result = PyTuple_Pack(4, nodes, scores, ends, ways);
done:
    Py_XDECREF(nodes);
    Py_XDECREF(scores);
    Py_XDECREF(ends);
    Py_XDECREF(ways);
    return result;
}

/* The nodes that have to be read first, None when nothing was reached, or what was found. */
static PyObject *run(Search *s) {
    Found f = {0};
    PyObject *result = NULL;
    if (search(s) < 0) return NULL;
    if (s->unread) return Py_NewRef(s->unread);
    if (found_make(&f, s->size) < 0) goto done;
    for (Py_ssize_t at = 0; at < s->size; at++)
        if (s->touched[at].score != 0) {
            f.groups[f.size] = (int32_t)at;
            f.scores[f.size++] = s->touched[at].score;
        }
    if (!f.size) {
        result = Py_NewRef(Py_None);
        goto done;
    }
    if (refine(s, &f) < 0) goto done;
    if (s->unread) {
        result = Py_NewRef(s->unread);
        goto done;
    }
    if (take_memories(s, &f) < 0) goto done;
    inhibit(s, &f);
    if (order(s, &f) == 0) result = answer(s, &f);
done:
    found_free(&f);
    return result;
}

/* -- what it is given -------------------------------------------------------------------------------------- */

static int read_arrays(Search *s, PyObject *given, PyObject *damped) {
    PyObject *entries, *starts, *numbers, *memories;
    if (!PyArg_ParseTuple(given, "OOOOn", &entries, &starts, &numbers, &memories, &s->memory_count)) return -1;
    if (open_entries(entries, &s->base, "entries") < 0 ||
        open_array(starts, &s->arrays[STARTS], I64, -1, 0, "starts") < 0 ||
        open_array(numbers, &s->arrays[NUMBERS], I32, -1, 0, "numbers") < 0 ||
        open_array(memories, &s->arrays[MEMORIES], I32, -1, 0, "memories") < 0 ||
        open_array(damped, &s->arrays[DAMPED], F64, -1, 0, "damped") < 0)
        return -1;
    if (s->arrays[NUMBERS].count && s->arrays[MEMORIES].count) return 0;
    PyErr_SetString(PyExc_ValueError, "a table has at least one place");
    return -1;
}

static int read_changes(Search *s, PyObject *given) {
    long long first_end, now;
    PyObject *changed, *patched, *new_nodes;
    if (!PyArg_ParseTuple(given, "O!O!O!LL", &PySet_Type, &changed, &PyDict_Type, &patched, &PyDict_Type,
                          &new_nodes, &first_end, &now))
        return -1;
    s->changed = PySet_Size(changed) ? changed : NULL;
    s->patched = patched;
    s->new_nodes = PyDict_Size(new_nodes) ? new_nodes : NULL;
    s->now = now;
    s->base.now = first_end > now ? INT64_MIN : now;
    return 0;
}

/* Only of types that turn into numbers without any code of theirs, which could change the seeds meanwhile. */
static int add_seed(Search *s, PyObject *node, PyObject *weight) {
    if (!PyLong_Check(node) || !(PyFloat_Check(weight) || PyLong_CheckExact(weight))) {
        PyErr_SetString(PyExc_TypeError, "seeds: expected weights by node");
        return -1;
    }
    int64_t number = PyLong_AsLongLong(node);
    double share = PyFloat_AsDouble(weight);
    if (PyErr_Occurred()) return -1;
    int32_t place = (int32_t)s->seeds;
    Touched *one = touched_at(s, number);
    if (!one || note_expanded(s, place, place) < 0) return -1;
    if (s->size == s->seeds) {
        PyErr_SetString(PyExc_ValueError, "seeds: a node is named twice");
        return -1;
    }
    *one = (Touched){.node = number, .parent = place, .first_parent = place};
    s->given[s->seeds++] = share;
    return 0;
}

static int read_seeds(Search *s, PyObject *seeds) {
    PyObject *node, *weight;
    Py_ssize_t at = 0;
    if (!PyDict_Check(seeds)) {
        PyErr_SetString(PyExc_TypeError, "seeds: expected a dict");
        return -1;
    }
    s->given = malloc(((size_t)PyDict_Size(seeds) + 1) * sizeof *s->given);
    if (!s->given) PyErr_NoMemory();
    if (!s->given || table_make(&s->table, 1024) < 0) return -1;
    while (PyDict_Next(seeds, &at, &node, &weight))
        if (add_seed(s, node, weight) < 0) return -1;
    return 0;
}

/* spread((entries, starts, numbers, memories, memory_count), (changed, patched, new_nodes, first_end, now),
   {seed: weight}, (max_steps, decay, confidence_floor, iterations, beta, top_m, fan_out, max_expanded,
   max_refined, max_asked, flow, tolerance, damped)) */
PyObject *native_spread(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    Search s = {0};
    PyObject *result = NULL, *damped;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "spread takes 4 arguments, got %zd", count);
    for (int at = 0; at < 4; at++)
        if (at != 2 && !PyTuple_Check(args[at]))
            return PyErr_Format(PyExc_TypeError, "argument %d is no tuple", at);
    if (!PyArg_ParseTuple(args[3], "nddndnnnnnddO", &s.max_steps, &s.decay, &s.floor, &s.iterations, &s.beta,
                          &s.top_m, &s.fan_out, &s.max_expanded, &s.max_refined, &s.max_asked, &s.flow,
                          &s.tolerance, &damped))
        return NULL;
    if (read_arrays(&s, args[0], damped) == 0 && read_changes(&s, args[1]) == 0 && read_seeds(&s, args[2]) == 0)
        result = run(&s);
    search_free(&s);
    return result;
}
