// One product of a layer on the whole batch, as the moment of a step that runs by itself: the
// workspaces of the batch come from `arena` and go back there, the product is that of whole steps.

enum Product { FORWARD, WEIGHTS_BACK, INPUTS_BACK };  // `PRODUCTS` of moments.py

// Rows of a workspace that begin at `from`, padded with zeros; `put` is called with each number.
template <typename Put>
__device__ void take(
    const float* from, Index stride, Index first, unsigned rows, unsigned count, Put put) {
    for (unsigned i = threadIdx.x; i < padded(rows) * padded(count); i += THREADS) {
        const unsigned r = i / padded(count), n = i - r * padded(count);
        put(n, r, r < rows && n < count ? from[r * stride + first + n] : 0.f);
    }
}

__device__ void give(
    const Half* from, unsigned step, float* to, Index stride, Index first, unsigned rows, unsigned count) {
    for (unsigned i = threadIdx.x; i < rows * count; i += THREADS) {
        const unsigned r = i / count, n = i - r * count;
        to[r * stride + first + n] = number(from[n * step + r]);
    }
}

// Weights of a layer, which are halves in float32.
__device__ void take_weights(const Layer& at, const float* weights, Half* room) {
    for (unsigned i = threadIdx.x; i < padded(at.outputs) * padded(at.inputs); i += THREADS) {
        const unsigned r = i / padded(at.inputs), k = i - r * padded(at.inputs);
        const bool there = r < at.outputs && k < at.inputs;
        room[at.weights + r * at.weight_step + k] = half_of(there ? weights[r * at.inputs + k] : 0.f);
    }
    for (unsigned r = threadIdx.x; r < padded(at.outputs); r += THREADS)
        room[at.biases + r] =
            half_of(at.biased && r < at.outputs ? weights[at.inputs * at.outputs + r] : 0.f);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) fused_product(
    const Index* plan, float* arena, const double* scalars, const unsigned* table, Index which,
    Index layer, Index op) {
    Head& head = *(Head*)memory_of_block();
    Half* room = (Half*)(memory_of_block() + HEAD_BYTES);
    for (unsigned i = threadIdx.x; i < SHAPE_FIELDS + table[0] * LAYER_FIELDS; i += THREADS)
        ((unsigned*)&head.shape)[i] = table[i];
    if (plan[BAD] >= 0) return;
    const Index chunks = plan[CHUNKS], stride = plan[STRIDE];
    const Index samples = fused_batch_size(plan, scalars, plan[STEP]);
    float *const x = arena + plan[SPACE] + plan[op + SOURCE] * stride;
    float *const z = arena + plan[SPACE] + plan[op + TARGET] * stride;
    float *const g = arena + plan[FLOW] + plan[op + TARGET] * stride;
    float *const h = arena + plan[FLOW] + plan[op + SOURCE] * stride;
    __syncthreads();
    const Layer& at = head.layers[layer];
    const unsigned flow = head.shape.flow, to = head.shape.other_flow;
    if (which != WEIGHTS_BACK) take_weights(at, arena + plan[WEIGHTS] + at.first, room);
    const auto nothing = [](unsigned, unsigned) {};
    for (Index chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        const Index start = chunk * samples / chunks, end = (chunk + 1) * samples / chunks;
        float* sums = arena + plan[PARTIALS] + chunk * plan[PARTIAL_SIZE];
        for (Index first = start; first < end; first += head.shape.tile) {
            const unsigned count = smaller(head.shape.tile, (unsigned)(end - first));
            if (which != INPUTS_BACK)
                take(x, stride, first, at.inputs, count, [&](unsigned n, unsigned c, float number) {
                    put_input(at, room, n, c, number);
                });
            if (which != FORWARD)
                take(g, stride, first, at.outputs, count, [&](unsigned n, unsigned r, float number) {
                    room[flow + n * at.y_step + r] = half_of(number);
                });
            __syncthreads();
            if (which == FORWARD) {
                affine(at, room, count, nothing);
                __syncthreads();
                give(room + at.z, at.y_step, z, stride, first, at.outputs, count);
            } else if (which == WEIGHTS_BACK) {
                weight_gradients(at, room, flow, sums, count, first == start);
            } else {
                affine_back(at, room, flow, to, count, nothing);
                __syncthreads();
                give(room + to, at.weight_step, h, stride, first, at.inputs, count);
            }
            __syncthreads();
        }
        if (which != WEIGHTS_BACK || start < end) continue;
        const unsigned rows = at.inputs * at.outputs + (at.biased ? at.outputs : 0);
        for (unsigned i = threadIdx.x; i < rows; i += THREADS) sums[at.first + i] = 0.f;
    }
}
