/** A test as a program in JavaScript for every runtime: it prints one line, or fails. */
export const PROGRAM = `
import { startCluster, isConflict, Deployment, Pod, TestClusterError } from "k3ts/testing"
import { defineController, runOperator, ApiError } from "k3ts/operator"

const cluster = await startCluster({ nodes: 3, seed: 1, images: { "broken:*": { runsMs: 10, exitCode: 1 } } })
await cluster.apply({
  apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web:1" }] } },
  },
})
await cluster.eventually(Deployment, {}, ([web]) => web?.status.readyReplicas === 3)

// A controller of the other way in is of the same program.
const seen = new Set()
const ending = new AbortController()
const noting = defineController({ name: "noting", reconciles: Pod, reconcile: async (key) => void seen.add(key) })
const running = runOperator(cluster.contextFor("operator", ["system:masters"]), [noting], { signal: ending.signal })
await cluster.advance("1m")
ending.abort()
await running
if (seen.size !== 3) throw new Error("the operator saw " + [...seen])

// The message of a refused request, and the place that a failure shows.
const refused = await cluster.client.create(Pod, { metadata: { name: "Wrong" }, spec: { containers: [] } }).catch((err) => err)
if (!(refused instanceof ApiError) || refused.reason !== "Invalid") throw new Error("not refused as invalid: " + refused)
const late = await cluster.eventually(() => false, { within: "1s" }).catch((err) => err)
if (!(late instanceof TestClusterError) || !late.stack.split("\\n").some((line) => /program\\.mjs:\\d+/.test(line)))
  throw new Error("the failure does not show the line of the test: " + late.stack)

// Expressions, patterns and YAML are loaded when they are needed.
await cluster.apply(\`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: rows.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: rows, kind: Row }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              x-kubernetes-validations: [{ rule: "self.least <= self.most" }]
              properties: { least: { type: integer }, most: { type: integer }, name: { type: string, pattern: "^a+$" } }
\`)
const row = (spec) => cluster.apply({ apiVersion: "example.com/v1", kind: "Row", metadata: { name: "a" }, spec })
await row({ least: 1, most: 2, name: "aa" })
const wrong = await row({ least: 3, most: 2 }).catch((err) => err)
if (!String(wrong).includes("self.least <= self.most")) throw new Error("the rule does not hold: " + wrong)

// Other programs reach it over TLS.
await cluster.listen()
await cluster.stop()
console.log("the package works")
`

/** A drill for `runClusters`, as a module for every runtime. */
export const DRILL = `
import { Deployment } from "k3ts/testing"

export const options = { nodes: 2, images: { web: { startMs: 500 } } }

export default async function drill(cluster, seed) {
  if (seed === 4) throw new RangeError("seed 4 is unlucky")
  if (seed === 5) process.exit(7)
  await cluster.apply({
    apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
    },
  })
  await cluster.eventually(Deployment, {}, ([web]) => web?.status.readyReplicas === 2)
  return { seed, at: cluster.now.toISOString() }
}
`

/** Runs the drill on several cores; it prints one line, or fails. */
export const PARALLEL = `
import { resultsOf, runClusters } from "k3ts/testing"

const module = new URL("./drill.mjs", import.meta.url)
const results = resultsOf(await runClusters({ module, seeds: 3, clusters: 2 }))
if (results.map(({ seed }) => seed).join() !== "1,2,3" || results.some(({ at }) => !at.startsWith("2026-01-01T00:00:")))
  throw new Error("the results are not right: " + JSON.stringify(results))

const runs = await runClusters({ module, seeds: [4, 5, 6], clusters: 1 })
const told = runs.map((run) => run.outcome + (run.outcome === "failed" ? " " + run.error.name + ": " + run.error.message : ""))
const expected = [
  "failed RangeError: seed 4 is unlucky",
  "failed TestClusterError: The worker of seed 5 has ended with exit code 7",
  "passed",
]
if (JSON.stringify(told) !== JSON.stringify(expected)) throw new Error("not as expected: " + JSON.stringify(told))
if (!runs[0].error.stack.includes("drill.mjs")) throw new Error("the stack shows another place: " + runs[0].error.stack)
console.log("drills run on several cores")
`
