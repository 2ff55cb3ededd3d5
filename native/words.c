#include "native.h"

#include <stdlib.h>
#include <string.h>

/* ---- Words to what is known of each, as bytes: `analyse` and `wordpiece` read texts by it ---- */

/* One word. Few bytes lie in the slot itself, and a short word is told by its hash (see `hash_of`): so one look at
   memory finds most of them. Otherwise its letters and its bytes lie one behind the other in `letters`. */
enum { SHORT = 8 };
typedef struct {
    uint64_t hash;
    uint32_t at;
    uint16_t word, bytes; /* so long; a place without a word is free */
    char own[SHORT];
} Slot;

typedef struct {
    PyObject_HEAD
    PyObject *missing; /* what reads a word that is not known yet */
    Slot *slots;
    char *letters;
    size_t mask, used, filled, room; /* slots less one, words, letters, and the room for these */
    size_t most, longest;            /* so many words are kept, none that is longer */
    uint64_t seed;                   /* nobody can make words that meet in one place */
} Words;

enum { FIRST = 1024, FURTHEST = 64 }; /* slots; how far from its place a word may lie */

static uint64_t mixed(uint64_t hash, uint64_t part) {
    hash = (hash ^ part) * UINT64_C(0xFF51AFD7ED558CCD);
    hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* INVARIANT: no two words of one length up to SHORT have the same: each step of `mixed` can be undone, and such a
   word is a single part. */
static uint64_t hash_of(const Words *words, const char *word, size_t length) {
    uint64_t hash = words->seed ^ length, part = 0;
    for (; length > SHORT; word += SHORT, length -= SHORT) {
        memcpy(&part, word, SHORT);
        hash = mixed(hash, part);
    }
    part = 0;
    for (size_t at = 0; at < length; at++) part |= (uint64_t)(unsigned char)word[at] << 8 * at;
    return mixed(hash, part);
}

static size_t letters_in(size_t length) { return length > SHORT ? length : 0; } /* so many lie in `letters` */

static const char *bytes_of(const Words *words, const Slot *slot) {
    return slot->bytes > SHORT ? words->letters + slot->at + letters_in(slot->word) : slot->own;
}

/* Where a word lies or may be put; NULL where others lie all around. */
static Slot *slot_of(const Words *words, const char *word, size_t length, uint64_t hash) {
    for (size_t step = 0; step < FURTHEST; step++) {
        Slot *slot = &words->slots[(hash + step) & words->mask];
        if (!slot->word) return slot;
        if (slot->hash == hash && slot->word == length && !memcmp(words->letters + slot->at, word, letters_in(length))) return slot;
    }
    return NULL;
}

static int make_slots(Words *words, size_t count) {
    Slot *old = words->slots, *slots = calloc(count, sizeof *slots);
    size_t before = old ? words->mask + 1 : 0;
    if (!slots) return PyErr_NoMemory(), -1;
    words->slots = slots;
    words->mask = count - 1;
    words->used = 0;
    for (size_t at = 0; at < before; at++) {
        if (!old[at].word) continue;
        Slot *slot = slot_of(words, words->letters + old[at].at, old[at].word, old[at].hash);
        if (slot) { /* one that finds no place is read anew when it comes again */
            *slot = old[at];
            words->used++;
        }
    }
    free(old);
    return 0;
}

static int make_room(Words *words, size_t more) {
    if (words->letters && words->filled + more <= words->room) return 0;
    size_t room = words->room ? 2 * words->room : 1 << 14;
    while (room < words->filled + more) room *= 2;
    char *letters = realloc(words->letters, room);
    if (!letters) return PyErr_NoMemory(), -1;
    words->letters = letters;
    words->room = room;
    return 0;
}

static int keep(Words *words, const char *word, size_t length, uint64_t hash, const char *bytes, size_t count) {
    if (length > words->longest || count > UINT16_MAX) return 0;
    if (words->used >= words->most || words->filled + length + count > UINT32_MAX) { /* code bases repeat their words */
        memset(words->slots, 0, (words->mask + 1) * sizeof *words->slots);
        words->used = words->filled = 0;
    }
    if (2 * words->used > words->mask && make_slots(words, 2 * (words->mask + 1)) < 0) return -1;
    if (make_room(words, length + count) < 0) return -1;
    Slot *slot = slot_of(words, word, length, hash);
    if (!slot || slot->word) return 0; /* somebody has kept it meanwhile */
    *slot = (Slot){.hash = hash, .at = (uint32_t)words->filled, .word = (uint16_t)length, .bytes = (uint16_t)count};
    memcpy(words->letters + words->filled, word, letters_in(length));
    words->filled += letters_in(length);
    memcpy(count > SHORT ? words->letters + words->filled : slot->own, bytes, count);
    words->filled += letters_in(count);
    words->used++;
    return 0;
}

/* What is gathered of one text. */
typedef struct {
    char *bytes, first[4096];
    size_t count, room;
} Gathered;

static int gather(Gathered *out, const char *bytes, size_t count) {
    if (out->count + count > out->room) {
        size_t room = 2 * (out->count + count);
        char *moved = out->bytes == out->first ? malloc(room) : realloc(out->bytes, room);
        if (!moved) return PyErr_NoMemory(), -1;
        if (out->bytes == out->first) memcpy(moved, out->first, out->count);
        out->bytes = moved;
        out->room = room;
    }
    memcpy(out->bytes + out->count, bytes, count);
    out->count += count;
    return 0;
}

/* Reads a word that is not known yet, by Python: meanwhile others may change the table. */
static int add_missing(Words *words, PyObject *word, const char *letters, size_t length, uint64_t hash, Gathered *out) {
    char *bytes;
    Py_ssize_t count;
    PyObject *read = word ? PyObject_CallFunctionObjArgs(words->missing, word, NULL) : NULL;
    int done = -1;
    if (read && PyBytes_AsStringAndSize(read, &bytes, &count) == 0 && gather(out, bytes, (size_t)count) == 0)
        done = letters ? keep(words, letters, length, hash, bytes, (size_t)count) : 0;
    Py_XDECREF(read);
    return done;
}

/* A word by its letters, and by itself if there is such an object already. */
static int add_word(Words *words, PyObject *word, const char *letters, size_t length, uint64_t hash, Gathered *out) {
    Slot *slot = length <= words->longest ? slot_of(words, letters, length, hash) : NULL;
    if (slot && slot->word) return gather(out, bytes_of(words, slot), slot->bytes);
    PyObject *made = word ? Py_NewRef(word) : PyUnicode_FromStringAndSize(letters, (Py_ssize_t)length);
    int done = add_missing(words, made, letters, length, hash, out);
    Py_XDECREF(made);
    return done;
}

static int is_blank(unsigned char letter) { return letter == 32 || (letter >= 9 && letter <= 13) || (letter >= 28 && letter <= 31); }

/* From `*at` on the next word of a text in ASCII: how long it is, 0 at the end, and `*at` lies behind it. */
static size_t next_word(const char *text, size_t size, size_t *at) {
    while (*at < size && is_blank((unsigned char)text[*at])) ++*at;
    size_t begin = *at;
    while (*at < size && !is_blank((unsigned char)text[*at])) ++*at;
    return *at - begin;
}

/* The next words of a text, hashed; their slots are sent for, so that memory is not waited for word by word. */
enum { AHEAD = 64 };
typedef struct {
    const char *letters;
    size_t length;
    uint64_t hash;
} Word;

static size_t next_words(const Words *words, const char *text, size_t size, size_t *at, Word *found) {
    size_t count = 0, length;
    while (count < AHEAD && (length = next_word(text, size, at))) {
        const char *letters = text + *at - length;
        Word word = {letters, length, hash_of(words, letters, length)};
        FETCH(&words->slots[word.hash & words->mask]);
        found[count++] = word;
    }
    return count;
}

static int add_ascii(Words *words, const char *text, size_t size, Gathered *out) {
    Word found[AHEAD];
    size_t count, at = 0;
    while ((count = next_words(words, text, size, &at, found)))
        for (size_t word = 0; word < count; word++)
            if (add_word(words, NULL, found[word].letters, found[word].length, found[word].hash, out) < 0) return -1;
    return 0;
}

/* Of other scripts, Python knows what is white space. */
static int add_split(Words *words, PyObject *text, Gathered *out) {
    PyObject *list = PyUnicode_Split(text, NULL, -1);
    int done = list ? 0 : -1;
    for (Py_ssize_t at = 0; done == 0 && at < PyList_Size(list); at++) {
        Py_ssize_t size;
        PyObject *word = PyList_GetItem(list, at);
        const char *letters = PyUnicode_AsUTF8AndSize(word, &size);
        if (letters) {
            done = add_word(words, word, letters, (size_t)size, hash_of(words, letters, (size_t)size), out);
            continue;
        }
        PyErr_Clear(); /* what half a letter is in is not kept */
        done = add_missing(words, word, NULL, 0, 0, out);
    }
    Py_XDECREF(list);
    return done;
}

/* The letters of a text in ASCII; NULL of any other, or with an exception of what is no text. */
static const char *ascii_of(PyObject *text, Py_ssize_t *size) {
    if (!PyUnicode_Check(text)) return PyErr_Format(PyExc_TypeError, "a text is to be read"), NULL;
    const char *letters = PyUnicode_AsUTF8AndSize(text, size);
    if (!letters) PyErr_Clear(); /* half a letter has no such form */
    return letters && *size == PyUnicode_GetLength(text) ? letters : NULL;
}

static PyObject *words_join(PyObject *self, PyObject *text) {
    Words *words = (Words *)self;
    Gathered out;
    Py_ssize_t size;
    out.bytes = out.first;
    out.count = 0;
    out.room = sizeof out.first;
    const char *letters = ascii_of(text, &size);
    if (PyErr_Occurred()) return NULL;
    int done = letters ? add_ascii(words, letters, (size_t)size, &out) : add_split(words, text, &out);
    PyObject *result = done == 0 ? PyBytes_FromStringAndSize(out.bytes, (Py_ssize_t)out.count) : NULL;
    if (out.bytes != out.first) free(out.bytes);
    return result;
}

static int is_known(const Words *words, const Word *word) {
    if (word->length > words->longest) return 0;
    Slot *slot = slot_of(words, word->letters, word->length, word->hash);
    return slot && slot->word;
}

static int add_unknown(const Words *words, const char *text, size_t size, PyObject *list) {
    Word found[AHEAD];
    size_t count, at = 0;
    while ((count = next_words(words, text, size, &at, found)))
        for (size_t which = 0; which < count; which++) {
            if (is_known(words, &found[which])) continue;
            PyObject *word = PyUnicode_FromStringAndSize(found[which].letters, (Py_ssize_t)found[which].length);
            int done = word ? PyList_Append(list, word) : -1;
            Py_XDECREF(word);
            if (done < 0) return -1;
        }
    return 0;
}

/* Of another script all words are: what is kept of them is nobody's business but `join`'s. */
static PyObject *words_unknown(PyObject *self, PyObject *text) {
    Py_ssize_t size;
    const char *letters = ascii_of(text, &size);
    if (!letters) return PyErr_Occurred() ? NULL : PyUnicode_Split(text, NULL, -1);
    PyObject *list = PyList_New(0);
    if (list && add_unknown((Words *)self, letters, (size_t)size, list) < 0) Py_CLEAR(list);
    return list;
}

static PyObject *words_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    PyObject *missing;
    Py_ssize_t most, longest;
    unsigned long long seed;
    if (named && PyDict_Size(named)) return PyErr_Format(PyExc_TypeError, "Words takes no names");
    if (!PyArg_ParseTuple(args, "OnnK", &missing, &most, &longest, &seed)) return NULL;
    if (!PyCallable_Check(missing) || most < 1 || most > 1 << 24 || longest < 1 || longest > 1024)
        return PyErr_Format(PyExc_ValueError, "Words: numbers that do not fit together");
    Words *words = (Words *)PyType_GenericAlloc(type, 0);
    if (!words) return NULL;
    words->missing = Py_NewRef(missing);
    words->most = (size_t)most;
    words->longest = (size_t)longest;
    words->seed = seed;
    if (make_slots(words, FIRST) < 0) Py_CLEAR(words);
    return (PyObject *)words;
}

