import { describe, expect, test } from "bun:test"
import { X509Certificate } from "node:crypto"
import { CertificateSigningRequest } from "../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
import type { CertificateSigningRequestStatus } from "../../../pkg/api/certificates/v1/certificatesigningrequestspec.ts"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { servingAnnotations } from "../../../pkg/api/coordination/v1/server-lease.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { ClusterRoleBinding } from "../../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { signedRequest } from "../../../pkg/pki/request/certificate-request.fixtures.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"

const NODE_USAGES = ["digital signature", "key encipherment", "client auth"]
const KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
type Spec = Pick<CertificateSigningRequest["spec"], "request" | "signerName" | "usages" | "expirationSeconds">
const create = (cluster: Cluster, name: string, spec: Spec) =>
  cluster.client.create(CertificateSigningRequest, { metadata: { name }, spec })
const approve = async (cluster: Cluster, name: string) => {
  const request = await cluster.client.get(CertificateSigningRequest, { name })
  const conditions = [{ type: "Approved", status: "True", reason: "Test" }]
  await cluster.client.updateSubresource(CertificateSigningRequest, { name }, "approval", {
    ...request,
    status: { ...request.status, conditions },
  })
  await cluster.settle()
}
const statusOf = async (cluster: Cluster, name: string): Promise<CertificateSigningRequestStatus> =>
  (await cluster.client.get(CertificateSigningRequest, { name })).status
const certificateOf = ({ certificate = "" }: CertificateSigningRequestStatus) =>
  new X509Certificate(Buffer.from(certificate, "base64"))

