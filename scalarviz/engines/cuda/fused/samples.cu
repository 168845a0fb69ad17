// The samples of a block: drawn, and taken forward and backward chunk by chunk.

__device__ void draw(
    Head& head, const Index* plan, const double* scalars, const float* data, Kept* room, Index k,
    Index first, unsigned count) {
    const Layer& at = head.layers[0];
    const Shape& shape = head.shape;
    const unsigned inputs = at.inputs, outputs = head.layers[shape.layers - 1].outputs;
    float *const numbers = (float*)room, *const points = numbers + shape.errors;
    for (unsigned n = threadIdx.x; n < count; n += THREADS)
        head.drawn[n] = fused_draw(plan, scalars, k, first + n, points + 2 * n);
    __syncthreads();
    const bool drawn = plan[DRAW] == POINTS;
    for (unsigned i = threadIdx.x; i < padded(count) * padded(inputs); i += THREADS) {
        const unsigned n = i / padded(inputs), c = i - n * padded(inputs);
        float x = 0.f;
        if (n < count && c < inputs) x = drawn ? points[2 * n + c] : data[head.drawn[n] * inputs + c];
        put_input(at, room, n, c, x);
    }
    const float* targets = data + plan[TABLE_TARGETS];
    for (unsigned i = threadIdx.x; i < count * outputs; i += THREADS) {
        const unsigned n = i / outputs, c = i - n * outputs;
        numbers[shape.goals + n * shape.step + c] = targets[head.drawn[n] * outputs + c];
    }
}

// Errors of the samples, and the gradient of the loss by the sums of the last layer.
__device__ void lose(const Head& head, Kept* room, unsigned count) {
    const Shape& shape = head.shape;
    const Layer& at = head.layers[shape.layers - 1];
    float *const numbers = (float*)room, *const pulls = numbers + shape.pulls;
    const float *const predictions = numbers + shape.predictions, *const goals = numbers + shape.goals;
    put_predictions(head, room, count);
    for (unsigned n = threadIdx.x; n < count; n += THREADS)
        numbers[shape.errors + n] =
            fused_error(predictions + n * shape.step, goals + n * shape.step, at.outputs);
    for (unsigned n = THREADS - 1 - threadIdx.x; n < count; n += THREADS)
        fused_loss_gradient(
            predictions + n * shape.step, goals + n * shape.step, pulls + n * shape.step, at.outputs);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < padded(count) * padded(at.outputs); i += THREADS) {
        const unsigned n = i / padded(at.outputs), c = i - n * padded(at.outputs);
        const unsigned place = n * at.y_step + c;
        float g = 0.f;
        if (n < count && c < at.outputs) {
            g = number(kept(multiply(pulls[n * shape.step + c], head.scale)));
            if (at.formula >= 0)
                g = multiply(
                    g, fused_slope(at.formula, number(room[at.z + place]), number(room[at.y + place])));
        }
        room[shape.flow + place] = kept(g);
    }
}

// Forward, loss and backward of one chunk. `sums` are its gradients.
__device__ void take_chunk(
    Head& head, const Index* plan, const double* scalars, const float* data, Kept* room,
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
                total = add(total, (double)((float*)room)[shape.errors + n]);
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
