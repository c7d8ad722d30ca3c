"""Builds and runs library/test/consumers/consumer.cpp with the package: part of `conan create`."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class Consumer(ConanFile):
    settings = ("os", "arch", "compiler", "build_type")
    generators = ("CMakeDeps", "CMakeToolchain")

    def requirements(self) -> None:
        self.requires(self.tested_reference_str)

    def layout(self) -> None:
        cmake_layout(self)

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure(
            build_script_folder=str(
                Path(self.recipe_folder).parents[3] / "library/test/consumers/find_package"
            )
        )
        cmake.build()

    def test(self) -> None:
        if can_run(self):
            self.run(str(Path(self.cpp.build.bindir, "consumer")), env="conanrun")
