import { builtinScheme } from "../../../pkg/api/scheme.ts"
import { didYouMean } from "../../../pkg/names/suggest.ts"
import { UsageError } from "../cli/usage-error.ts"

/** Versions of the API that Kubernetes 1.36 has off. Source: pkg/controlplane/instance.go. */
const OFF: Readonly<Record<"beta" | "alpha", readonly string[]>> = {
  beta: [
    "admissionregistration.k8s.io/v1beta1",
    "authentication.k8s.io/v1beta1",
    "certificates.k8s.io/v1beta1",
    "coordination.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "networking.k8s.io/v1beta1",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1beta2",
    "storage.k8s.io/v1beta1",
    "storagemigration.k8s.io/v1beta1",
  ],
  alpha: [
    "admissionregistration.k8s.io/v1alpha1",
    "authentication.k8s.io/v1alpha1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "internal.apiserver.k8s.io/v1alpha1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha2",
    "storage.k8s.io/v1alpha1",
  ],
}

/**
 * Checks `--runtime-config`: each version of the API may be given as it is here, which is as in Kubernetes.
 * @throws UsageError that says what cannot be turned on or off. Source: apiserver pkg/server/resourceconfig/helpers.go
 */
export function refuseRuntimeConfig(given: readonly string[]): void {
  if (given.length === 0) return
  const scheme = builtinScheme()
  const served = scheme.groups.flatMap(({ name, versions }) =>
    versions.map((version) => (name === "" ? version : `${name}/${version}`)),
  )
  for (const text of given) {
    const refusal = refusalOf(text, served)
    if (refusal !== undefined) throw new UsageError(`--runtime-config ${text}: ${refusal}`)
  }
}

function refusalOf(text: string, served: readonly string[]): string | undefined {
  const [, key = "", value = "true"] = /^([^=]+)(?:=(true|false))?$/.exec(text) ?? []
  if (key === "") return "must be GROUP/VERSION=true or GROUP/VERSION=false"
  const on = value === "true"
  switch (key) {
    case "api/ga":
      return on ? undefined : "the stable versions cannot be turned off"
    case "api/all":
      return on ? "alpha and beta versions are not there" : "the stable versions cannot be turned off"
    case "api/beta":
    case "api/alpha":
      return on ? `${key.slice(4)} versions are not there` : undefined
  }
  const [group = "", version = "", resource] = key.split("/")
  const name = group === "api" && version !== "" ? version : version === "" ? group : `${group}/${version}`
  if (served.includes(name))
    return on ? undefined : `${name}${resource === undefined ? "" : `/${resource}`} cannot be turned off`
  const stage = (["beta", "alpha"] as const).find((one) => OFF[one].includes(name))
  if (stage === undefined)
    return `unknown api group or version${didYouMean(name, [...served, ...OFF.beta, ...OFF.alpha])}`
  return on ? `${name} is ${stage} and off in Kubernetes 1.36, and not in k3ts` : undefined
}
