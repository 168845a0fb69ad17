// After steps.cu: a program that takes some steps by formulas of its own, for sanitizers. It reads
// plan, arena, scalars, data and table from files, and writes the sum of all weights.

#include <cstdio>
#include <cstdlib>
#include <string>

static float leaky(int formula, float x) { return x < 0 ? 0.1f * (float)(formula + 1) * x : x; }
static float leaky_slope(int formula, float x, float) { return leaky(formula, x < 0 ? 1.f : 1.f / x * x); }
static float square(const float* p, const float* t, Index size) {
    float total = 0;
    for (Index i = 0; i < size; i++) total += (p[i] - t[i]) * (p[i] - t[i]);
    return total;
}
static void square_gradient(const float* p, const float* t, float* g, Index size) {
    for (Index i = 0; i < size; i++) g[i] = 2 * (p[i] - t[i]);
}
static void descend(float* value, float g, float* slots, const float* arguments) {
    for (unsigned s = 0; s < SLOTS_EACH; s++) slots[s] = arguments[1] * slots[s] + g;
    *value -= arguments[0] * g;
}
static float unchanged(float g, float, float scale, float, float, float) { return g * scale; }
static Index row_of(const Index*, const double*, Index k, Index i, float*) { return (7 * k + i) % 26; }
static Index size_of(const Index*, const double*, Index k) { return k % 2 ? 26 : 3; }
static double mean(const Index*, const double*, Index samples) { return 1. / (double)samples; }
static double norm(const Index* plan, const double* scalars) {
    double total = 0;
    for (Index i = 0; i < plan[GROUPS]; i++) total += scalars[plan[ERRORS] + plan[CHUNKS] + i];
    return total > 1 ? 1 / total : 1;
}
static void constants(const Index* plan, double* scalars) {
    for (unsigned i = 1; i < STEP_ARGS; i++) scalars[plan[ARGUMENTS] + i] = 0.01 * (double)plan[STEPS_TAKEN];
}

template <typename Number> static std::vector<Number> numbers_of(const std::string& path) {
    FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr || std::fseek(file, 0, SEEK_END) != 0) std::abort();
    std::vector<Number> found((unsigned long)std::ftell(file) / sizeof(Number));
    std::rewind(file);
    if (std::fread(found.data(), sizeof(Number), found.size(), file) != found.size()) std::abort();
    std::fclose(file);
    return found;
}

int main(int, char** words) {
    fused_value = leaky, fused_slope = leaky_slope, fused_error = square;
    fused_loss_gradient = square_gradient, fused_move = descend, fused_condition = unchanged;
    fused_draw = row_of, fused_batch_size = size_of, fused_mean_scale = mean;
    fused_norm_scale = norm, fused_arguments = constants;
    const std::string folder = words[1];
    auto plan = numbers_of<Index>(folder + "/plan");
    auto arena = numbers_of<float>(folder + "/arena");
    auto scalars = numbers_of<double>(folder + "/scalars");
    auto data = numbers_of<float>(folder + "/data");
    auto table = numbers_of<unsigned>(folder + "/table");
    std::vector<double> errors(2 * (unsigned long)plan[CHUNKS]);
    unsigned counter = 0;
    launch(
        fused_steps, (unsigned)std::atoi(words[2]), std::atol(words[3]), plan.data(), arena.data(),
        scalars.data(), (const float*)data.data(), (const unsigned*)table.data(), errors.data(),
        &counter, (Index)3);
    double total = 0;
    for (Index i = 0; i < plan[ROWS]; i++) total += arena[plan[VALUE] + i];
    std::printf("%lld steps, %.17g\n", plan[DONE], total);
}
