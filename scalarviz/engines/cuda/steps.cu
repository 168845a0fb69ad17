// Whole training steps of a stack of dense layers, many in one launch: `fused_steps`.
//
// The arrays are those of the numba kernels, see gpu_layout.py, and so are all sums: each number is added
// up in the same order, and every product is rounded or fused as there. So a step has the same bits
// here, kernel by kernel, and moment by moment. A step has three parts:
//
//   samples   a block takes chunks of the batch forward and backward, in tiles that are in its own
//             memory, sample by sample, beside all weights: samples.cu and layers.cu
//   sums      each row of the bank belongs to one thread, which adds up the gradients of all chunks
//   update    that thread moves the weight; its value and slots stay in registers between steps
//
// All blocks wait for each other after the first and the last part, and after the second only if
// the norm of the gradients is limited. A step that turns out to be refused has been taken by then:
// every thread puts back what its rows had before it.

extern "C" __global__ void __launch_bounds__(THREADS, 1) fused_steps(
    Index* plan, float* arena, double* scalars, const float* data, const unsigned* table,
    double* errors, unsigned* counter, Index steps) {
    Head& head = *(Head*)memory_of_block();
    float* room = (float*)(memory_of_block() + HEAD_BYTES);
    for (unsigned i = threadIdx.x; i < SHAPE_FIELDS + table[0] * LAYER_FIELDS; i += THREADS)
        ((unsigned*)&head.shape)[i] = table[i];
    __syncthreads();
    const Index chunks = plan[CHUNKS], total_rows = plan[ROWS], taken = plan[STEPS_TAKEN_AFTER];
    const Index begin = (Index)blockIdx.x * head.shape.share;
    const bool clipped = finite(scalars[CLIP_NORM]), refusing = plan[REFUSE] != 0;
    // A thread that often has neither samples nor rows, and so time for what one thread does.
    const bool last = blockIdx.x == gridDim.x - 1 && threadIdx.x == THREADS - 1;
    float *const value = arena + plan[VALUE], *const slots = arena + plan[SLOTS];
    Rows rows;
#pragma unroll
    for (unsigned j = 0; j < OWN; j++) {
        const unsigned mine = threadIdx.x + j * THREADS;
        const Index row = begin + mine;
        rows.there[j] = mine < head.shape.share && row < total_rows;
        rows.moves[j] = rows.there[j] && arena[plan[FROZEN] + row] == 0.f;
        rows.value[j] = rows.there[j] ? value[row] : 0.f;
        rows.rate[j] = rows.there[j] ? arena[plan[OWN_RATES] + row] : 0.f;
#pragma unroll
        for (unsigned s = 0; s < SLOTS_EACH; s++) rows.slots[j][s] = rows.there[j] ? slots[s * total_rows + row] : 0.f;
    }
    unsigned goal = 0;
    Index k = 0, done = 0;
    bool refused = false;
    for (; k < steps; k++) {
        if (last) {
            plan[STEPS_TAKEN] = taken + k;
            fused_arguments(plan, scalars);
            if (k > 0) add_errors(plan, scalars, errors, k - 1);
        }
        if (blockIdx.x < chunks) {
            fetch(head, value, room);
            if (threadIdx.x == 0) {
                head.samples = fused_batch_size(plan, scalars, k);
                head.scale = (float)fused_mean_scale(plan, scalars, head.samples);
            }
            __syncthreads();
        }
        for (Index chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
            take_chunk(
                head, plan, scalars, data, room, arena + plan[PARTIALS] + chunk * plan[PARTIAL_SIZE],
                errors + (k & 1) * chunks + chunk, chunk, k);
        wait_for_all(counter, goal);

        add_up(head.shape, plan, arena, room, begin, rows);
#pragma unroll
        for (unsigned j = 0; j < OWN; j++) {
            const Index row = begin + threadIdx.x + j * THREADS;
            if (rows.there[j]) arena[plan[GRAD] + row] = rows.gradient[j];
            if (refusing && rows.moves[j] && !finite(rows.gradient[j])) atomicMin(plan + FIRST_BAD, row);
        }
        if (clipped) {
            add_squares(head.shape, plan, scalars, room, begin, rows);
            wait_for_all(counter, goal);
        }

        for (unsigned i = threadIdx.x; i < STEP_ARGS; i += THREADS)
            head.arguments[i] = i == 0 ? fused_norm_scale(plan, scalars) : scalars[plan[ARGUMENTS] + i];
        __syncthreads();
        move(head, plan, scalars, k, rows);
#pragma unroll
        for (unsigned j = 0; j < OWN; j++)
            if (rows.moves[j]) value[begin + threadIdx.x + j * THREADS] = rows.value[j];
        wait_for_all(counter, goal);

        refused = refusing && plan[FIRST_BAD] != NOBODY;
        if (refused) break;
        done = k + 1;
        if (plan[OVERFLOWED] <= k) break;
    }
#pragma unroll
    for (unsigned j = 0; j < OWN; j++) {
        if (!rows.moves[j]) continue;
        const Index row = begin + threadIdx.x + j * THREADS;
        if (refused) value[row] = rows.old_value[j];
#pragma unroll
        for (unsigned s = 0; s < SLOTS_EACH; s++)
            slots[s * total_rows + row] = refused ? rows.old_slots[j][s] : rows.slots[j][s];
    }
    if (!last) return;
    if (refused || done > 0) add_errors(plan, scalars, errors, k < steps ? k : steps - 1);
    plan[DONE] = done;
    plan[STEPS_TAKEN_AFTER] = taken + done;
    if (!refused) return;
    plan[BAD] = plan[FIRST_BAD];
    plan[OVERFLOWED] = NOBODY;  // if at all, it was found in the step that is not taken
}
