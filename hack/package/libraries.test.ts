import { expect, test } from "bun:test"
import { librariesOf } from "./libraries.ts"

test.each<{ title: string; files: readonly string[]; wants: readonly string[] }>([
  {
    title: "once each, sorted",
    files: ["node_modules/b/x.js", "node_modules/a/x.js", "node_modules/b/y.js"],
    wants: ["node_modules/a", "node_modules/b"],
  },
  { title: "with scope and name", files: ["node_modules/@scope/a/x.js"], wants: ["node_modules/@scope/a"] },
  {
    title: "in the version that another library brings",
    files: ["node_modules/a/node_modules/@scope/b/lib/x.js"],
    wants: ["node_modules/a/node_modules/@scope/b"],
  },
  {
    title: "from a folder outside of the repository",
    files: ["../k3ts/node_modules/a/x.js"],
    wants: ["node_modules/a"],
  },
  { title: "without our own files", files: ["cmd/k3ts/main.ts", "hack/my_node_modules/a/x.ts"], wants: [] },
])("the libraries of a bundle are listed $title", ({ files, wants }) => {
  expect(librariesOf(files)).toEqual(wants)
})
