// Profiles a training loop that knows nothing of Sluice but four calls: which buffers are accessed how often in main
// memory, and over which layers they live. The network is a perceptron of two layers in plain C++.
#include <cmath>
#include <cstdio>
#include <vector>

#include "sluice/profile/training_profile.hpp"

namespace {

constexpr int kBatch = 64;
constexpr int kInputs = 512;
constexpr int kHidden = 512;
constexpr int kOutputs = 16;
constexpr float kRate = 0.002F;

// A buffer of floats on pages of its own; released with its scope.
class Buffer {
 public:
  Buffer(int rows, int columns, const char* name)
      : columns_(columns),
        data_(static_cast<float*>(sluice::profile::allocate_tracked(sluice::Bytes{4} * rows * columns, name).value())) {
  }
  ~Buffer() { (void)sluice::profile::release_tracked(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  float* row(int index) const { return data_ + static_cast<std::ptrdiff_t>(index) * columns_; }
  int columns() const { return columns_; }

 private:
  int columns_;
  float* data_;
};

// Numbers that look random, the same in every run.
float noise(int index) {
  const auto bits = static_cast<unsigned>(index) * 2654435761U;
  return static_cast<float>(bits >> 16) / 65536.0F - 0.5F;
}

void fill(const Buffer& buffer, int rows, float scale) {
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < buffer.columns(); ++c) buffer.row(r)[c] = scale * noise(r * buffer.columns() + c);
  }
}

// y = x w, rows of x times rows of w.
void forward(const Buffer& x, const Buffer& w, const Buffer& y) {
  for (int b = 0; b < kBatch; ++b) {
    for (int o = 0; o < y.columns(); ++o) {
      float sum = 0;
      for (int i = 0; i < x.columns(); ++i) sum += x.row(b)[i] * w.row(o)[i];
      y.row(b)[o] = sum;
    }
  }
}

// dx = dy w
void backward_data(const Buffer& dy, const Buffer& w, const Buffer& dx) {
  for (int b = 0; b < kBatch; ++b) {
    for (int o = 0; o < dy.columns(); ++o) {
      for (int i = 0; i < dx.columns(); ++i) dx.row(b)[i] += dy.row(b)[o] * w.row(o)[i];
    }
  }
}

// w -= rate dy^T x
void update(const Buffer& dy, const Buffer& x, const Buffer& w) {
  for (int b = 0; b < kBatch; ++b) {
    for (int o = 0; o < dy.columns(); ++o) {
      for (int i = 0; i < x.columns(); ++i) w.row(o)[i] -= kRate / kBatch * dy.row(b)[o] * x.row(b)[i];
    }
  }
}

struct Network {
  Buffer x{kBatch, kInputs, "samples"};
  Buffer target{kBatch, kOutputs, "targets"};
  Buffer w1{kHidden, kInputs, "weights 1"};
  Buffer w2{kOutputs, kHidden, "weights 2"};
};

// One step; returns the mean squared error. Layers end where add_layer() is called, as in Sentinel.
float train_step(const Network& network) {
  const Buffer hidden(kBatch, kHidden, "hidden");
  forward(network.x, network.w1, hidden);
  for (int b = 0; b < kBatch; ++b) {
    for (int i = 0; i < kHidden; ++i) hidden.row(b)[i] = std::tanh(hidden.row(b)[i]);
  }
  sluice::profile::add_layer();

  const Buffer gradient(kBatch, kOutputs, "output gradient");
  float loss = 0;
  {
    const Buffer output(kBatch, kOutputs, "output");
    forward(hidden, network.w2, output);
    for (int b = 0; b < kBatch; ++b) {
      for (int o = 0; o < kOutputs; ++o) {
        gradient.row(b)[o] = output.row(b)[o] - network.target.row(b)[o];
        loss += gradient.row(b)[o] * gradient.row(b)[o] / (kBatch * kOutputs);
      }
    }
  }
  sluice::profile::add_layer();

  const Buffer hidden_gradient(kBatch, kHidden, "hidden gradient");
  backward_data(gradient, network.w2, hidden_gradient);
  update(gradient, hidden, network.w2);
  sluice::profile::add_layer();

  for (int b = 0; b < kBatch; ++b) {
    for (int i = 0; i < kHidden; ++i) hidden_gradient.row(b)[i] *= 1 - hidden.row(b)[i] * hidden.row(b)[i];
  }
  update(hidden_gradient, network.x, network.w1);
  sluice::profile::add_layer();
  return loss;
}

void print(const sluice::profile::TrainingProfile& profile) {
  std::printf("%d layers, %.0f ms, TLB reach %s\n\n%-16s %10s %8s %8s %8s %16s\n", profile.layers,
              profile.seconds * 1e3, sluice::format_bytes(profile.tlb_reach).c_str(), "buffer", "size", "layers",
              "read", "written", "accesses a page");
  for (const sluice::profile::BufferRecord& buffer : profile.buffers) {
    const std::string layers = std::to_string(buffer.first_layer) + ".." + std::to_string(buffer.end_layer);
    std::printf("%-16s %10s %8s %8lld %8lld %16.1f\n", buffer.name.c_str(), sluice::format_bytes(buffer.bytes).c_str(),
                layers.c_str(), static_cast<long long>(buffer.reads), static_cast<long long>(buffer.writes),
                buffer.accesses_per_page());
  }
  for (const std::string& note : profile.notes) std::printf("note: %s\n", note.c_str());
}

}  // namespace

int main() {
  const Network network;
  fill(network.x, kBatch, 1);
  fill(network.target, kBatch, 2);
  fill(network.w1, kHidden, 0.1F);
  fill(network.w2, kOutputs, 0.1F);
  for (int step = 0; step < 3; ++step) std::printf("step %d: loss %.4f\n", step, train_step(network));

  // A TLB of 1 MiB, so that a network this small does not fit it.
  if (const auto started = sluice::profile::start_profile({.tlb_reach = sluice::kMiB}); !started.ok()) {
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return 1;
  }
  const float loss = train_step(network);
  const auto profile = sluice::profile::end_profile();
  if (!profile.ok()) {
    std::fprintf(stderr, "%s\n", profile.error().message.c_str());
    return 1;
  }
  std::printf("step 3: loss %.4f, profiled\n\n", loss);
  print(*profile);
  return 0;
}
