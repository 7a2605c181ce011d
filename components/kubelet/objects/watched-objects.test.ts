import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Transport, WatchHandlers } from "../../../pkg/client/client.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { WatchedObjects, type ObjectUser } from "./watched-objects.ts"

const configMap = (revision: number, data: Record<string, string>): ConfigMap =>
  decodeObject(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "ns", name: "cm", resourceVersion: String(revision) },
    data,
  }).object

/** An API whose responses the test sets, and which records its requests. */
class Api implements Transport {
  readonly calls: string[] = []
  readonly watches: WatchHandlers<KubeObject>[] = []
  object: ConfigMap | undefined
  revision = 10
  failure: ApiError | undefined
  /** A list responds only after this. */
  held: Promise<void> | undefined

  async call() {
    this.calls.push("list")
    await this.held
    if (this.failure !== undefined) throw this.failure
    return {
      metadata: { resourceVersion: String(this.revision) },
      items: this.object === undefined ? [] : [this.object],
    }
  }
  watch(_resource: unknown, options: { readonly resourceVersion?: string }, handlers: WatchHandlers<KubeObject>) {
    this.calls.push(`watch ${options.resourceVersion ?? ""}`)
    this.watches.push(handlers)
    return { close: () => void this.calls.push("close") }
  }
  get last() {
    return this.watches.at(-1)!
  }
}

function setUp(object?: ConfigMap) {
  const clock = new VirtualClock(0)
  const api = new Api()
  api.object = object
  const objects = new WatchedObjects({ client: newClient(api), clock, log: silent })
  const changes: string[] = []
  const user: ObjectUser = {
    objectChanged: (about, { exists, existed }) => void changes.push(`${about}: ${existed} → ${exists}`),
  }
  return { clock, api, objects, changes, use: () => objects.use(ConfigMap, "ns", "cm", user, "cm") }
}

describe("watched objects", () => {
  test("are listed once and watched once, however many users they have, until the last one releases them", async () => {
    // given two users
    const { api, objects, use } = setUp(configMap(5, { a: "1" }))
    const [one, two] = [use(), use()]
    expect([(await one.read())?.data, (await two.read())?.data]).toEqual([{ a: "1" }, { a: "1" }])
    expect(api.calls).toEqual(["list", "watch 10"])
    // when one lets go, twice
    one.release()
    one.release()
    expect(api.calls).not.toContain("close")
    // and the other
    two.release()
    // then
    expect(api.calls).toEqual(["list", "watch 10", "close"])
    expect(objects.size).toBe(0)
  })

  test("report when they are created, changed and deleted, but not their first state", async () => {
    // given an object that is not there
    const { api, changes, use } = setUp()
    const one = use()
    expect(await one.read()).toBeUndefined()
    // when
    api.last.onEvent({ type: "ADDED", object: configMap(11, { a: "1" }) })
    api.last.onEvent({ type: "MODIFIED", object: configMap(12, { a: "2" }) })
    expect((await one.read())?.data).toEqual({ a: "2" })
    api.last.onEvent({ type: "DELETED", object: configMap(13, { a: "2" }) })
    // then
    expect(changes).toEqual(["cm: false → true", "cm: true → true", "cm: true → false"])
    expect(await one.read()).toBeUndefined()
  })

  test("are watched again from where the watch ended, and listed again when that has expired", async () => {
    // given
    const { api, clock, changes, use } = setUp(configMap(5, { a: "1" }))
    const one = use()
    await one.read()
    api.last.onEvent({ type: "BOOKMARK", object: configMap(42, {}) })
    // when the watch ends, as watches do
    api.last.onEnd(undefined)
    await clock.advance(1000)
    // when it is too old
    api.object = configMap(99, { a: "2" })
    api.revision = 100
    const { promise, resolve } = Promise.withResolvers<void>()
    api.held = promise
    api.last.onEnd(new ApiError("Expired", "too old resource version"))
    expect((await one.read())?.data).toEqual({ a: "1" })
    resolve()
    await clock.settle()
    // then
    expect(api.calls).toEqual(["list", "watch 10", "watch 42", "list", "watch 100"])
    expect(changes).toEqual(["cm: true → true"])
    expect((await one.read())?.data).toEqual({ a: "2" })
  })

  test("that cannot be read are requested again with a growing delay, and then reported", async () => {
    // given
    const { api, clock, changes, use } = setUp(configMap(5, { a: "1" }))
    api.failure = new ApiError("Forbidden", "not yet")
    const one = use()
    await expect(one.read()).rejects.toThrow("not yet")
    await clock.advance(800)
    await clock.advance(1000)
    expect(api.calls).toEqual(["list", "list"])
    // when it may be read
    api.failure = undefined
    await clock.advance(600)
    // then
    expect((await one.read())?.data).toEqual({ a: "1" })
    expect(changes).toEqual(["cm: false → true"])
  })

  test("that are immutable are not watched", async () => {
    const { api, use } = setUp({ ...configMap(5, { a: "1" }), immutable: true })
    expect((await use().read())?.data).toEqual({ a: "1" })
    expect(api.calls).toEqual(["list"])
  })
})
