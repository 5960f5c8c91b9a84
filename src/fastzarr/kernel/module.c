/* Chunks between files and the memory of an array, many in one call and without Python's lock.

   A `Transfer` is made for one selection of one array. Its methods take a run of chunks, counted in C order, and
   return the numbers of those that were not done: whatever is unusual (a link, a wrong size, a frame that is not
   plain, any error of the system) is left to the caller, whose own way of doing it raises the right errors. The
   codecs' functions are those of the libraries that Python's codecs use, given by address. */

#include "python.h"

#include "arguments.h"
#include "locks.h"
#include "shards.h"

static int check_range(const Transfer *t, Py_ssize_t begin, Py_ssize_t end)
{
    if (0 <= begin && begin <= end && end <= t->count) return 0;
    PyErr_Format(PyExc_IndexError, "got chunks %zd to %zd, expected some of %zd", begin, end, t->count);
    return -1;
}

/* For each chunk whether it is left; to be freed. */
static char *move_chunks(Transfer *t, Py_ssize_t begin, Py_ssize_t end, int reading)
{
    char *left = malloc((size_t)(end - begin) + 1);
    Scratch *scratch = left ? take_scratch(&t->scratch) : NULL;
    if (!scratch) {
        free(left);
        PyErr_NoMemory();
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    Directory directory;
    directory.known = 0;
    int file = t->has_index && t->root ? open_shard(t) : t->file;
    for (Py_ssize_t number = begin; number < end; number++) {
        Part part;
        locate(t, number, &part);
        int outcome = DONE;
        if (part.empty)
            outcome = DONE;
        else if (t->has_index && file < 0)
            outcome = LEFT;
        else if (t->has_index)
            outcome = reading ? read_inner(t, scratch, &part, file) : write_inner(t, scratch, &part);
        else if (reading)
            outcome = read_file(t, scratch, &directory, &part);
        else
            outcome = write_file(t, scratch, &directory, &part);
        left[number - begin] = (char)outcome;
    }
    close_directory(&directory);
    if (file >= 0 && file != t->file) close(file);
    Py_END_ALLOW_THREADS
    scratch->next = t->scratch;
    t->scratch = scratch;
    return left;
}

/* The numbers of the chunks that are left, of flags that are freed. */
static PyObject *numbers_of(char *left, Py_ssize_t begin, Py_ssize_t end)
{
    if (!left) return NULL;
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < end - begin; i++) count += left[i];
    PyObject *numbers = PyList_New(count);
    for (Py_ssize_t number = begin, at = 0; numbers && number < end; number++) {
        if (!left[number - begin]) continue;
        PyObject *value = PyLong_FromSsize_t(number);
        if (!value || PyList_SetItem(numbers, at++, value)) Py_CLEAR(numbers);
    }
    free(left);
    return numbers;
}

static PyObject *transfer_read(PyObject *self, PyObject *args)
{
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "nn", &begin, &end)) return NULL;
    if (!((Transfer *)self)->writable) {
        PyErr_SetString(PyExc_ValueError, "read: expected an array that was given as writable");
        return NULL;
    }
    if (check_range((Transfer *)self, begin, end)) return NULL;
    return numbers_of(move_chunks((Transfer *)self, begin, end, 1), begin, end);
}

static PyObject *transfer_write(PyObject *self, PyObject *args)
{
    Py_ssize_t begin, end;
    PyObject *given;
    Locks locks;
    if (!PyArg_ParseTuple(args, "nnO!", &begin, &end, &PyTuple_Type, &given)) return NULL;
    if (check_range((Transfer *)self, begin, end) || know_locks(&locks, given)) return NULL;
    char *left = NULL;
    if (take_locks(&locks) == 0) {
        left = move_chunks((Transfer *)self, begin, end, 0);
        release_locks(&locks);
    }
    forget_locks(&locks);
    return numbers_of(left, begin, end);
}

