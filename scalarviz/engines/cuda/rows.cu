// The rows of a thread: sums of the gradients of all chunks, and the optimizer.

// Row j of a thread is `first` + threadIdx.x + j THREADS, where `first` is that of its block.
struct Rows {
    float value[OWN], slots[OWN][SLOTS_EACH + 1], gradient[OWN], rate[OWN];
    float old_value[OWN], old_slots[OWN][SLOTS_EACH + 1];
    bool there[OWN], moves[OWN];
};

// Gradients of the block's rows: those of the chunks, in order, a piece of the rows at a time.
__device__ void add_up(
    const Shape& shape, const Index* plan, const float* arena, float* room, Index begin, Rows& rows) {
    const unsigned warp = threadIdx.x / LANES, lane = threadIdx.x % LANES, chunks = (unsigned)plan[CHUNKS];
    const Index left = plan[ROWS] - begin, size = plan[PARTIAL_SIZE];
    const unsigned share = left < 0 ? 0 : left < shape.share ? (unsigned)left : shape.share;
    const float* from = arena + plan[PARTIALS] + begin;
#pragma unroll
    for (unsigned j = 0; j < OWN; j++) rows.gradient[j] = 0.f;
    for (unsigned first = 0; first < share; first += shape.piece) {
        const unsigned count = smaller(shape.piece, share - first);
        for (unsigned c = warp; c < chunks; c += WARPS)
            for (unsigned r = lane; r < count; r += LANES)
                copy(room + c * count + r, from + c * size + first + r);
        wait_for_copies();
#pragma unroll
        for (unsigned j = 0; j < OWN; j++) {
            const unsigned r = threadIdx.x + j * THREADS - first;
            if (r >= count) continue;
            float total = room[r];
#pragma unroll 8
            for (unsigned c = 1; c < chunks; c++) total = add(total, room[c * count + r]);
            rows.gradient[j] = add(0.f, total);
        }
        __syncthreads();
    }
}

// Sums of the squares of groups of rows; a group belongs to one block.
__device__ void add_squares(
    const Shape& shape, const Index* plan, double* scalars, float* room, Index begin, const Rows& rows) {
#pragma unroll
    for (unsigned j = 0; j < OWN; j++)
        if (rows.there[j])
            room[threadIdx.x + j * THREADS] =
                rows.moves[j] && finite(rows.gradient[j]) ? rows.gradient[j] : 0.f;
    __syncthreads();
    for (unsigned group = threadIdx.x; group * GROUP < shape.share; group += THREADS) {
        const Index first = begin + group * GROUP, left = plan[ROWS] - first;
        double total = 0.;
        for (unsigned r = 0; r < GROUP && r < left; r++) {
            const double g = room[group * GROUP + r];
            total = add(total, multiply(g, g));
        }
        if (left > 0) scalars[plan[ERRORS] + plan[CHUNKS] + first / GROUP] = total;
    }
}

__device__ __forceinline__ void move(
    const Head& head, Index* plan, const double* scalars, Index k, Rows& rows) {
    const double* given = head.arguments;
    const float scale = (float)given[0], limit = (float)scalars[CLIP_VALUE];
    const float l1 = (float)scalars[L1], l2 = (float)scalars[L2];
    const bool changed = given[0] != 1. || finite(limit) || l1 != 0.f || l2 != 0.f;
    const bool own_rates = plan[HAS_OWN_RATES] != 0;
    float arguments[MOST_ARGUMENTS];
#pragma unroll
    for (unsigned i = 0; i < MOST_ARGUMENTS; i++) arguments[i] = (float)given[1 + i];
#pragma unroll
    for (unsigned j = 0; j < OWN; j++) {
        rows.old_value[j] = rows.value[j];
#pragma unroll
        for (unsigned s = 0; s < SLOTS_EACH; s++) rows.old_slots[j][s] = rows.slots[j][s];
        if (!rows.moves[j]) continue;
        float g = finite(rows.gradient[j]) ? rows.gradient[j] : 0.f;
        if (changed) g = fused_condition(g, rows.value[j], scale, limit, l1, l2);
        const float own = rows.rate[j];
        const bool is_own = own_rates && own == own;
        arguments[0] = (float)(is_own ? multiply((double)own, given[SCHEDULED]) : given[1]);
        fused_move(&rows.value[j], g, rows.slots[j], arguments);
        bool all_finite = finite(rows.value[j]);
#pragma unroll
        for (unsigned s = 0; s < SLOTS_EACH; s++) all_finite = all_finite && finite(rows.slots[j][s]);
        if (!all_finite) atomicMin(plan + OVERFLOWED, k);
    }
}

// The loss of step k from the errors of the chunks, in order; for one thread.
__device__ void add_errors(
    const Index* plan, double* scalars, const double* errors, Index k) {
    const double scale = fused_mean_scale(plan, scalars, fused_batch_size(plan, scalars, k));
    double loss = 0.;
#pragma unroll 8
    for (Index c = 0; c < plan[CHUNKS]; c++)
        loss = add(loss, multiply(scale, errors[(k & 1) * plan[CHUNKS] + c]));
    scalars[plan[ERRORS] + plan[CHUNKS] + plan[GROUPS] + k] = loss;
}
