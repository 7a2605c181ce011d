import { ownObjects } from "../../components/kubelet/objects/own-objects.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { Clients } from "./context.ts"

/** What the kubelet of a node is given: it acts as the node's user, who sees what is the node's own. */
export const kubeletContext = (clients: Clients, nodeName: string): ComponentContext =>
  clients.contextFor(
    { name: `system:node:${nodeName}`, groups: ["system:nodes"] },
    { fieldSelectors: ownObjects(nodeName) },
  )
