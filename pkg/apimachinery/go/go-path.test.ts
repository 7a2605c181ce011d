import { expect, test } from "bun:test"
import { baseName, cleanPath, folderOf, joinPath } from "./go-path.ts"

// Source of the expectations: Go's path/filepath, and its tests.
test.each([
  { path: "", clean: ".", base: ".", folder: "." },
  { path: "a", clean: "a", base: "a", folder: "." },
  { path: "/", clean: "/", base: "/", folder: "/" },
  { path: "/a", clean: "/a", base: "a", folder: "/" },
  { path: "a//b/", clean: "a/b", base: "b", folder: "a/b" },
  { path: "./a/../b", clean: "b", base: "b", folder: "." },
  { path: "../../a", clean: "../../a", base: "a", folder: "../.." },
  { path: "/../a", clean: "/a", base: "a", folder: "/" },
  { path: "a/../..", clean: "..", base: "..", folder: "." },
])("of $path the parts and the shortest form are Go's", ({ path, clean, base, folder }) => {
  expect({ clean: cleanPath(path), base: baseName(path), folder: folderOf(path) }).toEqual({ clean, base, folder })
})

test.each([
  { parts: [], joined: "" },
  { parts: ["", ""], joined: "" },
  { parts: ["a", "", "../b"], joined: "b" },
  { parts: ["/a", "b/c/"], joined: "/a/b/c" },
])("$parts are joined as Go joins them", ({ parts, joined }) => {
  expect(joinPath(...parts)).toBe(joined)
})
