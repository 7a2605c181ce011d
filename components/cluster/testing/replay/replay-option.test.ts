import { expect, test } from "bun:test"
import { gzipSync } from "node:zlib"
import { startCluster, type ClusterOptions } from "../testing.ts"

/** A recording of these objects, whatever they are. */
function recordingOf(
  objects: readonly (readonly [resource: string, object: object])[],
  begin = "2026-01-01T00:00:00Z",
): Buffer {
  const head = { k3tsRecording: 1, begin, from: "history", server: "", namespaces: [], anonymised: false }
  const end = { type: "end", time: "2026-01-01T00:05:00Z", objects: objects.length, writes: 0, resources: [], left: [] }
  const lines = [...objects.map(([resource, object]) => ({ type: "object", resource, object })), end]
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(head)}\n`),
    gzipSync(lines.map((line) => `${JSON.stringify(line)}\n`).join("")),
  ])
}

const failureOf = (options: ClusterOptions) =>
  startCluster(options).then(
    async (cluster) => {
      await cluster.stop()
      return "started"
    },
    (err: Error) => err.message,
  )

const EMPTY = recordingOf([])

test.each<[string, ClusterOptions, string]>([
  ["a file that is none", { replay: new Uint8Array(9) }, "Cannot replay the recording: it is no recording of k3ts"],
  [
    "a file that does not exist",
    { replay: "/there/is/none.k3ts" },
    "Cannot replay the recording /there/is/none.k3ts: ",
  ],
  ["a snapshot too", { replay: EMPTY, snapshot: "a" }, "Cannot start a cluster with replay and snapshot"],
  ["several servers", { replay: EMPTY, servers: 3 }, "Cannot start a cluster with replay and servers"],
  [
    "another time",
    { replay: EMPTY, startTime: "2027-01-01T00:00:00Z" },
    "Cannot start a cluster with replay and startTime",
  ],
  ["the real clock", { replay: EMPTY, clock: "real" }, "Cannot replay on the real clock"],
  ["an unknown option", { replay: { file: EMPTY, insted: [] } as object as { file: Uint8Array } }, "did you mean"],
  ["a wrong tolerance", { replay: { file: EMPTY, tolerance: "soon" as "1s" } }, "soon"],
])("a replay with %s is refused", async (_, options, wants) => {
  expect(await failureOf(options)).toContain(wants)
})

test("a replay of nothing is a cluster without anything, and the same", async () => {
  await using cluster = await startCluster({ replay: EMPTY })
  expect(cluster.replay.begin.toISOString()).toBe("2026-01-01T00:00:00.000Z")
  expect(await cluster.replay.ended()).toBeUndefined()
})

test("a cluster without a recording has no replay", async () => {
  await using cluster = await startCluster()
  expect(() => cluster.replay).toThrow("There is no recording: start the cluster with `replay`")
})

const meta = (name: string) => ({ metadata: { name, namespace: "default", uid: name } })

test.each<[string, readonly (readonly [string, object])[]]>([
  ["pods without anything", [["pods", { apiVersion: "v1", kind: "Pod", ...meta("a") }]]],
  [
    "pods of numbers",
    [["pods", { apiVersion: "v1", kind: "Pod", ...meta("a"), spec: { containers: [7] }, status: {} }]],
  ],
  ["nodes without a status", [["nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n" } }]]],
  [
    "owners that own each other",
    [
      [
        "configmaps",
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            ...meta("a").metadata,
            ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "b", uid: "b" }],
          },
        },
      ],
      [
        "configmaps",
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            ...meta("b").metadata,
            ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "a" }],
          },
        },
      ],
    ],
  ],
  [
    "the same object twice",
    [
      ["configmaps", { apiVersion: "v1", kind: "ConfigMap", ...meta("a") }],
      ["configmaps", { apiVersion: "v1", kind: "ConfigMap", ...meta("a") }],
    ],
  ],
  [
    "keys that are no keys",
    [
      [
        "configmaps",
        JSON.parse(
          `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","labels":{"__proto__":"x"}},"__proto__":{"spec":1},"data":{"__proto__":"x","constructor":"y"}}`,
        ) as object,
      ],
    ],
  ],
])("a recording with %s ends nothing but its own test", async (_, objects) => {
  // What comes of it is its own; the process and other clusters go on.
  await failureOf({ replay: recordingOf(objects) })
  expect(({} as { spec?: unknown }).spec).toBeUndefined()
  await using other = await startCluster({ nodes: 1 })
  expect(other.nodes).toEqual(["node-0"])
})
