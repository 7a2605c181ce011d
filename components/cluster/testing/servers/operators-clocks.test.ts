import { describe, expect, test } from "bun:test"
import { ClusterRoleBinding, Lease, runLeaderElected, startCluster, type Cluster } from "../testing.ts"

const ELECTION = { name: "operator", namespace: "default" }
const HOUR_MS = 3_600_000

/** Two candidates on two nodes whose clocks are two hours apart. */
class Candidates {
  /** Which candidate began or ended to lead, and when, in milliseconds of the cluster's time. */
  readonly changes: { readonly who: string; readonly leads: boolean; readonly at: number }[] = []
  readonly #ends: (() => Promise<unknown>)[] = []
  readonly #cluster: Cluster

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  static async start(cluster: Cluster): Promise<Candidates> {
    await cluster.client.create(ClusterRoleBinding, {
      metadata: { name: "operator" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "operator" }],
    })
    const candidates = new Candidates(cluster)
    for (const machine of ["node-0", "node-1"]) {
      candidates.#add(machine)
      // The first one to ask leads.
      await cluster.advance("5s")
    }
    return candidates
  }

  #add(machine: string): void {
    const cluster = this.#cluster
    const end = new AbortController()
    const note = (leads: boolean) => this.changes.push({ who: machine, leads, at: cluster.now.getTime() })
    const done = runLeaderElected(
      { ...ELECTION, identity: machine },
      cluster.contextFor("operator", { machine }),
      end.signal,
      async (leading) => {
        note(true)
        await new Promise((resolve) => leading.addEventListener("abort", resolve))
        note(false)
      },
    )
    this.#ends.push(() => {
      end.abort()
      return done
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Those whose machine is cut off wait before they give their Lease up in vain.
    const ended = Promise.all(this.#ends.map((end) => end()))
    await this.#cluster.advance("1m")
    await ended
  }
}

async function skewedCluster(): Promise<Cluster> {
  const cluster = await startCluster({ servers: 3, nodes: 2, seed: 1 })
  await cluster.faults.clockSkewed("node-0", HOUR_MS)
  await cluster.faults.clockSkewed("node-1", -HOUR_MS)
  return cluster
}

describe("two leaders whose clocks are two hours apart", () => {
  test("do not lead at once: the other waits for the end of the Lease as it has seen it, whatever its times say", async () => {
    // given
    await using cluster = await skewedCluster()
    await using candidates = await Candidates.start(cluster)
    await cluster.advance("1m")
    expect(candidates.changes.map(({ who, leads }) => [who, leads])).toEqual([["node-0", true]])
    // when the leader's machine is cut off
    const cutAt = cluster.now.getTime()
    const cut = await cluster.faults.nodePartitioned("node-0")
    await cluster.advance("1m")
    // then it stops within the renew deadline of 10 s, and the other leads 15 s after it has seen the last renewal, for
    // which it looks every 2 to 4.4 s
    const [, stopped, led] = candidates.changes
    expect([stopped?.who, stopped?.leads, led?.who, led?.leads]).toEqual(["node-0", false, "node-1", true])
    expect(stopped!.at - cutAt).toBeLessThanOrEqual(10_000)
    expect(led!.at).toBeGreaterThan(stopped!.at)
    expect(led!.at - cutAt).toBeLessThanOrEqual(15_000 + 2 * 4400)
    // and the first one, which is back, does not lead
    await cut.end()
    await cluster.advance("1m")
    expect(candidates.changes).toHaveLength(3)
  })

  test("write the times of their own clocks into the Lease", async () => {
    await using cluster = await skewedCluster()
    await using _candidates = await Candidates.start(cluster)
    const renewed = async () => {
      const { spec } = await cluster.get(Lease, "operator")
      return Math.round((Date.parse(spec.renewTime!) - cluster.now.getTime()) / HOUR_MS)
    }
    expect(await renewed()).toBe(1)
    await using _lost = await cluster.faults.nodeLost("node-0")
    await cluster.advance("1m")
    expect(await renewed()).toBe(-1)
    expect((await cluster.get(Lease, "operator")).spec).toMatchObject({ holderIdentity: "node-1", leaseTransitions: 1 })
  })
})

describe("a context on a machine", () => {
  test("has the clock of that machine", async () => {
    await using cluster = await skewedCluster()
    const { clock } = cluster.contextFor("operator", { machine: "node-1" })
    expect(clock.now() - cluster.now.getTime()).toBe(-HOUR_MS)
    expect(cluster.contextFor("operator").clock.now()).toBe(cluster.now.getTime())
  })

  test.each([
    { machine: "node-7", options: { servers: 1, nodes: 1 }, message: /no machine "node-7"/ },
    { machine: "node-0", options: { nodes: 1 }, message: /only in a cluster with `servers`/ },
  ])("is refused for $machine of $options", async ({ machine, options, message }) => {
    await using cluster = await startCluster(options)
    expect(() => cluster.contextFor("operator", { machine })).toThrow(message)
  })
})
