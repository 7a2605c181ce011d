import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { e, f, message } from "../../../../pkg/apimachinery/fields.ts"
import { ApiError, forbidden, notFound, type Cause } from "../../../../pkg/apimachinery/errors.ts"
import { invalidValue } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import { isLabelValue, isQualifiedName, oneProblem } from "../../../../pkg/apimachinery/validation/names.ts"
import type { ConfigurationKind } from "../../../../pkg/config-file/config-file.ts"
import { on, type AdmissionPlugin, type AttributesOf } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

type Labels = Readonly<Record<string, string>>

const Configuration = message("podnodeselector.Configuration", "Where pods of namespaces may run.", {
  podNodeSelectorPluginConfig: f.map(
    1,
    e.string,
    "By namespace: the labels that selectors of its pods may have; clusterDefaultNodeSelector: what pods of others get.",
  ),
})

/** The configuration of the plugin, which has no kind of its own. */
export const POD_NODE_SELECTOR: ConfigurationKind<typeof Configuration> = {
  apiVersions: ["PodNodeSelector"],
  kind: "",
  isUntyped: true,
  schema: Configuration,
  validate: ({ podNodeSelectorPluginConfig: selectors = {} }) =>
    Object.entries(selectors).flatMap(([namespace, text]): Cause[] => {
      const labels = labelsIn(text)
      return typeof labels === "string" ? [invalidValue(`podNodeSelectorPluginConfig.${namespace}`, text, labels)] : []
    }),
}

/** The annotation of a namespace with the labels of the nodes on which its pods run. */
const ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
const DEFAULT = "clusterDefaultNodeSelector"

/**
 * Gives the pods of a namespace the node selector of the namespace, and refuses those that select other nodes. Source:
 * plugin/pkg/admission/podnodeselector.
 * @param selectors node selectors by namespace, as texts
 */
export function podNodeSelector({ objects }: AdmissionContext, selectors: Labels = {}): AdmissionPlugin {
  function selectorOf(name: string): Labels {
    const namespace = objects.get(Namespace, { name })
    if (namespace === undefined) throw notFound(Namespace, name)
    return parsed(namespace.metadata.annotations?.[ANNOTATION] ?? selectors[DEFAULT] ?? "")
  }
  /** @throws ApiError Forbidden for a selector that the namespace does not allow */
  function check({ resource, object: { metadata }, namespace = "" }: AttributesOf<Pod>, own: Labels, wanted: Labels) {
    const refuse = (why: string) => forbidden(resource, metadata.name ?? "", `pod node label selector ${why}`)
    const entries = Object.entries(own)
    if (entries.some(([key, value]) => wanted[key] !== undefined && wanted[key] !== value))
      throw refuse("conflicts with its namespace node label selector")
    const allowed = parsed(selectors[namespace] ?? "")
    if (Object.keys(allowed).length > 0 && entries.some(([key, value]) => allowed[key] !== value))
      throw refuse("labels conflict with its namespace whitelist")
  }
  return on(Pod, {
    name: "PodNodeSelector",
    operations: ["CREATE"],
    admit(attributes) {
      const { object: pod, namespace = "" } = attributes
      const wanted = selectorOf(namespace)
      const nodeSelector = { ...wanted, ...pod.spec.nodeSelector }
      check(attributes, nodeSelector, wanted)
      return Object.keys(wanted).length === 0 ? undefined : { ...pod, spec: { ...pod.spec, nodeSelector } }
    },
    validate(attributes) {
      const { object: pod, namespace = "" } = attributes
      check(attributes, pod.spec.nodeSelector ?? {}, selectorOf(namespace))
    },
  })
}

/** @throws ApiError without a reason, as upstream for an annotation that is no selector */
function parsed(text: string): Labels {
  const labels = labelsIn(text)
  if (typeof labels === "string") throw new ApiError("Unknown", labels)
  return labels
}

/**
 * Reads `disk=ssd, zone=a`. Returns what is wrong with a text that is none. Source: apimachinery pkg/labels
 * ConvertSelectorToLabelsMap.
 */
function labelsIn(text: string): Labels | string {
  if (text === "") return {}
  const labels: Record<string, string> = {}
  for (const pair of text.split(",")) {
    const parts = pair.split("=").map((part) => part.trim())
    const [key, value] = parts
    if (parts.length !== 2) return `invalid selector: [${pair.split("=").join(" ")}]`
    const problem = isQualifiedName(key!) ?? isLabelValue(value!)
    if (problem !== undefined) return `invalid selector ${JSON.stringify(pair)}: ${oneProblem(problem, "; ")}`
    labels[key!] = value!
  }
  return labels
}
