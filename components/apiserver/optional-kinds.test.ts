import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto"
import { ClusterTrustBundle } from "../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"
import { PodCertificateRequest } from "../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { ClusterRole } from "../../pkg/api/rbac/v1/clusterrole.ts"
import { ClusterRoleBinding } from "../../pkg/api/rbac/v1/clusterrolebinding.ts"
import { newAuthority } from "../../pkg/pki/certificate.fixtures.ts"
import { issueCertificate, createCa } from "../../pkg/pki/certificate.ts"
import { certificateRequestOf, newKeyOf } from "../../pkg/pki/request/make-request.ts"
import { startCluster, type Cluster } from "../cluster/testing/cluster.ts"

const SERVED = { features: { ClusterTrustBundle: true }, runtimeConfig: ["certificates.k8s.io/v1beta1=true"] }
const CA = newAuthority("one")
const create = (cluster: Cluster, name: string, trustBundle: string, signerName?: string) =>
  cluster.client.create(ClusterTrustBundle, {
    metadata: { name },
    spec: { trustBundle, ...(signerName === undefined ? {} : { signerName }) },
  })
const podWith = (name: string) => ({
  metadata: { name, namespace: "default" },
  spec: {
    containers: [{ name: "c", image: "x" }],
    volumes: [{ name: "v", projected: { sources: [{ clusterTrustBundle: { name: "b", path: "ca.pem" } }] } }],
  },
})
const sourcesOf = ({ spec }: Pod) => spec.volumes?.[0]?.projected?.sources

describe("kinds that are off by default", () => {
  test.each([
    ["neither the gate nor the version is on", {}],
    ["only the gate is on", { features: SERVED.features }],
    ["only the version is on", { runtimeConfig: SERVED.runtimeConfig }],
  ])("are not served, and have no roles of use, where %s", async (_what, options) => {
    await using cluster = await startCluster({ ...options, nodes: 0 })
    await expect(create(cluster, "b", CA)).rejects.toThrow("could not find the requested resource")
    const roles = await cluster.client.list(ClusterRole)
    expect(roles.items.some(({ metadata }) => metadata.name === "system:cluster-trust-bundle-discovery")).toBe(
      "features" in options,
    )
  })

  test("are in discovery where they are served, after the stable version of their group", async () => {
    await using cluster = await startCluster({ ...SERVED, nodes: 0 })
    const versions = await cluster.kubectl("api-versions")
    expect(versions.stdout.match(/certificates.*/g)).toEqual(["certificates.k8s.io/v1", "certificates.k8s.io/v1beta1"])
    const kinds = await cluster.kubectl("api-resources --api-group=certificates.k8s.io -o name")
    expect(kinds.stdout).toBe(
      "certificatesigningrequests.certificates.k8s.io\nclustertrustbundles.certificates.k8s.io\n",
    )
    const table = await cluster.kubectl("get clustertrustbundles")
    expect(table.stdout).toMatch(/^NAME +SIGNERNAME\nkubernetes.io:kube-apiserver-serving:[0-9a-f]{24} +kubernetes/)
  })
})

