/**
 * How the node of a pod takes part in the admission of writes to the pod. The expected responses are those of
 * Kubernetes 1.36.2.
 */
import { describe, expect, test } from "bun:test"
import { MutatingAdmissionPolicy } from "../../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicy.ts"
import { MutatingAdmissionPolicyBinding } from "../../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicybinding.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ServiceAccount } from "../../../../pkg/api/core/v1/serviceaccount.ts"
import type { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import { startCluster } from "../../../cluster/testing/testing.ts"

const ZONE = "topology.kubernetes.io/zone"
const REGION = "topology.kubernetes.io/region"
const namespace = "default"
const resources = { requests: { cpu: "1", memory: "100Mi" }, limits: { cpu: "1", memory: "100Mi" } }
const container = { name: "c", image: "i", resources }

/** A cluster in which nothing but the test writes to pods, with one node that has 2 processors and 1 GiB. */
async function start() {
  const cluster = await startCluster({ nodes: 0, components: { scheduler: false, controllers: false } })
  const { client } = cluster
  await client.create(ServiceAccount, { metadata: { name: "default", namespace } })
  await client.create(Node, {
    metadata: { name: "n", labels: { [ZONE]: "z", [REGION]: "r", "topology.kubernetes.io/rack": "k" } },
    status: { allocatable: { cpu: "2", memory: "1Gi" } },
  })
  return Object.assign(cluster, {
    create: (name: string, spec: object = {}, labels: Readonly<Record<string, string>> = {}) =>
      client.create(Pod, { metadata: { name, namespace, labels }, spec: { containers: [container], ...spec } }),
    bind: (name: string, metadata: object = {}) =>
      client.createSubresource(Pod, { namespace, name }, "binding", {
        metadata: { name, ...metadata },
        target: { kind: "Node", name: "n" },
      }),
    /** Returns "done", or why the change of the pod `p` was refused. */
    resize: (spec: object): Promise<unknown> =>
      client
        .patch(Pod, { namespace, name: "p" }, { type: "strategic", body: { spec } }, { subresource: "resize" })
        .then(() => "done", reasonOf),
  })
}

const reasonOf = ({ message, details }: ApiError): unknown =>
  details?.causes === undefined ? message : [message, details.causes]
const sized = (list: "containers" | "initContainers", cpu: string, memory = "100Mi") => ({
  [list]: [
    { name: list === "containers" ? "c" : "i", resources: { requests: { cpu, memory }, limits: { cpu, memory } } },
  ],
})

describe("a pod gets the zone and the region of its node as labels", () => {
  test("when it is bound; they replace the pod's own labels of these names", async () => {
    await using cluster = await start()
    await cluster.create("p", {}, { app: "web", [ZONE]: "elsewhere" })
    await cluster.bind("p")
    expect((await cluster.get(Pod, "p")).metadata.labels).toEqual({ app: "web", [ZONE]: "z", [REGION]: "r" })
  })

  test("when it is created with a node, unless the node does not exist", async () => {
    await using cluster = await start()
    await cluster.create("here", { nodeName: "n" })
    await cluster.create("nowhere", { nodeName: "none" })
    expect((await cluster.get(Pod, "here")).metadata.labels).toEqual({ [ZONE]: "z", [REGION]: "r" })
    expect((await cluster.get(Pod, "nowhere")).metadata.labels).toBeUndefined()
  })
})

describe("a binding", () => {
  test("is stored as mutating policies change it, including its node", async () => {
    // given
    await using cluster = await start()
    await cluster.client.create(MutatingAdmissionPolicy, {
      metadata: { name: "elsewhere" },
      spec: {
        reinvocationPolicy: "Never",
        matchConstraints: {
          resourceRules: [
            { apiGroups: [""], apiVersions: ["v1"], resources: ["pods/binding"], operations: ["CREATE"] },
          ],
        },
        mutations: [
          {
            patchType: "JSONPatch",
            jsonPatch: {
              expression: `[
                JSONPatch{op: "add", path: "/metadata/annotations", value: {"set-by": "policy"}},
                JSONPatch{op: "replace", path: "/target/name", value: "elsewhere"}]`,
            },
          },
        ],
      },
    })
    await cluster.client.create(MutatingAdmissionPolicyBinding, {
      metadata: { name: "elsewhere" },
      spec: { policyName: "elsewhere" },
    })
    await cluster.create("p")
    // when
    await cluster.bind("p")
    // then
    const { metadata, spec } = await cluster.get(Pod, "p")
    expect([metadata.annotations, spec.nodeName]).toEqual([{ "set-by": "policy" }, "elsewhere"])
  })

  test("ends the nomination of the pod", async () => {
    await using cluster = await start()
    await cluster.create("p")
    const nominated = { type: "merge" as const, body: { status: { nominatedNodeName: "n" } } }
    await cluster.client.patch(Pod, { namespace, name: "p" }, nominated, { subresource: "status" })
    await cluster.bind("p")
    expect((await cluster.get(Pod, "p")).status).not.toHaveProperty("nominatedNodeName")
  })

  test.each([
    {
      title: "names another resourceVersion of the pod",
      metadata: { resourceVersion: "1" },
      wants: "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: ",
    },
    {
      title: "is for a pod that has a node already",
      metadata: {},
      wants: 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n"',
    },
  ])("is refused if it $title", async ({ metadata, wants }) => {
    await using cluster = await start()
    await cluster.create("p")
    await cluster.bind("p")
    expect(await cluster.bind("p", metadata).then(() => "done", reasonOf)).toContain(wants)
  })
})

describe("a resize", () => {
  const NOT_FOUND = 'pods "p" is forbidden: node "none" not found'
  const initContainers = [{ ...container, name: "i" }]
  const lacks = (feature: string) =>
    `pods "p" is forbidden: pod update requires features ${feature} which are not available on node "n"`

  test.each([
    {
      title: "within the node's allocatable resources is accepted",
      given: {},
      resize: sized("containers", "2"),
      wants: "done",
    },
    {
      title: "beyond the node's allocatable resources is refused",
      given: {},
      resize: sized("containers", "2500m", "2Gi"),
      wants: [
        'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 2500, allocatable: 2000;' +
          " memory, requested: 2147483648, allocatable: 1073741824",
        [{ reason: "NodeCapacity", message: "" }],
      ],
    },
    {
      title: "on a node that does not exist is refused",
      given: { nodeName: "none" },
      resize: sized("containers", "2"),
      wants: NOT_FOUND,
    },
    {
      title: "that changes nothing is accepted, even if the node does not exist",
      given: { nodeName: "none" },
      resize: {},
      wants: "done",
    },
    {
      title: "of a pod without a node is accepted, however large",
      given: { nodeName: "" },
      resize: sized("containers", "50"),
      wants: "done",
    },
    {
      title: "of an init container is refused if the node does not declare the feature for it",
      given: { initContainers },
      resize: sized("initContainers", "2"),
      wants: lacks("InPlacePodVerticalScalingInitContainers"),
    },
    {
      title: "of an init container on a node that does not exist is refused because of the node",
      given: { initContainers, nodeName: "none" },
      resize: sized("initContainers", "2"),
      wants: NOT_FOUND,
    },
    {
      title: "of pod-level resources is refused if the node does not declare the feature for it",
      given: { resources: { requests: { cpu: "1" }, limits: { cpu: "2" } } },
      resize: { resources: { requests: { cpu: "1500m" } } },
      wants: lacks("InPlacePodLevelResourcesVerticalScaling"),
    },
  ])("$title", async ({ given, resize, wants }) => {
    await using cluster = await start()
    await cluster.create("p", { nodeName: "n", ...given })
    expect(await cluster.resize(resize)).toEqual(wants)
  })

  test("of an init container is accepted if the node declares the feature for it", async () => {
    await using cluster = await start()
    const status = { declaredFeatures: ["InPlacePodVerticalScalingInitContainers"] }
    await cluster.client.patch(Node, { name: "n" }, { type: "merge", body: { status } }, { subresource: "status" })
    await cluster.create("p", { nodeName: "n", initContainers })
    expect(await cluster.resize(sized("initContainers", "2"))).toBe("done")
  })

  test("of a pod on a Windows node is refused", async () => {
    await using cluster = await start()
    await cluster.create("p", { nodeName: "n" })
    const metadata = { labels: { "kubernetes.io/os": "windows" } }
    await cluster.client.patch(Node, { name: "n" }, { type: "merge", body: { metadata } })
    expect(await cluster.resize(sized("containers", "2"))).toEqual([
      'pods "p" is forbidden: pod resize is only supported on linux nodes, node "n" is "windows"',
      [{ reason: "UnsupportedPlatform", message: "" }],
    ])
  })
})
