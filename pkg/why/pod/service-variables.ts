import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import { finding, mend, nameOf, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { refOf, SERVICES } from "../reading/kinds.ts"
import { patchCommand, workloadOf } from "../workload.ts"
import { containerOf } from "./container-of.ts"

/** `REDIS_PORT=tcp://10.43.0.9:6379`: what the variable of a Service holds where a program expects a number. */
const LINK = /\b(?:tcp|udp|sctp):\/\/([\da-f.:[\]]+):\d+/i

/** Words with which a program refuses a value. */
const REFUSES =
  /invalid|parse|parsing|pars(?:ing|e) error|not a (?:valid )?(?:number|integer|port)|NaN|NumberFormatException|could not convert|cannot convert|expected|malformed|unexpected|ValueError|ERR_SOCKET_BAD_PORT|out of range|bad port/i

/** `REDIS` for the Service redis, `MY_DB` for my-db. Source: kubelet/envvars/envvars.go. */
const prefixOf = ({ metadata }: Service): string => (metadata.name ?? "").toUpperCase().replaceAll("-", "_")

/** Returns the Services whose variables a pod may have: those of its namespace. */
const servicesOf = async ({ metadata }: Pod, { reader }: Ward): Promise<readonly Service[]> =>
  ((await reader.listIfAllowed(SERVICES, metadata.namespace)) ?? []).filter(
    ({ spec }) => Boolean(spec.clusterIP) && spec.clusterIP !== "None",
  )

/** Returns the names of the variables that Services give the containers of a pod when they start. */
export async function serviceVariableNames(pod: Pod, ward: Ward): Promise<readonly string[]> {
  const names = ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_PORT"]
  if (pod.spec.enableServiceLinks === false) return names
  for (const service of await servicesOf(pod, ward))
    for (const end of ["SERVICE_HOST", "SERVICE_PORT", "PORT"]) names.push(`${prefixOf(service)}_${end}`)
  return names
}

/**
 * Returns that a variable of a Service has the name of a setting of the program, which takes its value for its own;
 * undefined where a line does not say so.
 */
export async function serviceVariableFinding(
  pod: Pod,
  containerName: string,
  line: string,
  ward: Ward,
): Promise<Finding | undefined> {
  const address = LINK.exec(line)?.[1]
  if (address === undefined || !REFUSES.test(line) || pod.spec.enableServiceLinks === false) return undefined
  const service = (await servicesOf(pod, ward)).find(({ spec }) => spec.clusterIP === address)
  if (service === undefined) return undefined
  const variable = `${prefixOf(service)}_PORT`
  const own = containerOf(pod, containerName)?.env?.some(({ name }) => name === variable)
  if (own === true) return undefined
  const workload = await workloadOf(pod, ward)
  return finding(
    "variable-of-service",
    `the program of container ${containerName} takes ${variable}, which Kubernetes sets to the address of ${nameOf(refOf(service))}, for a setting of its own`,
    {
      evidence: [`log of ${containerName}: ${line.trim()}`],
      mends: workload.replaces
        ? [
            mend(
              patchCommand(workload, { enableServiceLinks: false }),
              "has the pods get no variables of Services; names in DNS stay",
            ),
          ]
        : [],
      hints: ["or set the variable yourself, or give the Service another name"],
    },
  )
}

/** Returns that a variable is one of a Service of another namespace, or of one whose variables the pod does not want. */
export async function strangeServiceFinding(
  pod: Pod,
  containerName: string,
  variable: string,
  line: string,
  ward: Ward,
): Promise<Finding | undefined> {
  const prefix = /^(\w+)_SERVICE_(?:HOST|PORT)\w*$/.exec(variable)?.[1]
  if (prefix === undefined) return undefined
  const evidence = [`log of ${containerName}: ${line.trim()}`]
  const wants = `the program of container ${containerName} wants variable ${variable}`
  const here = (await servicesOf(pod, ward)).find((one) => prefixOf(one) === prefix)
  if (here !== undefined && pod.spec.enableServiceLinks === false)
    return finding(
      "variable-of-service-off",
      `${wants}, of ${nameOf(refOf(here))}, and its pod gets no variables of Services (enableServiceLinks: false)`,
      { evidence, hints: ["leave enableServiceLinks out, or ask for the Service by its name"] },
    )
  if (here !== undefined) return undefined
  const other = ((await ward.reader.listIfAllowed(SERVICES)) ?? []).find((one) => prefixOf(one) === prefix)
  return other === undefined
    ? undefined
    : finding(
        "variable-of-service-elsewhere",
        `${wants}, of ${nameOf(refOf(other))}: pods get only the variables of Services of their own namespace`,
        { evidence, hints: [`ask for ${other.metadata.name}.${other.metadata.namespace} instead`] },
      )
}
