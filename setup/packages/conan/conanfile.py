"""The library as a Conan 2 package: conan create setup/packages/conan. CMakeLists.txt has its version."""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

required_conan_version = ">=2.0"


class Reap(ConanFile):
    name = "reap"
    description = "Custom memory allocators: regions, reaps, fixed blocks, size classes, mempools"
    license = "MIT"
    topics = ("allocator", "memory", "region", "pmr", "malloc")
    settings = ("os", "arch", "compiler", "build_type")
    options = {"shared": [True, False], "mode": ["plain", "checked", "hardened"]}
    default_options = {"shared": False, "mode": "plain"}
    package_type = "library"

    def _root(self) -> Path:
        return Path(self.recipe_folder).resolve().parents[2]

    def set_version(self) -> None:
        text = (self._root() / "CMakeLists.txt").read_text()
        self.version = re.search(r"^project\(reap VERSION ([0-9.]+)", text, re.MULTILINE)[1]

    def export_sources(self) -> None:
        for pattern in (
            "CMakeLists.txt",
            "LICENSE",
            "setup/cmake/*.cmake",
            "library/*.cmake",
            "library/*.in",
            "library/CMakeLists.txt",
            "library/include/*",
            "library/src/*",
            "library/gdb/*",
        ):
            copy(self, pattern, self._root(), self.export_sources_folder)

    def validate(self) -> None:
        if self.settings.os != "Linux" or self.settings.arch != "x86_64":
            raise ConanInvalidConfiguration("reap is for Linux on x86_64")
        check_min_cppstd(self, 20)

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_TESTING"] = False
        # APR is not among the requirements: whether the machine has it must make no difference.
        toolchain.cache_variables["APR_LIBRARY"] = False
        for mode in ("checked", "hardened"):
            toolchain.cache_variables[f"REAP_{mode.upper()}"] = self.options.mode == mode
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self) -> None:
        # The library installs its own ReapConfig.cmake, with Reap::headers, Reap::reap and Reap::malloc.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [str(Path("lib", "cmake", "Reap"))]
        self.cpp_info.libs = ["reap"]