static int words_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Words *)self)->missing);
    return 0;
}

static int words_clear(PyObject *self) {
    Py_CLEAR(((Words *)self)->missing);
    return 0;
}

static void words_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    words_clear(self);
    free(((Words *)self)->slots);
    free(((Words *)self)->letters);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static Py_ssize_t words_count(PyObject *self) { return (Py_ssize_t)((Words *)self)->used; }

static PyMethodDef WORDS_METHODS[] = {
    {"join", words_join, METH_O, NULL}, {"unknown", words_unknown, METH_O, NULL}, {NULL, NULL, 0, NULL},
};

static PyType_Slot WORDS_SLOTS[] = {
    {Py_tp_new, (void *)words_new},           {Py_tp_dealloc, (void *)words_free}, {Py_tp_traverse, (void *)words_traverse},
    {Py_tp_clear, (void *)words_clear},       {Py_mp_length, (void *)words_count}, {Py_tp_methods, WORDS_METHODS},
    {0, NULL},
};

static PyType_Spec WORDS_SPEC = {
    "clew._native.Words", sizeof(Words), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, WORDS_SLOTS,
};

/* Words(missing, most, longest, seed): `join(text)` gives the bytes of its words one after another, each as
   `missing(word)` gave it once; `unknown(text)` those that it would have to be asked for. */
