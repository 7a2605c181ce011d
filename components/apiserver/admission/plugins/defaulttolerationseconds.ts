import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { TAINT } from "../../../../pkg/api/core/v1/node/taints.ts"
import { on, type AdmissionPlugin } from "../admission.ts"

const SECONDS = 300

/**
 * Lets pods stay for five minutes on a node that has failed, unless they have tolerations for that. An update that
 * removes these tolerations gets them again. Source: plugin/pkg/admission/defaulttolerationseconds.
 */
export const defaultTolerationSeconds: AdmissionPlugin = on(Pod, {
  name: "DefaultTolerationSeconds",
  operations: ["CREATE", "UPDATE"],
  admit({ object: pod }) {
    const tolerations = pod.spec.tolerations ?? []
    const lacking = [TAINT.notReady, TAINT.unreachable].filter(
      (taint) =>
        !tolerations.some(
          ({ key = "", effect = "" }) => (key === taint || key === "") && (effect === "NoExecute" || effect === ""),
        ),
    )
    if (lacking.length === 0) return undefined
    const added = lacking.map(
      (key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: SECONDS }) as const,
    )
    return { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, ...added] } }
  },
})
