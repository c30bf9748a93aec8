"""Builds the C++ part with the project's CMake; everything else is in pyproject.toml.

What the build needs has to be there (scripts/install_packages.sh test); nothing is fetched. $SLUICE_BUILD names a build
folder to reuse.
"""

import glob
import os
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        build = os.environ.get("SLUICE_BUILD") or os.path.join(os.path.abspath(self.build_temp), "cmake")
        configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"]
        if not os.path.exists(os.path.join(build, "CMakeCache.txt")):
            configure += ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON", "-DSLUICE_BUILD_TESTS=OFF"]
        subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", build, "--target", "sluice_python", "sluice_command"], check=True)
        folder = os.path.dirname(self.get_ext_fullpath(extension.name))
        os.makedirs(folder, exist_ok=True)
        for built in glob.glob(os.path.join(build, "python/sluice", "*.so")):  # sluice._torch where there is PyTorch
            shutil.copy(built, folder)
        command = os.path.join(folder, "bin", "sluice")  # where sluice.finding looks for it
        os.makedirs(os.path.dirname(command), exist_ok=True)
        shutil.copy(os.path.join(build, "tools", "sluice"), command)


setup(ext_modules=[Extension("sluice._core", sources=[])], cmdclass={"build_ext": CMakeBuild})
