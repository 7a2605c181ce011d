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
  { title: "a pod without needs", spec: {}, declared: undefined, wants: "Skip" },
  { title: "a host network without users of its own", spec: { hostNetwork: true }, declared: [], wants: "Skip" },
  {
    title: "a container that restarts all, and a node that can",
    spec: { containers: [restartsAll] },
    declared: [RESTART],
    wants: "Success",
  },
  {
    title: "an init container that restarts all, and a node that declares nothing",
    spec: { initContainers: [restartsAll] },
    declared: undefined,
    wants: "UnschedulableAndUnresolvable",
  },
  {
    title: "two needs, and a node that meets one",
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

test("a node that declares another feature wakes the pods that this plugin refused", () => {
  const actions = nodeActions(nodeWith([RESTART]), nodeWith([]))
  expect(actions).toEqual(["Node/UpdateDeclaredFeatures"])
  expect(nodeDeclaredFeatures.eventsToRegister).toContain("Node/UpdateDeclaredFeatures")
})
