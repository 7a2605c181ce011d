import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { steps as stepsIn, type Step } from "./steps.fixtures.ts"

let c: Cluster
const pod = (
  name: string,
  containers: readonly string[],
  more: { readonly labels?: object; readonly init?: string } = {},
) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: more.labels ?? {} },
    spec: {
      ...(more.init === undefined ? {} : { initContainers: [{ name: more.init, image: "once" }] }),
      containers: containers.map((container) => ({ name: container, image: "web" })),
    },
  })
beforeAll(async () => {
  c = await startCluster({
    nodes: 1,
    images: {
      web: { logs: ["first", "last"] },
      once: { runsMs: 1000, exitCode: 0, logs: ["prepared"] },
    },
  })
  await c.kubectl("create -f -", {
    stdin: [
      pod("one", ["main"], { labels: { app: "web" } }),
      pod("two", ["a", "b"], { labels: { app: "web" }, init: "init" }),
    ].join("\n---\n"),
  })
  await c.advance("10s")
})
afterAll(() => c.stop())
const steps = (title: string, rows: readonly Step[]) => stepsIn(title, () => c, rows)

describe("kubectl logs", () => {
  steps("refuses what does not go together", [
    [
      "logs",
      "error: expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a required argument for the logs command\nSee 'kubectl logs -h' for help and examples\n",
      1,
    ],
    ["logs one -l a=b", /^error: only a selector \(-l\) or a POD name is allowed/, 1],
    ["logs two -c none", "error: container none is not valid for pod two out of: a, b, init (init)\n", 1],
    ["logs none", 'error: error from server (NotFound): pods "none" not found in namespace "default"\n', 1],
    ["logs one --since=1h --since-time=2026-01-01T00:00:00Z", /^error: at most one of/, 1],
    ["logs svc/kubernetes", /^error: cannot get the logs from \*v1\.Service: invalid service 'kubernetes'/, 1],
    ["logs configmap/kube-root-ca.crt", /^error: cannot get the logs from \*v1\.ConfigMap: selector for/, 1],
  ])
  steps("prints what was written, of one container or of many", [
    ["logs one", "first\nlast\n"],
    ["logs one --tail=1", "last\n"],
    ["logs one --limit-bytes=4", "firs"],
    ["logs two b --prefix", "[pod/two/b] first\n[pod/two/b] last\n"],
    ["logs two --all-containers --prefix --tail=1", "[pod/two/init] prepared\n[pod/two/a] last\n[pod/two/b] last\n"],
    ["logs -l app=web --tail=1", 'last\nlast\nDefaulted container "a" out of: a, b, init (init)\n'],
    [
      "logs -f -l app=web --all-containers --max-log-requests=2",
      "error: you are attempting to follow 4 log streams, but maximum allowed concurrency is 2, use --max-log-requests to increase the limit\n",
      1,
    ],
    ["logs two -c init -f", "prepared\n"],
  ])
  test("finds the containers that are meant", async () => {
    const two = await c.kubectl("logs two")
    expect(two.stderr).toBe('Defaulted container "a" out of: a, b, init (init)\n')
    const all = await c.kubectl("logs -l app=none")
    expect([all.stdout, all.stderr, all.code]).toEqual(["", "No resources found in default namespace.\n", 0])
  })
})
