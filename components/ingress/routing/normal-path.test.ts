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
  { target: "/%zz", wants: undefined },
  { target: "/100%", wants: undefined },
  { target: "/public//../admin", wants: undefined },
  { target: "/public///x/../../admin", wants: undefined },
  { target: "//../admin", wants: undefined },
  { target: "/a//b/./c", wants: "/a//b/c" },
  { target: "/a/../b//c", wants: "/b//c" },
  { target: "/public/%c0%ae%c0%ae/admin", wants: undefined },
  { target: "/public/%e0%80%ae%e0%80%ae/admin", wants: undefined },
  { target: "/public/%f0%80%80%ae/admin", wants: undefined },
  { target: "/public/\xc0\xae\xc0\xae/admin", wants: undefined },
  { target: "/public/..%c0%af../admin", wants: undefined },
  { target: "/public/..%00/admin", wants: undefined },
  { target: "/public/..%09/admin", wants: undefined },
  { target: "/public/..%20/admin", wants: undefined },
  { target: "/public/%0d..%0a/admin", wants: undefined },
  { target: "/public/..%a0", wants: undefined },
  { target: "/public/..\xa0/admin", wants: undefined },
  { target: "/a%00b", wants: undefined },
  { target: "/public/%252e%252e/admin", wants: undefined },
  { target: "/public/..%252fadmin", wants: undefined },
  { target: "/public/%252e%252e%252fadmin", wants: undefined },
  { target: "/a%25b", wants: "/a%25b" },
  { target: "/100%25/x", wants: "/100%25/x" },
  { target: "/caf%c3%a9/\xc3\xa9/a%20b", wants: "/caf%C3%A9/\xc3\xa9/a%20b" },
  { target: "/caf%e9", wants: "/caf%E9" },
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