describe("signers", () => {
  test("sign an approved client certificate for the requested duration, and nothing that is not approved", async () => {
    // given
    await using cluster = await startCluster({ startTime: "2026-01-01T00:00:00Z" })
    await create(cluster, "jane", {
      request: signedRequest("jane", "developers"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
      expirationSeconds: 3600,
    })
    await cluster.settle()
    expect(await statusOf(cluster, "jane")).toEqual({})

    // when
    await approve(cluster, "jane")

    // then
    const certificate = certificateOf(await statusOf(cluster, "jane"))
    expect(certificate.subject).toBe("O=developers\nCN=jane")
    expect(certificate.issuer).toContain("client-ca")
    expect(Date.parse(certificate.validTo) - Date.parse("2026-01-01T01:00:00Z")).toBeLessThan(60_000)
  })

  test.each([
    {
      title: "a client certificate for a server",
      spec: { signerName: "kubernetes.io/kube-apiserver-client", usages: ["server auth"] },
      wants: "invalid usage for client certificate: server auth",
    },
    {
      title: "a kubelet's certificate for a user",
      spec: { signerName: KUBELET_CLIENT, usages: NODE_USAGES },
      wants: "subject organization is not system:nodes",
    },
    {
      title: "a serving certificate without a name",
      request: signedRequest("system:node:n", "system:nodes"),
      spec: { signerName: "kubernetes.io/kubelet-serving", usages: ["digital signature", "server auth"] },
      wants: "DNS or IP subjectAltName is required",
    },
  ])("refuse $title", async ({ request = signedRequest("jane", "developers"), spec, wants }) => {
    await using cluster = await startCluster()
    await create(cluster, "r", { request, ...spec })
    await approve(cluster, "r")
    expect(await statusOf(cluster, "r")).toMatchObject({
      conditions: [{ type: "Approved" }, { type: "Failed", reason: "SignerValidationFailure", message: wants }],
    })
  })

  test.each([
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "KUBERNETES.default.svc.cluster.local.",
    "localhost",
    "localhost.",
    "web.shop.svc",
    "*.example.com",
    "other",
    "server.example.com",
  ])("refuse a serving certificate of a kubelet for %s, which is no name of the node", async (name) => {
    // given a cluster with another node, and with a server that has a name outside
    await using cluster = await startCluster()
    await cluster.client.create(Node, { metadata: { name: "other" } })
    await cluster.client.create(Lease, {
      metadata: {
        name: "apiserver-x",
        namespace: "kube-system",
        annotations: servingAnnotations(["server.example.com", "192.0.2.10"]),
      },
    })
    // when
    await create(cluster, "r", {
      request: signedRequest("system:node:n", "system:nodes", name),
      signerName: "kubernetes.io/kubelet-serving",
      usages: ["digital signature", "server auth"],
    })
    await approve(cluster, "r")
    // then
    const status = await statusOf(cluster, "r")
    expect(status).toMatchObject({
      conditions: [{ type: "Approved" }, { type: "Failed", reason: "SignerValidationFailure" }],
    })
    expect(status).not.toHaveProperty("certificate")
  })

  test.each([
    { what: "a loopback address", address: [127, 0, 0, 1], signed: false },
    { what: "the cluster IP of the API server", address: [10, 43, 0, 1], signed: false },
    {
      what: "the same in IPv6 form",
      address: [...Array.from({ length: 10 }, () => 0), 255, 255, 10, 43, 0, 1],
      signed: false,
    },
    { what: "the address of another node", address: [192, 0, 2, 9], signed: false },
    { what: "an address of an API server, by its Lease", address: [192, 0, 2, 10], signed: false },
    { what: "an address of an API server, by its Endpoints", address: [192, 0, 2, 11], signed: false },
    { what: "an address of its own", address: [192, 0, 2, 7], signed: true },
  ])("sign a serving certificate of a kubelet for $what: $signed", async ({ address, signed }) => {
    // given a cluster with another node
    await using cluster = await startCluster()
    const name = "other"
    await cluster.client.create(Node, { metadata: { name } })
    const annotations = servingAnnotations(["192.0.2.10"])
    await cluster.client.create(Lease, { metadata: { name: "apiserver-x", namespace: "kube-system", annotations } })
    await cluster.client.create(EndpointSlice, {
      metadata: { name: "x", namespace: "default", labels: { "kubernetes.io/service-name": "kubernetes" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["192.0.2.11"] }],
    })
    const body = { status: { addresses: [{ type: "InternalIP", address: "192.0.2.9" }] } }
    await cluster.client.patch(Node, { name }, { type: "merge", body }, { subresource: "status" })
    // when
    await create(cluster, "r", {
      request: signedRequest("system:node:n", "system:nodes", "n", address),
      signerName: "kubernetes.io/kubelet-serving",
      usages: ["digital signature", "server auth"],
    })
    await approve(cluster, "r")
    // then
    expect((await statusOf(cluster, "r")).certificate !== undefined).toBe(signed)
  })

  test("ignore requests for other signers", async () => {
    await using cluster = await startCluster()
    await create(cluster, "r", {
      request: signedRequest("jane", "developers"),
      signerName: "example.com/signer",
      usages: ["any"],
    })
    await approve(cluster, "r")
    expect(await statusOf(cluster, "r")).not.toHaveProperty("certificate")
  })

  test("sign serving certificates of kubelets by another CA than client certificates", async () => {
    await using cluster = await startCluster()
    await create(cluster, "r", {
      request: signedRequest("system:node:n", "system:nodes", "n"),
      signerName: "kubernetes.io/kubelet-serving",
      usages: ["digital signature", "server auth"],
    })
    await approve(cluster, "r")
    expect(certificateOf(await statusOf(cluster, "r")).issuer).toContain("server-ca")
  })
})

test("a kubelet's request is approved automatically only if its user has the right to do that", async () => {
  // given two requests, of which one comes before its maker has the right
  await using cluster = await startCluster()
  const spec = {
    request: signedRequest("system:node:n", "system:nodes"),
    signerName: KUBELET_CLIENT,
    usages: NODE_USAGES,
  }
  const maker = cluster.as("bootstrap", ["makers"])
  for (const name of ["system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"]) {
    const subjects = [{ kind: "Group", name: "makers", apiGroup: "rbac.authorization.k8s.io" }]
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name }
    await cluster.client.create(ClusterRoleBinding, { metadata: { name: `${name}-makers` }, roleRef, subjects })
    await maker.create(CertificateSigningRequest, { metadata: { name: name.slice(-10) }, spec })
    await cluster.settle()
  }

  // then
  expect(await statusOf(cluster, "otstrapper")).toEqual({})
  expect(await statusOf(cluster, "nodeclient")).toMatchObject({
    conditions: [{ type: "Approved", reason: "AutoApproved" }],
    certificate: expect.any(String),
  })
})

test("requests are deleted an hour after they are signed or denied, and a day after their creation", async () => {
  // given
  await using cluster = await startCluster()
  for (const name of ["signed", "pending"])
    await create(cluster, name, {
      request: signedRequest("jane", "developers"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    })
  await approve(cluster, "signed")
  const names = async () =>
    (await cluster.client.list(CertificateSigningRequest)).items.map(({ metadata }) => metadata.name)

  // when an hour and a day are over, then
  await cluster.advance("59m")
  expect(await names()).toEqual(["pending", "signed"])
  await cluster.advance("2m")
  expect(await names()).toEqual(["pending"])
  await cluster.advance("23h")
  expect(await names()).toEqual([])
})
