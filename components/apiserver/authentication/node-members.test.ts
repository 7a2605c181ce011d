import { expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import { nodeMembers } from "./node-members.ts"

const JOINED = "2026-01-01T00:00:00Z"

/** A cluster with the Secret of a node's password, with or without its Node. */
const objects = (uid: string | undefined, hasNode: boolean) =>
  ({
    get(resource: unknown, { name }: { readonly name?: string }) {
      if (resource === Node) return hasNode && name === "web" ? {} : undefined
      expect([resource, name]).toEqual([Secret, "web.node-password.k3ts"])
      return uid === undefined ? undefined : { metadata: { uid, creationTimestamp: JOINED } }
    },
  }) as unknown as ObjectReader

test.each([
  { title: "is valid while its Node exists", uid: "u1", hasNode: true, afterMs: 86_400_000, wants: true },
  { title: "is valid for a minute before its Node exists", uid: "u1", hasNode: false, afterMs: 59_999, wants: true },
  { title: "is invalid when its Node is gone", uid: "u1", hasNode: false, afterMs: 60_000, wants: false },
  {
    title: "is invalid when another machine has joined by its name",
    uid: "u2",
    hasNode: true,
    afterMs: 0,
    wants: false,
  },
  { title: "is invalid without its Secret", uid: undefined, hasNode: true, afterMs: 0, wants: false },
])("the membership of a machine $title", ({ uid, hasNode, afterMs, wants }) => {
  const isMember = nodeMembers({ objects: objects(uid, hasNode), now: () => Date.parse(JOINED) + afterMs })
  expect(isMember({ node: "web", uid: "u1" })).toBe(wants)
})
