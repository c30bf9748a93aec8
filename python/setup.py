"""Builds the C++ part with the project's CMake; everything else is in pyproject.toml.

A wheel says which PyTorch it was built for, whose C++ is another from version to version: sluice-0.1.0+torch2.6-....whl.

What the build needs has to be there (scripts/install_packages.sh test); nothing is fetched. $SLUICE_BUILD names a build
folder to reuse.
"""

import glob
import importlib.util
import os
import re
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


def version():
    """The project's, and PyTorch's where there is one."""
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        own = re.search(r"project\(sluice VERSION ([0-9.]+)", file.read())[1]
    try:
        with open(os.path.join(importlib.util.find_spec("torch").submodule_search_locations[0], "version.py"), encoding="utf-8") as file:
            torch = re.search(r"__version__ = '([0-9]+\.[0-9]+)", file.read())[1]
    except AttributeError:  # there is none
        return own
    return f"{own}+torch{torch}"


setup(version=version(), ext_modules=[Extension("sluice._core", sources=[])], cmdclass={"build_ext": CMakeBuild})
