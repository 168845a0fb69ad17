/* A stand-in for NVIDIA's driver, libcuda.so.1, where there is no GPU: memory is that of the host,
   work is done at once, and a launch does nothing but write a line into the file $STUB_LOG. Only of
   two kernels it writes what they would: `twice`, of the probe, and the count of steps, at the
   index $STUB_DONE of a plan, by `train` and `move_all`. A function that is not here is not found. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef uintptr_t Handle;
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500 };
enum { CONTEXT = 0x77, MOST_CAPTURED = 4096, FIELDS = 7, DATA = 4 };

#define NOTHING(name) Result name(void) { return SUCCESS; }
#define MAKES(name) Result name(Handle *made) { *made = new_handle(); return SUCCESS; }
#define ANSWERS(name, type, answer) Result name(type *out) { *out = (answer); return SUCCESS; }

static Handle new_handle(void) {
    static Handle last = 0x1000;
    return __atomic_add_fetch(&last, 16, __ATOMIC_SEQ_CST);
}

static void say(const char *what, const char *name, long a, long b) {
    FILE *file = fopen(getenv("STUB_LOG"), "a");
    fprintf(file, "%s %s %ld %ld\n", what, name, a, b);
    fclose(file);
}

static int setting(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

/* ---- the driver, the device and its context: an H100 */

static __thread Handle current;
NOTHING(cuInit)
NOTHING(cuCtxSynchronize)
NOTHING(cuDevicePrimaryCtxRelease)
ANSWERS(cuDriverGetVersion, int, setting("STUB_VERSION", 13000))
ANSWERS(cuDeviceGetCount, int, 1)
ANSWERS(cuDeviceGet, int, 0)
ANSWERS(cuCtxGetDevice, int, 0)
ANSWERS(cuDevicePrimaryCtxRetain, Handle, CONTEXT)
ANSWERS(cuCtxGetCurrent, Handle, current)
ANSWERS(cuCtxGetFlags, unsigned, 0)

Result cuDeviceGetName(char *name, int size, int device) {
    strncpy(name, "NVIDIA H100 80GB HBM3", size);
    return SUCCESS;
}

Result cuDeviceGetUuid(char *bytes, int device) {
    memset(bytes, 7, 16);
    return SUCCESS;
}

Result cuDeviceTotalMem(size_t *bytes, int device) {
    *bytes = 80ull << 30;
    return SUCCESS;
}

Result cuMemGetInfo(size_t *left, size_t *bytes) {
    *left = *bytes = 80ull << 30;
    return SUCCESS;
}

Result cuDeviceGetAttribute(int *out, int attribute, int device) {
    switch (attribute) {
    case 1: case 2: case 3: *out = 1024; break; /* threads of a block */
    case 4: *out = 64; break;
    case 5: *out = 2147483647; break; /* blocks */
    case 6: case 7: *out = 65535; break;
    case 8: *out = 49152; break; /* shared memory of a block */
    case 10: *out = 32; break;
    case 12: case 82: *out = 65536; break; /* registers */
    case 16: *out = 132; break; /* multiprocessors */
    case 39: *out = 2048; break;
    case 75: *out = 9; break; /* compute capability */
    case 76: *out = 0; break;
    case 81: *out = 233472; break;
    case 97: *out = 232448; break; /* shared memory of a block that asks for it */
    default: *out = 1;
    }
    return SUCCESS;
}

Result cuCtxSetCurrent(Handle context) {
    current = context;
    return SUCCESS;
}

Result cuCtxPushCurrent(Handle context) { return cuCtxSetCurrent(context); }

Result cuCtxPopCurrent(Handle *context) {
    *context = current;
    return cuCtxSetCurrent(0);
}

Result cuCtxGetId(Handle context, unsigned long long *id) {
    *id = 1;
    return SUCCESS;
}

Result cuCtxGetStreamPriorityRange(int *least, int *most) {
    *least = 0;
    *most = -5;
    return SUCCESS;
}

/* ---- memory */

NOTHING(cuMemHostRegister)
NOTHING(cuMemHostUnregister)
NOTHING(cuPointerSetAttribute)

Result cuMemAlloc(Handle *place, size_t size) {
    void *made;
    if (size > setting("STUB_MOST", 1 << 30)) return OUT_OF_MEMORY;
    if (posix_memalign(&made, 512, size ? size : 1)) return OUT_OF_MEMORY;
    *place = (Handle)memset(made, 0, size);
    return SUCCESS;
}

