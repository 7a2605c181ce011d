import { expect, test } from "bun:test"
import { request } from "node:https"
import { parse } from "yaml"
import { web } from "../cluster.fixtures.ts"
import { Pod, startCluster } from "../testing.ts"

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly "certificate-authority-data": string }
  }[]
  readonly users: readonly { readonly user: { readonly token: string } }[]
}

/** Sends a GET with only the certificates of the kubeconfig. */
function get(
  kubeconfig: string,
  path: string,
  token?: string,
): Promise<{ readonly status: number | undefined; readonly body: unknown }> {
  const {
    clusters: [of],
    users: [as],
  } = parse(kubeconfig) as Kubeconfig
  return new Promise((resolve, reject) => {
    const call = request(
      `${of!.cluster.server}${path}`,
      {
        ca: Buffer.from(of!.cluster["certificate-authority-data"], "base64").toString(),
        headers: { Authorization: `Bearer ${token ?? as!.user.token}`, Connection: "close" },
        agent: false,
      },
      (response) => {
        let text = ""
        response.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")))
        response.on("end", () => resolve({ status: response.statusCode, body: JSON.parse(text) as unknown }))
      },
    )
    call.on("error", reject)
    call.end()
  })
}

test("each cluster in a process serves real clients at its own address, and all have one certificate authority", async () => {
  // given two clusters that listen
  await using one = await startCluster({ nodes: 1 })
  await using two = await startCluster()
  await one.apply(web(2))
  const [first, second] = [await one.listen(), await two.listen()]
  expect(first.port).not.toBe(second.port)
  expect(one.kubeconfig).toBe(first.kubeconfig)
  // when each is asked for its pods
  const path = "/api/v1/namespaces/default/pods"
  const [ofOne, ofTwo] = [await get(first.kubeconfig, path), await get(second.kubeconfig, path)]
  // then each gives its own
  expect((ofOne.body as { readonly items: readonly unknown[] }).items).toHaveLength(2)
  expect((ofTwo.body as { readonly items: readonly unknown[] }).items).toHaveLength(0)
  // and no token of another counts
  const {
    users: [as],
  } = parse(first.kubeconfig) as Kubeconfig
  expect((await get(second.kubeconfig, path, as!.user.token)).status).toBe(401)
})

test("a client that waits in real time gets its response, however far virtual time has advanced meanwhile", async () => {
  // given a request that takes five minutes of virtual time
  await using cluster = await startCluster()
  await cluster.listen()
  await using _slow = await cluster.faults.requests({ resource: "configmaps", verb: "list", delay: "5m" })
  const answer = get(cluster.kubeconfig, "/api/v1/namespaces/default/configmaps?timeout=10s")
  let isAnswered = false
  void answer.finally(() => (isAnswered = true))
  // when the clock is moved as soon as it has come
  while (!isAnswered) {
    await cluster.advance("1m")
    await new Promise((resolve) => setImmediate(resolve))
  }
  // then its time is not up
  expect((await answer).status).toBe(200)
})

test("a cluster on the real clock advances by itself", async () => {
  await using cluster = await startCluster({ nodes: 1, clock: "real" })
  await cluster.apply(web(1))
  await cluster.eventually(async () => (await cluster.explain((await cluster.list(Pod))[0]!)).healthy, {
    within: "10s",
  })
})
