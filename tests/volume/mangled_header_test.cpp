// SPDX-License-Identifier: Apache-2.0
//
// Eighty-five LUKS2 headers, each damaged in one way, as the test suite of cryptsetup has them: their names, what they
// damage and whether they must load. Ours and cryptsetup's verdict on each must be the one in the table, and we change
// no byte.
#include <gmock/gmock.h>

#include <map>

#include "tests/volume/luks2_editor.h"
#include "tests/volume/luks_fixtures.h"

namespace nbdcrypt::test {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::StrEq;

constexpr std::uint64_t kImageBytes = 13 * kMiB;  // room for two copies of 4 MiB and the key slots
constexpr std::uint64_t kCopyBytes = 16384, kSlotsBytes = 4161536;
constexpr int kSlots = 8;

/// A header of two sound copies of 16 KiB: eight key slots, data at 4 MiB.
class Subject {
 public:
  explicit Subject(std::string image) : image_(std::move(image)), first_(image_, 0), second_(image_, kCopyBytes) {}

  const std::string& image() const { return image_; }
  Luks2Copy& first() { return first_; }
  Luks2Copy& second() { return second_; }

  void write_first() { first_.write(image_, 0); }
  void write_second() { second_.write(image_, kCopyBytes); }

  /// Damages the first copy's JSON, with a right checksum, and leaves no second copy to recover from.
  void only_first(const std::function<void(json&)>& edit) {
    json metadata = first_.json();
    edit(metadata);
    only_first_text(metadata.dump());
  }
  void only_first_text(const std::string& text) {
    first_.set_text(text);
    seal_only_first();
  }
  void seal_only_first() {
    erase(first_.size(), kCopyBytes);
    first_.seal();
    write_first();
  }

  /// Makes the copies `bytes` large and moves what follows them; `edit` sees the result. One copy is left: the first,
  /// or the second at offset `bytes`.
  void resize(std::uint64_t bytes, bool keep_second, const std::function<void(json&)>& edit = {}) {
    json metadata = first_.json();
    first_.resize(bytes);
    metadata["config"]["json_size"] = std::to_string(bytes - Luks2Copy::kBinaryBytes);
    for (json& slot : metadata["keyslots"])
      slot["area"]["offset"] =
          std::to_string(std::stoull(slot["area"]["offset"].get<std::string>()) + 2 * (bytes - kCopyBytes));
    metadata["segments"]["0"]["offset"] = std::to_string(2 * bytes + kSlotsBytes);
    if (edit) edit(metadata);
    first_.set_json(metadata);
    if (keep_second) first_.make_second(bytes);
    first_.seal();
    erase(0, 2 * std::max(bytes, kCopyBytes));
    first_.write(image_, keep_second ? bytes : 0);
  }

 private:
  void erase(std::uint64_t offset, std::uint64_t bytes) { poke(image_, offset, std::string(bytes, '\0')); }

  std::string image_;
  Luks2Copy first_, second_;
};

enum class Verdict { refused, loads, loads_without_token };
constexpr Verdict F = Verdict::refused, R = Verdict::loads, T = Verdict::loads_without_token;

struct Mangled {
  const char* name;
  Verdict verdict;
  std::function<void(Subject&)> damage;