Result cuMemFree(Handle place) {
    free((void *)place);
    return SUCCESS;
}

Result cuMemAllocAsync(Handle *place, size_t size, Handle stream) { return cuMemAlloc(place, size); }
Result cuMemFreeAsync(Handle place, Handle stream) { return cuMemFree(place); }
Result cuMemHostAlloc(Handle *place, size_t size, unsigned flags) { return cuMemAlloc(place, size); }
Result cuMemFreeHost(Handle place) { return cuMemFree(place); }

Result cuMemHostGetDevicePointer(Handle *out, Handle place, unsigned flags) {
    *out = place;
    return SUCCESS;
}

Result cuMemcpy(Handle to, Handle from, size_t size) {
    memmove((void *)to, (void *)from, size);
    return SUCCESS;
}

Result cuMemcpyAsync(Handle to, Handle from, size_t size, Handle stream) { return cuMemcpy(to, from, size); }
Result cuMemcpyHtoD(Handle to, Handle from, size_t size) { return cuMemcpy(to, from, size); }
Result cuMemcpyDtoH(Handle to, Handle from, size_t size) { return cuMemcpy(to, from, size); }
Result cuMemcpyDtoD(Handle to, Handle from, size_t size) { return cuMemcpy(to, from, size); }
Result cuMemcpyHtoDAsync(Handle to, Handle from, size_t size, Handle stream) { return cuMemcpy(to, from, size); }
Result cuMemcpyDtoHAsync(Handle to, Handle from, size_t size, Handle stream) { return cuMemcpy(to, from, size); }
Result cuMemcpyDtoDAsync(Handle to, Handle from, size_t size, Handle stream) { return cuMemcpy(to, from, size); }

Result cuMemsetD8(Handle to, unsigned char byte, size_t size) {
    memset((void *)to, byte, size);
    return SUCCESS;
}

Result cuMemsetD8Async(Handle to, unsigned char byte, size_t size, Handle stream) { return cuMemsetD8(to, byte, size); }

Result cuPointerGetAttribute(void *out, int attribute, Handle place) {
    switch (attribute) {
    case 1: *(Handle *)out = CONTEXT; break;
    case 2: *(unsigned *)out = 2; break; /* on the device */
    case 3: case 4: *(Handle *)out = place; break;
    default: *(int *)out = 0;
    }
    return SUCCESS;
}

/* ---- machine code; a kernel is its name, before which stands what it may have of shared memory */

#define MOST_SHARED(kernel) (((int64_t *)(kernel))[-1])

NOTHING(cuLibraryUnload)
NOTHING(cuFuncSetCacheConfig)

Result cuLibraryLoadData(Handle *made, const void *code) {
    if (memcmp(code, "\177ELF", 4)) return INVALID_VALUE; /* PTX is linked before */
    *made = new_handle();
    return SUCCESS;
}

Result cuLibraryGetKernel(Handle *kernel, Handle library, const char *name) {
    int64_t *made = malloc(sizeof *made + strlen(name) + 1);
    if (!made) return OUT_OF_MEMORY;
    *made = 49152;
    *kernel = (Handle)strcpy((char *)(made + 1), name);
    return SUCCESS;
}

Result cuKernelGetFunction(Handle *function, Handle kernel) {
    *function = kernel;
    return SUCCESS;
}

Result cuFuncGetAttribute(int *out, int attribute, Handle kernel) {
    switch (attribute) {
    case 0: *out = 1024; break; /* threads of a block */
    case 4: *out = 166; break; /* registers */
    case 8: *out = 49152; break;
    default: *out = 0;
    }
    return SUCCESS;
}

Result cuKernelGetAttribute(int *out, int attribute, Handle kernel, int device) {
    return cuFuncGetAttribute(out, attribute, kernel);
}

Result cuKernelSetAttribute(int attribute, int value, Handle kernel, int device) {
    if (attribute == 8 && value > 232448) return INVALID_VALUE;
    if (attribute == 8) MOST_SHARED(kernel) = value;
    say("attribute", (const char *)kernel, attribute, value);
    return SUCCESS;
}

Result cuFuncSetAttribute(Handle kernel, int attribute, int value) {
    return cuKernelSetAttribute(attribute, value, kernel, 0);
}

ANSWERS(cuOccupancyMaxActiveBlocksPerMultiprocessor, int, setting("STUB_BLOCKS", 1))
ANSWERS(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int, 1)

