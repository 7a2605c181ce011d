import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import { TAINT } from "../../../../pkg/api/core/v1/node/taints.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { qosClassOf } from "../../../../pkg/api/core/v1/pod/resources/pod-qos.ts"
import { Toleration } from "../../../../pkg/api/core/v1/pod/scheduling/tolerations.ts"
import { f, message, type ObjectOf } from "../../../../pkg/apimachinery/fields.ts"
import { ApiError, notFound, type Cause } from "../../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { invalidValue, notSupported } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import { isQualifiedName, oneProblem } from "../../../../pkg/apimachinery/validation/names.ts"
import type { ConfigurationKind } from "../../../../pkg/config-file/config-file.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { on, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

const Configuration = message("podtolerationrestriction.Configuration", "Tolerations of pods.", {
  default: f.list(1, Toleration, "What pods get in namespaces that say nothing."),
  whitelist: f.list(2, Toleration, "What pods may have in namespaces that say nothing; anything if empty."),
})
export interface PodTolerations extends ObjectOf<typeof Configuration> {}

/** Source: plugin/pkg/admission/podtolerationrestriction/apis. */
export const POD_TOLERATION_RESTRICTION: ConfigurationKind<typeof Configuration> = {
  apiVersions: ["podtolerationrestriction.admission.k8s.io/v1alpha1"],
  kind: "Configuration",
  schema: Configuration,
  validate: (value) =>
    (["default", "whitelist"] as const).flatMap((list) =>
      (value[list] ?? []).flatMap((toleration, i) => faultsOf(toleration, `${list}[${i}]`)),
    ),
}

const OPERATORS = ["Equal", "Exists"] as const

function faultsOf(toleration: Toleration, at: string): Cause[] {
  const { key = "", value = "", tolerationSeconds } = toleration
  const [operator, effect]: readonly string[] = [toleration.operator ?? "", toleration.effect ?? ""]
  const problem = key === "" ? undefined : isQualifiedName(key)
  return [
    ...(problem === undefined ? [] : [invalidValue(`${at}.key`, key, oneProblem(problem, "; "))]),
    ...(key === "" && operator !== "Exists"
      ? [
          invalidValue(
            `${at}.operator`,
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all keys"',
          ),
        ]
      : []),
    ...(tolerationSeconds !== undefined && effect !== "NoExecute"
      ? [invalidValue(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")]
      : []),
    ...(operator === "Exists" && value !== ""
      ? [invalidValue(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'")]
      : []),
    ...(["", ...OPERATORS].includes(operator!) ? [] : [notSupported(`${at}.operator`, operator!, OPERATORS)]),
  ]
}

/** The annotations of a namespace with lists of tolerations as JSON. */
const DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
const WHITELIST = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"

/**
 * Gives pods the tolerations of their namespace, or else of the cluster, and refuses those that its whitelist does not
 * have. Source: plugin/pkg/admission/podtolerationrestriction.
 */
export function podTolerationRestriction({ objects }: AdmissionContext, cluster: PodTolerations = {}): AdmissionPlugin {
  function annotated(name: string, annotation: string): readonly Toleration[] | undefined {
    const namespace = objects.get(Namespace, { name })
    if (namespace === undefined) throw notFound(Namespace, name)
    const text = namespace.metadata.annotations?.[annotation]
    if (text === undefined) return undefined
    if (text === "") return []
    try {
      return JSON.parse(text) as readonly Toleration[]
    } catch (err) {
      // Upstream answers without a reason too.
      throw new ApiError("Unknown", errorMessage(err))
    }
  }
  function check(pod: Pod, namespace: string): void {
    const { tolerations = [] } = pod.spec
    if (tolerations.length === 0) return
    const own = annotated(namespace, WHITELIST)
    const allowed = own ?? cluster.whitelist ?? []
    if (allowed.length === 0 || tolerations.every((one) => allowed.some((wide) => includes(wide, one)))) return
    throw new ApiError(
      "Unknown",
      "pod tolerations (possibly merged with namespace default tolerations) conflict with its " +
        `${own === undefined ? "cluster" : "namespace"} whitelist`,
    )
  }
  return on(Pod, {
    name: "PodTolerationRestriction",
    operations: ["CREATE", "UPDATE"],
    admit({ operation, object: pod, namespace = "" }) {
      const added = operation === "CREATE" ? (annotated(namespace, DEFAULTS) ?? cluster.default ?? []) : []
      const extra: readonly Toleration[] =
        qosClassOf(pod.spec) === "BestEffort"
          ? added
          : [...added, { key: TAINT.memoryPressure, operator: "Exists", effect: "NoSchedule" }]
      const changed =
        extra.length === 0
          ? pod
          : { ...pod, spec: { ...pod.spec, tolerations: merged([...(pod.spec.tolerations ?? []), ...extra]) } }
      check(changed, namespace)
      return changed
    },
    validate: ({ object: pod, namespace = "" }) => check(pod, namespace),
  })
}

/** Leaves out what another toleration includes. Source: pkg/util/tolerations MergeTolerations. */
function merged(all: readonly Toleration[]): readonly Toleration[] {
  const kept: Toleration[] = []
  for (const [i, one] of all.entries()) {
    if (kept.some((wide) => includes(wide, one))) continue
    if (all.slice(i + 1).some((wide) => !deepEqual(one, wide) && includes(wide, one))) continue
    kept.push(one)
  }
  return kept
}

/** Whether a toleration tolerates all that another one does. Source: pkg/util/tolerations isSuperset. */
function includes(wide: Toleration, one: Toleration): boolean {
  if (deepEqual(wide, one)) return true
  const { key = "", value = "", tolerationSeconds } = wide
  const [operator, effect]: readonly string[] = [wide.operator ?? "", wide.effect ?? ""]
  if ((one.key ?? "") !== key && (key !== "" || operator !== "Exists")) return false
  if ((one.effect ?? "") !== effect && effect !== "") return false
  if (effect === "NoExecute" && tolerationSeconds !== undefined)
    if (one.tolerationSeconds === undefined || one.tolerationSeconds > tolerationSeconds) return false
  if (operator === "Exists") return true
  return (operator === "Equal" || operator === "") && one.operator === "Equal" && (one.value ?? "") === value
}
