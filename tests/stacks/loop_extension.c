/*
 * A loop in C that calls Python back, as uvloop's does: run(callbacks, seconds, pause) calls each
 * in turn and then sleeps without the interpreter's lock. Made for each version of Python.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <time.h>

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void pause_for(double seconds)
{
        struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
        nanosleep(&t, NULL);
}

static PyObject *run(PyObject *self, PyObject *args)
{
        PyObject *list;
        double seconds, pause;
        (void)self;
        if (!PyArg_ParseTuple(args, "Odd", &list, &seconds, &pause))
                return NULL;
        for (double end = now() + seconds; now() < end;) {
                for (Py_ssize_t i = 0; i < PySequence_Size(list); i++) {
                        PyObject *f = PySequence_GetItem(list, i);
                        PyObject *r = f ? PyObject_CallObject(f, NULL) : NULL;
                        Py_XDECREF(f);
                        if (!r)
                                return NULL;
                        Py_DECREF(r);
                }
                Py_BEGIN_ALLOW_THREADS pause_for(pause);
                Py_END_ALLOW_THREADS
        }
        Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"run", run, METH_VARARGS, "run(callbacks, seconds, pause)"},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "loop_extension", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_loop_extension(void)
{
        return PyModule_Create(&module);
}
