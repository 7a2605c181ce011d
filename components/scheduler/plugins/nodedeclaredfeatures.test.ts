import { expect, test } from "bun:test"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { nodeActions } from "../cluster-events.ts"
import { NodeInfo } from "../node-info.ts"
import { nodeDeclaredFeatures } from "./nodedeclaredfeatures.ts"

const nodeWith = (declaredFeatures?: readonly string[]): Node =>
  ({ metadata: { name: "n" }, spec: {}, status: { declaredFeatures } }) as unknown as Node
const restartsAll = { restartPolicyRules: [{ action: "RestartAllContainers" }] }
const RESTART = "RestartAllContainersOnContainerExits"
const USERS = "UserNamespacesHostNetworkSupport"

test.each([
  { title: "a pod without required features", spec: {}, declared: undefined, wants: "Skip" },
  { title: "hostNetwork without a user namespace", spec: { hostNetwork: true }, declared: [], wants: "Skip" },
  {
    title: "a container with restart of all containers, and a node with the feature",
    spec: { containers: [restartsAll] },
    declared: [RESTART],
    wants: "Success",
  },
  {
    title: "an init container with restart of all containers, and a node without features",
    spec: { initContainers: [restartsAll] },
    declared: undefined,
    wants: "UnschedulableAndUnresolvable",
  },
  {
    title: "two required features, and a node with one of them",
    spec: { containers: [restartsAll], hostNetwork: true, hostUsers: false },
    declared: [USERS],
    wants: "UnschedulableAndUnresolvable",
  },
])("$title: $wants", ({ spec, declared, wants }) => {
  const pod = { spec: { containers: [], ...spec } } as unknown as Pod
  const before = nodeDeclaredFeatures.preFilter!(new Map(), pod, { list: [] } as never)
  const { code } =
    "code" in before && before.code === "Success"
      ? nodeDeclaredFeatures.filter!(new Map(), pod, new NodeInfo(nodeWith(declared)))
      : (before as { readonly code: string })
  expect(code).toBe(wants)
})

test("a node that declares another feature moves the pods that this plugin refused back to the queue", () => {
  const actions = nodeActions(nodeWith([RESTART]), nodeWith([]))
  expect(actions).toEqual(["Node/UpdateDeclaredFeatures"])
  expect(nodeDeclaredFeatures.eventsToRegister).toContain("Node/UpdateDeclaredFeatures")
})
