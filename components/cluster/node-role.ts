import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { defineController } from "../../pkg/controller/controller.ts"
import { followingNode, type Clients } from "./clients.ts"
import { controllerComponent } from "./controller-component.ts"
import { Part } from "./part.ts"

/** Source: kubeadm app/constants LabelNodeRoleControlPlane; the value is k3s's. */
export const CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"

/**
 * Labels the node beside a control plane, so that `kubectl get nodes` shows its role. A kubelet may not give itself
 * such a label. Source: k3s pkg/server/server.go setNodeLabelsAndAnnotations.
 */
export const controlPlaneRole = (clients: Clients, nodeName: string): Part =>
  new Part({
    name: "node-role",
    clients,
    user: { name: "system:k3ts-node-role" },
    following: followingNode(nodeName),
    create: (context) => controllerComponent(labeller(nodeName), context),
  })

const labeller = (nodeName: string) =>
  defineController({
    name: "node-role",
    reconciles: Node,
    concerns: ({ metadata }) => metadata.name === nodeName,
    async reconcile(name, { informers, client }) {
      const node = informers.of(Node).get(name)
      if (node === undefined || node.metadata.labels?.[CONTROL_PLANE_LABEL] === "true") return
      const body = { metadata: { labels: { [CONTROL_PLANE_LABEL]: "true" } } }
      try {
        await client.patch(Node, { name }, { type: "merge", body })
      } catch (err) {
        if (!isNotFound(err)) throw err
      }
    },
  })
