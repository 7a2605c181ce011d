import { expect, test } from "bun:test"
import { portWarnings } from "./port-warnings.ts"

const count = 40_000

test("tens of thousands of equal ports get a bounded number of warnings", () => {
  // given a container that the server takes, each of whose ports conflicts with all others
  const ports = Array.from({ length: count }, () => ({ containerPort: 1, protocol: "TCP" as const, name: "a" }))
  // when
  const warnings = portWarnings([[{ ports }, "spec.containers[0]"]])
  // then
  expect(warnings[0]).toBe("spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]")
  expect(warnings).toHaveLength(2000)
})

test("tens of thousands of host ports for one port are not all compared", () => {
  const ports = Array.from({ length: count }, (_, i) => ({
    containerPort: 1,
    protocol: "TCP" as const,
    hostPort: i + 1,
  }))
  expect(portWarnings([[{ ports }, "spec.containers[0]"]])).toEqual([])
})
