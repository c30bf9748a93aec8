#!/usr/bin/env bash
# Finds types of one name that are defined twice in one namespace. Sources of a library may each define their own only in
# an unnamed namespace: two definitions with external linkage in one program break C++'s one-definition rule, and no
# linker says so.
#
#   scripts/check_types.sh [--self-test]
#
# Reads definitions that begin a line, as clang-format leaves them. Prints each name with its places; exit 1 if any.
set -euo pipefail

# definitions FILE...: "NAMESPACE::NAME FILE:LINE" for each type outside unnamed namespaces.
definitions() {
  awk '
    FNR == 1 { depth = 0; unnamed = 0 }
    /^namespace \{/ { unnamed++; stack[depth++] = ""; next }
    /^namespace [A-Za-z_:]+ \{/ { stack[depth++] = $2; next }
    /^\}  \/\/ namespace/ { depth--; if (stack[depth] == "") unnamed--; next }
    unnamed == 0 && /^(struct|class|enum class|union) [A-Za-z_0-9]+( final)?( : [^;]*)? \{/ {
      name = ($1 == "enum") ? $3 : $2
      scope = ""
      for (i = 0; i < depth; i++) scope = scope stack[i] "::"
      print scope name, FILENAME ":" FNR
    }' "$@"
}

# check FOLDER...: tests are programs of their own, so only library sources count.
check() {
  local files
  mapfile -t files < <(find "$@" \( -name '*.hpp' -o -name '*.cpp' \) ! -name '*_test.cpp' | sort)
  definitions "${files[@]}" | sort | awk '
    $1 == last { if (!told[$1]++) print $1 ": " place; print $1 ": " $2; bad = 1 }
    { last = $1; place = $2; count++ }
    END { print "check_types: " count " types" (bad ? ", some defined twice" : ", each defined once"); exit bad }'
}

self_test() {
  local folder
  folder=$(mktemp -d)
  trap 'rm -r "$folder"' RETURN
  printf 'namespace sluice {\nstruct Column {\n};\n}  // namespace sluice\n' >"$folder/a.hpp"
  printf 'namespace sluice {\nnamespace {\nstruct Column {\n};\n}  // namespace\n}  // namespace sluice\n' >"$folder/b.cpp"
  check "$folder" >/dev/null || { echo "check_types: an unnamed namespace was taken for a named one" >&2; return 1; }
  cp "$folder/a.hpp" "$folder/c.cpp"
  ! check "$folder" >/dev/null || { echo "check_types: a type defined twice was not found" >&2; return 1; }
  echo "check_types: self-test passed"
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in
  --self-test) self_test ;;
  "") check sluice tools benchmarks/papers ;;
  *) echo "usage: scripts/check_types.sh [--self-test]" >&2; exit 2 ;;
esac
