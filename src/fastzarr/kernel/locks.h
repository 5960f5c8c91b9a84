/* Locks of Python that are held while chunks are written. */

#ifndef FASTZARR_LOCKS_H
#define FASTZARR_LOCKS_H

#include "python.h"

/* Methods of locks, and what they are called with. All is made before the first lock is taken: making an object can
   run a finaliser, which may use arrays, and must not while this thread has locks that nobody knows of. */
typedef struct {
    Py_ssize_t count;
    PyObject **acquire, **release;
    PyObject *wait, *no_wait;
    char *taken;
} Locks;

static void forget_locks(Locks *locks)
{
    for (Py_ssize_t i = 0; i < locks->count; i++) {
        if (locks->acquire) Py_XDECREF(locks->acquire[i]);
        if (locks->release) Py_XDECREF(locks->release[i]);
    }
    Py_XDECREF(locks->wait);
    Py_XDECREF(locks->no_wait);
    free(locks->acquire);
    free(locks->release);
    free(locks->taken);
}

static int know_locks(Locks *locks, PyObject *given)
{
    *locks = (Locks){.count = PyTuple_Size(given)};
    locks->acquire = calloc((size_t)locks->count + 1, sizeof *locks->acquire);
    locks->release = calloc((size_t)locks->count + 1, sizeof *locks->release);
    locks->taken = calloc((size_t)locks->count + 1, 1);
    locks->wait = Py_BuildValue("(O)", Py_True);
    locks->no_wait = Py_BuildValue("(O)", Py_False);
    int failed = !locks->acquire || !locks->release || !locks->taken || !locks->wait || !locks->no_wait;
    if (failed && !PyErr_Occurred()) PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < locks->count && !failed; i++) {
        PyObject *lock = PyTuple_GetItem(given, i);
        locks->acquire[i] = PyObject_GetAttrString(lock, "acquire");
        locks->release[i] = PyObject_GetAttrString(lock, "release");
        failed = !locks->acquire[i] || !locks->release[i];
    }
    if (failed) forget_locks(locks);
    return failed ? -1 : 0;
}

/* Take a lock: 1 or 0 for whether that was done, -1 for an exception. */
static int take_lock(Locks *locks, Py_ssize_t i, PyObject *how)
{
    PyObject *done = PyObject_Call(locks->acquire[i], how, NULL);
    int result = done ? PyObject_IsTrue(done) : -1;
    Py_XDECREF(done);
    locks->taken[i] = result == 1;
    return result;
}

/* Release the locks that are taken, also while an exception is on its way. */
static void release_locks(Locks *locks)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = 0; i < locks->count; i++) {
        if (!locks->taken[i]) continue;
        PyObject *none = PyObject_CallNoArgs(locks->release[i]);
        if (!none) PyErr_WriteUnraisable(locks->release[i]);
        Py_XDECREF(none);
        locks->taken[i] = 0;
    }
    PyErr_Restore(type, value, traceback);
}

/* Take all locks, or none of them. Here no interrupt can come between one step and the next. None is waited for while
   others are held: whoever holds it may wait for one of those. */
static int take_locks(Locks *locks)
{
    for (Py_ssize_t waited_for = 0, i = 0; i < locks->count;) {
        if (take_lock(locks, waited_for, locks->wait) < 0) return -1;
        for (i = 0; i < locks->count; i++) {
            int got = locks->taken[i] ? 1 : take_lock(locks, i, locks->no_wait);
            if (got == 1) continue;
            release_locks(locks);
            if (got < 0) return -1;
            waited_for = i;
            break;
        }
    }
    return 0;
}

#endif
