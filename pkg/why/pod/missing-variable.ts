import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { pushAll } from "../../lists/push-all.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, type Finding } from "../answer.ts"
import { command } from "../command.ts"
import type { Ward } from "../doctor.ts"
import { CONFIG_MAPS, SECRETS } from "../reading/kinds.ts"
import { wordsOf, workloadOf } from "../workload.ts"
import { containerOf } from "./container-of.ts"
import { serviceVariableNames, strangeServiceFinding } from "./service-variables.ts"

/** How programs say that a variable of their environment is not set. */
const UNSET: readonly RegExp[] = [
  /environment variables?:? ['"`$]?([A-Za-z_]\w*)['"`]?:? (?:is |was |has )?(?:not (?:been )?(?:set|found|defined|specified|provided|present)|missing|required|undefined|unset|empty|must be)/i,
  /(?:missing|required|undefined|unset)(?: required| mandatory)? env(?:ironment)?(?: var(?:iable)?)?s?:? ['"`$]?([A-Za-z_]\w*)/i,
  /(?<![\w.])\$?['"`]?([A-Z][A-Z0-9]*_[A-Z0-9_]+)['"`]?:? (?:(?:environment|env) var(?:iable)? )?(?:is |was )?(?:not set|unset|undefined|required|missing|must be (?:set|defined|specified))/,
  /required key ([A-Z][A-Z0-9_]*) missing value/,
  // Ruby
  /key not found: "([A-Z][A-Z0-9_]*)" \(KeyError\)/,
  /(?<![\w.])([A-Za-z_]\w*): (?:parameter (?:null or )?not set|unbound variable)/,
]

/** Python says so of a key of any mapping, of which os.environ is one. */
const UNSET_KEY = /^KeyError: '([A-Z][A-Z0-9]*_[A-Z0-9_]+)'$/

/**
 * Returns that a program wants a variable which its container does not have; undefined where the line does not say so,
 * and where the container has the variable or may have it.
 */
export async function missingVariableFinding(
  pod: Pod,
  containerName: string,
  line: string,
  ward: Ward,
): Promise<Finding | undefined> {
  const sure = UNSET.map((pattern) => pattern.exec(line)?.[1]).find((one) => one !== undefined)
  const name = sure ?? UNSET_KEY.exec(line)?.[1]
  const container = containerOf(pod, containerName)
  if (name === undefined || container === undefined) return undefined
  const given = await variablesOf(pod, container, ward)
  if (given === undefined || given.includes(name) || (await serviceVariableNames(pod, ward)).includes(name))
    return undefined
  const strange = await strangeServiceFinding(pod, containerName, name, line, ward)
  if (strange !== undefined) return strange
  const near = nearest(name, given)
  const { ref } = await workloadOf(pod, ward)
  const message =
    `the program of container ${containerName} wants variable ${name}, which the container does not have` +
    (near === undefined ? "" : `; it has ${near}`)
  return finding("variable-missing", message, {
    sure: sure !== undefined,
    evidence: [`log of ${containerName}: ${line.trim()}`],
    hints:
      ref.kind === "Pod"
        ? ["create the pod again with this variable"]
        : [command`kubectl set env ${wordsOf(ref)} -c ${containerName} ${`${name}=VALUE`}`],
  })
}

/** Returns the names of a container's variables; undefined where not all can be read. */
async function variablesOf(
  { metadata: { namespace } }: Pod,
  { env = [], envFrom = [] }: Container,
  { reader }: Ward,
): Promise<readonly string[] | undefined> {
  // What an image sets itself is not known, and a program does not miss that.
  const names: string[] = []
  try {
    for (const { prefix = "", configMapRef, secretRef } of envFrom) {
      const source = configMapRef?.name
        ? await reader.get(CONFIG_MAPS, namespace, configMapRef.name)
        : secretRef?.name
          ? await reader.get(SECRETS, namespace, secretRef.name)
          : undefined
      pushAll(
        names,
        Object.keys(source?.data ?? {}).map((key) => `${prefix}${key}`),
      )
    }
    for (const { name, value, valueFrom } of env) {
      const { configMapKeyRef: map, secretKeyRef: secret } = valueFrom ?? {}
      const from = map?.name
        ? await reader.get(CONFIG_MAPS, namespace, map.name)
        : secret?.name
          ? await reader.get(SECRETS, namespace, secret.name)
          : undefined
      const key = map?.key ?? secret?.key
      // A key that is optional and not there sets no variable.
      if (key === undefined ? valueFrom !== undefined || value !== "" : from?.data?.[key] !== undefined)
        names.push(name)
    }
    return names
  } catch {
    return undefined
  }
}
