// A GPU for the kernel in scalarviz/engines/cuda/fused that is made of threads of the host: what
// gpu.cuh has, for g++. A thread of the GPU is one here. A copy to the block's memory is made when it
// is waited for, which is the latest that a GPU may do so.

#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

typedef long long Index;

#define __global__
#define __device__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define FORMULA(type, name, ...) extern "C" { type (*name)(__VA_ARGS__); }

struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct Dim { unsigned x; };

struct Block {
    std::barrier<> meeting{THREADS};
    std::unique_ptr<float4[]> memory;
};

static thread_local Dim threadIdx, blockIdx, gridDim;
static thread_local Block* block;
struct Copy { float* to; const float* from; };
static thread_local std::vector<Copy> copies;
static std::atomic<long long> times_met;  // of all blocks, counted by the first thread of the grid

inline void __syncthreads() { block->meeting.arrive_and_wait(); }
inline char* memory_of_block() { return (char*)block->memory.get(); }

// numba's simulator is given the same sum, which is neither fused nor rounded twice as floats are.
inline float multiply_add(float a, float b, float c) { return (float)((double)a * b + c); }
inline float multiply(float a, float b) { return a * b; }
inline float add(float a, float b) { return a + b; }
inline double multiply(double a, double b) { return a * b; }
inline double add(double a, double b) { return a + b; }

inline void copy(float* to, const float* from) { copies.push_back({to, from}); }
inline void wait_for_copies() {
    for (const Copy& each : copies) *each.to = *each.from;
    copies.clear();
    __syncthreads();
}

inline void wait_for_all(unsigned* counter, unsigned& goal) {
    __syncthreads();
    goal += gridDim.x;
    if (threadIdx.x == 0) {
        std::atomic_ref<unsigned> met(*counter);
        met.fetch_add(1, std::memory_order_release);
        while (met.load(std::memory_order_acquire) < goal) std::this_thread::yield();
        if (blockIdx.x == 0) times_met++;
    }
    __syncthreads();
}

inline void atomicMin(Index* place, Index number) {
    std::atomic_ref<Index> there(*place);
    Index found = there.load(std::memory_order_relaxed);
    while (number < found && !there.compare_exchange_weak(found, number, std::memory_order_relaxed)) {}
}

// ---- a launch -----------------------------------------------------------------------------------

template <typename... Arguments>
static long long launch(void (*kernel)(Arguments...), unsigned blocks, long bytes, Arguments... arguments) {
    std::vector<Block> all(blocks);
    for (Block& each : all) {
        each.memory.reset(new float4[bytes / 16 + 1]);  // of exactly this size for the sanitizer
        std::memset((void*)each.memory.get(), 0xff, bytes);  // NaN: nothing is 0 that was not written
    }
    times_met = 0;
    std::vector<std::thread> threads;
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned t = 0; t < THREADS; t++)
            threads.emplace_back([=, &all] {
                threadIdx = {t}, blockIdx = {b}, gridDim = {blocks}, block = &all[b];
                kernel(arguments...);
            });
    for (std::thread& each : threads) each.join();
    return times_met;
}
