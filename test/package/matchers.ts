/** The lines that give a test `test` and `expect`, by the runner's name in `k3ts/testing/matchers/<name>`. */
export const HEADS = {
  bun: `import { expect, test } from "bun:test"`,
  vitest: `import { expect, test } from "vitest"`,
  jest: `import { expect, test } from "@jest/globals"`,
  expect: `import { test } from "node:test"\nimport { expect } from "expect"`,
} as const
export type RunnerName = keyof typeof HEADS

/** A test with our matchers, which is JavaScript and TypeScript at once. */
export const matcherTest = (runner: RunnerName): string => `
${HEADS[runner]}
import "k3ts/testing/matchers/${runner}"
import { Deployment, startCluster } from "k3ts/testing"

test("the matchers of k3ts", async () => {
  const cluster = await startCluster({ nodes: 1, images: { web: { startMs: 500 } } })
  const began = cluster.now.getTime()
  await cluster.apply({
    apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
    },
  })
  await expect(cluster).toBecomeReady(Deployment, "web", { within: "5m" })
  // Some runners wait in an event loop of their own; virtual time must not run ahead of the cluster there.
  expect(cluster.now.getTime() - began).toBe(500)
  await expect(cluster.waitFor(Deployment, "web", "condition=Available")).resolves.toBeDefined()
  expect(cluster.now.getTime() - began).toBe(500)
  await expect(cluster).toHaveEvent({ reason: "ScalingReplicaSet", about: "web" })
  await expect(cluster).not.toHaveEvent({ reason: "BackOff" })
  let message = ""
  try {
    await expect(cluster).toBecomeReady(Deployment, "wob", { within: "1s" })
  } catch (err) {
    message = String(err)
  }
  expect(message).toContain("Deployment default/wob is not ready: it does not exist")
  await cluster.stop()
})
`

/** A program that the types must refuse. */
export const WRONG_USE = `
// @ts-expect-error a Reference is expected
void (() => expect(null as never).toBecomeReady(Deployment, 5))
// @ts-expect-error an Event has no such field
void (() => expect(null as never).toHaveEvent({ raeson: "BackOff" }))
`
