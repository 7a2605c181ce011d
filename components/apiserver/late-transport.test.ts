import { expect, test } from "bun:test"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { ApiCall, Transport } from "../../pkg/client/client.ts"
import { lateTransport } from "./late-transport.ts"

test("calls fail until a server runs; then they go to that server, over one transport for each server", async () => {
  // given a transport without a server
  let running: { readonly name: string } | undefined
  const made: string[] = []
  const called: string[] = []
  const transport = lateTransport(
    () => {
      if (running === undefined) throw new ApiError("ServiceUnavailable", "not running")
      return running
    },
    ({ name }) => {
      made.push(name)
      return { call: async () => void called.push(name) } as unknown as Transport
    },
  )
  const call = () => transport.call({} as ApiCall)
  const ends: (ApiError | undefined)[] = []

  // then calls and watches fail as their callers expect
  await expect(call()).rejects.toThrow("not running")
  transport.watch(ConfigMap, {}, { onEvent: () => undefined, onEnd: (error) => void ends.push(error) }).close()
  expect(ends.map((error) => error?.reason)).toEqual(["ServiceUnavailable"])

  // when a server runs, and later another
  running = { name: "first" }
  await call()
  await call()
  running = { name: "second" }
  await call()

  // then
  expect(called).toEqual(["first", "first", "second"])
  expect(made).toEqual(["first", "second"])
})