int add_words(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &WORDS_SPEC, NULL);
    int done = type ? PyModule_AddObjectRef(module, "Words", type) : -1;
    Py_XDECREF(type);
    return done;
}

/* ---- The terms of a memory as they are stored: `prepare.index_terms` ---- */

/* By falling gaps: short lists are most of it, and long ones of hashes are in no order that makes it slow. */
static void sort(uint32_t *numbers, Py_ssize_t count) {
    static const Py_ssize_t GAPS[] = {1636909, 727515, 323340, 143706, 63869, 28386, 12616, 5607, 2492, 1107,
                                      492,     218,    97,     43,     19,    8,     4,     1};
    for (size_t gap_at = 0; gap_at < sizeof GAPS / sizeof *GAPS; gap_at++) {
        Py_ssize_t gap = GAPS[gap_at];
        for (Py_ssize_t at = gap; at < count; at++) {
            uint32_t number = numbers[at];
            Py_ssize_t to = at;
            for (; to >= gap && numbers[to - gap] > number; to -= gap) numbers[to] = numbers[to - gap];
            numbers[to] = number;
        }
    }
}

/* Whether two rising lists have a number in common. */
static int do_meet(const uint32_t *some, Py_ssize_t count, const uint32_t *others, Py_ssize_t other_count) {
    for (Py_ssize_t at = 0, other = 0; at < count && other < other_count;) {
        if (some[at] == others[other]) return 1;
        if (some[at] < others[other])
            at++;
        else
            other++;
    }
    return 0;
}

