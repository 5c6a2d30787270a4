// SPDX-License-Identifier: Apache-2.0
#include "bench/packets/packets.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

#include "aes/key_schedule.h"
#include "base/bytes.h"
#include "base/pipeline.h"
#include "modes/chain.h"

namespace nbdcrypt::bench {
namespace {

using aes::Byte;
using Bytes = std::vector<Byte>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kHeaderBytes = 8, kIvBytes = 16;  // SPI and sequence number (RFC 4303, 2)
constexpr std::size_t kMaxPacketBytes = 1536;
constexpr std::size_t kBatchBytes = 256 * 1024;  // packets that are handed over at a time
constexpr std::size_t kBatches = 4;
constexpr int kTurns = 5;

/// One HMAC context for each thread that asks: the key is set once.
class Hmac {
 public:
  explicit Hmac(const Suite& suite) {
    const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr), EVP_MAC_free);
    context_.reset(EVP_MAC_CTX_new(mac.get()));
    const Bytes key(suite.digest_bytes, 0x0b);
    char* const digest = const_cast<char*>(suite.digest);
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0), OSSL_PARAM_construct_end()};
    require(EVP_MAC_init(context_.get(), key.data(), key.size(), params));
  }

  /// digest: at least as long as the suite's.
  void make(const Byte* from, std::size_t bytes, Byte* digest, std::size_t room) {
    std::size_t written = 0;
    require(EVP_MAC_init(context_.get(), nullptr, 0, nullptr));
    require(EVP_MAC_update(context_.get(), from, bytes));
    require(EVP_MAC_final(context_.get(), digest, &written, room));
  }

 private:
  struct Free {
    void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
  };
  static void require(int ok) {
    if (ok != 1) throw std::runtime_error("openssl: HMAC failed");
  }
  std::unique_ptr<EVP_MAC_CTX, Free> context_;
};

struct Packet {
  std::uint64_t sequence;  // of its direction
  bool outgoing;
  Byte* memory;  // header, IV, payload, tag
};

/// What is done to each packet, by any number of threads.
class Gateway {
 public:
  Gateway(const PacketCell& cell, const aes::Backend& backend)
      : suite_(*cell.suite),
        body_bytes_((cell.payload_bytes + 2 + 15) / 16 * 16),  // ESP's trailer and padding (RFC 4303, 2.4)
        encrypt_(backend, aes::cbc_enc, modes::Offload::batch),
        decrypt_(backend, aes::cbc_dec, modes::Offload::batch) {
    const Bytes key(suite_.key_bits / 8, 0x42);
    aes::make_key(backend, key, key_);
    incoming_.resize(packet_bytes());
    for (std::size_t i = 0; i < incoming_.size(); ++i) incoming_[i] = static_cast<Byte>(31 * i);
    Hmac hmac(suite_);
    seal(incoming_.data(), hmac);
  }

  std::size_t packet_bytes() const { return kHeaderBytes + kIvBytes + body_bytes_ + suite_.tag_bytes; }

  void work(const Packet& packet, Hmac& hmac) const {
    if (packet.outgoing) {
      base::store_be(packet.memory, packet.sequence);
      return seal(packet.memory, hmac);
    }
    open(packet.memory, hmac);
  }

 private:
  std::size_t covered() const { return kHeaderBytes + kIvBytes + body_bytes_; }

  void crypt(const modes::Chain& chain, const Byte* from, Byte* to) const {
    Byte iv[kIvBytes];
    std::memcpy(iv, from + kHeaderBytes, kIvBytes);
    const std::size_t at = kHeaderBytes + kIvBytes;
    chain.run(key_, {.in = from + at, .out = to + at, .iv = iv, .unit = body_bytes_, .count = 1});
  }

  void seal(Byte* packet, Hmac& hmac) const {
    Byte digest[EVP_MAX_MD_SIZE];
    crypt(encrypt_, packet, packet);
    hmac.make(packet, covered(), digest, sizeof digest);
    std::memcpy(packet + covered(), digest, suite_.tag_bytes);
  }

  /// The same packet comes in each time; it is decrypted to `to`.
  void open(Byte* to, Hmac& hmac) const {
    Byte digest[EVP_MAX_MD_SIZE];
    hmac.make(incoming_.data(), covered(), digest, sizeof digest);
    if (CRYPTO_memcmp(digest, incoming_.data() + covered(), suite_.tag_bytes) != 0) {
      throw std::runtime_error("packet with a wrong tag");
    }
    crypt(decrypt_, incoming_.data(), to);
  }

  const Suite& suite_;
  std::size_t body_bytes_;
  aes::Key key_{};
  modes::Chain encrypt_, decrypt_;
  Bytes incoming_;
};

/// Packets in the order in which they arrive: one direction, or both in alternation.
class Source {
 public:
  Source(Ways ways, std::size_t pool) : ways_(ways), memory_(pool * kMaxPacketBytes), pool_(pool) {}

  Packet next() {
    const bool outgoing = ways_ == Ways::one || count_ % 2 == 0;
    Byte* const memory = memory_.data() + count_ % pool_ * kMaxPacketBytes;
    return {.sequence = ways_ == Ways::one ? count_++ : count_++ / 2, .outgoing = outgoing, .memory = memory};
  }

 private:
  Ways ways_;
  Bytes memory_;
  std::size_t pool_;
  std::uint64_t count_ = 0;
};

/// Checks that the packets of each direction come back by their numbers.
class Sink {
 public:
  void take(const Packet& packet) {
    if (packet.sequence != expected_[packet.outgoing]++) throw std::runtime_error("packet out of order");
    ++count;
  }
  std::atomic<std::uint64_t> count = 0;  // written by one thread at a time

