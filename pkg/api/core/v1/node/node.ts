import { rangeWarnings } from "../../../../apimachinery/addresses/address-warnings.ts"
import { f } from "../../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"
import { ageOf } from "../../../../apimachinery/scalars/time.ts"
import { nodeChangeFaults, nodeFaults } from "./node-validation.ts"
import { NodeSpec } from "./nodespec.ts"
import { NodeStatus } from "./nodestatus.ts"

/**
 * Source: k8s.io/api core/v1/types.go, pkg/registry/core/node/strategy.go, ValidateNode in pkg/apis/core/validation.
 */

const ROLE_PREFIX = "node-role.kubernetes.io/"

const fields = {
  spec: f.message(2, NodeSpec, "What is wanted of the node.").always(),
  status: f.message(3, NodeStatus, "The present state of the node.").always(),
}
export interface Node extends ObjectFor<typeof fields> {}

export const Node = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Node",
    plural: "nodes",
    keepsStatusOnCreate: true,
    shortNames: ["no"],
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "A machine on which pods run.",
    subresources: {
      status: { validateUpdate: (node, old) => nodeChangeFaults(node, old) },
      other: { proxy: { verbs: ["create", "delete", "get", "patch", "update"], kind: "NodeProxyOptions" } },
    },
    ageColumn: false,
    columns: [
      {
        name: "Status",
        type: "string",
        doc: "Whether the node is ready and takes pods.",
        value: (node) => nodeStatusText(node),
      },
      {
        name: "Roles",
        type: "string",
        doc: "Roles named by the node's labels.",
        value: (node) => rolesOf(node).join(",") || undefined,
      },
      { name: "Age", type: "string", value: (node, now) => ageOf(node.metadata.creationTimestamp, now) },
      {
        name: "Version",
        type: "string",
        doc: "Version of the kubelet.",
        value: (node) => node.status.nodeInfo.kubeletVersion,
      },
      { name: "Internal-IP", type: "string", priority: 1, value: (node) => addressOf(node, "InternalIP") },
      { name: "External-IP", type: "string", priority: 1, value: (node) => addressOf(node, "ExternalIP") },
      { name: "OS-Image", type: "string", priority: 1, value: (node) => node.status.nodeInfo.osImage || "<unknown>" },
      {
        name: "Kernel-Version",
        type: "string",
        priority: 1,
        value: (node) => node.status.nodeInfo.kernelVersion || "<unknown>",
      },
      {
        name: "Container-Runtime",
        type: "string",
        priority: 1,
        value: (node) => node.status.nodeInfo.containerRuntimeVersion || "<unknown>",
      },
    ],
    fieldSelectors: { "spec.unschedulable": (node) => String(node.spec.unschedulable === true) },
    warnings: ({ spec: { externalID = "", podCIDRs = [] } }) => [
      ...(externalID === "" ? [] : ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]),
      ...podCIDRs.flatMap((range, i) => rangeWarnings(`spec.podCIDRs[${i}]`, range)),
    ],
    validateCreate: (node) => nodeFaults(node),
    validateUpdate: (node, old) => [...nodeFaults(node, old), ...nodeChangeFaults(node, old)],
  },
  fields,
)

/** Returns `Ready`, `NotReady` or `Unknown`, followed by `SchedulingDisabled` for a cordoned node. */
function nodeStatusText(node: Node): string {
  const ready = node.status.conditions?.find(({ type }) => type === "Ready")
  const text = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady"
  return node.spec.unschedulable === true ? `${text},SchedulingDisabled` : text
}

/**
 * Returns the roles of a node, from the labels `node-role.kubernetes.io/<role>` and, older,
 * `kubernetes.io/role=<role>`.
 */
function rolesOf(node: Node): readonly string[] {
  const roles = new Set<string>()
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length) roles.add(key.slice(ROLE_PREFIX.length))
    if (key === "kubernetes.io/role" && value !== "") roles.add(value)
  }
  return [...roles].sort()
}

const addressOf = (node: Node, type: string): string | undefined =>
  node.status.addresses?.find((address) => address.type === type)?.address
