import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { SqliteStorage } from "../../../pkg/storage/sqlite/sqlite.ts"
import { silent } from "../../../pkg/log/log.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { RegistryContext } from "../registry/context.ts"
import { list } from "../registry/verbs/list.ts"
import { watch } from "../registry/verbs/watch.ts"
import { GRANT } from "../call/grant.fixtures.ts"
import type { ApiRequest, AuthorizedRequest, RequestOptions } from "../call/request.ts"
import { ClientHistory } from "./client-history.ts"
import { WatchHub } from "./watch-hub.ts"

const directory = mkdtempSync(join(tmpdir(), "k3ts-client-history-"))
afterAll(() => rmSync(directory, { recursive: true }))
let files = 0

const MINUTE = 60_000
/** The start of an interval of ten minutes, so that the interval before has ended. */
const START = 1_800_000_000_000

/** Functions by which a client lists, watches and writes, on a store whose clock the test advances. */
function stage(clock: VirtualClock, storage: Storage) {
  const history = new ClientHistory({ storage, clock })
  const context = {
    storage,
    history,
    hub: new WatchHub({ storage, clock, log: silent, history }),
    hooks: () => undefined,
  } as unknown as RegistryContext
  const request = (
    verb: "list" | "watch",
    options: RequestOptions,
    more: Partial<ApiRequest> = {},
  ): AuthorizedRequest => ({
    grant: GRANT,
    user: { name: "x", groups: [] },
    verb,
    resource: ConfigMap,
    namespace: "default",
    options,
    warn: () => undefined,
    ...more,
  })
  return {
    write: (name: string) =>
      storage.write({
        key: `/registry/core/configmaps/default/${name}`,
        object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } },
        expected: undefined,
        time: clock.now(),
        author: "x",
      }),
    /** Names in a part of a list, and the token for the rest; or why not. */
    list(options: RequestOptions) {
      try {
        const result = list(context, request("list", options))
        if (result instanceof Promise || result.kind !== "list") throw new Error("a list was expected")
        const token = result.metadata.continue
        return { names: result.items.map(({ object }) => object.metadata.name), token }
      } catch (err) {
        const { reason, message, metadata } = err as ApiError
        return { reason, message, token: metadata?.continue }
      }
    },
    /** Events that a watch begins with, or why it ends. */
    watch(resourceVersion: string, more: Partial<ApiRequest> = {}) {
      const seen: string[] = []
      watch(context, request("watch", { resourceVersion }, more), {
        send: ({ frames }) => frames.every(({ stored }) => seen.push(stored.object.metadata.name ?? "")),
        end: (err) => void seen.push(`${err?.reason}: ${err?.message}`),
      }).close()
      return seen
    },
  }
}

