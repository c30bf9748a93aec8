# Installs the libraries, headers, command and CMake package.