describe("ClusterTrustBundles", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ ...SERVED, nodes: 0 })
  })
  afterAll(() => cluster.stop())
  const authority = createCa({
    commonName: "ca",
    validity: { notBefore: new Date(Date.UTC(2026, 0)), notAfter: new Date(Date.UTC(2036, 0)) },
  })
  const leaf = issueCertificate(authority, {
    subject: { commonName: "leaf", organizations: [] },
    usages: ["client"],
    validity: { notBefore: new Date(Date.UTC(2026, 0)), notAfter: new Date(Date.UTC(2036, 0)) },
  })

  // The cases of pkg/apis/certificates/validation/validation_test.go.
  test.each<[string, string, string, string | undefined, string]>([
    ["no anchor", "b", "", undefined, "at least one trust anchor must be provided"],
    ["no PEM", "b", "garbage", undefined, "at least one trust anchor must be provided"],
    ["a key", "b", authority.keyPem, undefined, "entry 0 has bad block type: PRIVATE KEY"],
    ["a certificate of no authority", "b", CA + leaf.certPem, undefined, "entry 1 does not have the CA bit set"],
    ["headers", "b", CA.replace("-\n", "-\nk: v\n\n"), undefined, "entry 0 has PEM block headers"],
    [
      "a broken certificate",
      "b",
      "-----BEGIN CERTIFICATE-----\nYXNkZg==\n-----END CERTIFICATE-----\n",
      undefined,
      "entry 0 does not parse as X.509",
    ],
    ["an anchor twice", "b", CA + CA, undefined, "duplicate trust anchor (indices [0 1])"],
    ["a colon in the name", "s:b", CA, undefined, 'without signer name must not have ":" in its name'],
    [
      "a signer that the name does not say",
      "b",
      CA,
      "example.com/s",
      "ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:",
    ],
    ["no good signer", "s:b", CA, "s", "must be a fully qualified domain and path"],
  ])("with %s are refused", async (_what, name, trustBundle, signerName, message) => {
    await expect(create(cluster, name, trustBundle, signerName)).rejects.toThrow(message)
  })

  test("keep their signer, need a resourceVersion for an update, and are selected by their signer", async () => {
    const { client } = cluster
    const stored = await create(cluster, "example.com:s:b", CA, "example.com/s")
    await create(cluster, "b", CA)
    await expect(
      client.update(ClusterTrustBundle, { ...stored, spec: { ...stored.spec, signerName: "example.com/t" } }),
    ).rejects.toThrow('spec.signerName: Invalid value: "example.com/t": field is immutable')
    const { resourceVersion: _version, ...metadata } = stored.metadata
    await expect(client.update(ClusterTrustBundle, { ...stored, metadata })).rejects.toThrow("resourceVersion")
    const { items } = await client.list(ClusterTrustBundle, { fieldSelector: "spec.signerName=example.com/s" })
    expect(items.map((item) => item.metadata.name)).toEqual(["example.com:s:b"])
  })

  test("of a signer are written only by who may attest for it, and read by every service account", async () => {
    // given a user who may write all bundles
    const { client } = cluster
    const grant = async (name: string, rules: object[], subjects: object[]) => {
      await client.create(ClusterRole, { metadata: { name }, rules } as never)
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name }
      await client.create(ClusterRoleBinding, { metadata: { name }, roleRef, subjects } as never)
    }
    const jane = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }]
    const group = ["certificates.k8s.io"]
    await grant("writer", [{ verbs: ["*"], apiGroups: group, resources: ["clustertrustbundles"] }], jane)
    const asJane = cluster.as("jane")
    const write = (name: string, signerName?: string) =>
      asJane.create(ClusterTrustBundle, {
        metadata: { name },
        spec: { trustBundle: CA, ...(signerName === undefined ? {} : { signerName }) },
      })
    // then she may not write one of a signer
    await write("free")
    await expect(write("example.com:s:b", "example.com/s")).rejects.toThrow(
      'user not permitted to attest for signerName "example.com/s"',
    )
    // unless she may attest for it, or for all of its domain
    const attest = (name: string) => [
      { verbs: ["attest"], apiGroups: group, resources: ["signers"], resourceNames: [name] },
    ]
    await grant("one", attest("example.com/s"), jane)
    const stored = await write("example.com:s:mine", "example.com/s")
    await grant("all", attest("example.org/*"), jane)
    await write("example.org:s:b", "example.org/s")
    // and without the right, what changes nothing but who owns the bundle is allowed
    await client.delete(ClusterRoleBinding, { name: "one" })
    const owned = { ...stored, metadata: { ...stored.metadata, finalizers: ["example.com/x"] } }
    const kept = await asJane.update(ClusterTrustBundle, owned)
    await expect(
      asJane.update(ClusterTrustBundle, { ...kept, spec: { ...kept.spec, trustBundle: newAuthority("two") } }),
    ).rejects.toThrow("not permitted to attest")
    // and pods can read all
    const account = cluster.as("system:serviceaccount:default:default", ["system:serviceaccounts"])
    expect((await account.list(ClusterTrustBundle)).items.length).toBeGreaterThan(2)
  })

  test("are left out of pods where their gate is off, and validated where it is on", async () => {
    {
      await using cluster = await startCluster({ nodes: 0 })
      expect(sourcesOf(await cluster.client.create(Pod, podWith("p")))).toEqual([{}])
    }
    await using cluster = await startCluster({
      nodes: 0,
      ...SERVED,
      features: { ClusterTrustBundle: true, ClusterTrustBundleProjection: true },
    })
    expect(sourcesOf(await cluster.client.create(Pod, podWith("p")))).toHaveLength(1)
    const faults = (source: object) =>
      cluster.client
        .create(Pod, {
          metadata: { name: "q", namespace: "default" },
          spec: {
            containers: [{ name: "c", image: "x" }],
            volumes: [{ name: "v", projected: { sources: [{ clusterTrustBundle: source }] } }],
          },
        } as never)
        .then(
          () => "",
          (err: Error) => err.message,
        )
    const at = "spec.volumes[0].projected.sources[0].clusterTrustBundle"
    expect(await faults({ path: "a" })).toContain(`${at}: Required value: either name or signerName must be specified`)
    expect(await faults({ name: "b", signerName: "a.b/c", path: "a" })).toContain("only one of name and signerName may")
    expect(await faults({ name: "b", labelSelector: {}, path: "a" })).toContain("labelSelector must be unset if name")
    expect(await faults({ name: "b" })).toContain(`${at}.path: Required value`)
    expect(await faults({ name: "b", path: "../a" })).toContain(`${at}.path: Invalid value: "../a": must not contain`)
    expect(await faults({ signerName: "", path: "a" })).toContain(`${at}.signerName: Required value`)
  })
})

