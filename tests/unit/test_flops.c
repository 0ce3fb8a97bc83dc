// SPDX-License-Identifier: MIT
// FLOPs of operators against numbers worked out by hand, and all the ways of not knowing them.
#include "analysis/flops.h"
#include "analysis/summary.h"

#include <math.h>
#include <unity.h>

void setUp(void) {}
void tearDown(void) {}

// Up to four inputs, "?" is a tensor without a shape (a sequence), NULL one that was not recorded.
static double flops(const char *op_type, const char *a, const char *b, const char *c, const char *d,
                    const char *y)
{
    const char *texts[] = {a, b, c, d};
    an_tensor in[4], out = {.index = 0, .onnx_type = 1, .name = (char *)"", .dims = (char *)y};
    an_shape inputs = {.tensors = in}, outputs = {.tensors = &out, .tensor_count = y ? 1 : 0};
    for (int i = 0; i < 4; i++)
        if (texts[i])
            in[inputs.tensor_count++] = (an_tensor){.index = i,
                                                    .onnx_type = texts[i][0] == '?' ? 2 : 1,
                                                    .name = (char *)"",
                                                    .dims = (char *)texts[i]};
    return an_flops(op_type, &inputs, &outputs);
}

static double two(const char *op_type, const char *a, const char *b, const char *y)
{
    return flops(op_type, a, b, NULL, NULL, y);
}

#define KNOWN(number, value) TEST_ASSERT_EQUAL_DOUBLE(number, value)
#define UNKNOWN(value)       TEST_ASSERT_FALSE(an_known(value))

static void test_convolutions(void)
{
    // ResNet's first: 112 * 112 * 64 elements, 3 * 7 * 7 multiply-adds each
    KNOWN(236027904, two("Conv", "1,3,224,224", "64,3,7,7", "1,64,112,112"));
    KNOWN(2.0 * 32 * 56 * 56 * 9, two("Conv", "1,32,56,56", "32,1,3,3", "1,32,56,56")); // depthwise
    KNOWN(2.0 * 4 * 10 * 6 * 3, two("Conv", "1,6,12", "4,6,3", "1,4,10"));              // 1-D
    KNOWN(2.0 * 2 * 3 * 3 * 3 * 8, two("FusedConv", "1,1,4,4,4", "2,1,2,2,2", "1,2,3,3,3"));
    KNOWN(2.0 * 16 * 8 * 8 * 8, two("NhwcConv", "1,8,8,8", "16,1,1,8", "1,8,8,16"));
    KNOWN(2.0 * 4 * 10 * 6 * 3, flops("QLinearConv", "1,6,12", "", "", "4,6,3", "1,4,10"));
    UNKNOWN(two("QLinearConv", "1,6,12", "4,6,3", "1,4,10")); // its weights are input 3
    UNKNOWN(two("Conv", "1,3,8,8", NULL, "1,4,8,8"));         // packed away
    UNKNOWN(two("Conv", "1,3,8,8", "4,3,3,3", NULL));         // no output
    UNKNOWN(two("Conv", "1,3,8,8", "4,3,3,3", "1,5,8,8"));    // does not fit
    UNKNOWN(two("Conv", "1,3,8,8", "0,3,3,3", "1,0,8,8"));    // nothing to divide by
    UNKNOWN(two("Conv", "1,3,8,8", "4,3,3", "1,4,8,8"));      // ranks differ
    UNKNOWN(two("Conv", "?", "4,3,3,3", "1,4,8,8"));          // no tensor
}

static void test_transposed_convolution(void)
{
    KNOWN(2.0 * 32 * 24 * 96 * 8 * 2 * 2,
          two("ConvTranspose", "1,32,24,96", "32,8,2,2", "1,8,48,192"));
    UNKNOWN(two("ConvTranspose", "1,16,24,96", "32,8,2,2", "1,8,48,192"));
}

static void test_matrix_products(void)
{
    KNOWN(2.0 * 2 * 4 * 8, two("MatMul", "2,8", "8,4", "2,4"));
    KNOWN(2.0 * 12 * 5 * 7 * 9, two("MatMul", "12,5,9", "9,7", "12,5,7"));
    KNOWN(2.0 * 3 * 2 * 5 * 7 * 9, two("MatMul", "3,1,5,9", "1,2,9,7", "3,2,5,7"));
    KNOWN(2.0 * 8, two("MatMul", "8", "8", ""));               // a scalar product
    KNOWN(2.0 * 4 * 8, two("MatMul", "8", "8,4", "4"));        // a vector
    KNOWN(2.0 * 2 * 4 * 8, two("MatMul", "2,8", NULL, "2,4")); // A alone tells K
    KNOWN(2.0 * 2 * 4 * 8, flops("QLinearMatMul", "2,8", "", "", "8,4", "2,4"));
    KNOWN(0, two("MatMul", "0,8", "8,4", "0,4"));
    UNKNOWN(two("MatMul", "2,8", "9,4", "2,4"));
    UNKNOWN(two("MatMul", "", "8,4", "4"));
}

