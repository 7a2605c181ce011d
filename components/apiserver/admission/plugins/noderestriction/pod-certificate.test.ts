import { describe, expect, test } from "bun:test"
import { PodCertificateRequest } from "../../../../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { ServiceAccount } from "../../../../../pkg/api/core/v1/serviceaccount.ts"
import { ApiError } from "../../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../../admission.ts"
import type { AdmissionContext } from "../../context.ts"
import { nodeRestriction } from "./noderestriction.ts"

const NODE = { metadata: { name: "n1", uid: "u-node" } }
const POD = {
  metadata: { namespace: "default", name: "p", uid: "u-pod" },
  spec: { nodeName: "n1", serviceAccountName: "builder" },
}
const ACCOUNT = { metadata: { namespace: "default", name: "builder", uid: "u-account" } }
const SPEC = {
  nodeName: "n1",
  nodeUID: "u-node",
  podName: "p",
  podUID: "u-pod",
  serviceAccountName: "builder",
  serviceAccountUID: "u-account",
}

interface Given {
  readonly spec?: object
  readonly node?: object | undefined
  readonly pod?: object | undefined
  readonly account?: object | undefined
  readonly more?: Partial<AdmissionAttributes>
}

/** Returns the answer to a request by the kubelet of n1, as `<reason>: <message>`; an empty string if it is admitted. */
function answer({ spec, more, ...given }: Given): string {
  const stored = new Map<Resource, object | undefined>([
    [Node as Resource, "node" in given ? given.node : NODE],
    [Pod as Resource, "pod" in given ? given.pod : POD],
    [ServiceAccount as Resource, "account" in given ? given.account : ACCOUNT],
  ])
  const plugin = nodeRestriction({
    objects: { get: (kind: Resource) => stored.get(kind), list: () => [] },
  } as unknown as AdmissionContext)
  try {
    void plugin.validate!({
      operation: "CREATE",
      resource: PodCertificateRequest as Resource,
      subresource: undefined,
      namespace: "default",
      name: "r",
      user: { name: "system:node:n1", groups: ["system:nodes"] },
      options: {},
      old: undefined,
      object: { metadata: { namespace: "default", name: "r" }, spec: { ...SPEC, ...spec } } as unknown as KubeObject,
      warn() {},
      ...more,
    })
    return ""
  } catch (err) {
    if (!(err instanceof ApiError)) throw err
    return `${err.reason}: ${err.message}`
  }
}

describe("a request of a node for the certificate of a pod", () => {
  test("is admitted for a pod that runs there, with the pod's own service account", () => {
    expect(answer({})).toBe("")
  })

  test.each<[string, Given, string]>([
    [
      "a mirror pod, whose author has no service account",
      { pod: { ...POD, metadata: { ...POD.metadata, annotations: { "kubernetes.io/config.mirror": "x" } } } },
      'pod "default/p" is a mirror pod',
    ],
    [
      "a mirror pod whose annotation is empty",
      { pod: { ...POD, metadata: { ...POD.metadata, annotations: { "kubernetes.io/config.mirror": "" } } } },
      'pod "default/p" is a mirror pod',
    ],
    [
      "another node",
      { spec: { nodeName: "n2" } },
      'PodCertificateRequest.Spec.NodeName="n2", which is not the requesting node "n1"',
    ],
    [
      "a pod of another node",
      { pod: { ...POD, spec: { ...POD.spec, nodeName: "n2" } } },
      'pod "default/p" is not running on node "n1"',
    ],
    [
      "a pod without a node",
      { pod: { ...POD, spec: { serviceAccountName: "builder" } } },
      'pod "default/p" is not running on node "n1"',
    ],
    [
      "another service account",
      { spec: { serviceAccountName: "admin" } },
      'contains serviceAccountName ("admin") that differs from running pod ("builder")',
    ],
    ["an update", { more: { operation: "UPDATE" } }, "unexpected operation UPDATE"],
    ["a deletion", { more: { operation: "DELETE" } }, "unexpected operation DELETE"],
    ["a subresource", { more: { subresource: "status" } }, "unexpected subresource status"],
  ])("is refused for %s", (_what, given, why) => {
    const said = answer(given)
    expect(said).toStartWith('Forbidden: podcertificaterequests.certificates.k8s.io "r" is forbidden: ')
    expect(said).toContain(why)
  })

  test.each<[string, Given, string]>([
    ["the node is not known", { node: undefined }, 'node "n1" named in the PodCertificateRequest not found'],
    ["the node was made again", { spec: { nodeUID: "old" } }, 'names node UID "old", inconsistent with'],
    ["the pod is not known", { pod: undefined }, 'pod "default/p" named in the PodCertificateRequest not found'],
    ["the pod was made again", { spec: { podUID: "old" } }, 'contains pod UID ("old") which differs from'],
    ["the service account is not known", { account: undefined }, 'names service account UID "u-account"'],
    ["the service account was made again", { spec: { serviceAccountUID: "old" } }, 'service account UID "old"'],
  ])("may be repeated where %s, which may change in a moment", (_what, given, why) => {
    const said = answer(given)
    expect(said).toStartWith("InternalError: ")
    expect(said).toContain(why)
  })
})
