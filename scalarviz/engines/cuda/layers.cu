// The three products of a layer, on the weights and workspaces in a block's memory.
//
// Each number is added up in the same order as by the other kernels, see products.py, and every
// product is rounded or fused as there.

__device__ __forceinline__ float4 four(const float* place) { return *(const float4*)place; }
__device__ __forceinline__ float2 two(const float* place) { return *(const float2*)place; }

// Two sums with the products of w added.
__device__ __forceinline__ void for_two(float w, float x, float y, float& a, float& b) {
    a = multiply_add(w, x, a);
    b = multiply_add(w, y, b);
}

__device__ void fetch_layer(const Layer& at, const float* value, float* room) {
    const unsigned warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    value += at.first;
    for (unsigned r = warp; r < at.outputs; r += WARPS)
        for (unsigned k = lane; k < at.inputs; k += LANES)
            copy(room + at.weights + r * at.weight_step + k, value + r * at.inputs + k);
    value += at.inputs * at.outputs;
    for (unsigned r = threadIdx.x; r < at.outputs; r += THREADS) {
        if (at.biased)
            copy(room + at.biases + r, value + r);
        else
            room[at.biases + r] = 0.f;
    }
}

__device__ void fetch(const Head& head, const float* value, float* room) {
    for (unsigned l = 0; l < head.shape.layers; l++) fetch_layer(head.layers[l], value, room);
}

__device__ __forceinline__ void put_output(const Layer& at, float* room, unsigned n, unsigned r, float z) {
    const unsigned place = n * at.y_step + r;
    room[at.z + place] = z;
    if (at.formula >= 0) room[at.y + place] = fused_value(at.formula, z);
}

// z = W x + b and y = f(z): rows r and r + down of samples n and n + across a thread.
__device__ void forward(const Layer& at, float* room, unsigned count) {
    const unsigned down = (at.outputs + 1) / 2, across = (count + 1) / 2;
    for (unsigned job = threadIdx.x; job < down * across; job += THREADS) {
        const unsigned r = job / across, n = job - r * across;
        const unsigned r1 = smaller(r + down, at.outputs - 1), n1 = smaller(n + across, count - 1);
        const float *v = room + at.weights + r * at.weight_step, *w = room + at.weights + r1 * at.weight_step;
        const float *x = room + at.x + n * at.x_step, *y = room + at.x + n1 * at.x_step;
        float a0 = room[at.biases + r], a1 = a0, b0 = room[at.biases + r1], b1 = b0;
        unsigned k = 0;
#pragma unroll 4
        for (; k + 4 <= at.inputs; k += 4) {
            const float4 c = four(v + k), d = four(w + k), p = four(x + k), q = four(y + k);
            for_two(c.x, p.x, q.x, a0, a1), for_two(d.x, p.x, q.x, b0, b1);
            for_two(c.y, p.y, q.y, a0, a1), for_two(d.y, p.y, q.y, b0, b1);
            for_two(c.z, p.z, q.z, a0, a1), for_two(d.z, p.z, q.z, b0, b1);
            for_two(c.w, p.w, q.w, a0, a1), for_two(d.w, p.w, q.w, b0, b1);
        }
#pragma unroll 1
        for (; k < at.inputs; k++) for_two(v[k], x[k], y[k], a0, a1), for_two(w[k], x[k], y[k], b0, b1);
        put_output(at, room, n, r, a0);
        if (n + across < count) put_output(at, room, n1, r, a1);
        if (r + down >= at.outputs) continue;
        put_output(at, room, n, r1, b0);
        if (n + across < count) put_output(at, room, n1, r1, b1);
    }
}

// Adds the gradients of these samples by the biases of a layer to those of the chunk.
__device__ void bias_gradients(
    const Layer& at, const float* flow, float* sums, unsigned count, bool fresh) {
    sums += at.first + at.inputs * at.outputs;
    for (unsigned r = THREADS - 1 - threadIdx.x; at.biased && r < at.outputs; r += THREADS) {
        float total = fresh ? 0.f : sums[r];
        for (unsigned n = 0; n < count; n++) total = add(total, flow[n * at.y_step + r]);
        sums[r] = total;
    }
}

