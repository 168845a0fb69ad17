// A stack of dense layers as the kernel knows it, and the formulas that it calls; the other files come
// after this one. `constants_of` of fused_steps.py writes the constants.

struct Shape {  // `SHAPE_FIELDS` of fused_steps.py
    unsigned layers, tile, share, piece;  // share: rows of a block, piece: how many of them at a time
    // Places of numbers in the block's memory.
    unsigned goals, errors;     // targets, as far apart as outputs; and errors, four numbers a sample
    unsigned flow, other_flow;  // gradients by the sums of a layer, and of the one below it
};

struct Layer {  // `LAYER_FIELDS` of fused_steps.py; places in the block's memory, but for `first`
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

// The formulas of the tables, compiled by numba, see fused_steps.py.
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
static_assert(sizeof(Shape) == 4 * SHAPE_FIELDS && sizeof(Layer) == 4 * LAYER_FIELDS, "see fused_steps.py");

__device__ __forceinline__ unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }
template <typename Number> __device__ __forceinline__ bool finite(Number x) { return x - x == 0; }