describe("the bundle of the API server's authority", () => {
  test("is made, restored and the only one of its signer", async () => {
    // given
    await using cluster = await startCluster({ ...SERVED, nodes: 0 })
    const { client } = cluster
    const signerName = "kubernetes.io/kube-apiserver-serving"
    const all = async () =>
      (await client.list(ClusterTrustBundle, { fieldSelector: `spec.signerName=${signerName}` })).items
    await cluster.settle()
    const [made] = await all()
    expect(made!.spec.trustBundle).toContain("BEGIN CERTIFICATE")
    // when it is changed, and another is added
    await client.update(ClusterTrustBundle, { ...made!, spec: { ...made!.spec, trustBundle: CA } })
    await create(cluster, "kubernetes.io:kube-apiserver-serving:other", CA, signerName)
    await cluster.settle()
    // then
    const [kept, ...others] = await all()
    expect([kept?.spec.trustBundle, kept?.metadata.name, others]).toEqual([
      made!.spec.trustBundle,
      made!.metadata.name,
      [],
    ])
    // when it is deleted
    await client.delete(ClusterTrustBundle, made!.metadata)
    await cluster.settle()
    // then
    expect((await all()).map(({ spec }) => spec.trustBundle)).toEqual([made!.spec.trustBundle])
  })
})

describe("PodCertificateRequests", () => {
  test("are validated, and deleted a quarter of an hour after their creation", async () => {
    await using cluster = await startCluster({ ...SERVED, features: { PodCertificateRequest: true }, nodes: 0 })
    const key = await newKeyOf("ED25519")
    const spec = {
      signerName: "example.com/s",
      podName: "p",
      podUID: "u",
      serviceAccountName: "a",
      serviceAccountUID: "u",
      nodeName: "n",
      nodeUID: "u",
      stubPKCS10Request: certificateRequestOf(key).toString("base64"),
    }
    const make = (changes: object) =>
      cluster.client.create(PodCertificateRequest, {
        metadata: { namespace: "default", generateName: "r-" },
        spec: { ...spec, ...changes },
      })
    const refused = (changes: object, message: string) => expect(make(changes)).rejects.toThrow(message)
    await refused({ signerName: "s" }, "must be a fully qualified domain and path")
    await refused({ podUID: "" }, 'spec.podUID: Invalid value: "": must not be empty')
    await refused({ nodeName: "N" }, "spec.nodeName: Invalid value")
    await refused({ maxExpirationSeconds: 60 }, "must be in the range [3600, 7862400]")
    await refused({ signerName: "kubernetes.io/s", maxExpirationSeconds: 90_000 }, "must be in the range [3600, 86400]")
    await refused({ stubPKCS10Request: "" }, "exactly one of (stubPKCS10Request) or (pkixPublicKey")
    await refused({ stubPKCS10Request: "AAAA" }, "must be a valid PKCS#10 CSR")
    await refused({ unverifiedUserAnnotations: { plain: "x" } }, "must be a domain-prefixed key")
    const weak = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey
    await refused(
      { stubPKCS10Request: certificateRequestOf(weak).toString("base64") },
      "RSA keys must have modulus size 3072 or 4096",
    )
    // the older form: the key, and the pod's uid signed with it
    const older = {
      stubPKCS10Request: "",
      pkixPublicKey: createPublicKey(key).export({ type: "spki", format: "der" }).toString("base64"),
      proofOfPossession: sign(null, Buffer.from("u"), key).toString("base64"),
    }
    await make(older)
    await refused({ ...older, podUID: "v" }, "could not verify proof-of-possession signature")
    const made = await make({})
    await expect(
      cluster.client.update(PodCertificateRequest, { ...made, spec: { ...made.spec, podName: "q" } }),
    ).rejects.toThrow("field is immutable")
    expect((await cluster.kubectl("get podcertificaterequests")).stdout).toMatch(
      /^NAME +PODNAME +SERVICEACCOUNTNAME +NODENAME +SIGNERNAME +STATE\n.* p +a +n +example.com\/s +Pending\n/,
    )
    // when
    await cluster.advance("15m")
    await cluster.settle()
    // then
    expect((await cluster.client.list(PodCertificateRequest)).items).toEqual([])
  })

  test("are left out of pods where the gate is off", async () => {
    await using cluster = await startCluster({ nodes: 0 })
    const pod = podWith("p")
    const sources = [{ podCertificate: { signerName: "a.b/c", keyType: "ED25519", keyPath: "k" } }]
    const spec = { ...pod.spec, volumes: [{ name: "v", projected: { sources } }] }
    expect(sourcesOf(await cluster.client.create(Pod, { ...pod, spec }))).toEqual([{}])
  })
})
