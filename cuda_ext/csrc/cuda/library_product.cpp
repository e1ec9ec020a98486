#include "library_product.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

namespace sweeper::cuda {
namespace {

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuBLASLt: ") + call + " failed: " + cublasLtGetStatusString(status));
}

template <typename Handle, cublasStatus_t (*Destroy)(Handle)>
struct Release {
  void operator()(Handle handle) const { Destroy(handle); }
};
using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t, Release<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Release<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Release<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>>;

cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::kFloat: return CUDA_R_32F;
    case Element::kDouble: return CUDA_R_64F;
    case Element::kBFloat16: return CUDA_R_16BF;
    default: return CUDA_R_16F;
  }
}

uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  return static_cast<uint32_t>(std::min<uintptr_t>(256, address & (~address + 1)));
}

// The library's words for a product, kept for the next one of its kind: finding a kernel takes tens of microseconds.
struct Plan {
  Description description;
  Layout left, right, result;
  cublasLtMatmulAlgo_t algorithm;
};

void set(Plan& plan, cublasLtMatmulDescAttributes_t name, const void* value, size_t size) {
  check(cublasLtMatmulDescSetAttribute(plan.description.get(), name, value, size), "MatmulDescSetAttribute");
}

Layout layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t leading) {
  cublasLtMatrixLayout_t handle = nullptr;
  check(cublasLtMatrixLayoutCreate(&handle, type, rows, columns, leading), "MatrixLayoutCreate");
  return Layout(handle);
}

void set_pointers(Plan& plan, const LibraryProduct& p) {
  if (p.bias) set(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.bias, sizeof(p.bias));
  if (p.auxiliary) set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &p.auxiliary, sizeof(p.auxiliary));
}

Plan describe(const LibraryProduct& p) {
  const cudaDataType_t type = type_of(p.element);
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  if (p.element == Element::kDouble) compute = CUBLAS_COMPUTE_64F;
  else if (p.element == Element::kFloat && p.tf32) compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  Plan plan{};
  cublasLtMatmulDesc_t description = nullptr;
  check(cublasLtMatmulDescCreate(&description, compute, p.element == Element::kDouble ? CUDA_R_64F : CUDA_R_32F),
        "MatmulDescCreate");
  plan.description.reset(description);
  const cublasOperation_t left = p.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t right = p.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(plan, CUBLASLT_MATMUL_DESC_TRANSA, &left, sizeof(left));
  set(plan, CUBLASLT_MATMUL_DESC_TRANSB, &right, sizeof(right));
  set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE, &p.epilogue, sizeof(p.epilogue));
  if (p.auxiliary)
    set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &p.auxiliary_leading, sizeof(p.auxiliary_leading));
  set_pointers(plan, p);
  plan.left = p.left.transposed ? layout(type, p.k, p.m, p.left.leading) : layout(type, p.m, p.k, p.left.leading);
  plan.right = p.right.transposed ? layout(type, p.n, p.k, p.right.leading) : layout(type, p.k, p.n, p.right.leading);
  plan.result = layout(type, p.m, p.n, p.result_leading);
  return plan;
}

void prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name, const void* value, size_t size) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, name, value, size), "MatmulPreferenceSetAttribute");
}

std::optional<Plan> find(const LibraryProduct& p, cublasLtHandle_t handle) {
  Plan plan = describe(p);
  cublasLtMatmulPreference_t created = nullptr;
  check(cublasLtMatmulPreferenceCreate(&created), "MatmulPreferenceCreate");
  const Preference preference(created);
  const uint64_t workspace = kWorkspaceBytes;
  const uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const uint32_t a = alignment_of(p.left.data), b = alignment_of(p.right.data), d = alignment_of(p.result);
  prefer(created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof(workspace));
  prefer(created, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof(reduction));
  prefer(created, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &a, sizeof(a));
  prefer(created, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &b, sizeof(b));
  prefer(created, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &d, sizeof(d));
  prefer(created, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &d, sizeof(d));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, plan.description.get(), plan.left.get(), plan.right.get(),
                                     plan.result.get(), plan.result.get(), created, 1, &found, &count);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0) return std::nullopt;
  plan.algorithm = found.algo;
  return plan;
}

using Key = std::tuple<int, int, bool, int64_t, int64_t, int64_t, int64_t, bool, int64_t, bool, int64_t, int, int64_t,
                       uint32_t, uint32_t, uint32_t, uint32_t>;

Key key_of(const LibraryProduct& p, int device) {
  return {device, static_cast<int>(p.element), p.tf32, p.m, p.n, p.k, p.left.leading, p.left.transposed,
          p.right.leading, p.right.transposed, p.result_leading, static_cast<int>(p.epilogue), p.auxiliary_leading,
          alignment_of(p.left.data), alignment_of(p.right.data), alignment_of(p.result), alignment_of(p.bias)};
}

constexpr size_t kMostPlans = 4096;

struct Library {
  std::mutex mutex;
  std::map<int, cublasLtHandle_t> handles;
  std::map<Key, std::optional<Plan>> plans;
};

Library& library() {
  static Library* kept = new Library;   // never destroyed: the driver may be gone before static objects are
  return *kept;
}

}  // namespace

bool run_library_product(const LibraryProduct& p, int device, void* workspace, cudaStream_t stream) {
  Library& lib = library();
  const std::lock_guard<std::mutex> lock(lib.mutex);
  cublasLtHandle_t& handle = lib.handles[device];
  if (handle == nullptr) check(cublasLtCreate(&handle), "Create");
  const Key key = key_of(p, device);
  auto at = lib.plans.find(key);
  if (at == lib.plans.end()) {
    if (lib.plans.size() >= kMostPlans) lib.plans.clear();
    at = lib.plans.emplace(key, find(p, handle)).first;
  }
  if (!at->second) return false;
  Plan& plan = *at->second;
  set_pointers(plan, p);
  const double one64 = 1, zero64 = 0;
  const float one32 = 1, zero32 = 0;
  const bool wide = p.element == Element::kDouble;
  const void* one = wide ? static_cast<const void*>(&one64) : &one32;
  const void* zero = wide ? static_cast<const void*>(&zero64) : &zero32;
  const cublasStatus_t status =
      cublasLtMatmul(handle, plan.description.get(), one, p.left.data, plan.left.get(), p.right.data, plan.right.get(),
                     zero, p.result, plan.result.get(), p.result, plan.result.get(), &plan.algorithm, workspace,
                     kWorkspaceBytes, stream);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
    at->second.reset();
    return false;
  }
  check(status, "Matmul");
  return true;
}

}  // namespace sweeper::cuda