describe.each(["memory", "sqlite"])("of the history in %s", (kind) => {
  const file = join(directory, `${files++}.db`)
  const open = (clock: Clock): Storage =>
    kind === "memory" ? new MemoryStorage({ clock, frozen: true }) : new SqliteStorage({ clock, frozen: true, file })

  test("clients can read the last five to ten minutes, and this process's own watches all that is kept", async () => {
    // given a list of which a client has read the first part, and then more writes
    const clock = new VirtualClock(START)
    const storage = open(clock)
    let { write, list, watch } = stage(clock, storage)
    for (const name of ["a", "b", "c"]) await write(name)
    await clock.advance(2 * MINUTE)
    const { token } = list({ limit: 1 })
    await write("d")

    // when less than two intervals have passed, then list and watch go on where they were
    await clock.advance(7 * MINUTE)
    expect(list({ limit: 5, continue: token! })).toEqual({ names: ["b", "c"], token: undefined })
    expect(watch("3")).toEqual(["d"])
    expect(list({ resourceVersion: "3", resourceVersionMatch: "Exact" }).names).toEqual(["a", "b", "c"])

    // when the second has ended, then both have expired, with a token for the rest as it is now
    await clock.advance(MINUTE)
    const expired = list({ limit: 5, continue: token! })
    expect(expired.reason).toBe("Expired")
    expect(expired.message).toStartWith(
      "The provided continue parameter is too old to display a consistent list result.",
    )
    expect(list({ limit: 5, continue: expired.token! }).names).toEqual(["b", "c", "d"])
    expect(list({ resourceVersion: "3", resourceVersionMatch: "Exact" })).toMatchObject({
      reason: "Expired",
      message: "The resourceVersion for the provided list is too old.",
    })
    expect(watch("3")).toEqual(["Expired: too old resource version: 3 (4)"])
    // and what is of the present has not
    expect(watch("4")).toEqual([])
    // and components of this process go on from what is kept
    expect(watch("3", { inProcess: true })).toEqual(["d"])

    // when a server starts again on the same store, then it is no different
    if (kind === "memory") return
    storage.close()
    const again = open(clock)
    ;({ write, list, watch } = stage(clock, again))
    expect(watch("3")).toEqual(["Expired: too old resource version: 3 (4)"])
    await write("e")
    expect([watch("4"), watch("3", { inProcess: true })]).toEqual([["e"], ["d", "e"]])
    again.close()
  })

  test("nothing expires while nothing is written", async () => {
    const clock = new VirtualClock(START)
    const storage = open(clock)
    const { write, list, watch } = stage(clock, storage)
    for (const name of ["a", "b"]) await write(name)
    const { revision } = storage
    const { token } = list({ limit: 1 })
    await clock.advance(600 * MINUTE)
    expect(watch(String(revision))).toEqual([])
    expect(list({ limit: 10, continue: token! }).names?.[0]).toBe("b")
    storage.close()
  })
})

test("invalid continue tokens are refused with the reason", () => {
  const clock = new VirtualClock(START)
  const { list } = stage(clock, new MemoryStorage({ clock }))
  const token = (content: unknown) => Buffer.from(JSON.stringify(content)).toString("base64url")
  const start = "a\u0000"
  const CASES = [
    { continue: "a.c", why: "illegal base64 data at input byte 1" },
    { continue: "abcde", why: "illegal base64 data at input byte 4" },
    { continue: "YWJj", why: "invalid character 'a' looking for beginning of value" },
    { continue: token([]), why: "json: cannot unmarshal array into Go value of type storage.continueToken" },
    {
      continue: token({ v: "meta.k8s.io/v1", rv: "1", start }),
      why: "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
    },
    { continue: token({ v: "meta.k8s.io/v1", rv: 1, start: "../secrets/a" }), why: "../secrets/a" },
    { continue: token(null), why: "server does not recognize this encoded version " },
    { continue: token({ v: "x", rv: 1, start }), why: "server does not recognize this encoded version x" },
    {
      continue: token({ v: "meta.k8s.io/v1", rv: 0, start }),
      why: "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    },
    {
      continue: token({ v: "meta.k8s.io/v1", rv: 1, start: "" }),
      why: "encoded start key empty (version meta.k8s.io/v1)",
    },
  ]
  for (const { why, ...options } of CASES)
    expect(list(options)).toMatchObject({
      reason: "BadRequest",
      message: `invalid continue token: continue key is not valid: ${why}`,
    })
  expect(list({ continue: token({ v: "meta.k8s.io/v1", rv: 9, start }) })).toMatchObject({
    reason: "Timeout",
    message: "Timeout: Too large resource version: 9, current: 0",
  })
})

test("a list of any revision has no limit, as one from a cache", async () => {
  // given three objects
  const clock = new VirtualClock(START)
  const storage = new MemoryStorage({ clock, frozen: true })
  const { write, list } = stage(clock, storage)
  for (const name of ["a", "b", "c"]) await write(name)

  // when a client asks for two of them from a cache, then it gets all; and two where it asks for the latest
  expect(list({ resourceVersion: "0", limit: 2 })).toEqual({ names: ["a", "b", "c"], token: undefined })
  expect(list({ resourceVersion: "0", resourceVersionMatch: "NotOlderThan", limit: 2 }).names).toHaveLength(3)
  const { names, token } = list({ limit: 2 })
  expect(names).toEqual(["a", "b"])
  expect(list({ resourceVersion: "0", limit: 2, continue: token! }).names).toEqual(["c"])
})
