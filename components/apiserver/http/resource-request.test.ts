import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { ApiRequest, RequestOptions } from "../request.ts"
import { usualWatchSeconds, watched } from "./resource-request.ts"

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
