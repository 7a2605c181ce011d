import { expect, test } from "bun:test"
import type { RuntimeService } from "../../../pkg/cri/service.ts"
import { aroundCalls } from "./runtime-calls.ts"
import type { ContainerRuntime } from "./runtime.ts"

test("calls of a runtime are surrounded, with their names, and reach the runtime's parts of that time", async () => {
  // given a runtime whose containers change, and what notes each call
  const versionOf = (runtimeName: string) =>
    ({
      async version() {
        return { runtimeName: `${runtimeName} ${this === runtime.containers}` }
      },
    }) as unknown as RuntimeService
  const runtime = { containers: versionOf("first"), files: {} } as unknown as {
    -readonly [K in keyof ContainerRuntime]: ContainerRuntime[K]
  }
  const called: string[] = []
  const surrounded = aroundCalls(runtime, ({ service, method, operation }, run) => {
    called.push(`${service}/${method} ${operation}`)
    return run()
  })
  // when
  const before = surrounded.containers
  const first = await before.version()
  runtime.containers = versionOf("second")
  const second = await surrounded.containers.version()
  // then
  expect([first.runtimeName, second.runtimeName]).toEqual(["first true", "second true"])
  expect(called).toEqual(Array.from({ length: 2 }, () => "runtime.v1.RuntimeService/Version version"))
  expect(surrounded.containers).toBe(surrounded.containers)
  expect(surrounded.files).toBe(runtime.files)
})
