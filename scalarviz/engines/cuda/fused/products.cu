// Layers in halves: the three products of a layer on tensor cores.
//
// The weights and workspaces of a block are tables of halves in its memory. A row is padded with
// zeros to a multiple of 16, and a tile with samples of zeros; eight halves more make the step to the
// next row an odd multiple of 16 bytes, so that eight neighbouring rows are in different memory
// banks. A warp computes 16 x 16 sums at a time, in float32: 16 products are added by one instruction
// in the order of the GPU, then the next 16. Chunks are cut into tiles between those, so the bits
// depend neither on the size of a tile nor on what else a kernel does.

typedef Half Kept;

__device__ __forceinline__ Kept kept(float x) { return half_of(x); }
__device__ __forceinline__ unsigned padded(unsigned n) { return (n + 15) / 16 * 16; }

// Inputs of the network are not rounded: they are the sum of two halves, which stand a whole table
// apart and are multiplied by the same weights.
__device__ __forceinline__ void put_input(
    const Layer& at, Half* room, unsigned n, unsigned c, float x) {
    Half* to = room + at.x + n * at.x_step + c;
    to[0] = half_of(x);
    if (at.parts > 1) to[padded(at.inputs)] = half_of(x - number(to[0]));
}

struct Sums {  // of a lane: pairs of neighbouring columns, see `row_of` and `column_of`
    float pair[4][2];
};

__device__ __forceinline__ unsigned row_of(unsigned pair) {
    return threadIdx.x % LANES / 4 + 8 * (pair % 2);
}
__device__ __forceinline__ unsigned column_of(unsigned pair) {
    return 2 * (threadIdx.x % 4) + 8 * (pair / 2);
}

// Where a lane begins to read a table of 16 x 16 halves, of which it names a row of eight: the
// quarters in the order above below, left right (`DOWN`), or left right, above below.
template <bool DOWN> __device__ __forceinline__ const Half* quarter(const Half* table, unsigned step) {
    const unsigned lane = threadIdx.x % LANES, second = lane / 8 % 2, third = lane / 16;
    return table + (lane % 8 + 8 * (DOWN ? second : third)) * step + 8 * (DOWN ? third : second);
}

// Adds a b, where a has 16 rows and b 16 columns. Tables have a row for each row of a, and for each
// column of b; where they are turned, a row for each of the `depth` factors of a sum.
template <bool TURNED_A, bool TURNED_B>
__device__ __forceinline__ void add_products(
    Sums& sums, const Half* a, unsigned a_step, const Half* b, unsigned b_step, unsigned depth) {
    a = quarter<!TURNED_A>(a, a_step), b = quarter<TURNED_B>(b, b_step);
    const unsigned to_a = TURNED_A ? 16 * a_step : 16, to_b = TURNED_B ? 16 * b_step : 16;
#pragma unroll 4
    for (; depth > 0; depth -= 16, a += to_a, b += to_b) {
        unsigned rows[4], columns[4];
        load_quarters<TURNED_A>(rows, a);
        load_quarters<TURNED_B>(columns, b);
        multiply_add(sums.pair[0], sums.pair[1], rows, columns[0], columns[1]);
        multiply_add(sums.pair[2], sums.pair[3], rows, columns[2], columns[3]);
    }
}

// Writes the sums as halves to a table from row n and column c on; beyond `rows` and `columns` zeros.
// Then the lane calls `next` for each of its pairs.
template <typename Next>
__device__ __forceinline__ void put_sums(
    const Sums& sums, Half* table, unsigned step, unsigned n, unsigned c, unsigned rows,
    unsigned columns, Next next) {
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        const unsigned row = n + row_of(i), column = c + column_of(i);
        const float first = row < rows && column < columns ? sums.pair[i][0] : 0.f;
        const float second = row < rows && column + 1 < columns ? sums.pair[i][1] : 0.f;
        put_pair(table + row * step + column, first, second);
    }
#pragma unroll 1
    for (unsigned i = 0; i < 4; i++) next(n + row_of(i), c + column_of(i));
}

// z = W x + b. `next` is called with a sample and an output, for it and the output after it.
template <typename Next>
__device__ void affine(const Layer& at, Half* room, unsigned count, Next next) {
    const unsigned across = padded(at.outputs) / 16, jobs = padded(count) / 16 * across;
    for (unsigned job = threadIdx.x / LANES; job < jobs; job += WARPS) {
        const unsigned n = job / across * 16, r = (job - job / across * across) * 16;
        Sums sums;
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
#pragma unroll
            for (unsigned j = 0; j < 2; j++)
                sums.pair[i][j] = number(room[at.biases + r + column_of(i) + j]);
        for (unsigned part = 0; part < at.parts; part++)
            add_products<false, false>(
                sums, room + at.x + n * at.x_step + part * padded(at.inputs), at.x_step,
                room + at.weights + r * at.weight_step, at.weight_step, padded(at.inputs));
        put_sums(sums, room + at.z, at.y_step, n, r, count, at.outputs, next);
    }
}

// Adds the outer products of these samples to the chunk's gradients of W and b. `fresh`: they begin
// at 0.
__device__ void weight_gradients(
    const Layer& at, const Half* room, unsigned flow, float* sums, unsigned count, bool fresh) {
    const unsigned across = padded(at.inputs) / 16, jobs = padded(at.outputs) / 16 * across;
    float* to = sums + at.first;
    for (unsigned job = threadIdx.x / LANES; job < jobs; job += WARPS) {
        const unsigned r = job / across * 16, k = (job - job / across * across) * 16;
        Sums found;
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
#pragma unroll
            for (unsigned j = 0; j < 2; j++) {
                const unsigned row = r + row_of(i), column = k + column_of(i) + j;
                const bool there = row < at.outputs && column < at.inputs;
                found.pair[i][j] = fresh || !there ? 0.f : to[row * at.inputs + column];
            }
        // Both parts of 16 samples, and then the next 16, whatever the size of a tile.
        const unsigned depth = at.parts > 1 ? 16 : padded(count);
        for (unsigned n = 0; n < padded(count); n += depth)
            for (unsigned part = 0; part < at.parts; part++)
                add_products<true, true>(
                    found, room + flow + r + n * at.y_step, at.y_step,
                    room + at.x + k + n * at.x_step + part * padded(at.inputs), at.x_step, depth);
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
#pragma unroll
            for (unsigned j = 0; j < 2; j++) {
                const unsigned row = r + row_of(i), column = k + column_of(i) + j;
                if (row < at.outputs && column < at.inputs)
                    to[row * at.inputs + column] = found.pair[i][j];
            }
    }
    bias_gradients(at, room + flow, sums, count, fresh);
}

// Gradient by the inputs: W transposed times g. `next` is called with a sample and an input, for it
// and the input after it.
template <typename Next>
__device__ void affine_back(
    const Layer& at, Half* room, unsigned flow, unsigned to, unsigned count, Next next) {
    const unsigned across = padded(at.inputs) / 16, jobs = padded(count) / 16 * across;
    for (unsigned job = threadIdx.x / LANES; job < jobs; job += WARPS) {
        const unsigned n = job / across * 16, k = (job - job / across * across) * 16;
        Sums sums = {};
        add_products<false, true>(
            sums, room + flow + n * at.y_step, at.y_step, room + at.weights + k, at.weight_step,
            padded(at.outputs));
        put_sums(sums, room + to, at.weight_step, n, k, count, at.inputs, next);
    }
}
