import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"

/** Whether a pod needs no explanation: it is ready, or has succeeded. */
export const isWell = ({ status: { phase, conditions } }: Pod): boolean =>
  phase === "Succeeded" || conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
