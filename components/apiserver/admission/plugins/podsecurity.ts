import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import type { AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../chain.ts"
import { violations, type Level } from "./podsecurity-checks.ts"

const PREFIX = "pod-security.kubernetes.io/"
const LEVELS: readonly string[] = ["privileged", "baseline", "restricted"]

/** Templates are judged too, but only with a warning: it is the pods that are refused. */
const TEMPLATED = new Set(["replicationcontrollers", "podtemplates", "replicasets.apps", "deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch"])

/** The Pod Security Standards, by labels of the namespace. Source: k8s.io/pod-security-admission. */
export const podSecurity = ({ objects }: AdmissionContext): AdmissionPlugin => ({
  name: "PodSecurity",
  operations: ["CREATE", "UPDATE"],
  validate({ operation, resource, subresource, namespace, name, object, old, warn }) {
    const kind = resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`
    const isPod = kind === "pods"
    if ((!isPod && !TEMPLATED.has(kind)) || (subresource !== undefined && subresource !== "ephemeralcontainers")) return
    const labels = objects.get(Namespace, { name: namespace ?? "" })?.metadata.labels ?? {}
    const [enforce, warnAt] = [levelOf(labels, "enforce"), levelOf(labels, "warn")]
    if (enforce.level === "privileged" && warnAt.level === "privileged") return
    const pod = isPod ? (object as Pod) : podOfTemplate(object)
    if (pod === undefined) return
    // Labels and annotations of a running pod may change however the standards have changed since.
    if (isPod && operation === "UPDATE" && (old as Pod).spec === pod.spec) return
    const found = (level: Level) => violations(pod, level)
    if (isPod && enforce.level !== "privileged") {
      const faults = found(enforce.level)
      if (faults.length > 0) throw forbidden(resource, name, `violates PodSecurity ${JSON.stringify(`${enforce.level}:${enforce.version}`)}: ${faults.join(", ")}`)
    }
    if (warnAt.level === "privileged") return
    const faults = found(warnAt.level)
    if (faults.length > 0) warn(`would violate PodSecurity ${JSON.stringify(`${warnAt.level}:${warnAt.version}`)}: ${faults.join(", ")}`)
  },
})

function levelOf(labels: Readonly<Record<string, string>>, mode: string): { readonly level: Level; readonly version: string } {
  const level = labels[`${PREFIX}${mode}`] ?? "privileged"
  // A level nobody knows is taken for the strictest.
  return { level: LEVELS.includes(level) ? (level as Level) : "restricted", version: labels[`${PREFIX}${mode}-version`] ?? "latest" }
}

function podOfTemplate(object: unknown): Pod | undefined {
  type Templated = { readonly template?: Pod; readonly spec?: { readonly template?: Pod; readonly jobTemplate?: { readonly spec?: { readonly template?: Pod } } } }
  const { template, spec } = object as Templated
  return template ?? spec?.template ?? spec?.jobTemplate?.spec?.template
}
