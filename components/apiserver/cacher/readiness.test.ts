import { expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { GRANT } from "../call/grant.fixtures.ts"
import type { AuthorizedRequest } from "../call/request.ts"
import type { RegistryContext } from "../registry/context.ts"
import { list } from "../registry/verbs/list.ts"
import { watch } from "../registry/verbs/watch.ts"
import { ClientHistory } from "./client-history.ts"
import { handClock } from "./hand-clock.fixtures.ts"
import { WatchHub } from "./watch-hub.ts"

/** Waits until the promises that are ready have run. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A kind that a webhook converts, which the test lets fail. */
function stage() {
  const { clock, pass } = handClock()
  const storage = new MemoryStorage({ clock, frozen: true })
  const lines: string[] = []
  const log = {
    debug: () => undefined,
    info: () => undefined,
    error: () => undefined,
    warn: (message: string, fields?: object) => lines.push(`${message} ${JSON.stringify(fields)}`),
    child: () => log,
  }
  const hub = new WatchHub({ storage, clock, log, history: new ClientHistory({ storage, clock }) })
  let [isBroken, calls] = [false, 0]
  const resource = {
    ...ConfigMap,
    group: "a.example",
    version: "v2",
    apiVersion: "a.example/v2",
    storedAs: {
      group: "core",
      version: "v1",
      kind: "ConfigMap",
      fromStored: (object: unknown) => object,
      toStored: (object: unknown) => object,
      convert(objects: readonly object[]) {
        calls++
        return isBroken
          ? Promise.reject(new Error("connection refused"))
          : Promise.resolve(objects.map((object) => ({ ...object, apiVersion: "a.example/v2" })))
      },
    },
  } as unknown as Resource
  const context = { storage, hub, clock, hooks: () => undefined } as unknown as RegistryContext
  const request = (verb: "list" | "watch") =>
    ({
      user: { name: "x", groups: [] },
      grant: GRANT,
      verb,
      resource,
      namespace: undefined,
      options: {},
      warn: () => undefined,
    }) as unknown as AuthorizedRequest
  return {
    lines,
    pass,
    calls: () => calls,
    works: (does: boolean) => (isBroken = !does),
    put: (name: string) =>
      storage.write({
        key: `/registry/core/configmaps/default/${name}`,
        object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } },
        expected: undefined,
        time: clock.now(),
        author: "x",
      }),
    async listed(more: Partial<RegistryContext> = {}): Promise<string> {
      try {
        const answer = await list({ ...context, ...more }, request("list"))
        return answer.kind === "list" ? `${answer.items.length} objects` : answer.kind
      } catch (err) {
        return said(err as ApiError)
      }
    },
    watch() {
      const seen: string[] = []
      try {
        watch(context, request("watch"), {
          send: ({ frames }) => frames.every((frame) => seen.push(frame.stored.object.metadata.name ?? "") > 0),
          end: (error) => void seen.push(error === undefined ? "ended" : said(error)),
        })
      } catch (err) {
        seen.push(said(err as ApiError))
      }
      return seen
    },
  }
}

const said = ({ code, details, message }: ApiError): string =>
  `${code} after ${details?.retryAfterSeconds}: ${message.slice(0, 27)}`
const refused = (seconds: number) => `429 after ${seconds}: storage is (re)initializing`

test("a webhook that fails is called at most once a second, and its failure is logged once a minute", async () => {
  // given
  const { put, works, listed, watch, calls, pass, lines } = stage()
  await put("a")
  works(false)
  // when
  for (let i = 0; i < 600; i++) {
    expect(await listed()).toStartWith("429")
    expect(watch()).toHaveLength(1)
    pass(100)
  }
  // then
  expect(calls()).toBe(60)
  expect(lines).toEqual([
    'Objects cannot be converted: lists and watches are refused {"resource":"configmaps.a.example","version":"v2","error":"connection refused","times":1}',
  ])
  // and clients are asked to wait ever longer
  expect(await listed()).toBe(refused(30))
})

test("lists and watches are served again when the webhook works, by whichever of them comes first", async () => {
  const { put, works, listed, watch, pass } = stage()
  await put("a")
  for (const first of ["list", "watch"]) {
    works(false)
    await put(first)
    await turn()
    expect(await listed()).toBe(refused(1))
    // when
    works(true)
    pass(1000)
    // then
    if (first === "list") expect(await listed()).toBe("2 objects")
    const seen = watch()
    await turn()
    expect(seen.slice(0, 2)).toEqual(["a", "list"])
    expect(await listed()).toBe(first === "list" ? "2 objects" : "3 objects")
  }
})

test("an open watch ends when a change cannot be converted, and is refused until everything can", async () => {
  // given
  const { put, works, watch, pass } = stage()
  await put("a")
  const open = watch()
  await turn()
  expect(open).toEqual(["a"])
  // when
  works(false)
  await put("b")
  await turn()
  // then
  expect(open).toEqual(["a", "ended"])
  expect(watch()).toEqual([refused(1)])
  pass(1000)
  works(true)
  const again = watch()
  await turn()
  expect(again).toEqual(["a", "b"])
})

test("lists are served while the webhook cannot convert objects of the past", async () => {
  // given an object of the past that the webhook refuses
  const { put, works, listed } = stage()
  await put("a")
  works(false)
  expect(await listed({ isPast: true })).not.toStartWith("429")
  // when the webhook is asked about what there is now
  works(true)
  expect(await listed()).toBe("1 objects")
})