static PyObject *transfer_filled(PyObject *self, PyObject *args)
{
    Transfer *t = (Transfer *)self;
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "nn", &begin, &end) || check_range(t, begin, end)) return NULL;
    char *found = malloc((size_t)(end - begin) + 1);
    if (!found) return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t number = begin; number < end; number++) {
        Part part;
        locate(t, number, &part);
        found[number - begin] = !part.empty && box_is_filled(&part.box, part.array, t->fill);
    }
    Py_END_ALLOW_THREADS
    PyObject *result = PyBytes_FromStringAndSize(found, end - begin);
    free(found);
    return result;
}

static PyObject *transfer_encode(PyObject *self, PyObject *args)
{
    Transfer *t = (Transfer *)self;
    Py_ssize_t begin, end;
    if (!PyArg_ParseTuple(args, "nn", &begin, &end) || check_range(t, begin, end)) return NULL;
    if (t->codec.kind == PLAIN) {
        PyErr_SetString(PyExc_ValueError, "codec: got None, expected one to encode with");
        return NULL;
    }
    size_t count = (size_t)(end - begin), used = 0, most = most_encoded(t);
    int64_t *sizes = malloc((count + 1) * sizeof *sizes);
    Scratch *scratch = take_scratch(&t->scratch);
    int failed = !sizes || !scratch || !room(&scratch->encoded, &scratch->encoded_size, count * most);
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < count && !failed; i++) {
        Part part;
        locate(t, begin + (Py_ssize_t)i, &part);
        sizes[i] = -1;
        if (part.empty || (t->elide && box_is_filled(&part.box, part.array, t->fill))) continue;
        char *chunk = part.complete ? whole_chunk(t, scratch, &part) : NULL;
        size_t size = chunk ? encode(t, scratch, scratch->encoded + used, most, chunk) : 0;
        failed = size == 0;
        used += size;
        sizes[i] = (int64_t)size;
    }
    Py_END_ALLOW_THREADS
    PyObject *result = failed ? Py_NewRef(Py_None)
                              : Py_BuildValue("y#y#", (char *)sizes, (Py_ssize_t)(count * sizeof *sizes),
                                              scratch->encoded, (Py_ssize_t)used);
    if (scratch) {
        scratch->next = t->scratch;
        t->scratch = scratch;
    }
    free(sizes);
    return result;
}

static void transfer_dealloc(PyObject *self)
{
    Transfer *t = (Transfer *)self;
    PyTypeObject *type = Py_TYPE(self);
    while (t->scratch) {
        Scratch *scratch = t->scratch;
        t->scratch = scratch->next;
        retire_scratch(scratch);
    }
    if (t->has_array) PyBuffer_Release(&t->array);
    if (t->has_index) PyBuffer_Release(&t->index);
    free(t->fill);
    free(t->root);
    free(t->inside);
    free(t->template);
    free(t->partial);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef transfer_methods[] = {
    {"read", transfer_read, METH_VARARGS, "read(begin, end): fill the array from these chunks; the numbers not done."},
    {"write", transfer_write, METH_VARARGS,
     "write(begin, end, locks): store these chunks while holding the locks; the numbers not done."},
    {"filled", transfer_filled, METH_VARARGS, "filled(begin, end): for each chunk whether it is the fill value."},
    {"encode", transfer_encode, METH_VARARGS,
     "encode(begin, end): the sizes of these chunks, encoded, as int64, -1 where one is left out, and their bytes "
     "one behind the other; None where that failed."},
    {NULL, NULL, 0, NULL},
};

static Py_ssize_t transfer_length(PyObject *self) { return ((Transfer *)self)->count; }

static PyType_Slot transfer_slots[] = {
    {Py_sq_length, transfer_length},
    {Py_tp_new, transfer_new},
    {Py_tp_dealloc, transfer_dealloc},
    {Py_tp_methods, transfer_methods},
    {Py_tp_doc, "The chunks of one selection, between files or a shard and an array."},
    {0, NULL},
};

static PyType_Spec transfer_spec = {
    .name = "fastzarr._kernel.Transfer",
    .basicsize = sizeof(Transfer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = transfer_slots,
};

/* To be raised with every change of what Python calls: a kernel left over from another version is not used. */
enum { INTERFACE = 2 };

static int execute(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &transfer_spec, NULL);
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "Transfer", type);
    Py_DECREF(type);
    return failed || PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_kernel",
    .m_doc = "Chunks between files and the memory of an array.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&module); }
