import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { steps as stepsIn, type Step } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 2 })
})
afterAll(() => c.stop())
const steps = (title: string, rows: readonly Step[]) => stepsIn(title, () => c, rows)

const pod = (name: string, spec: object = {}, labels: object = {}): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: {
      nodeName: "node-0",
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "main", image: "web" }],
      ...spec,
    },
  })

describe("kubectl cordon", () => {
  steps("marks nodes, and says what they are already", [
    ["cordon node-0", "node/node-0 cordoned\n"],
    ["cordon node-0", "node/node-0 already cordoned\n"],
    ["uncordon node-0 --dry-run=client", "node/node-0 uncordoned (dry run)\n"],
    ["uncordon -l kubernetes.io/hostname=node-0", "node/node-0 uncordoned\n"],
    ["uncordon node-0", "node/node-0 already uncordoned\n"],
    ["cordon nope", 'Error from server (NotFound): nodes "nope" not found\n', 1],
    ["cordon", "error: USAGE: cordon NODE [flags]\nSee 'kubectl cordon -h' for help and examples\n", 1],
  ])
})

describe("kubectl taint", () => {
  steps("sets, replaces and removes taints", [
    ["taint nodes node-0 a=b:NoSchedule", "node/node-0 tainted\n"],
    [
      "taint nodes node-0 a=b:NoSchedule",
      "error: node node-0 already has a taint(s) with same effect(s) and --overwrite is false\n",
      1,
    ],
    ["taint nodes node-0 a=c:NoSchedule --overwrite", "node/node-0 modified\n"],
    ["taint nodes node-0 b:NoSchedule a:NoSchedule-", "node/node-0 modified\n"],
    ["taint nodes node-0 a- b-", 'error: taint "a" not found\n', 1],
    ["taint nodes node-0 b-", "node/node-0 untainted\n"],
  ])
  steps("refuses what is no taint", [
    [
      "taint nodes node-0 x=y:Foo",
      "error: invalid taint effect: Foo, unsupported taint effect\nSee 'kubectl taint -h' for help and examples\n",
      1,
    ],
    ["taint nodes node-0 x=y", /^error: invalid taint spec: x=y/, 1],
    ["taint pods node-0 a:NoSchedule", "error: invalid resource type pods, only node types are supported\n", 1],
  ])
})

describe("kubectl drain", () => {
  test("ends pods, once it may, and waits until they are gone", async () => {
    // given a pod without a controller, and one with local data
    const spec = { volumes: [{ name: "data", emptyDir: {} }] }
    await c.kubectl("create -f -", { stdin: `${pod("bare")}\n---\n${pod("data", spec)}` })
    await c.advance("5s")
    // when
    const refused = await c.kubectl("drain node-0")
    const drained = await c.kubectl("drain node-0 --force --delete-emptydir-data")
    // then
    expect([refused.code, refused.stdout]).toEqual([1, "node/node-0 cordoned\n"])
    expect(refused.stderr).toContain(
      "cannot delete Pods that declare no controller (use --force to override): default/bare",
    )
    expect(refused.stderr).toContain("There are pending nodes to be drained:\n node-0\n")
    expect([drained.code, drained.stderr]).toEqual([
      0,
      "Warning: deleting Pods that declare no controller: default/bare, default/data\n",
    ])
    expect(drained.stdout.split("\n").sort()).toEqual(
      [
        "",
        "node/node-0 already cordoned",
        "evicting pod default/bare",
        "evicting pod default/data",
        "pod/bare evicted",
        "pod/data evicted",
        "node/node-0 drained",
      ].sort(),
    )
    expect((await c.kubectl("get pods")).stderr).toBe("No resources found in default namespace.\n")
  })

  test("tries again while a budget holds a pod back, up to its timeout", async () => {
    // given
    await c.kubectl("uncordon node-0")
    const budget = { minAvailable: 1, selector: { matchLabels: { app: "solo" } } }
    const pdb = JSON.stringify({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "p" },
      spec: budget,
    })
    await c.kubectl("create -f -", { stdin: `${pdb}\n---\n${pod("solo", {}, { app: "solo" })}` })
    await c.advance("10s")
    const before = c.now.getTime()
    // when
    const { code, stderr } = await c.kubectl("drain node-0 --force --timeout=12s")
    // then
    expect(code).toBe(1)
    expect(stderr.match(/will retry after 5s/g)).toHaveLength(3)
    expect(stderr).toContain('error when evicting pods/"solo" -n "default": global timeout reached: 12s')
    expect(c.now.getTime() - before).toBe(12_000)
  })
})
