// What the kernel in steps.cu takes from a GPU. Before it stand the constants that `constants_of`
// of compiling.py writes; tests put a header for the host in the place of this file.

typedef long long Index;
typedef unsigned short Half;  // the bits of a half: NVRTC comes without a header that names its type

#define FORMULA(type, name, ...) extern "C" __device__ type name(__VA_ARGS__)

extern __shared__ __align__(16) char block_memory[];

__device__ __forceinline__ char* memory_of_block() { return block_memory; }

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double multiply(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }

// Copies a number to the block's memory; it is there after `wait_for_copies`.
__device__ __forceinline__ void copy(float* to, const float* from) {
    const unsigned there = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(there), "l"(from) : "memory");
}

// Waits for the copies of this thread, then for the other threads of the block.
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}

// Waits for all threads of the grid: each block adds 1 to a counter that only grows. What was
// written before is seen by everybody after it, since the addition releases and the load acquires.
__device__ __forceinline__ void wait_for_all(unsigned* counter, unsigned& goal) {
    __syncthreads();
    goal += gridDim.x;
    if (threadIdx.x == 0) {
        unsigned now;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
        } while (now < goal);
    }
    __syncthreads();
}

// ---- halves -------------------------------------------------------------------------------------

__device__ __forceinline__ float number(float x) { return x; }
__device__ __forceinline__ float number(Half x) {
    float found;
    asm("cvt.f32.f16 %0, %1;" : "=f"(found) : "h"(x));
    return found;
}

// Rounds to the nearest half, beyond 65,504 to infinity.
__device__ __forceinline__ Half half_of(float x) {
    Half found;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(found) : "f"(x));
    return found;
}
__device__ __forceinline__ void put_pair(Half* to, float first, float second) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(*(unsigned*)to) : "f"(second), "f"(first));
}

__device__ __forceinline__ void copy_sixteen_bytes(Half* to, const Half* from) {
    const unsigned there = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(there), "l"(from) : "memory");
}

// Reads four tables of 8 x 8 halves; lane 8 i + j has the address of row j of table i. Each lane gets
// two neighbours of each: those of its quarter of row `lane / 4`, or of that column if turned.
template <bool TURNED> __device__ __forceinline__ void load_quarters(unsigned (&to)[4], const Half* row) {
    const unsigned there = (unsigned)__cvta_generic_to_shared(row);
    if (TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(there) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(there) : "memory");
}

// Adds the product of 16 x 16 and 16 x 8 halves to 16 x 8 sums, by a warp: of the sums a lane has two
// in row `lane / 4` and two in the row 8 further on.
__device__ __forceinline__ void multiply_add(
    float (&above)[2], float (&below)[2], const unsigned (&a)[4], unsigned b, unsigned c) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(above[0]), "+f"(above[1]), "+f"(below[0]), "+f"(below[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(c));
}