/* Distinct numbers to the front, and how often each occurs, 255 at the most: how many are distinct. */
static Py_ssize_t count_distinct(uint32_t *numbers, uint8_t *often, Py_ssize_t count) {
    Py_ssize_t distinct = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        if (distinct && numbers[distinct - 1] == numbers[at]) {
            if (often[distinct - 1] < 255) often[distinct - 1]++;
            continue;
        }
        numbers[distinct] = numbers[at];
        often[distinct++] = 1;
    }
    return distinct;
}

/* tally(hashes as bytes, times u32 rising, mark, marks as bytes) -> the terms of a memory: the distinct hashes,
   rising, then how often each occurs. `mark` joins them if one of them is a time, and so do `marks`. */
PyObject *native_tally(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    Array times = {0};
    PyObject *result = NULL;
    char *hashes, *marks;
    Py_ssize_t size, more;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "tally takes 4 arguments, got %zd", count);
    unsigned long mark = PyLong_AsUnsignedLong(args[2]);
    if (PyErr_Occurred()) return NULL;
    if (PyBytes_AsStringAndSize(args[0], &hashes, &size) < 0 || PyBytes_AsStringAndSize(args[3], &marks, &more) < 0) return NULL;
    if (size % 4 || more % 4 || mark > UINT32_MAX) return PyErr_Format(PyExc_ValueError, "tally: half a hash");
    if (open_array(args[1], &times, U32, -1, 0, "times") < 0) return NULL;
    Py_ssize_t most = (size + more) / 4 + 1, found = size / 4;
    uint32_t *numbers = malloc((size_t)most * 5);
    if (!numbers) {
        PyErr_NoMemory();
        goto done;
    }
    uint8_t *often = (uint8_t *)(numbers + most);
    memcpy(numbers, hashes, (size_t)size);
    sort(numbers, found);
    uint32_t tells = (uint32_t)mark;
    int is_told = do_meet(numbers, found, AT(times, uint32_t), times.count);
    memcpy(numbers + found, marks, (size_t)more);
    found += more / 4;
    if (is_told) numbers[found++] = tells;
    if (more || is_told) sort(numbers, found);
    Py_ssize_t distinct = count_distinct(numbers, often, found);
    memmove(numbers + distinct, often, (size_t)distinct);
    result = PyBytes_FromStringAndSize((const char *)numbers, 5 * distinct);