 private:
  std::uint64_t expected_[2] = {0, 0};
};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Counts are looked at, and time is, only so often.
constexpr std::uint64_t kLookEvery = 64;

double cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// What the processes of a run share.
struct Shared {
  std::atomic<int> go = 0;  // 0 wait, 1 run, 2 stop
  std::atomic<std::uint64_t> packets = 0, cpu_ns = 0;
  std::atomic<unsigned> ready = 0;
};

void run_alone(const PacketCell& cell, const aes::Backend& backend, Shared& shared) {
  const Gateway gateway(cell, backend);
  Hmac hmac(*cell.suite);
  Source source(cell.ways, kBatches * (kBatchBytes / cell.payload_bytes));
  Sink sink;
  ++shared.ready;
  while (shared.go == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  const double start = cpu_seconds();
  while (shared.go == 1) {
    for (std::uint64_t i = 0; i < kLookEvery; ++i) {
      const Packet packet = source.next();
      gateway.work(packet, hmac);
      sink.take(packet);
    }
  }
  shared.cpu_ns += static_cast<std::uint64_t>((cpu_seconds() - start) * 1e9);
  shared.packets += sink.count;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

Row cell_row(const PacketCell& cell, const aes::Backend& backend, unsigned threads, double seconds) {
  std::vector<double> of_processes, of_processes_cpu, rates;
  std::uint64_t packets = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const Rate apart = run_processes(cell, backend, threads, seconds);
    const Rate piped = run_pipeline(cell, backend, threads, seconds, 0);
    of_processes.push_back(piped.per_s / apart.per_s);
    of_processes_cpu.push_back(piped.per_cpu_s / apart.per_cpu_s);
    rates.push_back(piped.per_s);
    packets += piped.packets;
  }
  Row row;
  row.set("table", "packets").set("backend", backend.name).set("suite", cell.suite->name);
  row.set("packet_bytes", cell.payload_bytes).set("ways", cell.ways == Ways::one ? "one" : "both");
  row.set("threads", std::size_t{threads}).set("packets_in_order", static_cast<std::int64_t>(packets));
  row.set("packets_per_s", median(rates));
  row.set("mbit_per_s", median(rates) * static_cast<double>(cell.payload_bytes) * 8 / 1e6);
  return row.set("of_processes", median(of_processes)).set("of_processes_cpu", median(of_processes_cpu));
}

}  // namespace

Rate run_processes(const PacketCell& cell, const aes::Backend& backend, unsigned count, double seconds) {
  void* const page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::runtime_error("no shared memory");
  const std::unique_ptr<Shared, void (*)(Shared*)> shared(new (page) Shared,
                                                          [](Shared* at) { munmap(at, sizeof(Shared)); });
  std::vector<pid_t> children;
  for (unsigned i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      run_alone(cell, backend, *shared);
      _exit(0);
    }
    if (child > 0) children.push_back(child);
  }
  while (shared->ready < children.size()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto start = Clock::now();
  shared->go = 1;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  shared->go = 2;
  const double took = seconds_since(start);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  if (children.size() != count) throw std::runtime_error("cannot start processes");
  const double packets = static_cast<double>(shared->packets);
  return {packets / took, packets / (static_cast<double>(shared->cpu_ns) * 1e-9), shared->packets};
}

Rate run_pipeline(const PacketCell& cell, const aes::Backend& backend, unsigned workers, double seconds,
                  std::uint64_t packets) {
  const Gateway gateway(cell, backend);
  const std::size_t batch = kBatchBytes / cell.payload_bytes;
  Source source(cell.ways, (kBatches + 1) * batch);
  Sink sink;
  base::Pipeline<Packet> pipeline(
      {.workers = workers, .batch = batch, .batches = kBatches},
      [&](Packet& packet) {
        thread_local std::pair<const Gateway*, std::unique_ptr<Hmac>> mine;
        if (mine.first != &gateway || !mine.second) mine = {&gateway, std::make_unique<Hmac>(*cell.suite)};
        gateway.work(packet, *mine.second);
      },
      [&](std::uint64_t, Packet& packet, const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
        sink.take(packet);
      });
  const auto start = Clock::now();
  const double cpu_start = cpu_seconds();
  bool going = true;
  for (std::uint64_t submitted = 0; going || submitted < packets; submitted += kLookEvery) {
    for (std::uint64_t i = 0; i < kLookEvery && going; ++i) going = pipeline.submit(source.next());
    if (!going) break;
    going = seconds_since(start) < seconds || submitted + kLookEvery < packets;
  }
  pipeline.drain();
  const double committed = static_cast<double>(sink.count);
  return {committed / seconds_since(start), committed / (cpu_seconds() - cpu_start), sink.count};
}

std::vector<Row> vpn_rows(const aes::Backend& backend, double seconds) {
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Row> rows;
  for (const Suite& suite : kSuites) {
    for (const std::size_t payload : {1420u, 128u}) {
      for (const Ways ways : {Ways::one, Ways::both}) {
        for (unsigned threads = 1; threads <= processors; ++threads) {
          rows.push_back(cell_row({&suite, payload, ways}, backend, threads, seconds));
        }
      }
    }
  }
  return rows;
}

std::vector<Row> order_rows(const aes::Backend& backend) {
  constexpr std::uint64_t kPackets = 10'000'000;
  const unsigned workers = std::max(2u, std::thread::hardware_concurrency());
  const Rate piped = run_pipeline({&kSuites[0], 128, Ways::both}, backend, workers, 0, kPackets);
  Row row;
  row.set("table", "order").set("backend", backend.name).set("threads", std::size_t{workers});
  return {row.set("packets_in_order", static_cast<std::int64_t>(piped.packets)).set("packets_per_s", piped.per_s)};
}

}  // namespace nbdcrypt::bench
