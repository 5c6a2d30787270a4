// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmark_plot.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "cli/process.h"
#include "volume/file_store.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using volume::FileDescriptor;

FileDescriptor script_file(const std::string& script) {
  FileDescriptor fd(memfd_create("gnuplot", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), script.data(), script.size()) != static_cast<ssize_t>(script.size()) ||
      lseek(fd.get(), 0, SEEK_SET) != 0)
    base::throw_os_error("memfd", errno);
  return fd;
}

// Relative names are taken in the folder that we share with gnuplot. It draws an empty picture of an empty grid, but
// not one without columns.
std::string run_gnuplot(const std::string& script) {
  const FileDescriptor file = script_file(script);
  return run_or_throw({.argv = {"gnuplot", "/proc/self/fd/" + std::to_string(file.get())}, .inherit = {file.get()}});
}

}  // namespace

void require_gnuplot() {
  if (find_program("gnuplot").empty())
    throw Error(Kind::device, "gnuplot: no such program; it draws the plots", 0, "install the package gnuplot-nox");
}

void draw_plot(const bench::fs::Grid& grid, const std::string& title, const std::string& file) {
  run_gnuplot(bench::fs::plot_script(grid, title, bench::fs::picture_of(file), file));
}

void draw_table(const bench::Measured& measured, const std::string& title, const std::string& file) {
  if (bench::fs::picture_of(file) == bench::fs::Picture::svg)
    return bench::save_svg(file, measured.rows, measured.figure);
  run_gnuplot(bench::fs::bars_script(bench::bars_of(measured.rows, measured.figure), title, file));
}

std::string drawn_svg(const bench::fs::Grid& grid, const std::string& title) {
  return run_gnuplot(bench::fs::plot_script(grid, title, bench::fs::Picture::svg, "/dev/stdout"));
}

}  // namespace nbdcrypt::cli