  friend void PrintTo(const Mangled& mangled, std::ostream* out) { *out << mangled.name; }
};

/// A damage to the first copy's JSON alone.
std::function<void(Subject&)> in_json(std::function<void(json&)> edit) {
  return [edit = std::move(edit)](Subject& subject) { subject.only_first(edit); };
}
/// A damage to the data segment.
std::function<void(Subject&)> in_segment(std::function<void(json&)> edit) {
  return in_json([edit = std::move(edit)](json& metadata) { edit(metadata["segments"]["0"]); });
}
std::function<void(Subject&)> in_segment(const char* key, json value) {
  return in_segment([key, value = std::move(value)](json& segment) { segment[key] = value; });
}
std::function<void(Subject&)> without(const char* key) {
  return in_segment([key](json& segment) { segment.erase(key); });
}
std::function<void(Subject&)> in_config(const char* key, json value) {
  return in_json([key, value = std::move(value)](json& metadata) { metadata["config"][key] = value; });
}
/// Places the area of key slot 7 relative to that of slot 6.
std::function<void(Subject&)> area_of_slot_7(
    std::function<std::pair<std::uint64_t, std::uint64_t>(std::uint64_t, std::uint64_t)> place) {
  return in_json([place = std::move(place)](json& metadata) {
    const json& area = metadata["keyslots"]["6"]["area"];
    const auto [offset, size] =
        place(std::stoull(area["offset"].get<std::string>()), std::stoull(area["size"].get<std::string>()));
    metadata["keyslots"]["7"]["area"]["offset"] = std::to_string(offset);
    metadata["keyslots"]["7"]["area"]["size"] = std::to_string(size);
  });
}
std::function<void(Subject&)> kdf_with_leftovers(const char* slot, json kdf) {
  return in_json([slot, kdf = std::move(kdf)](json& metadata) { metadata["keyslots"][slot]["kdf"].update(kdf); });
}
std::function<void(Subject&)> sized(std::uint64_t bytes, bool keep_second = false) {
  return [=](Subject& subject) { subject.resize(bytes, keep_second); };
}

/// Metadata whose compact text has `bytes` bytes: a token is the filler.
std::string text_of_size(json metadata, std::size_t bytes) {
  metadata["tokens"]["0"] = {{"type", "filler"}, {"keyslots", json::array()}, {"data", ""}};
  const std::size_t without_filler = metadata.dump().size();
  metadata["tokens"]["0"]["data"] = std::string(bytes - without_filler, 'x');
  return metadata.dump();
}

/// JSON with white space, and a token to remove: `bytes` of it in all.
std::string spacious_text(json metadata, std::size_t bytes) {
  metadata["tokens"]["0"] = {{"type", "some"}, {"keyslots", {"0"}}};
  std::string text = metadata.dump();
  if (text.size() < bytes) text.insert(text.size() - 1, bytes - text.size(), ' ');
  return text;
}

std::vector<Mangled> mangled_copies() {
  const auto damage_json = [](Luks2Copy& copy) {
    copy.area()[copy.area().find(':')] = '#';
    copy.seal();
  };
  return {
      {"invalid-checksum-hdr0", R, [](Subject& s) { s.first().damage_checksum(), s.write_first(); }},
      {"invalid-checksum-hdr1", R, [](Subject& s) { s.second().damage_checksum(), s.write_second(); }},
      {"invalid-checksum-both-hdrs", F,
       [](Subject& s) {
         s.first().damage_checksum(), s.write_first();
         s.second().damage_checksum(), s.write_second();
       }},
      {"corrupted-hdr0-with-correct-chks", R, [=](Subject& s) { damage_json(s.first()), s.write_first(); }},
      {"corrupted-hdr1-with-correct-chks", R, [=](Subject& s) { damage_json(s.second()), s.write_second(); }},
  };
}

std::vector<Mangled> mangled_text() {
  const auto room = [](Subject& s) { return s.first().area().size(); };
  return {
      {"correct-full-json0", R, [=](Subject& s) { s.only_first_text(text_of_size(s.first().json(), room(s) - 1)); }},
      {"missing-trailing-null-byte-json0", F,
       [=](Subject& s) { s.only_first_text(text_of_size(s.first().json(), room(s))); }},
      {"non-null-byte-beyond-json0", F, [](Subject& s) { s.only_first_text(s.first().json().dump() + "X"); }},
      {"non-null-bytes-beyond-json0", F,
       [=](Subject& s) {
         s.first().area().replace(room(s) - 3, 3, "xyz");
         s.seal_only_first();
       }},
      {"invalid-opening-char-json0", F, [](Subject& s) { s.only_first_text(" " + s.first().json().dump()); }},
      {"invalid-object-type-json0", F, [](Subject& s) { s.only_first_text("[" + s.first().json().dump() + "]"); }},
      {"non-compact-json-token-0", T, [](Subject& s) { s.only_first_text(spacious_text(s.first().json(), 0)); }},
      {"non-compact-json-4k-token-0", T,
       [=](Subject& s) { s.only_first_text(spacious_text(s.first().json(), room(s) - 1)); }},
      {"invalid-tokens", F, in_json([](json& m) { m["tokens"] = 42; })},
      {"invalid-top-objects", F, in_json([](json& m) {
         m["tokens"] = 42;
         m["digests"] = 42;
         m["keyslots"] = json::array();
         m["segments"] = "hi";
       })},
  };
}

std::vector<Mangled> mangled_slots() {
  using Place = std::pair<std::uint64_t, std::uint64_t>;
  return {
      {"argon2-leftover-params", R,
       kdf_with_leftovers(
           "1",
           {{"type", "pbkdf2"}, {"iterations", 1001}, {"hash", "sha256"}, {"time", 4}, {"memory", 64}, {"cpus", 1}})},
      {"pbkdf2-leftover-params-0", R,
       kdf_with_leftovers(
           "2",
           {{"type", "argon2i"}, {"iterations", 1001}, {"hash", "sha256"}, {"time", 4}, {"memory", 64}, {"cpus", 1}})},
      {"pbkdf2-leftover-params-1", R,
       kdf_with_leftovers(
           "2",
           {{"type", "argon2id"}, {"iterations", 1001}, {"hash", "sha256"}, {"time", 4}, {"memory", 64}, {"cpus", 1}})},
      {"overlapping-areas-c0-json0", F, area_of_slot_7([](auto offset, auto size) { return Place(offset, size); })},
      {"overlapping-areas-c1-json0", F,
       area_of_slot_7([](auto offset, auto size) { return Place(offset + 1, size - 1); })},
      {"overlapping-areas-c2-json0", F,
       area_of_slot_7([](auto offset, auto size) { return Place(offset + size - 1, size); })},
      {"area-in-json-hdr-space-json0", F,
       area_of_slot_7([](auto, auto size) { return Place(2 * kCopyBytes - 1, size); })},
      {"missing-keyslot-referenced-in-digest", F,
       in_json([](json& m) { m["digests"]["0"]["keyslots"].push_back("9"); })},
      {"missing-segment-referenced-in-digest", F,
       in_json([](json& m) { m["digests"]["0"]["segments"].push_back("1"); })},
      {"missing-keyslot-referenced-in-token", F, in_json([](json& m) {
         m["tokens"]["0"] = {{"type", "dummy"}, {"keyslots", {"9"}}};
       })},
      {"keyslot-missing-digest", F, in_json([](json& m) { m["digests"]["0"]["keyslots"].erase(0); })},
      {"keyslot-too-many-digests", F, in_json([](json& m) {
         m["digests"]["1"] = m["digests"]["0"];
         m["digests"]["1"]["keyslots"] = {"1"};
       })},
      {"keyslot-invalid-area", F, in_json([](json& m) { m["keyslots"]["0"]["area"] = 42; })},
      {"keyslot-invalid-area-size", F,
       in_json([](json& m) { m["keyslots"]["0"]["area"]["size"] = "18446744073709551615"; })},
      {"keyslot-invalid-objects", F,
       in_json([](json& m) { m["keyslots"]["0"]["kdf"] = 42, m["keyslots"]["0"]["af"] = 42; })},
      {"keyslot-invalid-af", F, in_json([](json& m) { m["keyslots"]["0"]["af"]["type"] = 42; })},
  };
}

std::vector<Mangled> mangled_segments() {
  const json backup = {{"type", "linear"}, {"offset", "512"}, {"size", "512"}, {"flags", {"backup-x"}}};
  return {
      {"uint64-max-segment-size", R, in_segment("size", "18446744073709551104")},
      {"uint64-overflow-segment-size", F, in_segment("size", "18446744073709551616")},
      {"uint64-signed-segment-size", F, in_segment("size", "-512")},
      {"segment-missing-type", F, without("type")},
      {"segment-wrong-type", F, in_segment("type", 42)},
      {"segment-missing-offset", F, without("offset")},
      {"segment-wrong-offset", F, in_segment("offset", "-42")},
      {"segment-missing-size", F, without("size")},
      {"segment-wrong-size-0", F, in_segment("size", 4096)},
      {"segment-wrong-size-1", F, in_segment("size", "automatic")},
      {"segment-wrong-size-2", F, in_segment("size", "511")},
      {"segment-crypt-missing-encryption", F, without("encryption")},
      {"segment-crypt-wrong-encryption", F, in_segment("encryption", json::object())},
      {"segment-crypt-empty-encryption", F, in_segment("encryption", "")},
      {"segment-crypt-missing-ivoffset", F, without("iv_tweak")},
      {"segment-crypt-wrong-ivoffset", F, in_segment("iv_tweak", "dynamic")},
      {"segment-crypt-missing-sectorsize", F, without("sector_size")},
      {"segment-crypt-wrong-sectorsize-0", F, in_segment("sector_size", 1023)},
      {"segment-crypt-wrong-sectorsize-1", F, in_segment("sector_size", "4096")},
      {"segment-crypt-wrong-sectorsize-2", F, in_segment("sector_size", -1024)},
      {"segment-unknown-type", R, in_segment([](json& segment) {
         segment = {{"type", "some_type"}, {"offset", segment["offset"]}, {"size", segment["size"]}, {"a_field", 0}};
       })},
      {"segment-two", R, in_json([](json& m) {
         const std::uint64_t offset = std::stoull(m["segments"]["0"]["offset"].get<std::string>());
         m["segments"]["0"]["size"] = "512";
         m["segments"]["1"] = {{"type", "some"}, {"offset", std::to_string(offset + 512)}, {"size", "dynamic"}};
       })},
      {"segment-wrong-flags", F, in_segment("flags", "hello")},
      {"segment-wrong-flags-element", F, in_segment("flags", {"hello", 1})},
      {"segment-wrong-backup-key-0", F, in_json([=](json& m) { m["segments"]["2"] = backup; })},
      {"segment-wrong-backup-key-1", F, in_json([=](json& m) {
         const std::uint64_t offset = std::stoull(m["segments"]["0"]["offset"].get<std::string>()) + 512;
         for (int i = 1; i < 65; ++i)
           m["segments"][std::to_string(i)] = {{"type", "linear"}, {"offset", std::to_string(offset)}, {"size", "512"}};
         m["segments"]["268435472"] = backup;
       })},
  };
}

std::vector<Mangled> mangled_sizes() {
  constexpr std::uint64_t k64 = 64 << 10, kNotAllowed = 20 << 10;
  const auto with_64k = [](std::function<void(json&)> edit) { return [=](Subject& s) { s.resize(k64, false, edit); }; };
  const auto shift_areas = [](json& m, std::int64_t by) {
    for (json& slot : m["keyslots"])
      slot["area"]["offset"] =
          std::to_string(static_cast<std::int64_t>(std::stoull(slot["area"]["offset"].get<std::string>())) + by);
  };
  std::vector<Mangled> all = {
      {"invalid-keyslots-size-c0", F, in_config("keyslots_size", std::to_string(kSlotsBytes + 4096))},
      {"invalid-keyslots-size-c1", F, in_config("keyslots_size", std::to_string(kSlotsBytes - 1))},
      {"invalid-keyslots-size-c2", F, in_config("keyslots_size", std::to_string(kSlots * 131072 - 4096))},
      {"invalid-json-size-c0", F, in_config("json_size", "12287")},
      {"invalid-json-size-c1", F, in_config("json_size", "16384")},
      {"invalid-json-size-c2", F,
       [](Subject& s) {
         s.first().resize(2 * kCopyBytes);  // the binary header says 32 KiB, its JSON 16
         s.seal_only_first();
       }},
      {"metadata-size-64k-inv-area-c0", F, with_64k([=](json& m) { shift_areas(m, -1); })},
      {"metadata-size-64k-inv-area-c1", F, with_64k([](json& m) {
         m["keyslots"]["7"]["area"]["offset"] = std::to_string(2 * k64 + kSlotsBytes - 131072 + 1);
       })},
      {"metadata-size-64k-inv-keyslots-size-c0", F,
       with_64k([](json& m) { m["config"]["keyslots_size"] = std::to_string(kSlotsBytes + 4096); })},
      {"metadata-size-invalid", F, sized(kNotAllowed)},
      {"metadata-size-invalid-secondary", F, sized(kNotAllowed, true)},
      {"metadata-size-16k-secondary", R, sized(kCopyBytes, true)},
  };
  static constexpr struct {
    const char *first, *second;
    std::uint64_t bytes;
  } kSizes[] = {
      {"metadata-size-32k", "metadata-size-32k-secondary", 32 << 10},
      {"metadata-size-64k", "metadata-size-64k-secondary", 64 << 10},
      {"metadata-size-128k", "metadata-size-128k-secondary", 128 << 10},
      {"metadata-size-256k", "metadata-size-256k-secondary", 256 << 10},
      {"metadata-size-512k", "metadata-size-512k-secondary", 512 << 10},
      {"metadata-size-1m", "metadata-size-1m-secondary", 1 << 20},
      {"metadata-size-2m", "metadata-size-2m-secondary", 2 << 20},
      {"metadata-size-4m", "metadata-size-4m-secondary", 4 << 20},
  };
  for (const auto& [first, second, bytes] : kSizes) {
    all.push_back({first, R, sized(bytes)});
    all.push_back({second, R, sized(bytes, true)});
  }
  return all;
}

const std::vector<Mangled>& all_mangled() {
  static const std::vector<Mangled> all = [] {
    std::vector<Mangled> together;
    for (auto part : {mangled_copies(), mangled_text(), mangled_slots(), mangled_segments(), mangled_sizes()})
      together.insert(together.end(), part.begin(), part.end());
    return together;
  }();
  return all;
}

/// A sound header of ours with eight key slots, of which the second derives its key with Argon2. Their areas are empty.
void make_base(const std::string& image) {
  volume::FormatOptions options{.image = image};
  options.key_size_bits = 256;
  options.pbkdf = fast_pbkdf();
  options.sector_size = 512;
  options.offset_sectors = 4 * kMiB / 512;
  volume::format(options, bytes_of(kPassphrase), {});
  edit_luks2(image, [](json& metadata) {
    const json slot = metadata["keyslots"]["0"];
    for (int i = 1; i < kSlots; ++i) {
      json copy = slot;
      copy["area"]["offset"] = std::to_string(2 * kCopyBytes + static_cast<std::uint64_t>(i) * 131072);
      metadata["keyslots"][std::to_string(i)] = copy;
      metadata["digests"]["0"]["keyslots"].push_back(std::to_string(i));
    }
    metadata["keyslots"]["1"]["kdf"] = {
        {"type", "argon2id"}, {"time", 4}, {"memory", 64}, {"cpus", 1}, {"salt", slot["kdf"]["salt"]}};
  });
}

class MangledHeader : public testing::TestWithParam<Mangled> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    make_base(folder_->sparse("base.img", kImageBytes));
  }
  static void TearDownTestSuite() { delete folder_; }

  void SetUp() override { NBDCRYPT_REQUIRE_TOOL("cryptsetup"); }

  /// Damages a copy of `base` and holds both verdicts against the table.
  void judge(const std::string& base) {
    TempDir dir;
    const std::string image = dir / "disk.img";
    std::filesystem::copy_file(base, image);
    Subject subject(image);
    GetParam().damage(subject);
    const std::string content = read_file(image);

    expect_our_verdict(image);
    EXPECT_EQ(read_file(image), content) << "loading has changed the image";
    expect_cryptsetups_verdict(image);
  }

  static TempDir* folder_;

 private:
  void expect_our_verdict(const std::string& image) {
    const auto load = [&] { return volume::Header::load(image, {}, volume::Type::detect).dump_text(); };
    if (GetParam().verdict != Verdict::refused) {
      EXPECT_NO_THROW(load());
      return;
    }
    const base::Error error = error_of(load);
    EXPECT_EQ(error.kind(), base::Kind::format);
    // a second copy at a place where none may be is no trace of a header at all
    EXPECT_THAT(error.what(),
                AnyOf(StartsWith(image + ": damaged LUKS header: "), StrEq(image + ": not a LUKS volume")));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    EXPECT_THAT(error.what(), Not(HasSubstr("/proc/")));
    EXPECT_THAT(error.what(), Not(HasSubstr("Invalid argument"))) << "says nothing";
  }

  /// Last, as it may rewrite a damaged copy.
  void expect_cryptsetups_verdict(const std::string& image) {
    EXPECT_EQ(run({"cryptsetup", "luksDump", image}).exit_code, GetParam().verdict == Verdict::refused ? 1 : 0);
    if (GetParam().verdict != Verdict::loads_without_token) return;
    check({"cryptsetup", "token", "remove", "--token-id", "0", image});
    EXPECT_EQ(run({"cryptsetup", "luksDump", image}).exit_code, 0);
    EXPECT_NO_THROW(volume::Header::load(image, {}, volume::Type::luks2));
  }
};

