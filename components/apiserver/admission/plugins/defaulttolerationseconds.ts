import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { TAINT } from "../../../../pkg/api/core/v1/node/taints.ts"
import { on, type AdmissionPlugin } from "../admission.ts"

/** How long pods stay on a node that is not ready, and on one that cannot be reached, in seconds. */
export interface TolerationSeconds {
  readonly notReady: number
  readonly unreachable: number
}
const FIVE_MINUTES: TolerationSeconds = { notReady: 300, unreachable: 300 }

/**
 * Lets pods stay for five minutes on a node that has failed, unless they have tolerations for that. An update that
 * removes these tolerations gets them again. Source: plugin/pkg/admission/defaulttolerationseconds.
 */
export const defaultTolerationSeconds = (seconds = FIVE_MINUTES): AdmissionPlugin =>
  on(Pod, {
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
        (key) =>
          ({
            ...({ key, operator: "Exists", effect: "NoExecute" } as const),
            tolerationSeconds: key === TAINT.notReady ? seconds.notReady : seconds.unreachable,
          }) as const,
      )
      return { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, ...added] } }
    },
  })
