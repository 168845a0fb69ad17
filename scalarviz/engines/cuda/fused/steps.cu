// Whole training steps of a stack of dense layers in float32, many in one launch.
//
// The arrays are those of the numba kernels, see places.py, and so are all sums: each number is
// added up in the same order, and every product is rounded or fused as there. So a step has the same
// bits here, kernel by kernel, and moment by moment. A step has three parts:
//
//   samples   a block takes chunks of the batch forward and backward, in tiles that are in its own
//             memory, sample by sample, beside all weights
//   sums      each row of the bank belongs to one thread, which adds up the gradients of all chunks
//   update    that thread moves the weight; its value and slots stay in registers between steps
//
// All blocks wait for each other after the first and the last part, and after the second only if
// the norm of the gradients is limited. A step that turns out to be refused has been taken by then:
// every thread puts back what its rows had before it.

struct Shape {  // `FIELDS` of shape.py
    unsigned layers, tile, share, piece;  // share: rows of a block, piece: how many of them at a time
    unsigned goals, goal_step, errors, flow, other_flow;
};

struct Layer {  // `COLUMNS` of shape.py; places in the block's memory, but for `first`
    unsigned inputs, outputs, biased;
    unsigned first;             // row of its first weight, here and among the gradients of a chunk
    int formula;                // index of its activation in the table; -1: it has none
    unsigned weights, weight_step, biases;
    unsigned x, x_step;         // inputs of the first sample, and how far the next one is
    unsigned z, y, y_step;      // sums, and outputs
};

struct Head {  // the first bytes of the block's memory
    double arguments[STEP_ARGS];
    Index samples;
    float scale;  // of the gradient of the loss
    Index drawn[MOST_TILE];
    Shape shape;
    Layer layers[MOST_LAYERS];
};

// The formulas of the tables, compiled by numba, see formulas.py.
FORMULA(float, fused_value, int formula, float x);
FORMULA(float, fused_slope, int formula, float x, float y);
FORMULA(float, fused_error, const float* p, const float* t, Index size);
FORMULA(void, fused_loss_gradient, const float* p, const float* t, float* g, Index size);
FORMULA(void, fused_move, float* value, float g, float* slots, const float* arguments);
FORMULA(float, fused_condition, float g, float w, float scale, float limit, float l1, float l2);
FORMULA(Index, fused_draw, const Index* plan, const double* scalars, Index k, Index i, float* x);
FORMULA(Index, fused_batch_size, const Index* plan, const double* scalars, Index k);
FORMULA(double, fused_mean_scale, const Index* plan, const double* scalars, Index samples);
FORMULA(double, fused_norm_scale, const Index* plan, const double* scalars);
FORMULA(void, fused_arguments, const Index* plan, double* scalars);

constexpr unsigned WARPS = THREADS / LANES;
static_assert(sizeof(Head) <= HEAD_BYTES && HEAD_BYTES % 16 == 0, "the room begins after the head");
static_assert(sizeof(Shape) == 4 * SHAPE_FIELDS && sizeof(Layer) == 4 * LAYER_FIELDS, "see shape.py");

__device__ __forceinline__ unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }
template <typename Number> __device__ __forceinline__ bool finite(Number x) { return x - x == 0; }
__device__ __forceinline__ float4 four(const float* place) { return *(const float4*)place; }
__device__ __forceinline__ float2 two(const float* place) { return *(const float2*)place; }

// ---- samples ------------------------------------------------------------------------------------

// Two sums with the products of w added.
__device__ __forceinline__ void for_two(float w, float x, float y, float& a, float& b) {
    a = multiply_add(w, x, a);
    b = multiply_add(w, y, b);
}

__device__ void fetch(const Layer& at, const float* value, float* room) {
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

__device__ void draw(
    Head& head, const Index* plan, const double* scalars, const float* data, float* room, Index k,
    Index first, unsigned count) {
    const Layer& at = head.layers[0];
    const unsigned inputs = at.inputs, outputs = head.layers[head.shape.layers - 1].outputs;
    for (unsigned n = threadIdx.x; n < count; n += THREADS)
        head.drawn[n] = fused_draw(plan, scalars, k, first + n, room + at.x + n * at.x_step);
    __syncthreads();
    if (plan[DRAW] != POINTS)
        for (unsigned i = threadIdx.x; i < count * inputs; i += THREADS) {
            const unsigned n = i / inputs, c = i - n * inputs;
            room[at.x + n * at.x_step + c] = data[head.drawn[n] * inputs + c];
        }
    const float* targets = data + plan[TABLE_TARGETS];
    for (unsigned i = threadIdx.x; i < count * outputs; i += THREADS) {
        const unsigned n = i / outputs, c = i - n * outputs;
        room[head.shape.goals + n * head.shape.goal_step + c] = targets[head.drawn[n] * outputs + c];
    }
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

// Errors of the samples, and the gradient of the loss by the sums of the last layer.
__device__ void lose(const Head& head, float* room, unsigned count) {
    const Shape& shape = head.shape;
    const Layer& at = head.layers[shape.layers - 1];
    for (unsigned n = threadIdx.x; n < count; n += THREADS)
        room[shape.errors + n] =
            fused_error(room + at.y + n * at.y_step, room + shape.goals + n * shape.goal_step, at.outputs);
    for (unsigned n = THREADS - 1 - threadIdx.x; n < count; n += THREADS)
        fused_loss_gradient(
            room + at.y + n * at.y_step, room + shape.goals + n * shape.goal_step,
            room + shape.flow + n * at.y_step, at.outputs);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count * at.outputs; i += THREADS) {
        const unsigned n = i / at.outputs, place = i + n * (at.y_step - at.outputs);
        float g = multiply(room[shape.flow + place], head.scale);
        if (at.formula >= 0)
            g = multiply(g, fused_slope(at.formula, room[at.z + place], room[at.y + place]));
        room[shape.flow + place] = g;
    }
}

// Adds the outer products of these samples to the chunk's gradients of W and b: 4 x 4 weights a
// thread, a quarter of the rows, or columns, apart. `fresh`: they begin at 0.
__device__ void weight_gradients(
    const Layer& at, const float* room, unsigned flow, float* sums, unsigned count, bool fresh) {
    const unsigned down = (at.outputs + 3) / 4, across = (at.inputs + 3) / 4;
    sums += at.first;
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
    sums += at.inputs * at.outputs;
    for (unsigned r = THREADS - 1 - threadIdx.x; at.biased && r < at.outputs; r += THREADS) {
        float total = fresh ? 0.f : sums[r];
        for (unsigned n = 0; n < count; n++) total = add(total, room[flow + n * at.y_step + r]);
        sums[r] = total;
    }
}

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
            for (unsigned n = 0; n < count; n++) total = add(total, (double)room[shape.errors + n]);
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

// ---- the rows of a thread -----------------------------------------------------------------------

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

// ---- the kernel ---------------------------------------------------------------------------------

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
            for (unsigned l = 0; l < head.shape.layers; l++) fetch(head.layers[l], value, room);
            if (threadIdx.x == 0) {
                head.samples = fused_batch_size(plan, scalars, k);
                head.scale = multiply(
                    (float)fused_mean_scale(plan, scalars, head.samples), (float)scalars[LOSS_SCALE]);
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
