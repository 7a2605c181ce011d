import { expect, test } from "bun:test"
import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { PersistentVolumeClaim } from "../../../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceSlice } from "../../../../../pkg/api/resource/v1/resourceslice.ts"
import { decodeObject } from "../../../../../pkg/apimachinery/decoding/decode.ts"
import type { KubeObject, Resource } from "../../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"
import { nodeRestriction } from "./noderestriction.ts"

const decoded = (resource: unknown, object: object): KubeObject => decodeObject(resource as Resource, object).object
const NODE = decoded(Node, { metadata: { name: "n1", uid: "u1" } })

/** Returns the plugin's refusal of a request by the kubelet of n1, or an empty string. */
function refusal(
  resource: unknown,
  object: KubeObject,
  more: Partial<AdmissionAttributes> = {},
  others: readonly KubeObject[] = [],
): string {
  const plugin = nodeRestriction({ objects: { get: () => NODE, list: () => others } } as unknown as AdmissionContext)
  try {
    void plugin.validate!({
      operation: "CREATE",
      resource: resource as Resource,
      subresource: undefined,
      namespace: "default",
      name: object.metadata.name!,
      user: { name: "system:node:n1", groups: ["system:nodes"] },
      options: {},
      old: undefined,
      object,
      warn() {},
      ...more,
    })
    return ""
  } catch (err) {
    return (err as Error).message
  }
}

const OWNER = { apiVersion: "v1", kind: "Node", name: "n1", uid: "u1", controller: true }
const mirror = (spec: object = {}, owners: readonly object[] = [OWNER]): KubeObject =>
  decoded(Pod, {
    metadata: { name: "m", annotations: { "kubernetes.io/config.mirror": "x" }, ownerReferences: owners },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }], ...spec },
  })

test("a node can create only mirror pods of its own static pods", () => {
  expect(refusal(Pod, mirror())).toBe("")
  expect(refusal(Pod, mirror({ nodeName: "n2" }))).toContain("can only create pods with spec.nodeName set to itself")
  expect(refusal(Pod, mirror({}, []))).toContain("can only create pods with an owner reference set to itself")
  expect(refusal(Pod, mirror({}, [{ ...OWNER, controller: false }]))).toContain(
    "can only create pods with a controller owner reference set to itself",
  )
  expect(refusal(Pod, mirror({}, [{ ...OWNER, uid: "u2" }]))).toContain("node n1 UID mismatch: expected u2 got u1")
  expect(
    refusal(
      Pod,
      mirror({
        containers: [
          { name: "c", image: "i", env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] },
        ],
      }),
    ),
  ).toContain("can not create pods that reference secrets")
  expect(
    refusal(
      Pod,
      mirror({ volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] }),
    ),
  ).toContain("can not create pods that reference serviceaccounts (via projected volumes)")
})

test("a node can change only the status of a pod", () => {
  const pod = mirror()
  const old = { operation: "UPDATE", old: pod } as const
  expect(refusal(Pod, pod, old)).toBe(
    'pods "m" is forbidden: unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
  )
  expect(refusal(Pod, pod, { ...old, subresource: "status" })).toBe("")
  expect(
    refusal(Pod, { ...pod, metadata: { ...pod.metadata, labels: { a: "b" } } }, { ...old, subresource: "status" }),
  ).toContain("cannot update labels through pod status")
  for (const subresource of ["resize", "ephemeralcontainers", "binding"])
    expect(refusal(Pod, pod, { ...old, subresource })).toContain(
      `unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`,
    )
})

test("a node cannot set its taints, nor labels that only an administrator may set", () => {
  const node = (labels: object, spec: object = {}): KubeObject =>
    decoded(Node, { metadata: { name: "n1", labels }, spec })
  expect(
    refusal(
      Node,
      node({
        "kubernetes.io/hostname": "n1",
        "topology.kubernetes.io/zone": "z",
        "node.kubernetes.io/gpu": "yes",
        disk: "ssd",
      }),
    ),
  ).toBe("")
  expect(refusal(Node, node({ "node-role.kubernetes.io/db": "", "x.node-restriction.kubernetes.io/a": "" }))).toBe(
    'nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: ' +
      "node-role.kubernetes.io/db, x.node-restriction.kubernetes.io/a",
  )
  const old = { operation: "UPDATE", old: node({ "node-role.kubernetes.io/db": "" }) } as const
  expect(refusal(Node, node({ "node-role.kubernetes.io/db": "", disk: "hdd" }), old)).toBe("")
  expect(refusal(Node, node({}), old)).toBe(
    'nodes "n1" is forbidden: is not allowed to modify labels: node-role.kubernetes.io/db',
  )
  expect(
    refusal(Node, node({ "node-role.kubernetes.io/db": "" }, { taints: [{ key: "a", effect: "NoSchedule" }] }), old),
  ).toContain("is not allowed to modify taints")
})