// B[N][blocks][bytes], scales, zero points: no dimension of B has to be K.
static void test_products_with_packed_weights(void)
{
    KNOWN(2.0 * 7 * 4096 * 1024,
          flops("MatMulNBits", "1,7,1024", "4096,32,16", "131072", "65536", "1,7,4096"));
    KNOWN(2.0 * 2 * 4 * 8, two("MatMulNBits", "2,8", "9,4", "2,4"));
    KNOWN(2.0 * 2 * 4 * 8, two("MatMulNBits", "2,8", NULL, "2,4"));
    KNOWN(2.0 * 2 * 4 * 8, flops("MatMulBnb4", "2,8", "16", "1", NULL, "2,4"));
    KNOWN(2.0 * 2 * 4 * 8, flops("MatMulFpQ4", "2,8", "40", "2", NULL, "2,4"));
    UNKNOWN(two("MatMulNBits", NULL, "4096,32,16", "1,7,4096"));
    UNKNOWN(two("MatMulNBits", "", "4096,32,16", "1,7,4096"));
    TEST_ASSERT_TRUE(an_flops_has_formula("MatMulNBits"));
}

static void test_every_fused_or_quantised_form_has_its_formula(void)
{
    static const char *const convolutions[] = {"FusedConv",     "NchwcConv",   "NhwcConv",
                                               "NhwcFusedConv", "ConvInteger", "DmlFusedConv"};
    static const char *const products[] = {
        "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
        "GemmFastGelu",  "DmlFusedMatMul",       "FusedGemm",
        "FusedMatMul",   "TransposeMatMul",      "FusedMatMulActivation",
        "GemmFloat8",    "DmlFusedGemm"};
    for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++)
        KNOWN(2.0 * 4 * 10 * 6 * 3, two(convolutions[i], "1,6,12", "4,6,3", "1,4,10"));
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        KNOWN(2.0 * 2 * 4 * 8, two(products[i], "2,8", "8,4", "2,4"));
    KNOWN(2.0 * 2 * 4 * 8, flops("QGemm", "2,8", "", "", "8,4", "2,4"));
    KNOWN(2.0 * 32 * 24 * 8 * 2,
          two("ConvTransposeWithDynamicPads", "1,32,24", "32,8,2", "1,8,48"));
    KNOWN(2.0 * 32 * 24 * 8 * 2, two("DmlFusedConvTranspose", "1,32,24", "32,8,2", "1,8,48"));
}

static void test_products_that_may_be_transposed(void)
{
    KNOWN(2.0 * 2 * 4 * 8, two("Gemm", "2,8", "8,4", "2,4"));
    KNOWN(2.0 * 2 * 4 * 8, two("Gemm", "8,2", "8,4", "2,4")); // transA
    KNOWN(2.0 * 2 * 4 * 8, two("Gemm", "2,8", "4,8", "2,4")); // transB
    KNOWN(2.0 * 2 * 4 * 8, two("FusedGemm", "8,2", "4,8", "2,4"));
    KNOWN(2.0 * 2 * 2 * 2, two("Gemm", "2,2", "2,2", "2,2"));
    KNOWN(2.0 * 2 * 4 * 8, two("Gemm", "2,8", NULL, "2,4"));
    KNOWN(2.0 * 6 * 2 * 4 * 8, two("FusedMatMul", "6,8,2", "6,8,4", "6,2,4"));
    UNKNOWN(two("Gemm", "3,8", "8,4", "2,4"));
    UNKNOWN(two("FusedMatMul", "8", "8,4", "4"));
}

static void test_other_operators_and_hostile_shapes(void)
{
    UNKNOWN(two("Relu", "1,8", NULL, "1,8"));
    UNKNOWN(two("QLinearAdd", "1,8", "1,8", "1,8"));
    UNKNOWN(two("", "1,8", "8,4", "1,4"));
    TEST_ASSERT_FALSE(an_flops_has_formula("Relu"));
    TEST_ASSERT_TRUE(an_flops_has_formula("Conv"));
    static const char *const bad[] = {"-1,8",
                                      "1,,8",
                                      "1,8,",
                                      ",1",
                                      "x",
                                      "1,8x",
                                      "1 ,8",
                                      "99999999999999999999,8",
                                      "1000000000,1000000000,8",
                                      "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        UNKNOWN(two("MatMul", bad[i], "8,4", "1,4"));
    UNKNOWN(an_flops("Conv", NULL, NULL));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_convolutions);
    RUN_TEST(test_transposed_convolution);
    RUN_TEST(test_matrix_products);
    RUN_TEST(test_products_with_packed_weights);
    RUN_TEST(test_every_fused_or_quantised_form_has_its_formula);
    RUN_TEST(test_products_that_may_be_transposed);
    RUN_TEST(test_other_operators_and_hostile_shapes);
    return UNITY_END();
}
