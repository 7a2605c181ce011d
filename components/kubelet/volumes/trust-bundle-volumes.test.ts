import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { ClusterTrustBundle } from "../../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"
import { newAuthority } from "../../../pkg/pki/certificate.fixtures.ts"
import { volumeHost, type VolumeHost } from "./volume-host.fixtures.ts"

const [ONE, TWO, THREE] = ["one", "two", "three"].map(newAuthority) as [string, string, string]
const anchors = (text: string) => text.split(/(?<=-----END CERTIFICATE-----\n)/).filter((part) => part !== "")

describe("volumes with trust bundles", () => {
  let host: VolumeHost
  beforeEach(async () => {
    host = await volumeHost({
      features: { ClusterTrustBundle: true, ClusterTrustBundleProjection: true },
      runtimeConfig: ["certificates.k8s.io/v1beta1=true"],
    })
  })
  afterEach(() => host.stop())

  const bundle = (name: string, trustBundle: string, signerName?: string, labels: Record<string, string> = {}) =>
    host.cluster.client.create(ClusterTrustBundle, {
      metadata: { name, labels },
      spec: { trustBundle, ...(signerName === undefined ? {} : { signerName }) },
    })
  const podWith = (clusterTrustBundle: object) =>
    host.createPod("p", { volumes: [{ name: "v", projected: { sources: [{ clusterTrustBundle }] } }] })

  test("hold the anchors of one bundle, and follow it", async () => {
    const { volumes, signal, read, becomes, cluster } = host
    // given
    const stored = await bundle("mine", `# comment\n${ONE}`)
    const mounted = await volumes.mount(await podWith({ name: "mine", path: "ca.pem" }), signal)
    expect(await read(mounted, "v", "ca.pem")).toBe(ONE)
    // when
    await cluster.client.update(ClusterTrustBundle, { ...stored, spec: { trustBundle: TWO } })
    // then
    await becomes(mounted, "v", "ca.pem", TWO)
  })

  test("hold the anchors of a signer's bundles by their labels, each once", async () => {
    const { volumes, signal, read, until } = host
    // given
    await bundle("example.com:s:a", ONE + TWO, "example.com/s", { live: "yes" })
    await bundle("example.com:s:b", THREE, "example.com/s", { live: "no" })
    await bundle("example.com:t:a", THREE, "example.com/t", { live: "yes" })
    const source = { signerName: "example.com/s", labelSelector: { matchLabels: { live: "yes" } }, path: "ca.pem" }
    const mounted = await volumes.mount(await podWith(source), signal)
    expect(anchors(await read(mounted, "v", "ca.pem")).toSorted()).toEqual([ONE, TWO].toSorted())
    // when another bundle with an anchor that is known and a new one comes
    await bundle("example.com:s:c", TWO + THREE, "example.com/s", { live: "yes" })
    // then
    await until(async () => anchors(await read(mounted, "v", "ca.pem")).length === 3)
  })

  test.each([
    [{ name: "none", path: "x" }, 'clustertrustbundle.certificates.k8s.io "none" not found'],
    [{ signerName: "example.com/s", path: "x", labelSelector: {} }, "matched zero ClusterTrustBundles"],
    // As upstream: no selector selects nothing.
    [{ signerName: "example.com/u", path: "x" }, "matched zero ClusterTrustBundles"],
  ])("cannot be mounted without a bundle, unless it is optional: %j", async (source, message) => {
    const { volumes, signal, read } = host
    await bundle("example.com:u:a", ONE, "example.com/u")
    const pod = await podWith(source)
    await expect(volumes.mount(pod, signal)).rejects.toThrow(message)
    const optional = await host.createPod("q", {
      volumes: [{ name: "v", projected: { sources: [{ clusterTrustBundle: { ...source, optional: true } }] } }],
    })
    expect(await read(await volumes.mount(optional, signal), "v", "x")).toBe("")
  })
})