// Adds the outer products of these samples to the chunk's gradients of W and b: 4 x 4 weights a
// thread, a quarter of the rows, or columns, apart. `fresh`: they begin at 0.
__device__ void weight_gradients(
    const Layer& at, const float* room, unsigned flow, float* chunk, unsigned count, bool fresh) {
    const unsigned down = (at.outputs + 3) / 4, across = (at.inputs + 3) / 4;
    float* sums = chunk + at.first;
    for (unsigned job = threadIdx.x; job < down * across; job += THREADS) {
        const unsigned r = job / across, k = job - r * across;
        const float *g[4], *x[4];
        float a[4][4];
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            g[i] = room + flow + smaller(r + i * down, at.outputs - 1);
            x[i] = room + at.x + smaller(k + i * across, at.inputs - 1);
        }
        const bool tall = r + 3 * down < at.outputs, wide = k + 3 * across < at.inputs;
        float* to = sums + r * at.inputs + k;
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
#pragma unroll
            for (unsigned j = 0; j < 4; j++) {
                const bool there =
                    (tall || r + i * down < at.outputs) && (wide || k + j * across < at.inputs);
                a[i][j] = fresh || !there ? 0.f : to[i * down * at.inputs + j * across];
            }
#pragma unroll 4
        for (unsigned n = 0; n < count; n++)
#pragma unroll
            for (unsigned i = 0; i < 4; i++) {
                const float b = g[i][n * at.y_step];
#pragma unroll
                for (unsigned j = 0; j < 4; j++) a[i][j] = multiply_add(b, x[j][n * at.x_step], a[i][j]);
            }
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
#pragma unroll
            for (unsigned j = 0; j < 4; j++)
                if ((tall || r + i * down < at.outputs) && (wide || k + j * across < at.inputs))
                    to[i * down * at.inputs + j * across] = a[i][j];
    }
    bias_gradients(at, room + flow, chunk, count, fresh);
}

// Writes a gradient by an output of a layer, times its slope.
__device__ __forceinline__ void put_gradient(
    const Layer& below, float* room, unsigned flow, unsigned n, unsigned k, float g) {
    const unsigned place = n * below.y_step + k;
    if (below.formula >= 0)
        g = multiply(g, fused_slope(below.formula, room[below.z + place], room[below.y + place]));
    room[flow + place] = g;
}

// Gradient by the sums of the layer below: W transposed times g, times its slope; inputs 2 k and
// 2 k + 1 of samples n and n + across a thread.
__device__ void input_gradients(
    const Layer& at, const Layer& below, float* room, unsigned flow, unsigned to, unsigned count) {
    const unsigned down = (at.inputs + 1) / 2, across = (count + 1) / 2, step = at.weight_step;
    for (unsigned job = threadIdx.x; job < down * across; job += THREADS) {
        const unsigned half = job / across, n = job - half * across, k = 2 * half;
        const unsigned n1 = smaller(n + across, count - 1);
        const float *w = room + at.weights + k, *g = room + flow + n * at.y_step, *h = room + flow + n1 * at.y_step;
        float a0 = 0.f, a1 = 0.f, b0 = 0.f, b1 = 0.f;
        unsigned o = 0;
#pragma unroll 4
        for (; o + 4 <= at.outputs; o += 4) {
            const float4 p = four(g + o), q = four(h + o);
            const float2 c = two(w), d = two(w + step), e = two(w + 2 * step), f = two(w + 3 * step);
            for_two(c.x, p.x, q.x, a0, a1), for_two(c.y, p.x, q.x, b0, b1);
            for_two(d.x, p.y, q.y, a0, a1), for_two(d.y, p.y, q.y, b0, b1);
            for_two(e.x, p.z, q.z, a0, a1), for_two(e.y, p.z, q.z, b0, b1);
            for_two(f.x, p.w, q.w, a0, a1), for_two(f.y, p.w, q.w, b0, b1);
            w += 4 * step;
        }
#pragma unroll 1
        for (; o < at.outputs; o++, w += step)
            for_two(w[0], g[o], h[o], a0, a1), for_two(w[1], g[o], h[o], b0, b1);
        put_gradient(below, room, to, n, k, a0);
        if (n + across < count) put_gradient(below, room, to, n1, k, a1);
        if (k + 1 >= at.inputs) continue;
        put_gradient(below, room, to, n, k + 1, b0);
        if (n + across < count) put_gradient(below, room, to, n1, k + 1, b1);
    }
}
