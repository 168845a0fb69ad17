// The samples of a block: drawn, and taken forward and backward chunk by chunk.

__device__ void draw(
    Head& head, const Index* plan, const double* scalars, const float* data, float* room, Index k,
    Index first, unsigned count) {
    const Layer& at = head.layers[0];
    const Shape& shape = head.shape;
    const Layer& last = head.layers[shape.layers - 1];
    float* const points = room + shape.errors;
    for (unsigned n = threadIdx.x; n < count; n += THREADS)
        head.drawn[n] = fused_draw(plan, scalars, k, first + n, points + 2 * n);
    __syncthreads();
    const bool drawn = plan[DRAW] == POINTS;
    for (unsigned i = threadIdx.x; i < count * at.inputs; i += THREADS) {
        const unsigned n = i / at.inputs, c = i - n * at.inputs;
        room[at.x + n * at.x_step + c] = drawn ? points[2 * n + c] : data[head.drawn[n] * at.inputs + c];
    }
    const float* targets = data + plan[TABLE_TARGETS];
    for (unsigned i = threadIdx.x; i < count * last.outputs; i += THREADS) {
        const unsigned n = i / last.outputs, c = i - n * last.outputs;
        room[shape.goals + n * last.y_step + c] = targets[head.drawn[n] * last.outputs + c];
    }
}

// Errors of the samples, and the gradient of the loss by the sums of the last layer.
__device__ void lose(const Head& head, float* room, unsigned count) {
    const Shape& shape = head.shape;
    const Layer& at = head.layers[shape.layers - 1];
    const float *const outputs = room + at.y, *const goals = room + shape.goals;
    float* const flow = room + shape.flow;
    for (unsigned n = threadIdx.x; n < count; n += THREADS)
        room[shape.errors + n] =
            fused_error(outputs + n * at.y_step, goals + n * at.y_step, at.outputs);
    for (unsigned n = THREADS - 1 - threadIdx.x; n < count; n += THREADS)
        fused_loss_gradient(
            outputs + n * at.y_step, goals + n * at.y_step, flow + n * at.y_step, at.outputs);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count * at.outputs; i += THREADS) {
        const unsigned n = i / at.outputs, c = i - n * at.outputs;
        put_gradient(at, room, shape.flow, n, c, multiply(flow[n * at.y_step + c], head.scale));
    }
}

// Forward, loss and backward of one chunk. `sums` are its gradients.
__device__ void take_chunk(
    Head& head, const Index* plan, const double* scalars, const float* data, float* room,
    float* sums, double* error, Index chunk, Index k) {
    const Shape& shape = head.shape;
    const Index chunks = plan[CHUNKS];
    const Index start = chunk * head.samples / chunks, end = (chunk + 1) * head.samples / chunks;
    double total = 0.;
    for (Index first = start; first < end; first += shape.tile) {
        const unsigned count = (unsigned)(end - first < shape.tile ? end - first : shape.tile);
        draw(head, plan, scalars, data, room, k, first, count);
        wait_for_copies();  // of the weights, before the first tile
        for (unsigned l = 0; l < shape.layers; l++) {
            forward(head.layers[l], room, count);
            __syncthreads();
        }
        lose(head, room, count);
        __syncthreads();
        if (threadIdx.x == 0)
            for (unsigned n = 0; n < count; n++)
                total = add(total, (double)room[shape.errors + n]);
        unsigned flow = shape.flow, to = shape.other_flow;
        for (unsigned l = shape.layers; l-- > 0;) {
            weight_gradients(head.layers[l], room, flow, sums, count, first == start);
            if (l > 0) input_gradients(head.layers[l], head.layers[l - 1], room, flow, to, count);
            __syncthreads();
            const unsigned old = flow;
            flow = to, to = old;
        }
    }
    if (threadIdx.x == 0) *error = total;
    if (start < end) return;
    for (Index i = threadIdx.x; i < plan[ROWS]; i += THREADS) sums[i] = 0.f;
    wait_for_copies();
}
