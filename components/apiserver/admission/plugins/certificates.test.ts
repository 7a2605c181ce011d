import { describe, expect, test } from "bun:test"
import { CertificateSigningRequest } from "../../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
import { ClusterRole } from "../../../../pkg/api/rbac/v1/clusterrole.ts"
import { ClusterRoleBinding } from "../../../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { startCluster, type Cluster } from "../../../cluster/testing/cluster.ts"
import { signedRequest } from "../../../../pkg/pki/request/certificate-request.fixtures.ts"

const SIGNER = "example.com/signer"
const name = "r"

/** Starts a cluster with a CertificateSigningRequest and a user who may write its subresources and has `rules` too. */
async function clusterWith(rules: readonly object[]): Promise<Cluster> {
  const cluster = await startCluster({ components: { controllers: false } })
  const all = ["certificatesigningrequests", "certificatesigningrequests/status", "certificatesigningrequests/approval"]
  await cluster.client.create(ClusterRole, {
    metadata: { name },
    rules: [{ apiGroups: ["certificates.k8s.io"], resources: all, verbs: ["*"] }, ...rules] as never,
  })
  await cluster.client.create(ClusterRoleBinding, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }],
  })
  await cluster.client.create(CertificateSigningRequest, {
    metadata: { name },
    spec: { request: signedRequest("jane", "developers"), signerName: SIGNER, usages: ["any"] },
  })
  return cluster
}
const right = (verb: string, ...resourceNames: readonly string[]) => ({
  apiGroups: ["certificates.k8s.io"],
  resources: ["signers"],
  resourceNames,
  verbs: [verb],
})

describe.each([
  { verb: "approve", subresource: "approval", type: "Approved" },
  { verb: "sign", subresource: "status", type: "Failed" },
])("writing $subresource of a CertificateSigningRequest", ({ verb, subresource, type }) => {
  const write = async (cluster: Cluster) => {
    const request = await cluster.client.get(CertificateSigningRequest, { name })
    const status = { conditions: [{ type, status: "True", reason: "Test" }] }
    return cluster
      .as("jane")
      .updateSubresource(CertificateSigningRequest, { name }, subresource, { ...request, status })
  }
  test.each([
    { title: "the right for the signer", rules: [right(verb, SIGNER)], allowed: true },
    { title: "the right for the signer's domain", rules: [right(verb, "example.com/*")], allowed: true },
    { title: "the right for another signer", rules: [right(verb, "example.com/other")], allowed: false },
    { title: "another right", rules: [right("attest", SIGNER)], allowed: false },
    { title: "no right", rules: [], allowed: false },
  ])("needs a right on the signer, beside that on the subresource: with $title", async ({ rules, allowed }) => {
    await using cluster = await clusterWith(rules)
    if (allowed) expect(await write(cluster)).toMatchObject({ status: { conditions: [{ type }] } })
    else
      await expect(write(cluster)).rejects.toThrow(`user not permitted to ${verb} requests with signerName "${SIGNER}"`)
  })
})

test("a request to the signer kubernetes.io/kube-apiserver-client for the group system:masters is refused", async () => {
  await using cluster = await startCluster({ components: { controllers: false } })
  const ask = (organization: string) =>
    cluster.client.create(CertificateSigningRequest, {
      metadata: { name: "r" },
      spec: {
        request: signedRequest("jane", organization),
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["client auth"],
      },
    })
  await expect(ask("system:masters")).rejects.toThrow("with system:masters group is not allowed")
  await ask("developers")
})

test("a request records the user who created it, whatever its spec says", async () => {
  await using cluster = await clusterWith([])
  const made = await cluster.as("jane", ["group"]).create(CertificateSigningRequest, {
    metadata: { name: "own" },
    spec: {
      request: signedRequest("jane", "developers"),
      signerName: SIGNER,
      usages: ["any"],
      username: "admin",
      groups: ["system:masters"],
      extra: { a: ["b"] },
      uid: "u",
    },
  })
  expect(made.spec).toMatchObject({ username: "jane", groups: ["group", "system:authenticated"] })
  expect(made.spec).not.toContainKeys(["uid", "extra"])
})

test("a node can request certificates for its own name only", async () => {
  await using cluster = await startCluster({ components: { controllers: false } })
  const node = cluster.as("system:node:a", ["system:nodes"])
  const ask = (of: string, signer: string) =>
    node.create(CertificateSigningRequest, {
      metadata: { generateName: "r-" },
      spec: { request: signedRequest(`system:node:${of}`, "system:nodes"), signerName: signer, usages: ["any"] },
    })
  for (const signer of ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"]) {
    await expect(ask("b", signer)).rejects.toThrow("can only create a node CSR with CN=system:node:a")
    await ask("a", signer)
  }
})
