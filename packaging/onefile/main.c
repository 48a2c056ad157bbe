/* The executable of one file: Python, with everything that tinkbox is made of in its read-only data.
 *
 * Nothing is unpacked.  Python is linked in (libpython's static library); the modules, the data and the shared libraries
 * that pack.py gathered are one constant, `carried`, which the kernel maps with the rest of the program and reads when it is
 * touched.  carried.py finds modules there.  Only `encodings` and carried.py itself are in Python's own table of frozen
 * modules: Python needs the one before it runs a line, and the other is that first line. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char carried[], carried_end[];
extern const struct _frozen frozen_modules[];

/* Load a shared library, so that what is linked with it and loaded later finds it by its name. */
static PyObject *load(PyObject *module, PyObject *path)
{
    const char *name = PyUnicode_AsUTF8(path);

    (void)module;
    if (!name)
        return NULL;
    if (!dlopen(name, RTLD_NOW | RTLD_LOCAL))
        return PyErr_Format(PyExc_ImportError, "%s", dlerror());
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"load", load, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_carried", NULL, -1, methods, NULL, NULL, NULL, NULL};

static PyObject *create(void)
{
    PyObject *module = PyModule_Create(&definition);
    /* Python's signature is older than const; the view is a read-only one. */
    PyObject *content = PyMemoryView_FromMemory((char *)(uintptr_t)carried, carried_end - carried, PyBUF_READ);

    if (!module || !content || PyModule_AddObjectRef(module, "content", content))
        Py_CLEAR(module);
    Py_XDECREF(content);
    return module;
}

#ifdef WITHOUT_SHA2
/* pack.py says why: hashlib has the same functions from OpenSSL. */
PyMODINIT_FUNC PyInit__sha2(void)
{
    PyErr_SetString(PyExc_ImportError, "this Python was linked without _sha2");
    return NULL;
}
#endif

/* Where this program lies: others are started from the same file. */
static const char *own_path(const char *called)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length <= 0)
        return called ? called : "tinkbox";
    path[length] = 0;
    return path;
}

static PyStatus configure(PyConfig *config, int count, char **words)
{
    const char *path = own_path(count ? words[0] : NULL);
    /* Python would look for itself around its file; there is nothing to be found. */
    wchar_t **nowhere[] = {&config->prefix,       &config->base_prefix,     &config->exec_prefix, &config->base_exec_prefix,
                           &config->stdlib_dir,   &config->platlibdir,      NULL};
    PyStatus status = PyConfig_SetBytesString(config, &config->executable, path);

    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(config, &config->base_executable, path);
    for (wchar_t ***each = nowhere; *each && !PyStatus_Exception(status); each++)
        status = PyConfig_SetString(config, *each, L"");
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesArgv(config, count, words);
    config->module_search_paths_set = 1;
    config->install_signal_handlers = 1;
    config->parse_argv = 0;
    config->site_import = 0;
    config->write_bytecode = 0;
    return status;
}

/* Run carried.start(), which ends by an exception: SystemExit, whose status becomes ours, or one that is shown. */
static int start(void)
{
    PyObject *carrier = PyImport_ImportModule("carried");
    PyObject *done = carrier ? PyObject_CallMethod(carrier, "start", NULL) : NULL;

    Py_XDECREF(carrier);
    if (!done)
        PyErr_Print();
    Py_XDECREF(done);
    Py_FinalizeEx();
    return 1;
}

int main(int count, char **words)
{
    PyPreConfig before;
    PyConfig config;
    PyStatus status;

    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = -1; /* where the locale is C or POSIX, as Python itself does */
    status = Py_PreInitialize(&before);
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
    PyImport_FrozenModules = frozen_modules;
    if (PyImport_AppendInittab("_carried", create))
        return 1;
    PyConfig_InitIsolatedConfig(&config);
    status = configure(&config, count, words);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
    return start();
}
