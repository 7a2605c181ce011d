import { expect, test } from "bun:test"
import { renaming, rewritten } from "./repository-names.ts"

const RULES = { "^library/(.*)$": "hub/$1", "^k8s/(.+)/(.+)": "mirror/$2-$1", "^k8s/.*": "never" }

test.each<{ path: string; wants: string }>([
  { path: "/library/busybox/manifests/1", wants: "/hub/busybox/manifests/1" },
  { path: "/library/busybox/blobs/sha256:ab?ns=docker.io", wants: "/hub/busybox/blobs/sha256:ab?ns=docker.io" },
  { path: "/k8s/a/b/tags/list", wants: "/mirror/b-a/tags/list" },
  { path: "/other/app/manifests/1", wants: "/other/app/manifests/1" },
  { path: "/", wants: "/" },
  { path: "", wants: "" },
])("the repository $path is rewritten to $wants", ({ path, wants }) =>
  expect(rewritten(path, renaming(RULES))).toBe(wants),
)

test.each<{ to: string; wants: string }>([
  { to: "b/$1", wants: "b/foo" },
  { to: "b/${1}-x", wants: "b/foo-x" },
  { to: "b/${team}/$team", wants: "b/foo/foo" },
  { to: "b/$1x", wants: "b/" }, // the group "1x", as in Go
  { to: "b/$2${none}", wants: "b/" },
  { to: "b/$$1/$/${", wants: "b/$1/$/${" },
])("a rewrite to $to has its groups as Go's regexp package has them", ({ to, wants }) =>
  expect(renaming({ "^a/(?P<team>.*)": to })("a/foo")).toBe(wants),
)
