// A GPU for the kernels in scalarviz/engines/cuda/fused that is made of threads of the host: what
// gpu.cuh has, for g++. A thread of the GPU is one here. A copy to the block's memory is made when it
// is waited for, which is the latest that a GPU may do so. A tensor core is what the 32 threads of a
// warp exchange: each lane has the numbers that the PTX ISA gives it, see `multiply_add`.

#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

typedef long long Index;
typedef unsigned short Half;

#define __global__
#define __device__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define FORMULA(type, name, ...) extern "C" { type (*name)(__VA_ARGS__); }

struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct Dim { unsigned x; };

// What the lanes of a warp show to each other, one instruction after the other. There are two boards:
// when all have met for the next one, nobody reads this one any more.
struct Shown { const Half* row; unsigned a[4], b[2]; };
struct Warp {
    std::barrier<> meeting{LANES};
    Shown boards[2][LANES];
};

struct Block {
    std::barrier<> meeting{THREADS};
    std::unique_ptr<float4[]> memory;
    Warp warps[(THREADS + LANES - 1) / LANES];
};

static thread_local Dim threadIdx, blockIdx, gridDim;
static thread_local Block* block;
struct Copy { void* to; const void* from; unsigned bytes; };
static thread_local std::vector<Copy> copies;
static thread_local unsigned exchanges;
static std::atomic<long long> times_met;  // of all blocks, counted by the first thread of the grid

inline void __syncthreads() { block->meeting.arrive_and_wait(); }
inline char* memory_of_block() { return (char*)block->memory.get(); }

// numba's simulator is given the same sum, which is neither fused nor rounded twice as floats are.
inline float multiply_add(float a, float b, float c) { return (float)((double)a * b + c); }
inline float multiply(float a, float b) { return a * b; }
inline float add(float a, float b) { return a + b; }
inline double multiply(double a, double b) { return a * b; }
inline double add(double a, double b) { return a + b; }

inline void copy(float* to, const float* from) { copies.push_back({to, from, 4}); }
inline void copy_sixteen_bytes(Half* to, const Half* from) { copies.push_back({to, from, 16}); }
inline void wait_for_copies() {
    for (const Copy& each : copies) std::memcpy(each.to, each.from, each.bytes);
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

// ---- halves -------------------------------------------------------------------------------------

inline float number(float x) { return x; }
inline float number(Half x) {
    _Float16 found;
    std::memcpy(&found, &x, 2);
    return (float)found;
}
inline Half half_of(float x) {
    const _Float16 rounded = (_Float16)x;
    Half found;
    std::memcpy(&found, &rounded, 2);
    return found;
}
inline void put_pair(Half* to, float first, float second) {
    if ((std::uintptr_t)to % 4) std::abort();  // as a GPU does
    to[0] = half_of(first), to[1] = half_of(second);
}

// Shows something to the warp, and returns what all its lanes have shown.
inline const Shown* exchange(const Shown& mine) {
    Warp& warp = block->warps[threadIdx.x / LANES];
    Shown* board = warp.boards[exchanges++ % 2];
    board[threadIdx.x % LANES] = mine;
    warp.meeting.arrive_and_wait();
    return board;
}

inline unsigned pair_of(Half low, Half high) { return low | (unsigned)high << 16; }
inline float half_at(unsigned pair, unsigned i) { return number((Half)(pair >> 16 * i)); }

// ldmatrix.x4: lanes 8 i to 8 i + 7 have the addresses of the rows of table i.
template <bool TURNED> inline void load_quarters(unsigned (&to)[4], const Half* row) {
    if ((std::uintptr_t)row % 16 || LANES != 32) std::abort();
    const Shown* all = exchange({row, {}, {}});
    const unsigned lane = threadIdx.x % LANES, r = lane / 4, c = 2 * (lane % 4);
    for (unsigned i = 0; i < 4; i++) {
        const Shown* rows = all + 8 * i;
        to[i] = TURNED ? pair_of(rows[c].row[r], rows[c + 1].row[r])
                       : pair_of(rows[r].row[c], rows[r].row[c + 1]);
    }
}

// mma.m16n8k16: with g = lane / 4 and t = lane % 4, a lane has of A, in pairs of neighbouring columns,
// rows g and g + 8, columns 2 t and 2 t + 1, then those 8 further on; of B rows 2 t and 2 t + 1, then
// those 8 further on, of column g; and of C and D columns 2 t and 2 t + 1 of rows g and g + 8. GPUs drop
// digits of sums; here 8 are dropped, so that another order is seen in what is rounded to a half.
inline float product_of(const Shown* all, unsigned row, unsigned column, float sum) {
    double total = sum;
    for (unsigned k = 0; k < 16; k++) {
        const Shown &of_a = all[row % 8 * 4 + k % 8 / 2], &of_b = all[column * 4 + k % 8 / 2];
        total += (double)half_at(of_a.a[row / 8 + k / 8 * 2], k % 2) * half_at(of_b.b[k / 8], k % 2);
    }
    const float sum_of_all = (float)total;
    std::uint32_t digits;
    std::memcpy(&digits, &sum_of_all, 4);
    if (std::isfinite(sum_of_all)) digits &= ~0xffu;
    float found;
    std::memcpy(&found, &digits, 4);
    return found;
}
inline void multiply_add(
    float (&above)[2], float (&below)[2], const unsigned (&a)[4], unsigned b, unsigned c) {
    const Shown* all = exchange({nullptr, {a[0], a[1], a[2], a[3]}, {b, c}});
    const unsigned lane = threadIdx.x % LANES, row = lane / 4, column = 2 * (lane % 4);
    for (unsigned i = 0; i < 2; i++) {
        above[i] = product_of(all, row, column + i, above[i]);
        below[i] = product_of(all, row + 8, column + i, below[i]);
    }
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
