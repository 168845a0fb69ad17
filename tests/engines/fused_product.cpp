// After moments.cu: the kernel as a function of a library.
extern "C" long long run(
    unsigned blocks, long bytes, const Index* plan, float* arena, const double* scalars,
    const unsigned* table, Index which, Index layer, Index op) {
    return launch(fused_product, blocks, bytes, plan, arena, scalars, table, which, layer, op);
}