test("a node cannot set the podCIDR of its Node, which would draw packets for other pods to it", () => {
  const node = (spec: object): KubeObject => decoded(Node, { metadata: { name: "n1" }, spec })
  const wants = 'nodes "n1" is forbidden: node "n1" is not allowed to set spec.podCIDRs'
  expect(refusal(Node, node({ podCIDRs: ["10.42.0.0/24"] }))).toBe(wants)
  expect(refusal(Node, node({ podCIDR: "0.0.0.0/1" }))).toBe(wants)
  const update = (before: object) => ({ operation: "UPDATE", old: node(before) }) as const
  expect(refusal(Node, node({ podCIDRs: ["10.42.0.0/24"] }), update({}))).toBe(wants)
  expect(refusal(Node, node({ podCIDRs: ["10.42.3.0/24"] }), update({ podCIDRs: ["10.42.3.0/24"] }))).toBe("")
})

test("a node cannot set the WireGuard key of another node, which would cut that node off", () => {
  const node = (name: string, PublicKey: string, annotation = "backend-data"): KubeObject =>
    decoded(Node, {
      metadata: {
        name,
        annotations: { [`flannel.alpha.coreos.com/${annotation}`]: JSON.stringify({ PublicKey, Port: 51_820 }) },
      },
    })
  const others = [node("n2", "AAAA")]
  const update = (before: KubeObject) => ({ operation: "UPDATE", old: before }) as const
  const wants = 'nodes "n1" is forbidden: the node n2 announces the key AAAA already'
  expect(refusal(Node, node("n1", "AAAA"), {}, others)).toBe(wants)
  expect(refusal(Node, node("n1", "AAAA"), update(node("n1", "BBBB")), others)).toBe(wants)
  // and not in other letters, nor in the annotation of the other family
  expect(refusal(Node, node("n1", " A AAA"), update(NODE), others)).toBe(wants)
  expect(refusal(Node, node("n1", "AAAA", "backend-v6-data"), update(NODE), others)).toBe(wants)
  expect(refusal(Node, node("n1", "BBBB"), update(NODE), others)).toBe("")
  // and what it announces already does not keep it from changing something else
  expect(refusal(Node, node("n1", "AAAA"), update(node("n1", "AAAA")), others)).toBe("")
})

test("a node can create and delete only its own ResourceSlices", () => {
  const slice = (nodeName: string): KubeObject =>
    decoded(ResourceSlice, {
      metadata: { name: "s" },
      spec: { nodeName, driver: "d", pool: { name: "p", generation: 1, resourceSliceCount: 1 } },
    })
  const taken = { operation: "DELETE", object: undefined } as const
  expect(refusal(ResourceSlice, slice("n1"))).toBe("")
  expect(refusal(ResourceSlice, slice("n1"), { ...taken, old: slice("n1") })).toBe("")
  expect(refusal(ResourceSlice, slice("n2"))).toEndWith(
    "can only create ResourceSlice with the same NodeName as the requesting node",
  )
  expect(refusal(ResourceSlice, slice("n1"), { ...taken, old: slice("n2") })).toEndWith(
    "can only delete ResourceSlice with the same NodeName as the requesting node",
  )
})

test("a node can report the growth of a claim's volume, and change nothing else of the claim", () => {
  const claim = (status: object, spec: object = {}): KubeObject =>
    decoded(PersistentVolumeClaim, {
      metadata: { name: "c" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
      status,
    })
  const old = { operation: "UPDATE", subresource: "status", old: claim({}) } as const
  expect(refusal(PersistentVolumeClaim, claim({ capacity: { storage: "2Gi" } }), old)).toBe("")
  expect(refusal(PersistentVolumeClaim, claim({ phase: "Lost" }), old)).toContain(
    "is not allowed to update fields other than status.quantity and status.conditions",
  )
  expect(refusal(PersistentVolumeClaim, claim({}), { ...old, subresource: undefined })).toContain(
    "may only update PVC status",
  )
})
