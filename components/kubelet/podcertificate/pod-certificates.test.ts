import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createPrivateKey, X509Certificate } from "node:crypto"
import { PodCertificateRequest } from "../../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
import { requestedKey } from "../../../pkg/api/certificates/v1beta1/podcertificaterequest-validation.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { certifyKey, createCa } from "../../../pkg/pki/certificate.ts"
import { volumeHost, type VolumeHost } from "../volumes/volume-host.fixtures.ts"

const HOUR = 3_600_000
const SIGNER = "example.com/signer"
const authority = createCa({
  commonName: "ca",
  validity: { notBefore: new Date(Date.UTC(2020, 0)), notAfter: new Date(Date.UTC(2040, 0)) },
})

describe("certificates of pods", () => {
  let host: VolumeHost
  beforeEach(async () => {
    host = await volumeHost({
      features: { PodCertificateRequest: true },
      runtimeConfig: ["certificates.k8s.io/v1beta1=true"],
    })
  })
  afterEach(() => host.stop())

  const podWith = (source: object) =>
    host.createPod("p", {
      volumes: [
        {
          name: "v",
          projected: { sources: [{ podCertificate: { signerName: SIGNER, keyType: "ECDSAP256", ...source } }] },
        },
      ],
    })
  const requests = async () => (await host.cluster.client.list(PodCertificateRequest)).items
  const pending = async () => (await requests()).find(({ status }) => status.conditions === undefined)!
  const decide = (request: PodCertificateRequest, status: object) =>
    host.cluster.client.updateSubresource(PodCertificateRequest, request.metadata, "status", {
      ...request,
      status: status as PodCertificateRequest["status"],
    })
  const condition = (type: string) => ({
    type,
    status: "True" as const,
    reason: "Because",
    message: "of this",
    lastTransitionTime: new Date(host.cluster.now.getTime()).toISOString(),
  })
  const statusFor = (request: PodCertificateRequest, hours = 4, changes: object = {}) => {
    const seconds = (ms: number) => new Date(Math.floor(ms / 1000) * 1000)
    const notBefore = seconds(host.cluster.now.getTime())
    const notAfter = seconds(host.cluster.now.getTime() + hours * HOUR)
    const certificateChain = certifyKey(authority, requestedKey(request.spec).export({ type: "spki", format: "der" }), {
      subject: { commonName: "pod", organizations: [] },
      usages: ["client"],
      validity: { notBefore, notAfter },
    })
    return {
      conditions: [condition("Issued")],
      certificateChain: `${certificateChain}${authority.certPem}`,
      notBefore: notBefore.toISOString(),
      beginRefreshAt: seconds(host.cluster.now.getTime() + 2 * HOUR).toISOString(),
      notAfter: notAfter.toISOString(),
      ...changes,
    }
  }

  test("are requested for the pod's account, shown when they are issued, and renewed with a new key", async () => {
    const { volumes, signal, read, cluster, until } = host
    // given a pod whose certificate is not issued yet
    const pod = await podWith({
      credentialBundlePath: "all.pem",
      keyPath: "key.pem",
      certificateChainPath: "chain.pem",
    })
    await expect(volumes.mount(pod, signal)).rejects.toThrow("credential bundle is not issued yet")
    const account = await cluster.client.get(ServiceAccount, { namespace: "default", name: "default" })
    const request = await pending()
    expect(request.spec).toMatchObject({
      signerName: SIGNER,
      podName: "p",
      podUID: pod.metadata.uid!,
      serviceAccountUID: account.metadata.uid!,
      nodeName: "node-0",
      maxExpirationSeconds: 86_400,
    })
    expect(request.metadata.ownerReferences).toMatchObject([{ kind: "Pod", name: "p" }])
    // when it is issued
    await decide(request, statusFor(request))
    await cluster.settle()
    const mounted = await volumes.mount(pod, signal)
    // then
    const [key, chain] = [await read(mounted, "v", "key.pem"), await read(mounted, "v", "chain.pem")]
    expect(await read(mounted, "v", "all.pem")).toBe(key + chain)
    expect(new X509Certificate(chain).checkPrivateKey(createPrivateKey(key))).toBe(true)
    expect(chain.match(/BEGIN/g)).toHaveLength(2)
    // when its time to be renewed has come, the old one stays until the next is issued
    await cluster.advance(2 * HOUR + 6 * 60_000)
    await until(async () => (await requests()).length === 2)
    expect(await read(mounted, "v", "key.pem")).toBe(key)
    const second = await pending()
    await decide(second, statusFor(second))
    await until(async () => (await read(mounted, "v", "key.pem")) !== key)
    const renewed = new X509Certificate(await read(mounted, "v", "chain.pem"))
    expect(renewed.checkPrivateKey(createPrivateKey(await read(mounted, "v", "key.pem")))).toBe(true)
  })

  test.each(["ECDSAP384", "ED25519"])("may have keys of the kind %s", async (keyType) => {
    const pod = await podWith({ keyType, keyPath: "key.pem" })
    await expect(host.volumes.mount(pod, host.signal)).rejects.toThrow("not issued yet")
    const request = await pending()
    await decide(request, statusFor(request))
  })

  test("that are denied keep the pod from starting, and a request that is lost is made again", async () => {
    const { volumes, signal, cluster, told } = host
    const pod = await podWith({ keyPath: "key.pem" })
    await expect(volumes.mount(pod, signal)).rejects.toThrow("not issued yet")
    // when the request is deleted
    const first = await pending()
    await cluster.client.delete(PodCertificateRequest, first.metadata)
    await cluster.settle()
    await expect(volumes.mount(pod, signal)).rejects.toThrow("not issued yet")
    const second = await pending()
    expect(second.metadata.name).not.toBe(first.metadata.name!)
    // and the next one is denied
    await decide(second, { conditions: [condition("Denied")] })
    await cluster.settle()
    await expect(volumes.mount(pod, signal)).rejects.toThrow(
      'PodCertificateRequest was permanently denied: reason="Because" message="of this"',
    )
    expect(told.find((line) => line.startsWith("Denied"))).toContain('was denied, reason="Because"')
  })

  test("are issued only with the requested key, times that agree, and by who may sign", async () => {
    const { cluster } = host
    const pod = await podWith({ keyPath: "key.pem" })
    await expect(host.volumes.mount(pod, host.signal)).rejects.toThrow("not issued yet")
    const request = await pending()
    const refused = (status: object, message: string) => expect(decide(request, status)).rejects.toThrow(message)
    const good = statusFor(request)
    const later = (ms: number) => new Date(cluster.now.getTime() + ms).toISOString()
    await refused({ ...good, certificateChain: authority.certPem }, "not issued to the requested public key")
    await refused({ ...good, certificateChain: "nothing" }, "must contain at least one certificate")
    await refused({ ...good, notBefore: later(HOUR) }, "must be set to the NotBefore time encoded")
    await refused({ ...good, beginRefreshAt: later(60_000) }, "must be at least 10 minutes after status.notBefore")
    await refused({ ...good, beginRefreshAt: later(4 * HOUR) }, "must be at least 10 minutes before status.notAfter")
    await refused(statusFor(request, 25), "lifetime must be <= spec.maxExpirationSeconds (86400)")
    await refused(statusFor(request, 0.5), "leaf certificate lifetime must be >= 1 hour")
    await refused({ ...good, conditions: [condition("Issued"), condition("Denied")] }, "There may be at most one")
    await refused({ ...good, conditions: [condition("Other")] }, "Unsupported value")
    await refused({ certificateChain: good.certificateChain }, "status is immutable unless transitioning to")
    await refused({ ...good, conditions: [condition("Denied")] }, "non-condition status fields must be empty")
    // and a user who may write the status, and not sign
    const asNode = cluster.as("system:node:node-0", ["system:nodes"])
    await expect(
      asNode.updateSubresource(PodCertificateRequest, request.metadata, "status", { ...request, status: good }),
    ).rejects.toThrow("nodes may not access the status subresource of PodCertificateRequests")
    // when the certificate was made ten minutes ago
    await cluster.advance(10 * 60_000)
    await refused(good, "must be set to within 5 minutes of kube-apiserver's current time")
    // and then what is decided cannot change
    await decide(request, statusFor(request))
    const issued = await cluster.client.get(PodCertificateRequest, request.metadata)
    await expect(
      cluster.client.updateSubresource(PodCertificateRequest, request.metadata, "status", { ...issued, status: {} }),
    ).rejects.toThrow("immutable after PodCertificateRequest is issued, denied, or failed")
  })

  test("are requested by a node for its own pods only", async () => {
    const { cluster } = host
    const pod = await podWith({ keyPath: "key.pem" })
    await expect(host.volumes.mount(pod, host.signal)).rejects.toThrow("not issued yet")
    const { spec } = await pending()
    const create = (node: string, changes: object) =>
      cluster.as(`system:node:${node}`, ["system:nodes"]).create(PodCertificateRequest, {
        metadata: { namespace: "default", generateName: "req-" },
        spec: { ...spec, ...changes },
      })
    await create("node-0", {})
    await expect(create("node-1", {})).rejects.toThrow("which is not the requesting node")
    await expect(create("node-0", { podUID: "other" })).rejects.toThrow("which differs from running pod")
    await expect(create("node-0", { serviceAccountName: "other" })).rejects.toThrow("that differs from running pod")
    await expect(create("node-0", { serviceAccountUID: "other" })).rejects.toThrow("names service account UID")
    await expect(create("node-0", { nodeUID: "other" })).rejects.toThrow("inconsistent with the running node")
    const { metadata: second } = await cluster.client.create(Node, { metadata: { name: "node-1" } })
    await expect(create("node-1", { nodeName: "node-1", nodeUID: second.uid! })).rejects.toThrow(
      'is not running on node "node-1"',
    )
    const other = cluster.as("system:node:node-1", ["system:nodes"])
    await expect(other.list(PodCertificateRequest)).rejects.toThrow("can only list/watch podcertificaterequests with")
    expect((await other.list(PodCertificateRequest, { fieldSelector: "spec.nodeName=node-1" })).items).toEqual([])
  })
})
