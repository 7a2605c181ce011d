import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test"
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { ServiceAccountTokens } from "./types/service-account-token.ts"
import { NAMESPACE, volumeHost, type VolumeHost } from "./volume-host.fixtures.ts"

describe("volumes with tokens of service accounts", () => {
  let host: VolumeHost
  beforeEach(async () => {
    host = await volumeHost()
  })
  afterEach(() => host.stop())

  test("hold a token that is bound to the pod, and renew it after four fifths of its life", async () => {
    const { cluster, volumes, signal, createPod, configMap, read, until } = host
    // given the projected volume that admission adds to pods
    await configMap("kube-root-ca.crt", { "ca.crt": "CA" })
    const pod = await createPod("p", {
      volumes: [
        {
          name: "v",
          projected: {
            sources: [
              { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
              { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
              { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
            ],
          },
        },
      ],
    })
    const mounted = await volumes.mount(pod, signal)
    const first = await read(mounted, "v", "token")
    expect([await read(mounted, "v", "ca.crt"), await read(mounted, "v", "namespace")]).toEqual(["CA", NAMESPACE])
    const claims = JSON.parse(Buffer.from(first.split(".")[1]!, "base64url").toString()) as {
      "kubernetes.io": { pod: { uid: string } }
      exp: number
      iat: number
    }
    expect([claims["kubernetes.io"].pod.uid, claims.exp - claims.iat]).toEqual([pod.metadata.uid!, 3600])
    // when most of its life is over, then the token is still the same
    await cluster.advance(2860 * 1000)
    expect(await read(mounted, "v", "token")).toBe(first)
    // when four fifths are over, then it is a new one
    await cluster.advance(25 * 1000)
    await until(async () => (await read(mounted, "v", "token")) !== first)
    // and the new one is renewed in its turn
    const second = await read(mounted, "v", "token")
    await cluster.advance(2885 * 1000)
    await until(async () => (await read(mounted, "v", "token")) !== second)
  })

  test("of a pod with runAsUser give the token to that user", async () => {
    const { volumes, signal, createPod } = host
    if (process.getuid?.() !== 0) return console.warn("SKIPPED: owner of a token: needs root")
    // given
    const pod = await createPod("p", {
      securityContext: { runAsUser: 1000, fsGroup: 2000 },
      volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
    })
    // when
    const mounted = await volumes.mount(pod, signal)
    // then
    const { uid, gid, mode } = await stat(join(mounted.get("v")!.hostPath, "token"))
    expect([uid, gid, mode & 0o777]).toEqual([1000, 2000, 0o640])
  })

  test("of many sources request one token after another, and one for all equal sources", async () => {
    const { volumes, signal, createPod, read } = host
    // given a pod with two kinds of tokens, each ten times
    const get = ServiceAccountTokens.prototype.get
    let running = 0
    let most = 0
    using _spy = spyOn(ServiceAccountTokens.prototype, "get").mockImplementation(async function (
      this: ServiceAccountTokens,
      query,
    ) {
      most = Math.max(most, ++running)
      try {
        return await get.call(this, query)
      } finally {
        running--
      }
    })
    const source = (i: number) => ({ path: `token-${i}`, expirationSeconds: 3600, audience: i % 2 === 0 ? "a" : "b" })
    const sources = Array.from({ length: 20 }, (_, i) => ({ serviceAccountToken: source(i) }))
    const pod = await createPod("p", { volumes: [{ name: "v", projected: { sources } }] })
    // when
    const mounted = await volumes.mount(pod, signal)
    // then each token has an id of its own, but there are only two
    const tokens = await Promise.all(sources.map((_, i) => read(mounted, "v", `token-${i}`)))
    expect([new Set(tokens).size, most]).toEqual([2, 1])
  })

  test.each([
    ["first", [600, 7200]],
    ["last", [7200, 600]],
  ])(
    "of several lifetimes are renewed when the first is due, also where it is listed %s",
    async (_place, lifetimes) => {
      const { cluster, volumes, signal, createPod, read, until } = host
      // given
      const sources = lifetimes.map((expirationSeconds) => ({
        serviceAccountToken: { path: `for-${expirationSeconds}`, expirationSeconds },
      }))
      const mounted = await volumes.mount(
        await createPod("p", { volumes: [{ name: "v", projected: { sources } }] }),
        signal,
      )
      const first = await read(mounted, "v", "for-600")
      // when
      await cluster.advance(500_000)
      // then
      await until(async () => (await read(mounted, "v", "for-600")) !== first)
    },
  )

  test("request a token again that could not be renewed in time", async () => {
    const { cluster, volumes, told, signal, createPod, read, until } = host
    // given a token
    const pod = await createPod("p", {
      volumes: [
        { name: "v", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }] } },
      ],
    })
    const mounted = await volumes.mount(pod, signal)
    const first = await read(mounted, "v", "token")
    // when its service account is missing until the token has expired
    await cluster.client.delete(ServiceAccount, { namespace: NAMESPACE, name: "default" })
    await cluster.advance(700_000)
    await until(async () => told.length > 0)
    expect(told[0]).toContain("failed to fetch token")
    await cluster.client.create(ServiceAccount, { metadata: { namespace: NAMESPACE, name: "default" } })
    // then there is a new token soon after
    await cluster.advance(11_000)
    await until(async () => (await read(mounted, "v", "token")) !== first)
  })
})
