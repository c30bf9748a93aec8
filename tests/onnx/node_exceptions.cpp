#include "tests/onnx/node_exceptions.hpp"

namespace sluice::tests {

const std::map<std::string, std::string>& ops_not_for_training() {
  static const std::map<std::string, std::string> reasons = [] {
    std::map<std::string, std::string> all;
    const auto add = [&](const std::string& why, std::initializer_list<const char*> ops) {
      for (const char* op : ops) all[op] = why;
    };
    add("text", {"StringNormalizer", "TfIdfVectorizer", "StringConcat", "StringSplit", "RegexFullMatch"});
    add("quantized for inference", {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv",
                                    "QLinearMatMul", "ConvInteger", "MatMulInteger"});
    add("sequences and optional values, not tensors",
        {"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
         "SequenceMap", "SplitToSequence", "ConcatFromSequence", "Optional", "OptionalGetElement",
         "OptionalHasElement"});
    add("control flow: no fixed graph", {"If", "Loop", "Scan"});
    add("the size of its result depends on the data", {"NonZero", "Unique", "NonMaxSuppression"});
    add("draws random numbers as a source of data",
        {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"});
    add("an optimizer: Sluice adds its own",
        {"ai.onnx.preview.training.Adagrad", "ai.onnx.preview.training.Adam", "ai.onnx.preview.training.Momentum",
         "ai.onnx.preview.training.Gradient"});
    add("prepares sound or pictures before the network",
        {"MelWeightMatrix", "HannWindow", "HammingWindow", "BlackmanWindow", "STFT", "ImageDecoder"});
    add("integers as bits", {"BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"});
    return all;
  }();
  return reasons;
}

namespace {

const std::map<std::string, std::string>& exceptions_by_name() {
  static const std::map<std::string, std::string> reasons = [] {
    std::map<std::string, std::string> all;
    const auto add = [&](const std::string& why, std::initializer_list<const char*> tests) {
      for (const char* test : tests) all[std::string("test_") + test] = why;
    };
    add("text", {"cast_FLOAT_to_STRING", "cast_STRING_to_FLOAT", "castlike_FLOAT_to_STRING", "castlike_STRING_to_FLOAT",
                 "castlike_FLOAT_to_STRING_expanded", "castlike_STRING_to_FLOAT_expanded", "equal_string",
                 "equal_string_broadcast"});
    add("its bfloat16 numbers are stored as integers",
        {"cast_BFLOAT16_to_FLOAT", "cast_FLOAT_to_BFLOAT16", "castlike_BFLOAT16_to_FLOAT", "castlike_FLOAT_to_BFLOAT16",
         "castlike_BFLOAT16_to_FLOAT_expanded", "castlike_FLOAT_to_BFLOAT16_expanded"});
    add("sequences or optional values", {"identity_opt", "identity_sequence"});
    add("tensors without elements",
        {"reshape_allowzero_reordered", "slice_start_out_of_bounds", "split_zero_size_splits",
         "split_zero_size_splits_opset13", "split_zero_size_splits_opset18", "reduce_l1_empty_set",
         "reduce_l2_empty_set", "reduce_log_sum_empty_set", "reduce_log_sum_exp_empty_set",
         "reduce_sum_square_empty_set"});
    add("counts what lies beyond the padding; Sluice counts as PyTorch does",
        {"averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True"});
    add("drops by numpy's random numbers",
        {"training_dropout", "training_dropout_default", "training_dropout_default_mask", "training_dropout_mask"});
    return all;
  }();
  return reasons;
}

}  // namespace

std::optional<std::string> node_test_exception(const std::string& test) {
  if (test.find("FLOAT8") != std::string::npos || test.find("INT4") != std::string::npos)
    return "numbers of 8 or 4 bits";
  const auto found = exceptions_by_name().find(test);
  return found == exceptions_by_name().end() ? std::nullopt : std::optional(found->second);
}

bool expects_its_own_rounding(const std::string& test) {
  return test == "test_dft_inverse" || test == "test_dft_inverse_opset19";
}

const std::map<std::string, int>& later_ops() {
  static const std::map<std::string, int> opsets{
      {"Mish", 18},       {"CenterCropPad", 18}, {"Col2Im", 18}, {"GroupNormalization", 18},
      {"DeformConv", 19}, {"AffineGrid", 20},    {"Gelu", 20},
  };
  return opsets;
}

}  // namespace sluice::tests