/* ---- launches, and graphs of them */

typedef struct {
    unsigned blocks[3], threads[3], shared;
    Handle stream;
    void *attributes;
    unsigned count;
} Config;

typedef struct {
    int id, padding, value;
    char rest[60];
} Attribute;

static int capturing, captured, moves;
static int64_t *moved[MOST_CAPTURED];

/* An array of one dimension is passed in FIELDS fields, of which one is the place of its data. */
static void *data_of(void **fields, int array) { return *(void **)fields[FIELDS * array + DATA]; }

static void pretend(const char *name, void **fields) {
    int done = setting("STUB_DONE", 0);
    if (strstr(name, "5twice")) {
        float *out = data_of(fields, 0);
        for (int i = 0; i < 32; i++) out[i] = setting("STUB_WRONG", 0) ? 1 : 2 * i;
    } else if (strstr(name, "5train")) {
        ((int64_t *)data_of(fields, 0))[done] += *(int64_t *)fields[4 * FIELDS];
    } else if (strstr(name, "8move_all")) {
        int64_t *plan = data_of(fields, 0);
        if (capturing && moves < MOST_CAPTURED) moved[moves++] = plan;
        else plan[done] += 1;
    }
}

Result cuLaunchKernelEx(const Config *config, Handle kernel, void **fields, void **extra) {
    int cooperative = 0;
    const Attribute *attributes = config->attributes;
    for (unsigned i = 0; i < config->count; i++)
        if (attributes[i].id == 2) cooperative = attributes[i].value;
    if (config->shared > MOST_SHARED(kernel)) return INVALID_VALUE;
    captured += capturing;
    pretend((const char *)kernel, fields);
    say(cooperative ? "cooperative" : "launch", (const char *)kernel, config->blocks[0], config->shared);
    return SUCCESS;
}

NOTHING(cuStreamDestroy)
NOTHING(cuStreamSynchronize)
NOTHING(cuStreamQuery)
NOTHING(cuStreamWaitEvent)
NOTHING(cuGraphDestroy)
NOTHING(cuGraphExecDestroy)
NOTHING(cuEventDestroy)
NOTHING(cuEventRecord)
NOTHING(cuEventSynchronize)
NOTHING(cuEventQuery)
NOTHING(cuThreadExchangeStreamCaptureMode)
MAKES(cuStreamCreate)
MAKES(cuStreamCreateWithPriority)
MAKES(cuEventCreate)
MAKES(cuGraphInstantiate)
MAKES(cuGraphInstantiateWithFlags)

Result cuStreamGetCtx(Handle stream, Handle *context) {
    *context = CONTEXT;
    return SUCCESS;
}

Result cuStreamGetDevice(Handle stream, int *device) {
    *device = 0;
    return SUCCESS;
}

Result cuStreamGetFlags(Handle stream, unsigned *flags) {
    *flags = 1;
    return SUCCESS;
}

Result cuStreamGetPriority(Handle stream, int *priority) {
    *priority = 0;
    return SUCCESS;
}

Result cuStreamIsCapturing(Handle stream, int *status) {
    *status = capturing;
    return SUCCESS;
}

Result cuStreamBeginCapture(Handle stream, int mode) {
    capturing = 1;
    captured = moves = 0;
    return SUCCESS;
}

Result cuStreamEndCapture(Handle stream, Handle *graph) {
    capturing = 0;
    *graph = new_handle();
    say("captured", "graph", captured, moves);
    return SUCCESS;
}

Result cuGraphLaunch(Handle graph, Handle stream) {
    for (int i = 0; i < moves; i++) moved[i][setting("STUB_DONE", 0)] += 1;
    say("launch", "graph", 0, 0);
    return SUCCESS;
}

/* ---- what others find these by */

Result cuGetErrorName(int error, const char **text) {
    *text = "CUDA_ERROR_OF_THE_STUB";
    return SUCCESS;
}

Result cuGetErrorString(int error, const char **text) {
    *text = "an error of the stub";
    return SUCCESS;
}

Result cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status) {
    Dl_info here;
    dladdr((void *)cuGetProcAddress_v2, &here);
    void *self = dlopen(here.dli_fname, RTLD_LAZY);
    *found = dlsym(self, name);
    if (status) *status = *found ? 0 : 1;
    return *found ? SUCCESS : NOT_FOUND;
}
