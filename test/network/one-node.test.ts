import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { nodesLabLacks } from "./nodes-lab.fixtures.ts"
import type { Repaired, Seen } from "./one-node.fixtures.ts"

const lacks = nodesLabLacks()
if (lacks !== undefined) console.warn(`SKIPPED: the pod network of one node needs ${lacks}`)

interface Printed {
  readonly alone: Seen
  readonly afterMinute: Repaired
  readonly afterStart: Repaired
  readonly together: Seen
}

test.skipIf(lacks !== undefined)(
  "a single node has no routes to others and no work but to repair its own once a minute; the second node adds routes",
  () => {
    // given a node in a network namespace of its own, then a minute later, then after another start, then another Node
    const program = join(import.meta.dirname, "one-node.fixtures.ts")
    const { stdout, stderr } = spawnSync("unshare", ["--net", process.execPath, program], {
      encoding: "utf8",
      timeout: 8000,
    })
    if (stdout === "") console.error(stderr)
    const { alone, afterMinute, afterStart, together } = JSON.parse(stdout) as Printed
    // then
    expect(alone).toEqual({
      links: ["lo", "eth0"],
      annotations: undefined,
      // Once a minute it looks whether what it has set is there.
      timers: 1,
      loaded: [],
      routeMtu: undefined,
    })
    for (const repaired of [afterMinute, afterStart])
      expect(repaired).toEqual({ address: "10.42.1.1/24", forwards: true })
    expect(together.links).toEqual(["lo", "eth0", "k3ts-vxlan"])
    expect(together.routeMtu).toBe(1450)
    expect(together.annotations).toEqual({
      "flannel.alpha.coreos.com/backend-data": expect.stringMatching(/^{"VNI":1,"VtepMAC":"0e(:[0-9a-f]{2}){5}"}$/),
      "flannel.alpha.coreos.com/backend-type": "vxlan",
      "flannel.alpha.coreos.com/kube-subnet-manager": "true",
      "flannel.alpha.coreos.com/public-ip": "192.0.2.11",
    })
  },
)
