// Whole steps in halves: weights by way of an image, and formulas in float32 between the products.
//
// All blocks read the weights from one image, the beginning of a block's memory, in which the threads
// that own the rows write them as halves. The weights that the optimizer moves stay in float32.

constexpr bool IN_HALVES = true;

// Where a row is in the image.
__device__ unsigned place_of(const Head& head, unsigned row) {
    unsigned l = 0;
    while (l + 1 < head.shape.layers && row >= head.layers[l + 1].first) l++;
    const Layer& at = head.layers[l];
    const unsigned i = row - at.first, r = i / at.inputs;
    if (r >= at.outputs) return at.biases + i - at.inputs * at.outputs;
    return at.weights + r * at.weight_step + i - r * at.inputs;
}

__device__ __forceinline__ Half* weights_of(float*, Half* image) { return image; }

__device__ void fetch(const Head& head, const Half* image, Half* room) {
    for (unsigned i = threadIdx.x; i < head.shape.image; i += THREADS)
        copy_sixteen_bytes(room + 8 * i, image + 8 * i);
}

// z = W x + b and y = f(z).
__device__ void forward(const Layer& at, Half* room, unsigned count) {
    affine(at, room, count, [&](unsigned n, unsigned r) {
        if (at.formula < 0) return;
        const unsigned place = n * at.y_step + r;
        const bool first = n < count && r < at.outputs, second = n < count && r + 1 < at.outputs;
        put_pair(
            room + at.y + place, first ? fused_value(at.formula, number(room[at.z + place])) : 0.f,
            second ? fused_value(at.formula, number(room[at.z + place + 1])) : 0.f);
    });
}

// Outputs of the samples, as the formulas of losses read them.
__device__ void put_predictions(const Head& head, Half* room, unsigned count) {
    const Layer& at = head.layers[head.shape.layers - 1];
    for (unsigned i = threadIdx.x; i < count * at.outputs; i += THREADS) {
        const unsigned n = i / at.outputs, c = i - n * at.outputs;
        ((float*)room)[head.shape.predictions + n * head.shape.step + c] =
            number(room[at.y + n * at.y_step + c]);
    }
    __syncthreads();
}

// Gradient by the sums of the layer below: W transposed times g, times its slope.
__device__ void input_gradients(
    const Layer& at, const Layer& below, Half* room, unsigned flow, unsigned to, unsigned count) {
    affine_back(at, room, flow, to, count, [&](unsigned n, unsigned k) {
        if (below.formula < 0) return;
        const unsigned place = n * below.y_step + k;
        float g[2] = {0.f, 0.f};
#pragma unroll
        for (unsigned j = 0; j < 2; j++)
            if (n < count && k + j < below.outputs) {
                const float z = number(room[below.z + place + j]), y = number(room[below.y + place + j]);
                g[j] = multiply(number(room[to + place + j]), fused_slope(below.formula, z, y));
            }
        put_pair(room + to + place, g[0], g[1]);
    });
}
