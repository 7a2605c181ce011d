import { expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { StoredKind } from "./stored-kind.ts"

test("a listener that fails at one change of a commit gets the others of that commit", async () => {
  // given
  const failures: unknown[] = []
  const storage = new MemoryStorage({
    clock: new VirtualClock(0),
    frozen: true,
    onListenerError: (err) => failures.push(err),
  })
  const seen: string[] = []
  new StoredKind(storage, ConfigMap).subscribe(({ stored }) => {
    const { name = "" } = stored.object.metadata
    seen.push(name)
    if (name === "a") throw new TypeError("a mistake about one object")
  })
  // when
  await storage.writeAll(
    ["a", "b"].map((name) => ({
      key: `/registry/core/configmaps/default/${name}`,
      object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } },
      expected: undefined,
      time: 0,
      author: "x",
    })),
  )
  // then
  expect(seen).toEqual(["a", "b"])
  expect(failures.map(String)).toEqual(["TypeError: a mistake about one object"])
})