done:
    free(numbers);
    close_arrays(&times, 1);
    return result;
}

/* ---- `ids._spelled` ---- */

/* spell(prefix, milliseconds, ten bytes) -> the prefix, a line, and 128 bits in 26 letters, the first of which has
   three of them. */
PyObject *native_spell(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    static const char LETTERS[] = "0123456789abcdefghjkmnpqrstvwxyz";
    enum { LONGEST = 64, SPELLED = 26 };
    char out[LONGEST + 1 + SPELLED], *ten;
    unsigned char bytes[16];
    Py_ssize_t size, prefix_size;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "spell takes 3 arguments, got %zd", count);
    const char *prefix = PyUnicode_AsUTF8AndSize(args[0], &prefix_size);
    unsigned long long millis = PyLong_AsUnsignedLongLongMask(args[1]);
    if (!prefix || PyErr_Occurred() || PyBytes_AsStringAndSize(args[2], &ten, &size) < 0) return NULL;
    if (size != 10 || prefix_size > LONGEST) return PyErr_Format(PyExc_ValueError, "spell: a prefix and ten bytes");
    for (int at = 0; at < 6; at++) bytes[at] = (unsigned char)(millis >> (40 - 8 * at));
    memcpy(bytes + 6, ten, 10);
    memcpy(out, prefix, (size_t)prefix_size);
    char *to = out + prefix_size;
    *to++ = '_';
    for (int letter = 0; letter < SPELLED; letter++) { /* two bits of nothing come first */
        int bit = 5 * letter - 2;
        int value = 0;
        for (int at = bit; at < bit + 5; at++) value = 2 * value + (at < 0 ? 0 : bytes[at / 8] >> (7 - at % 8) & 1);
        *to++ = LETTERS[value];
    }
    return PyUnicode_FromStringAndSize(out, to - out);
}

/* ---- `values.dataclass`: a value with slots is made ---- */

/* fill(value, slots, numbers): each slot of the value gets what stands at its place. */
PyObject *native_fill(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 3 || !PyTuple_Check(args[1]) || !PyTuple_Check(args[2]) || PyTuple_Size(args[1]) != PyTuple_Size(args[2]))
        return PyErr_Format(PyExc_TypeError, "fill takes a value, its slots, and as many things");
    for (Py_ssize_t at = 0; at < PyTuple_Size(args[1]); at++) {
        PyObject *slot = PyTuple_GetItem(args[1], at);
        descrsetfunc set = (descrsetfunc)PyType_GetSlot(Py_TYPE(slot), Py_tp_descr_set);
        if (!set) return PyErr_Format(PyExc_TypeError, "fill: %R is no slot", slot);
        if (set(slot, args[0], PyTuple_GetItem(args[2], at)) < 0) return NULL;
    }
    Py_RETURN_NONE;
}
