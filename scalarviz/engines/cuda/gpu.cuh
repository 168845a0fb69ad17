// What the kernel in steps.cu takes from a GPU. Before it stand the constants that `constants_of`
// of compiling.py writes.

typedef long long Index;

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
