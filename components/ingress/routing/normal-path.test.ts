import { expect, test } from "bun:test"
import { normalPath, withoutSlashes } from "./normal-path.ts"

test.each([
  { target: "/", wants: "/" },
  { target: "/a/b?c=/../d", wants: "/a/b" },
  { target: "/public/../admin", wants: "/admin" },
  { target: "/public/%2e%2E/admin", wants: "/admin" },
  { target: "/%61dmin/x", wants: "/admin/x" },
  { target: "/a%2fb", wants: "/a%2Fb" },
  { target: "/a/./b", wants: "/a/b" },
  { target: "/a/b/..", wants: "/a/" },
  { target: "/a/.", wants: "/a/" },
  { target: "/..", wants: undefined },
  { target: "/a/../../b", wants: undefined },
  { target: "/a/.hidden", wants: "/a/.hidden" },
  { target: "/a/...", wants: "/a/..." },
  { target: "/a//b", wants: "/a//b" },
  { target: "/%zz", wants: "/%zz" },
  { target: "/public/..%2fadmin", wants: undefined },
  { target: "/public%2F%2e%2e/admin", wants: undefined },
  { target: "/public/..;/admin", wants: undefined },
  { target: "/public/.;x=y/admin", wants: undefined },
  { target: "/public\\..\\admin", wants: undefined },
  { target: "/public%5c..", wants: undefined },
  { target: "/a..%2Fb/c;d/e\\f", wants: "/a..%2Fb/c;d/e\\f" },
])("$target is normalized to $wants", ({ target, wants }) => {
  expect(normalPath(target)).toBe(wants)
})

test.each([
  ["/", ""],
  ["/a//", "/a"],
  ["/a/b", "/a/b"],
  ["", ""],
])("%p without its trailing slashes is %p", (path, wants) => {
  expect(withoutSlashes(path)).toBe(wants)
})
