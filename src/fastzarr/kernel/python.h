/* Python's limited API, where there is one: one build for all versions. */

#ifndef FASTZARR_PYTHON_H
#define FASTZARR_PYTHON_H

#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <Python.h>

#endif
