import { listBeside } from "../dual-stack.ts"
import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"

/** Source: k8s.io/api core/v1/types.go. */

export const Taint = message("core.v1.Taint", "Keeps pods that do not tolerate the taint away from the node.", {
  key: f.string(1, "Key of the taint.").required().ownRule(),
  value: f.string(2, "Value of the taint."),
  effect: f
    .string(3, "What happens to pods that do not tolerate it.")
    .required()
    .enum("NoSchedule", "PreferNoSchedule", "NoExecute")
    .ownRule(),
  timeAdded: f.time(4, "When the taint was put on."),
})
export interface Taint extends ObjectOf<typeof Taint> {}

export const ConfigMapNodeConfigSource = message(
  "core.v1.ConfigMapNodeConfigSource",
  "Deprecated: a ConfigMap that configured a kubelet.",
  {
    namespace: f.string(1, "Namespace of the ConfigMap.").required(),
    name: f.string(2, "Name of the ConfigMap.").required(),
    uid: f.string(3, "UID of the ConfigMap."),
    resourceVersion: f.string(4, "Version of the ConfigMap."),
    kubeletConfigKey: f.string(5, "Key of the kubelet's configuration in it.").required(),
  },
)
export interface ConfigMapNodeConfigSource extends ObjectOf<typeof ConfigMapNodeConfigSource> {}

export const NodeConfigSource = message(
  "core.v1.NodeConfigSource",
  "Deprecated: the source of a kubelet's configuration.",
  {
    configMap: f.message(2, ConfigMapNodeConfigSource, "A ConfigMap."),
  },
)
export interface NodeConfigSource extends ObjectOf<typeof NodeConfigSource> {}

export const NodeSpec = message(
  "core.v1.NodeSpec",
  "The desired state of a node.",
  {
    podCIDR: f.string(1, "Range from which the node's pods get addresses."),
    podCIDRs: f
      .list(7, e.string, "Ranges from which the node's pods get addresses, one for each family; the first is podCIDR.")
      .listSet()
      .merge(),
    providerID: f.string(3, "How the cloud provider names the machine."),
    unschedulable: f.bool(4, "When true, no new pods are placed on the node."),
    taints: f.list(5, Taint, "Taints that keep pods away.").atomic().ownRule(),
    configSource: f.message(6, NodeConfigSource, "Deprecated: dynamic kubelet configuration is gone.").disabled(),
    externalID: f.string(2, "Deprecated: not used any more."),
  },
  { defaults: podCIDRDefaults },
)
export interface NodeSpec extends ObjectOf<typeof NodeSpec> {}

/** Fills in podCIDR from podCIDRs and the other way round, as upstream's conversion does. */
function podCIDRDefaults<
  T extends { readonly podCIDR?: string | undefined; readonly podCIDRs?: readonly string[] | undefined },
>(spec: T): T {
  const { podCIDR = "", podCIDRs = NO_RANGES } = spec
  const list = listBeside(podCIDR, podCIDRs, itself, itself)
  const [first = ""] = list
  return first === podCIDR && list === podCIDRs ? spec : { ...spec, podCIDR: first, podCIDRs: list }
}
const NO_RANGES: readonly string[] = []
const itself = (range: string): string => range
