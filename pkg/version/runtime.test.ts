import { expect, test } from "bun:test"
import { unfitRuntime } from "./runtime.ts"

test.each([
  [{ node: "20.20.2" }, "k3ts needs Node 22.15 or later, Bun 1.4 or Deno 2.9; this is Node 20.20.2"],
  [{ node: "22.14.0" }, "k3ts needs Node 22.15 or later, Bun 1.4 or Deno 2.9; this is Node 22.14.0"],
  [{ node: "22.15.0" }, undefined],
  [{ node: "24.1.0" }, undefined],
  [{ node: "20.0.0", bun: "1.4.4" }, undefined],
  [{ node: "20.0.0", deno: "2.9.0" }, undefined],
])("%j: %p", (versions, why) => {
  expect(unfitRuntime(versions)).toBe(why)
})
