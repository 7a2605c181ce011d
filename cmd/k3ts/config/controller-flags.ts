import type { ControllersConfig } from "../../../components/controller-manager/controllers.ts"
import { value, type FlagsOf } from "../cli/flags.ts"
import * as v from "../cli/values.ts"

/** Settings of single controllers, under upstream's names. Source: cmd/kube-controller-manager/app/options. */
export const controllerFlags = {
  "terminated-pod-gc-threshold": value(
    v.count.default(12_500),
    "How many ended pods are kept for their logs; 0 for any number",
    { placeholder: "COUNT" },
  ),
  "cluster-signing-duration": value(
    v.duration.refine((seconds) => seconds >= 600, "must be 10m or longer").prefault("8760h"),
    "Longest life of certificates that CertificateSigningRequests get",
    { placeholder: "DURATION", defaultText: "8760h" },
  ),
  "horizontal-pod-autoscaler-sync-period": value(
    v.duration.refine((seconds) => seconds >= 1, "must be 1s or longer").prefault("15s"),
    "How often autoscalers read metrics",
    { placeholder: "DURATION", defaultText: "15s" },
  ),
} as const

export const controllersOf = (
  flags: FlagsOf<typeof controllerFlags>,
): Pick<ControllersConfig, "keptEndedPods" | "longestCertificateMs" | "autoscalerSyncMs"> => ({
  keptEndedPods: flags["terminated-pod-gc-threshold"],
  longestCertificateMs: flags["cluster-signing-duration"] * 1000,
  autoscalerSyncMs: flags["horizontal-pod-autoscaler-sync-period"] * 1000,
})
