import { describe, expect, test } from "bun:test"
import { ConnectionError, Deployment, startCluster, type Cluster, type ClusterOptions } from "../testing.ts"

const preStop = { preStop: { sleep: { seconds: 5 } } }

/** A cluster with a Deployment of three pods behind the Service `web`. */
async function start(options: ClusterOptions, lifecycle?: object): Promise<Cluster> {
  const cluster = await startCluster({ nodes: 3, seed: 7, ...options })
  await cluster.apply([
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "web", image: "web", ...(lifecycle === undefined ? {} : { lifecycle }) }] },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
    },
  ])
  await cluster.advance("10s")
  return cluster
}

/** Sends a request every 40 ms for ten seconds, and returns the codes of those that failed. */
async function failures(cluster: Cluster): Promise<readonly string[]> {
  const codes: string[] = []
  for (let i = 0; i < 250; i++) {
    await cluster
      .fetch("http://web/")
      .catch((err: unknown) => codes.push(err instanceof ConnectionError ? err.code : String(err)))
    await cluster.advance(40)
  }
  return codes
}

describe("during a rollout on a real network", () => {
  test("connections to pods that have ended are refused, in the same way with the same seed", async () => {
    const seen: (readonly string[])[] = []
    for (let run = 0; run < 2; run++) {
      // given pods that exit at once on SIGTERM
      await using cluster = await start({ network: "real" })
      // when
      await cluster.restart(Deployment, "web")
      seen.push(await failures(cluster))
    }
    // then
    expect(seen[0]!.length).toBeGreaterThan(1)
    expect([...new Set(seen[0])]).toEqual(["ECONNREFUSED"])
    expect(seen[1]).toEqual(seen[0]!)
  })

  test("connections fail with another seed too, and none does on an ideal network", async () => {
    for (const [network, seed] of [
      ["real", 8],
      ["real", 9],
      ["ideal", 8],
    ] as const) {
      await using cluster = await start({ network, seed })
      await cluster.restart(Deployment, "web")
      expect((await failures(cluster)).length > 0).toBe(network === "real")
    }
  })

  test("no connection fails when pods sleep before they end", async () => {
    await using cluster = await start({ network: "real" }, preStop)
    await cluster.restart(Deployment, "web")
    expect(await failures(cluster)).toEqual([])
  })
})