TempDir* MangledHeader::folder_ = nullptr;

TEST_P(MangledHeader, GetsTheVerdictOfTheTable) { judge(*folder_ / "base.img"); }

TEST_P(MangledHeader, GetsTheSameVerdictMadeFromAForeignHeader) {
  NBDCRYPT_REQUIRE_IMAGES();
  if (!std::filesystem::exists(*folder_ / "luks2_valid_hdr.img")) {
    unpack_image(*folder_, "luks2_valid_hdr.img");
    std::filesystem::resize_file(*folder_ / "luks2_valid_hdr.img", kImageBytes);
  }
  judge(*folder_ / "luks2_valid_hdr.img");
}

INSTANTIATE_TEST_SUITE_P(Kinds, MangledHeader, testing::ValuesIn(all_mangled()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(MangledHeaders, AreAllEightyFive) {
  std::map<Verdict, int> verdicts;
  std::map<std::string, int> names;
  for (const Mangled& m : all_mangled()) ++verdicts[m.verdict], ++names[m.name];
  EXPECT_EQ(names.size(), 85u);
  EXPECT_EQ(verdicts[F], 55);
  EXPECT_EQ(verdicts[R], 28);
  EXPECT_EQ(verdicts[T], 2);
}

TEST(MangledHeaders, SayWhatIsWrong) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", kImageBytes);
  make_base(image);
  Subject subject(image);
  subject.only_first([](json& metadata) { metadata["segments"]["0"]["sector_size"] = 1023; });
  EXPECT_EQ(error_of([&] { volume::Header::load(image, {}, volume::Type::detect); }).what(),
            image + ": damaged LUKS header: illegal sector size: 1023");
}

}  // namespace
}  // namespace nbdcrypt::test
