import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ApiRequest, RequestOptions } from "../call/request.ts"
import { requestInfo } from "../call/request-info.ts"
import { cm, CONFIGMAPS, json, startHttpServer } from "../serving/http-server.fixtures.ts"
import { resourceOf, usualWatchSeconds, watched } from "./resource-request.ts"

const watch = (options: RequestOptions, name?: string): ApiRequest => ({
  user: { name: "jane", groups: [] },
  verb: "watch",
  resource: ConfigMap,
  name,
  options,
  warn: () => undefined,
})
const chance = (next: number) => ({ next: () => next, bytes: (count: number) => new Uint8Array(count) })

describe("a watch of an external client", () => {
  test.each([
    { asked: undefined, next: 0, seconds: 1800 },
    { asked: undefined, next: 0.5, seconds: 2700 },
    { asked: 0, next: 0.5, seconds: 2700 },
    { asked: 10, next: 0.5, seconds: 10 },
    { asked: 100_000, next: 0.5, seconds: 100_000 },
  ])("that asks for $asked seconds ends after $seconds", ({ asked, next, seconds }) => {
    const request = watch(asked === undefined ? {} : { timeoutSeconds: asked })
    expect(watched(request, () => usualWatchSeconds(chance(next))).options.timeoutSeconds).toBe(seconds)
  })

  test("never ends by itself if the server has no time limits, unless it has timeoutSeconds", () => {
    expect(watched(watch({ timeoutSeconds: 0 }), () => undefined).options).toEqual({})
    expect(watched(watch({ timeoutSeconds: 5 }), () => undefined).options).toEqual({ timeoutSeconds: 5 })
  })

  test("under the path of one object gets a field selector for the object's name", () => {
    expect(watched(watch({}, "a"), () => undefined)).toMatchObject({
      name: undefined,
      options: { fieldSelector: "metadata.name=a" },
    })
    expect(watched(watch({ fieldSelector: "metadata.name=a" }, "a"), () => undefined).options.fieldSelector).toBe(
      "metadata.name=a",
    )
    for (const fieldSelector of ["metadata.namespace=b", "metadata.name=b", "metadata.name!=a"])
      expect(() => watched(watch({ fieldSelector }, "a"), () => undefined)).toThrow(
        "fieldSelector metadata.name doesn't match requested name",
      )
  })
})

test("a write is marked as large by the bytes of its body, an object's and a patch's", async () => {
  // given a server that shows what comes behind HTTP
  const marks: unknown[] = []
  const host = await startHttpServer({
    intercept: (pipeline) => ({
      ...pipeline,
      handle(request) {
        if (request.resource === ConfigMap && request.namespace === "default") marks.push(request.isLarge)
        return pipeline.handle(request)
      },
    }),
  })
  const data = (length: number) => ({ data: { a: "x".repeat(length) } })
  const patch = (length: number) => ({
    ...json(data(length)),
    headers: { "content-type": "application/merge-patch+json" },
  })
  // when
  await host.call("POST", CONFIGMAPS, json(cm("a", data(1000))))
  await host.call("POST", CONFIGMAPS, json(cm("b", data(140_000))))
  await host.call("PATCH", `${CONFIGMAPS}/a`, patch(1000))
  await host.call("PATCH", `${CONFIGMAPS}/a`, patch(140_000))
  await host.stop()
  // then
  expect(marks).toEqual([undefined, true, undefined, true])
})

test.each([
  ["/api/v1/namespaces/x", Namespace, true],
  ["/api/v1/namespaces/x/status", Namespace, true],
  ["/apis/example.com/v1/namespaces/x", { ...Namespace, group: "example.com" }, false],
  ["/apis/example.com/v1/namespaces", { ...Namespace, group: "example.com" }, true],
] as const)("the path %s of a cluster-wide kind is served only where it names no namespace", (url, kind, isServed) => {
  const resource = kind as Resource
  const find = () => resourceOf(requestInfo("GET", url), { resource: () => resource } as never)
  if (isServed) expect(find()).toBe(resource)
  else expect(find).toThrow("the server could not find the requested resource")
})
